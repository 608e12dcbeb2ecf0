"""Inner joins in any order: the streams that are joined, the conditions between them, and every set of them joined.

A block is the largest tree of inner joins around a node; projections and filters between its joins belong to it. Its
columns get names that tell where they come from, so that two queries that join the same streams have equal parts even
where they call things differently.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from tradewind.algebra.expressions.distances import Distance, distance_of
from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import Column, Expression, columns_of
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Band, Columns, Filter, Join, Map
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import TIMESTAMP, DataType
from tradewind.rewrites.invariants import broken
from tradewind.rewrites.join_bands import TimeBands, conditions_of, said, turned
from tradewind.rewrites.moving import filtered

Members = frozenset[int]
MOST_IN_ANY_ORDER = 7
"""So many inputs are joined in any order; more, in the order in which they were written, in any tree."""


@dataclass(frozen=True)
class JoinBlock:
    """The inputs of several joins, what must hold between them, and the node whose rows they give."""

    node: Operator
    inputs: tuple[Operator, ...]
    equal: tuple[tuple[str, str], ...]
    bands: tuple[Band, ...]
    """Bands of numbers. Those of times are conditions, of which each join chooses what it asks itself."""
    conditions: tuple[Expression, ...]
    answer: Columns
    """The node's columns, each as a column of an input."""
    timed: bool = False
    """Whether something above asks for the times of the answer, which must be final as soon in every order."""

    @property
    def everything(self) -> Members:
        """All inputs."""
        return frozenset(range(len(self.inputs)))

    def halves(self, members: Members) -> list[tuple[Members, Members]]:
        """Every way to cut a set of inputs in two that can be joined, each once.

        Of more than `MOST_IN_ANY_ORDER` inputs only those that cut their written order in two. Where times are asked
        for, of a part of the inputs only those whose rows are settled soonest.
        """
        found = self._halves.get(members)
        if found is None:
            found = self._joinable(members)
            if self.timed and len(found) > 1 and members != self.everything and self._told(members):
                lags = [self._lag_of_halves(*pair) for pair in found]
                found = [pair for pair, lag in zip(found, lags, strict=True) if lag == min(lags)]
            self._halves[members] = found
        return found

    def _joinable(self, members: Members) -> list[tuple[Members, Members]]:
        found = self._cut.get(members)
        if found is None:
            found = self._cut[members] = [pair for pair in self._cuts(members) if self._fit(*pair)]
        return found

    def _cuts(self, members: Members) -> list[tuple[Members, Members]]:
        order = sorted(members)
        if len(self.inputs) > MOST_IN_ANY_ORDER:
            return [(frozenset(order[:cut]), frozenset(order[cut:])) for cut in range(1, len(order))]
        first, *rest = order
        lefts = [
            frozenset([first, *(one for place, one in enumerate(rest) if choice >> place & 1)])
            for choice in range(2 ** len(rest) - 1)
        ]
        return [(left, members - left) for left in lefts]

    def _fit(self, left: Members, right: Members) -> bool:
        return self.connected(left) and self.connected(right) and self._tied(left, right)

    def _tied(self, left: Members, right: Members) -> bool:
        """Whether a join can ask what ties two halves: keys, or bands of which at most one is beyond a filter."""
        if len(self._only_joins_ask(left, right)) > 1:
            return False
        mine, others = self.columns(left), self.columns(right)
        return (
            bool(self._number_bands(left, right))
            or any(group & mine and group & others for group in self._classes)
            or any(a in mine and b in others for a, b in self._times.direct)
        )

    def sets(self) -> list[Members]:
        """All sets of two or more inputs, but for the whole, that can be joined with one another alone."""
        every = sorted(self.everything)
        if len(every) > MOST_IN_ANY_ORDER:
            found = [frozenset(every[a:b]) for a in range(len(every)) for b in range(a + 2, len(every) + 1)]
        else:
            found = [frozenset(some) for size in range(2, len(every)) for some in combinations(every, size)]
        return sorted((one for one in found if one != self.everything and self.connected(one)), key=len)

    def connected(self, members: Members) -> bool:
        """Whether the inputs can be joined with one another alone."""
        return len(members) == 1 or bool(self._joinable(members))

    def joined(self, members: Members) -> Operator:
        """The join of some of the inputs, with the columns that are still needed: always the same node."""
        if len(members) == 1:
            (number,) = members
            return self.inputs[number]
        found = self._joined.get(members)
        if found is None:
            found = self._joined[members] = self.of_halves(*self.halves(members)[0])
        return found

    @cached_property
    def _halves(self) -> dict[Members, list[tuple[Members, Members]]]:
        return {}

    @cached_property
    def _joined(self) -> dict[Members, Operator]:
        return {}

    @cached_property
    def _cut(self) -> dict[Members, list[tuple[Members, Members]]]:
        return {}

    def of_halves(self, left: Members, right: Members) -> Operator:
        """The same rows as `joined` of both together, made from the joins of two halves.

        The join asks keys and one band itself; all that is left a filter asks above it.
        """
        found = self._made.get((left, right))
        if found is None:
            found = self._made[left, right] = self._of_halves(left, right)
        return found

    @cached_property
    def _made(self) -> dict[tuple[Members, Members], Operator]:
        return {}

    def _of_halves(self, left: Members, right: Members) -> Operator:
        band = self._band(left, right)
        both = Join(self.joined(left), self.joined(right), "inner", self._keys(left, right), band)
        now = [
            condition
            for condition, read in self._reads.items()
            if read <= self.columns(left | right) and not (read <= self.columns(left) or read <= self.columns(right))
        ]
        if band is not None:
            known = said(self._distances, band)
            now = [condition for condition in now if condition not in known]
        for other in self._number_bands(left, right):
            if other != band:
                now.extend(self._as_conditions[_either_way(other)] or ())
        return projected(filtered(both, sorted(now, key=print_expression)), self.needed(left | right))

    def whole(self, left: Members, right: Members) -> Operator:
        """The block's answer from two halves of all its inputs."""
        return Map(self.of_halves(left, right), self.answer)

    def in_time(self, left: Members, right: Members) -> bool:
        """Whether the answer from two halves tells its times as it did.

        Not where it could be final only later than now; or, if nobody above asks for its times (not `timed`), where no
        column would tell them any more.
        """
        if self.timed:
            return broken(self.node.schema, self.whole(left, right).schema) is None
        if not self.node.schema.times or any(Column(told) in self._shown for told in self._told(self.everything)):
            return True
        return bool(self.whole(left, right).schema.times)

    @cached_property
    def _shown(self) -> frozenset[Expression]:
        return frozenset(expression for _, expression in self.answer)

    def left_out(self) -> str | None:
        """Which orders cannot be weighed, in words; None where all are, but for cross products."""
        if len(self.inputs) > MOST_IN_ANY_ORDER:
            return f"more than {MOST_IN_ANY_ORDER} streams are joined in the order in which they were written"
        if len(self._only_joins) > 1:
            return "a join asks one band of DECIMALs at most"
        cut = any(len(self.halves(members)) < len(self._joinable(members)) for members in self.sets())
        if cut or not all(self.in_time(*pair) for pair in self.halves(self.everything)):
            return "join orders whose answer would be final later are not weighed"
        return None

    @property
    def meaning(self) -> tuple[object, ...]:
        """Equal for two blocks that may be joined in the same ways, whatever order they were written in."""
        sets = frozenset(self.equal), frozenset(self.bands), frozenset(self.conditions)
        return self.inputs, *sets, self.answer, self.timed, self.node.schema.times

    def plain(self, number: int) -> Operator:
        """An input before its columns are renamed: what travels to a join."""
        return _plain(self.inputs[number])

    @cached_property
    def _owner(self) -> dict[str, int]:
        return {name: number for number, node in enumerate(self.inputs) for name in node.schema.names}

    def columns(self, members: Members) -> frozenset[str]:
        """All columns of some inputs."""
        found = self._columns.get(members)
        if found is None:
            found = frozenset(name for name, owner in self._owner.items() if owner in members)
            self._columns[members] = found
        return found

    @cached_property
    def _columns(self) -> dict[Members, frozenset[str]]:
        return {}

    def needed(self, members: Members) -> tuple[str, ...]:
        """The columns that the answer, or a condition with another input, still reads, and one that tells the time."""
        return tuple(sorted(self._read_later(members).union(self._told(members) if len(members) > 1 else ())))

    def _read_later(self, members: Members) -> frozenset[str]:
        mine = self.columns(members)
        read = set(self._answered)
        for columns in self._reads.values():
            if not columns <= mine:
                read |= columns
        read |= {min(group & mine) for group in self._classes if group & mine and not group <= mine}
        for band in self.bands:
            if not {band.left, band.right} <= mine:
                read |= {band.left, band.right}
        return mine & read

    @cached_property
    def _answered(self) -> frozenset[str]:
        return frozenset(column for _, expression in self.answer for column in columns_of(expression))

    @cached_property
    def _reads(self) -> dict[Expression, frozenset[str]]:
        """The columns that each condition reads."""
        return {condition: columns_of(condition) for condition in self.conditions}

    @cached_property
    def _classes(self) -> tuple[frozenset[str], ...]:
        """Columns that are equal in every row of the answer; those of other types only where a pair says so."""
        found: list[set[str]] = []
        for a, b in self.equal:
            if self._type(a) != self._type(b):
                found.append({a, b})
                continue
            near = [group for group in found if group & {a, b} and all(self._type(n) == self._type(a) for n in group)]
            found = [group for group in found if group not in near]
            found.append({a, b}.union(*near))
        return tuple(frozenset(group) for group in found)

    def _type(self, column: str) -> DataType:
        return self.inputs[self._owner[column]].schema.type_of(column)

    def _keys(self, left: Members, right: Members) -> tuple[tuple[str, str], ...]:
        """The keys between two halves."""
        mine, others = self.columns(left), self.columns(right)
        return tuple(
            sorted(
                pair
                for group in self._classes
                if group & mine and group & others
                for pair in _pairs(self._unequal(group & mine, left), self._unequal(group & others, right))
            )
        )

    def _number_bands(self, left: Members, right: Members) -> list[Band]:
        mine, others = self.columns(left), self.columns(right)
        both_ways = [one for band in self.bands for one in (band, turned(band))]
        return [band for band in both_ways if band.left in mine and band.right in others]

    @cached_property
    def _as_conditions(self) -> dict[frozenset[object], tuple[Expression, ...] | None]:
        """What filters ask instead of each band of numbers; None where they cannot."""
        return {_either_way(band): conditions_of(band, self._schema) for band in self.bands}

    @cached_property
    def _schema(self) -> Schema:
        return Schema(tuple(column for node in self.inputs for column in node.schema.columns))

    def _band(self, left: Members, right: Members) -> Band | None:
        """The band that a join of two halves asks itself: one that only it can ask, or that tells the time, or any."""
        forced = self._only_joins_ask(left, right)
        if forced:
            return forced[0]
        if self._told(left | right):
            band = self._time_band(left, right)
            return None if band.low == band.high == 0 and (band.left, band.right) in self._keys(left, right) else band
        mine, others = self.columns(left), self.columns(right)
        asked = [pair for pair in self._times.direct if pair[0] in mine and pair[1] in others]
        # A side forgets rows only where the other side tells the time.
        asked.sort(key=lambda pair: (pair[0] not in self._told(left), pair[1] not in self._told(right), pair))
        numbers = self._number_bands(left, right)
        return self._times.direct[asked[0]] if asked else numbers[0] if numbers else None

    def _only_joins_ask(self, left: Members, right: Members) -> list[Band]:
        return [band for band in self._number_bands(left, right) if _either_way(band) in self._only_joins]

    @cached_property
    def _only_joins(self) -> set[frozenset[object]]:
        """The bands that no filter can ask."""
        return {_either_way(band) for band in self.bands if self._as_conditions[_either_way(band)] is None}

    def _time_band(self, left: Members, right: Members) -> Band:
        """The band between two halves by which their join tells the time as it does in every order."""
        return self._times.chosen(self._told(left), self._told(right), self._told(left | right)[0])

    def _told(self, members: Members) -> tuple[str, ...]:
        """Columns that tell the time of some inputs' join, whatever its order: all of one input, or one of several.

        Of those the join keeps anyway, if there is one; else one more is kept only where the answer tells the time.
        """
        found = self._tells.get(members)
        if found is None:
            order = self._times.order
            if len(members) == 1:
                some = self.columns(members) & order.keys()
            else:
                each = [
                    set() if self._only_joins_ask(*pair) else self._times.provided(*map(self._told, pair))
                    for pair in self._joinable(members)
                ]
                some = frozenset[str]().union(*each[:1]).intersection(*each)
                some = some & self._read_later(members) or (some if self.node.schema.times else frozenset())
            ordered = sorted(some, key=order.__getitem__)
            found = self._tells[members] = tuple(ordered if len(members) == 1 else ordered[:1])
        return found

    @cached_property
    def _tells(self) -> dict[Members, tuple[str, ...]]:
        return {}

    def _lag_of_halves(self, left: Members, right: Members) -> int:
        """How long after the column that tells it the rows of a join of two halves are settled."""
        band = self._time_band(left, right)
        lags = self._lag(left, band.left), self._lag(right, band.right)
        if band.left in self._told(left | right):
            return max(lags[0], int(band.high or 0) + lags[1])
        return max(lags[1], lags[0] - int(band.low or 0))

    def _lag(self, members: Members, told: str) -> int:
        if len(members) == 1:
            return self._times.lags[told]
        found = self._lags.get(members)
        if found is None:
            found = self._lags[members] = min(self._lag_of_halves(*pair) for pair in self._joinable(members))
        return found

    @cached_property
    def _lags(self) -> dict[Members, int]:
        return {}

    @cached_property
    def _distances(self) -> tuple[Distance, ...]:
        """What conditions say of how far times of two inputs are apart."""
        found = []
        for condition, read in self._reads.items():
            owners = sorted({self._owner[name] for name in read})
            if len(read) == 2 and len(owners) == 2 and all(self._type(name) == TIMESTAMP for name in read):
                found.append(distance_of(condition, *(self.inputs[owner].schema for owner in owners)))
        return tuple(one for one in found if one is not None)

    @cached_property
    def _times(self) -> TimeBands:
        lags = {name: lag for node in self.inputs for name, lag in node.schema.times}
        equal = [pair for pair in self.equal if all(self._type(name) == TIMESTAMP for name in pair)]
        last = self.node.schema.time
        first = dict(self.answer).get(last) if last is not None else None
        return TimeBands(self._distances, tuple(equal), lags, first.name if isinstance(first, Column) else None)

    def _unequal(self, columns: frozenset[str], members: Members) -> list[str]:
        """Of equal columns on one side those that are not known to be equal there yet: all of a single input."""
        return sorted(columns) if len(members) == 1 else [min(columns)]


def _pairs(left: list[str], right: list[str]) -> list[tuple[str, str]]:
    """Pairs whose equality makes all columns of both sides equal."""
    return [*((one, right[0]) for one in left), *((left[0], one) for one in right[1:])]


def _either_way(band: Band) -> frozenset[object]:
    """The same for a band and for the band with its ends exchanged."""
    return frozenset([band, turned(band)])


def _plain(node: Operator) -> Operator:
    return _plain(node.input) if isinstance(node, Filter) else node.inputs[0]


def projected(node: Operator, names: tuple[str, ...]) -> Operator:
    """Only the named columns, in this order; the node itself where it has no others."""
    return node if node.schema.names == names else Map(node, tuple((name, Column(name)) for name in names))
