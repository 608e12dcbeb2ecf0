"""Aggregates in parts: partials of each input, of any set of inputs, and of coarser groups made from finer ones.

An aggregate over a union can be put together from partials of its inputs in any tree. Its functions get names that
tell what they compute, and its keys an order of their own, so that the partials of two queries that count the same are
the same.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tradewind.algebra.aggregates import AggregateCall
from tradewind.algebra.expressions.implication import implies, respects_equality
from tradewind.algebra.expressions.tree import Call, Column, Expression, Literal, columns_of, conjunction, conjuncts
from tradewind.algebra.operators.aggregation import (
    WINDOW,
    Aggregate,
    Combine,
    Finish,
    Functions,
    Merge,
    Partial,
    detached,
)
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Map, Union
from tradewind.algebra.properties import append_only, asks_time, splittable
from tradewind.algebra.types import BIGINT, is_orderable
from tradewind.algebra.windows import TimeWindow, Window, tiles
from tradewind.rewrites.invariants import broken
from tradewind.rewrites.moving import filtered

Members = frozenset[int]


@dataclass(frozen=True, eq=False)
class Partials:
    """The partials of some inputs by some keys: `parts` are the inputs, `rows` names the count that tells whether a
    group has rows at all (where rows may be taken back).
    """

    parts: tuple[Operator, ...]
    keys: tuple[str, ...]
    functions: Functions
    window: Window | None
    rows: str | None = None

    @cached_property
    def _mark(self) -> str:
        """All that it says, in short: partials are compared over and over."""
        parts = [part.fingerprint for part in self.parts]
        return f"{parts} {self.keys} {self.functions} {self.window} {self.rows}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Partials) and self._mark == other._mark

    def __hash__(self) -> int:
        return hash(self._mark)

    @property
    def everything(self) -> Members:
        """All inputs."""
        return frozenset(range(len(self.parts)))

    @property
    def first(self) -> Partials:
        """The partials of the first input alone."""
        return replace(self, parts=self.parts[:1])

    @cached_property
    def _states(self) -> dict[Members, Operator]:
        return {}

    @property
    def groups(self) -> tuple[str, ...]:
        """The keys, and the window if there is one."""
        return self.keys if self.window is None else (*self.keys, WINDOW)

    def states(self, members: Members) -> Operator:
        """The states of some inputs together; always the same node."""
        found = self._states.get(members)
        if found is None:
            if len(members) == 1:
                (number,) = members
                found = Partial(self.parts[number], self.keys, self.functions, self.window)
            else:
                made = tuple(self.states(frozenset([number])) for number in sorted(members))
                found = Combine(Union(made), self.groups, detached(self.functions))
            self._states[members] = found
        return found

    def brought_together(self, sets: Sequence[Members]) -> Operator:
        """The same states as those of all the sets' members, made from the states of each set."""
        return Combine(Union(tuple(self.states(one) for one in sets)), self.groups, detached(self.functions))

    def answer(self, node: Aggregate) -> Operator | None:
        """The aggregate itself, from the states of all inputs; None where it could be final only later than now."""
        merged = Merge(self.states(self.everything), self.groups, detached(self.functions))
        whole: Operator = Finish(merged, detached(self.functions))
        if self.rows is not None:
            whole = Filter(whole, Call(">", (Column(self.rows), Literal(0, BIGINT))))
        names = {name: name for name in node.schema.names} | {name: _called(call) for name, call in node.functions}
        if whole.schema.names != node.schema.names or any(a != b for a, b in names.items()):
            whole = Map(whole, tuple((name, Column(names[name])) for name in node.schema.names))
        return whole if broken(node.schema, whole.schema) is None else None


def partials(node: Operator) -> Partials | None:
    """How an aggregate can be put together from partials of the inputs of the union below it, or of its one input."""
    if not isinstance(node, Aggregate) or not splittable(node):
        return None
    parts = node.input.members if isinstance(node.input, Union) else (node.input,)
    if asks_time(node) and any(part.schema.time != node.input.schema.time for part in parts):
        return None
    calls = {_called(call): call for _, call in node.functions}
    rows = None
    if not append_only(node.input):
        rows = _called(AggregateCall("count"))
        calls[rows] = AggregateCall("count")
    return Partials(tuple(parts), tuple(sorted(node.keys)), tuple(sorted(calls.items())), node.window, rows)


def _called(call: AggregateCall) -> str:
    """A name for what a call computes: the same wherever it is the same."""
    digest = hashlib.blake2b(f"{call} {call.parameters} {call.user}".encode(), digest_size=4).hexdigest()
    return f"{call.function}_{digest}"


@dataclass(frozen=True)
class Bare:
    """An input without the filters and projections at its top: its rows as they come, and what is asked of them."""

    base: Operator
    conditions: tuple[Expression, ...]


def bare(node: Operator) -> Bare:
    """An input taken apart; its columns keep their names."""
    conditions: tuple[Expression, ...] = ()
    while True:
        if isinstance(node, Filter):
            conditions = (*conditions, *conjuncts(node.predicate))
            node = node.input
        elif isinstance(node, Map) and all(e == Column(name) for name, e in node.columns):
            node = node.input
        else:
            return Bare(node, conditions)


