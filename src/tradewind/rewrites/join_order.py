"""Inner joins in any order: the streams that are joined, the conditions between them, and every set of them joined.

A block is the largest tree of inner joins around a node; projections and filters between its joins belong to it. Its
columns get names that tell where they come from, so that two queries that join the same streams have equal parts even
where they call things differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from tradewind.algebra.expressions.distances import Distance, distance_of
from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import Column, Expression, columns_of, conjuncts, substitute
from tradewind.algebra.operators.base import Operator, walk
from tradewind.algebra.operators.core import Band, Columns, Filter, Join, Map, Source, Union
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import TIMESTAMP, DataType
from tradewind.errors import InputError
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
        numbers = self._number_bands(left, right)
        if sum(self._as_conditions[_either_way(band)] is None for band in numbers) > 1:
            return False
        mine, others = self.columns(left), self.columns(right)
        return (
            bool(numbers)
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

        What the join does not ask itself, keys and one band, a filter asks above it.
        """
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
        return _projected(filtered(both, sorted(now, key=print_expression)), self.needed(left | right))

    def whole(self, left: Members, right: Members) -> Operator | None:
        """The block's answer from two halves of all its inputs.

        None where it could be final only later than now; or, if nobody above asks for its times (not `timed`), where no
        column would tell them any more.
        """
        top = Map(self.of_halves(left, right), self.answer)
        if self.timed:
            return top if broken(self.node.schema, top.schema) is None else None
        return top if top.schema.times or not self.node.schema.times else None

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
        numbers = self._number_bands(left, right)
        forced = [band for band in numbers if self._as_conditions[_either_way(band)] is None]
        if forced:
            return forced[0]
        told = self._told(left | right)
        if told:
            band = self._times.chosen(self._told(left), self._told(right), told[0])
            return None if band.low == band.high == 0 and (band.left, band.right) in self._keys(left, right) else band
        mine, others = self.columns(left), self.columns(right)
        asked = [pair for pair in self._times.direct if pair[0] in mine and pair[1] in others]
        # A side forgets rows only where the other side tells the time.
        asked.sort(key=lambda pair: (pair[0] not in self._told(left), pair[1] not in self._told(right), pair))
        return self._times.direct[asked[0]] if asked else numbers[0] if numbers else None

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
                each = [self._times.provided(*map(self._told, pair)) for pair in self._joinable(members)]
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
        (told,) = self._told(left | right)
        return self.of_halves(left, right).schema.lag(told) or 0

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


def join_block(node: Operator, *, timed: bool = True) -> JoinBlock | None:
    """The block of inner joins that ends in a node: a join, or a projection or filter right above one.

    Not `timed` where nothing above the node asks for its times.
    """
    found = _Collected()
    try:
        answer = found.columns(node)
    except InputError:
        return None
    if answer is None or len(found.inputs) < 2:
        return None
    return found.block(node, answer, timed=timed)


class _Collected:
    """The parts of a block, while its joins are opened from above."""

    def __init__(self) -> None:
        self.inputs: list[Operator] = []
        self.equal: list[tuple[Expression, Expression]] = []
        self.bands: list[tuple[Expression, Expression, Band]] = []
        self.conditions: list[Expression] = []

    def columns(self, node: Operator) -> dict[str, Expression] | None:
        """What a node's columns are over the inputs' columns (`#number name`)."""
        if isinstance(node, Filter) and _leads_to_join(node):
            below = self.columns(node.input)
            if below:
                self.conditions += [substitute(c, below) for c in conjuncts(node.predicate)]
            return below
        if isinstance(node, Map) and _leads_to_join(node):
            below = self.columns(node.input)
            return {name: substitute(e, below) for name, e in node.columns} if below else None
        if isinstance(node, Join) and node.how == "inner":
            left, right = self.columns(node.left), self.columns(node.right)
            if left is None or right is None:
                return None
            both = left | right
            self.equal += [(both[a], both[b]) for a, b in node.keys]
            if node.band:
                self.bands.append((both[node.band.left], both[node.band.right], node.band))
            return both
        self.inputs.append(node)
        number = len(self.inputs) - 1
        return {name: Column(f"#{number} {name}") for name in node.schema.names}

    def block(self, node: Operator, answer: dict[str, Expression], *, timed: bool) -> JoinBlock:
        """The block, its columns called by where they come from and its inputs in an order of their own."""
        order = list(range(len(self.inputs)))
        if len(order) <= MOST_IN_ANY_ORDER:
            order.sort(key=lambda number: (_tag(self.inputs[number]), _mark(self.inputs[number])))
        names = self._names(order)
        renamed: dict[str, Expression] = {
            f"#{n} {old}": Column(new) for n, some in names.items() for old, new in some.items()
        }
        inputs = tuple(_renamed(self.inputs[number], names[number]) for number in order)
        bands = tuple(
            Band(_name(substitute(a, renamed)), _name(substitute(b, renamed)), band.low, band.high)
            for a, b, band in self.bands
        )
        equal = tuple((_name(substitute(a, renamed)), _name(substitute(b, renamed))) for a, b in self.equal)
        conditions = tuple(substitute(condition, renamed) for condition in self.conditions)
        bands, more = _asked_of_times(bands, inputs)
        conditions = tuple(dict.fromkeys((*more, *conditions)))
        inputs, conditions = _asked_of_inputs(inputs, conditions)
        columns = tuple((name, substitute(expression, renamed)) for name, expression in answer.items())
        return JoinBlock(node, inputs, equal, bands, conditions, columns, timed)

    def _names(self, order: Sequence[int]) -> dict[int, dict[str, str]]:
        found: dict[int, dict[str, str]] = {}
        tags: dict[str, int] = {}
        for number in order:
            node = self.inputs[number]
            tag = _tag(node)
            tags[tag] = tags.get(tag, 0) + 1
            prefix = tag if tags[tag] == 1 else f"{tag}_{tags[tag]}"
            inner = _origin_names(node)
            taken: set[str] = set()
            found[number] = {}
            for name in node.schema.names:
                wanted = f"{prefix}_{inner.get(name, name)}"
                while wanted.lower() in taken:
                    wanted += "_"
                taken.add(wanted.lower())
                found[number][name] = wanted
        return found


