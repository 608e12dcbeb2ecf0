"""From a graph to blocks of inner joins: what is joined, and what is asked of it, under names of its own."""

from __future__ import annotations

from collections.abc import Sequence

from tradewind.algebra.expressions.tree import Column, Expression, columns_of, conjuncts, substitute
from tradewind.algebra.operators.base import Operator, walk
from tradewind.algebra.operators.core import Band, Filter, Join, Map, Source, Union
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import TIMESTAMP
from tradewind.errors import InputError
from tradewind.rewrites.join_bands import conditions_of
from tradewind.rewrites.join_order import MOST_IN_ANY_ORDER, JoinBlock, projected
from tradewind.rewrites.moving import filtered


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
        return projected(node.input, tuple(n for n in node.input.schema.names if n in set(own.values()))), own
    return node, {name: name for name in node.schema.names}