def wider(one: Partials, other: Partials) -> Partials | None:
    """Partials that both can be made of: the keys, functions and filtered columns of both, in windows that fit both.

    None where there are none: other inputs, windows that do not fit, conditions on what cannot be a key.
    """
    if len(one.parts) != len(other.parts) or (one.rows is None) != (other.rows is None):
        return None
    bases = [(bare(a), bare(b)) for a, b in zip(one.parts, other.parts, strict=True)]
    if any(a.base != b.base for a, b in bases):
        return None
    window = _common_window(one.window, other.window)
    if (window is None) != (one.window is None and other.window is None):
        return None
    common = [c for c in bases[0][0].conditions if all(c in a.conditions and c in b.conditions for a, b in bases)]
    rest = {c for a, b in bases for c in (*a.conditions, *b.conditions) if c not in common}
    keys = {*one.keys, *other.keys} | {column for condition in rest for column in columns_of(condition)}
    schema = bases[0][0].base.schema
    if not all(name in schema.names and is_orderable(schema.type_of(name)) for name in keys):
        return None
    functions = tuple(sorted(({**dict(one.functions), **dict(other.functions)}).items()))
    read = keys | {name for _, call in functions for a in call.arguments for name in columns_of(a)}
    if isinstance(window, TimeWindow):
        read.add(window.column)
    if any(call.definition.ordered for _, call in functions) and schema.time is not None:
        read.add(schema.time)
    kept = tuple(name for name in schema.names if name in read)
    parts = tuple(_narrowed(filtered(a.base, common), kept) for a, _ in bases)
    return Partials(parts, tuple(sorted(keys)), functions, window, one.rows)


def _narrowed(node: Operator, names: tuple[str, ...]) -> Operator:
    return node if node.schema.names == names else Map(node, tuple((name, Column(name)) for name in names))


def _common_window(one: Window | None, other: Window | None) -> TimeWindow | None:
    """A tumbling window that tiles both. Rows without a time are in no window, so both must have one."""
    if not isinstance(one, TimeWindow) or not isinstance(other, TimeWindow) or one.column != other.column:
        return None
    size = math.gcd(one.size, one.step, other.size, other.step, one.offset - other.offset)
    return TimeWindow(one.column, size, size, one.offset % size)


def from_finer(coarse: Partials, fine: Partials, members: Members) -> Operator | None:
    """The states of some inputs made from finer ones, filters on their keys asked now; None where they do not suffice.

    >>> from tradewind.algebra.drawing.text import draw_text
    >>> from tradewind.algebra.graph import Graph
    >>> from tradewind.algebra.operators.core import Source
    >>> from tradewind.algebra.aggregates import parse_aggregate
    >>> from tradewind.algebra.schema import parse_schema
    >>> hits = Source("hits", parse_schema("url STRING, who INT"))
    >>> count = (("n", parse_aggregate("count(*)", hits.schema)),)
    >>> by_url, by_both = (partials(Aggregate(hits, keys, count)) for keys in (("url",), ("url", "who")))
    >>> print(draw_text(Graph.of(answer=from_finer(by_url, by_both, frozenset([0])))))
    answer
    └─ combine by url: count_3b21bbc8 = count(*)
       └─ partial aggregate by url, who: count_3b21bbc8 = count(*)
          └─ stream hits
    """
    if coarse == fine or len(coarse.parts) != len(fine.parts) or not set(coarse.keys) <= set(fine.keys):
        return None
    if not set(coarse.functions) <= set(fine.functions):
        return None
    asked = [_asked(a, b) for a, b in zip(coarse.parts, fine.parts, strict=True)]
    if any(rest is None or rest != asked[0] for rest in asked) or asked[0] is None:
        return None
    schema = fine.parts[0].schema
    if not all(columns_of(c) <= set(fine.keys) and respects_equality(c, schema) for c in asked[0]):
        return None
    window: TimeWindow | None = None
    if coarse.window != fine.window:
        # Rows without a time are in no window: an aggregate without one cannot be made of windows.
        if not isinstance(coarse.window, TimeWindow) or not isinstance(fine.window, TimeWindow):
            return None
        if not tiles(fine.window, coarse.window):
            return None
        window = coarse.window
    states = filtered(fine.states(members), asked[0])
    keys = coarse.groups if window is None else coarse.keys
    return Combine(states, keys, detached(coarse.functions), window)


def made_narrower(narrow: Operator, wide: Operator) -> Operator | None:
    """An input made of another one that keeps more of the same rows: the filters and columns that are left to do.

    None where the other one does not hold all of it, or both are the same.
    """
    if narrow == wide or not set(narrow.schema.names) <= set(wide.schema.names):
        return None
    rest = _asked(narrow, wide)
    if rest is None or not all(columns_of(condition) <= set(wide.schema.names) for condition in rest):
        return None
    if not rest and set(narrow.schema.names) == set(wide.schema.names):
        return None
    found = _narrowed(filtered(wide, rest), narrow.schema.names)
    return found if found != wide and broken(narrow.schema, found.schema) is None else None


def _asked(narrow: Operator, wide: Operator) -> tuple[Expression, ...] | None:
    """The conditions that rows of the wide input must meet to be rows of the narrow one; None where that is not all."""
    inner, outer = bare(narrow), bare(wide)
    if inner.base != outer.base:
        return None
    known = conjunction(outer.conditions)
    if not all(
        condition in inner.conditions or implies(conjunction(inner.conditions), condition)
        for condition in outer.conditions
    ):
        return None
    return tuple(condition for condition in inner.conditions if not implies(known, condition))
