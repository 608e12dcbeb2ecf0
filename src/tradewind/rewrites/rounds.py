"""The first k groups of several inputs found in three rounds, by a threshold that goes back to the inputs (TPUT).

The value that decides is a sum of things that are never below zero, so what some of m inputs have of it is never more
than what all have:

1. Each input gives its own first k. The k-th greatest of the sums of what was given is no more than the k-th greatest
   of all.
2. An m-th of it goes back as the threshold. Each input gives all groups of which it has so much. A group that none of
   them gives has less than all m thresholds together, and is not among the first k. Of the others it is now known what
   they have at least, which is what was given, and at most, as each input that did not give a group has less of it than
   the threshold.
3. The candidates, which at most have what k others have at least, go back, and each input gives all it has of them.

The answer is the aggregate of the candidates alone, from which the first k are taken as before, ties and all. Every
step is an ordinary operator over what there is at the moment: rows that come late change thresholds and candidates as
they change any answer. Of fewer than k groups none is lost: each has the least of their sums, so some input gives it.

Windows are told apart by their last microsecond, which tells the time as they do. Keys are compared in a struct, in
which NULL is equal to NULL.

References
----------
Cao, Wang: Efficient top-k query calculation in distributed networks, 2004.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

from tradewind.algebra.aggregates import AggregateCall
from tradewind.algebra.expressions.tree import Call, Column, Expression, Field, Literal
from tradewind.algebra.expressions.typing import parse_condition, parse_expression, type_of
from tradewind.algebra.operators.aggregation import WINDOW, Aggregate, Functions
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Band, Columns, Filter, Join, Map, Top, Union
from tradewind.algebra.types import BIGINT, INTERVAL, STRING, is_integer
from tradewind.algebra.windows import TimeWindow

_AGAIN = {
    "count": "sum", "count_if": "sum", "sum": "sum", "min": "min", "max": "max", "bool_and": "bool_and",
    "bool_or": "bool_or",
}  # fmt: skip
"""What makes the answer over the whole of the answers over its parts."""

_LAST = Call("-", (Field(Column(WINDOW), "end"), Literal(1, INTERVAL)))
"""The last microsecond of a window."""


@dataclass(frozen=True, slots=True)
class Names:
    """What the columns of the rounds are called."""

    last: str
    """The last microsecond of a group's window."""
    total: str
    """What is known to be there of the value."""
    givers: str
    """How many inputs gave a group."""
    key: str
    """The keys in one struct."""
    those: str
    """In one struct, the keys among whose groups the first k are wanted."""
    least: str
    """The least total of the first k groups."""
    bound: str
    bound_last: str
    bound_those: str
    """A limit, and the window and the keys that it is for."""
    most: str
    """What all inputs together may have of a group."""
    candidate: str
    candidate_last: str
    """The keys and the window of a candidate."""

    @staticmethod
    def beside(taken: tuple[str, ...]) -> Names:
        """Names that differ from those that are taken."""
        lower = {name.lower() for name in taken}

        def unused(wished: str) -> str:
            while wished in lower:
                wished += "_"
            return wished

        return Names(*(unused(one.name) for one in fields(Names)))