def _asked_of_times(
    bands: tuple[Band, ...], inputs: tuple[Operator, ...]
) -> tuple[tuple[Band, ...], tuple[Expression, ...]]:
    """Bands of times as conditions; and the bands that are left."""
    schema = Schema(tuple(column for node in inputs for column in node.schema.columns))
    times = {band: conditions_of(band, schema) for band in bands if schema.type_of(band.left) == TIMESTAMP}
    rest = tuple(band for band in bands if times.get(band) is None)
    return rest, tuple(condition for some in times.values() for condition in some or ())


def _asked_of_inputs(
    inputs: tuple[Operator, ...], conditions: tuple[Expression, ...]
) -> tuple[tuple[Operator, ...], tuple[Expression, ...]]:
    """Conditions on one input asked of it; and those that are left."""
    own = [[c for c in conditions if columns_of(c) <= set(node.schema.names)] for node in inputs]
    rest = tuple(c for c in conditions if not any(c in some for some in own))
    return tuple(filtered(node, some) for node, some in zip(inputs, own, strict=True)), rest


def _leads_to_join(node: Operator) -> bool:
    """Whether only filters and projections lie between the node and an inner join."""
    while isinstance(node, Filter | Map):
        if isinstance(node, Map) and not all(isinstance(e, Column) for _, e in node.columns):
            return False
        node = node.input
    return isinstance(node, Join) and node.how == "inner"


def _name(expression: Expression) -> str:
    if not isinstance(expression, Column):
        raise InputError("a join's key was computed between two joins.")
    return expression.name


def _tag(node: Operator) -> str:
    return "_".join(sorted({one.stream for one in walk(node) if isinstance(one, Source)}))


def _first(node: Operator) -> Operator:
    return node.members[0] if isinstance(node, Union) else node


def _origin_names(node: Operator) -> dict[str, str]:
    """What the columns were called below the projection that ends an input."""
    first = _first(node)
    if not isinstance(first, Map):
        return {}
    return {name: e.name for name, e in first.columns if isinstance(e, Column)}


def _mark(node: Operator) -> str:
    """Orders inputs alike in every query, whatever they call their columns."""
    first = _first(node)
    inner = first.input.fingerprint if isinstance(first, Map) else first.fingerprint
    return f"{inner} {sorted(map(str, _origin_names(node).values()))}"


def _renamed(node: Operator, names: dict[str, str]) -> Operator:
    """An input with other names for its columns, in alphabetical order, above its rows under their own names."""
    below, own = _own_names(node)
    return Map(
        below, tuple(sorted(((names[name], Column(old)) for name, old in own.items()), key=lambda pair: pair[0]))
    )


def _own_names(node: Operator) -> tuple[Operator, dict[str, str]]:
    """The rows of an input before the projection that ends it, and what its columns are called there."""
    if isinstance(node, Union):
        found = [_own_names(member) for member in node.members]
        if all(own == found[0][1] and below.schema == found[0][0].schema for below, own in found):
            return Union(tuple(below for below, _ in found)), found[0][1]
    elif isinstance(node, Map) and all(isinstance(e, Column) for _, e in node.columns):
        own = {name: e.name for name, e in node.columns if isinstance(e, Column)}
        return _projected(node.input, tuple(n for n in node.input.schema.names if n in set(own.values()))), own
    return node, {name: name for name in node.schema.names}


def _plain(node: Operator) -> Operator:
    return _plain(node.input) if isinstance(node, Filter) else node.inputs[0]


def _projected(node: Operator, names: tuple[str, ...]) -> Operator:
    return node if node.schema.names == names else Map(node, tuple((name, Column(name)) for name in names))