@dataclass(frozen=True, eq=False)
class Rounds:
    """An aggregate of a union in windows over time, of whose groups only those are wanted that have the `k` greatest
    `value`, one of its answers, in their window and among those that agree on the keys in `per`.
    """

    whole: Aggregate
    window: TimeWindow
    value: str
    k: int
    per: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[Operator, ...]:
        """The inputs of the union."""
        return self.whole.input.inputs

    @cached_property
    def names(self) -> Names:
        """What the columns in between are called."""
        return Names.beside((*self.whole.schema.names, *self.whole.input.schema.names))

    @cached_property
    def from_answers(self) -> bool:
        """Whether the answers over parts make those over the whole, so that no input has to go back to its rows."""
        return all(_repeatable(call, self.whole.input) for _, call in self.whole.functions)

    @cached_property
    def leaves(self) -> tuple[Aggregate, ...]:
        """The groups of each input."""
        wanted = tuple((n, call) for n, call in self.whole.functions if self.from_answers or n == self.value)
        return tuple(Aggregate(part, self.whole.keys, wanted, self.window) for part in self.parts)

    @cached_property
    def totals(self) -> tuple[Map, ...]:
        """Each input's groups with what it has of the value; a sum without values counts as zero."""
        call, total = dict(self.whole.functions)[self.value], Column(self.value)
        value = Call("coalesce", (total, Literal(0, BIGINT))) if call.function == "sum" else total
        return tuple(Map(leaf, (*self._group, (self.names.total, value))) for leaf in self.leaves)

    @cached_property
    def first(self) -> tuple[Top, ...]:
        """Round 1: each input's own first k."""
        return tuple(self._top(node) for node in self.totals)

    @cached_property
    def threshold(self) -> Map:
        """An m-th, rounded up, of the k-th greatest sum of what was given in round 1."""
        sums = Aggregate(Union(self.first), self._keys, _sums(self.names.total))
        share = len(self.parts)
        return self._bound(sums, f"({self.names.least} + {share - 1}L) div {share}L")

    @cached_property
    def sent(self) -> tuple[Map, ...]:
        """Round 2: each input's groups of which it has at least the threshold."""
        total, bound = self.names.total, self.names.bound
        kept = _kept(*self._keys, total)
        found = (_where(self._bounded(node, self.threshold), f"{total} >= {bound}") for node in self.totals)
        return tuple(Map(node, kept) for node in found)

    @cached_property
    def seen(self) -> Aggregate:
        """What is known of each group that was given in round 2: the sum of that, and how many gave it."""
        gave = (self.names.givers, AggregateCall("count"))
        return Aggregate(Union(self.sent), self._keys, (*_sums(self.names.total), gave))

    @cached_property
    def candidates(self) -> Map:
        """The groups that may be among the first k: at most, they have what k groups have at least."""
        n = self.names
        beside = self._bounded(self.seen, self.threshold)
        missing = f"({len(self.parts)}L - {n.givers}) * greatest({n.bound} - 1L, 0L)"
        most = parse_expression(f"{n.total} + {missing}", beside.schema)
        known = Map(beside, (*_kept(*self._keys), (n.most, most)))
        enough = self._bound(Map(self.seen, _kept(*self._keys, n.total)), n.least)
        found = _where(self._bounded(known, enough), f"{n.most} >= {n.bound}")
        return Map(found, ((n.candidate, _struct(self.whole.keys)), (n.candidate_last, Column(n.last))))

    @cached_property
    def exact(self) -> tuple[Map, ...]:
        """Round 3: each input's answers for the candidates or, where these make no answer, its rows of them."""
        found = self._answers_of if self.from_answers else self._rows_of
        return tuple(found(number) for number in range(len(self.parts)))

    def _answers_of(self, number: int) -> Map:
        n = self.names
        answers = _kept(*(name for name, _ in self.whole.functions))
        own = Map(self.leaves[number], (*self._group, *answers, (n.key, _struct(self.whole.keys))))
        both = Join(own, self.candidates, "inner", ((n.key, n.candidate), (n.last, n.candidate_last)))
        return Map(both, (*_kept(*self._keys), *answers))

    def _rows_of(self, number: int) -> Map:
        n, part = self.names, self.parts[number]
        columns = _kept(*part.schema.names)
        own = Map(part, (*columns, (n.key, _struct(self.whole.keys))))
        within = Band(self.window.column, n.candidate_last, 0, self.window.size - 1)
        both = Join(own, self.candidates, "inner", ((n.key, n.candidate),), within)
        return Map(both, (*columns, (n.last, Column(n.candidate_last))))

    @cached_property
    def answer(self) -> Operator:
        """The aggregate of the candidates: its groups are groups of the whole, with the same answers."""
        return self.answer_of(self.exact)

    def heaviest(self, count: int) -> Operator:
        """The aggregate of the groups of each input that have the greatest values there, so many of a window and set.
        It needs answers that make those over the whole.
        """
        answers = _kept(*(name for name, _ in self.whole.functions))
        by, per = ((self.value, True),), (*self.per, WINDOW)
        kept = (Top(leaf, count, by, per) for leaf in self.leaves)
        return self.answer_of(tuple(Map(node, (*self._group, *answers)) for node in kept))

    def answer_of(self, given: tuple[Map, ...]) -> Operator:
        """The aggregate of what the inputs gave: their answers, or rows."""
        functions = self.whole.functions
        if self.from_answers:
            functions = tuple((n, AggregateCall(_AGAIN[call.function], (Column(n),))) for n, call in functions)
        window = TimeWindow(self.names.last, self.window.size, self.window.step, self.window.offset)
        if window.step == window.size:
            return Aggregate(Union(given), self.whole.keys, functions, window)
        # Where windows overlap, the last moment of one lies in others too: only its own is meant.
        each = Aggregate(Union(given), self._keys, functions, window)
        own = Filter(each, Call("=", (_LAST, Column(self.names.last))))
        return Map(own, _kept(*self.whole.schema.names))

    @property
    def _keys(self) -> tuple[str, ...]:
        """The columns that make a group in between."""
        return (*self.whole.keys, self.names.last)

    @property
    def _group(self) -> Columns:
        """The same out of a leaf's columns."""
        return (*_kept(*self.whole.keys), (self.names.last, _LAST))

    def _top(self, node: Operator) -> Top:
        return Top(node, self.k, ((self.names.total, True),), (*self.per, self.names.last))

    def _bound(self, sums: Operator, text: str) -> Map:
        """For each window, and set of groups, a limit: of the k-th greatest sum, or of the least if there are fewer."""
        n = self.names
        least = ((n.least, AggregateCall("min", (Column(n.total),))),)
        kth = Aggregate(self._top(sums), (*self.per, n.last), least)
        those = ((n.bound_those, _struct(self.per)),) if self.per else ()
        return Map(kth, (*those, (n.bound_last, Column(n.last)), (n.bound, parse_expression(text, kth.schema))))

    def _bounded(self, node: Operator, bound: Map) -> Join:
        """Groups beside the limit of their window and set."""
        n = self.names
        keys = [(n.last, n.bound_last)]
        if self.per:
            node = Map(node, (*_kept(*node.schema.names), (n.those, _struct(self.per))))
            keys.append((n.those, n.bound_those))
        return Join(node, bound, "inner", tuple(keys))


def _where(node: Operator, condition: str) -> Filter:
    return Filter(node, parse_condition(condition, node.schema))


def _kept(*names: str) -> Columns:
    return tuple((name, Column(name)) for name in names)


def _sums(*names: str) -> Functions:
    return tuple((name, AggregateCall("sum", (Column(name),))) for name in names)


def _struct(names: tuple[str, ...]) -> Expression:
    return Call("named_struct", tuple(part for name in names for part in (Literal(name, STRING), Column(name))))


def _repeatable(call: AggregateCall, node: Operator) -> bool:
    """Whether answers over parts make the answer over the whole: sums only where no part can leave its type."""
    if call.user is not None or call.function not in _AGAIN:
        return False
    argument = type_of(call.arguments[0], node.schema) if call.function == "sum" else None
    return argument is None or (is_integer(argument) and argument != BIGINT)
