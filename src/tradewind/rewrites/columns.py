"""Which columns each operator reads, and the operator that gives only some of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import singledispatch

from tradewind.algebra.expressions.tree import Column, columns_of
from tradewind.algebra.operators.aggregation import WINDOW, Aggregate, Combine, Finish, Functions, Merge, Partial
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Join, Map, Top, Union
from tradewind.algebra.operators.ordered import Resample, WaitFor
from tradewind.algebra.properties import asks_time, reads_whole_rows
from tradewind.algebra.schema import Schema

Names = frozenset[str]
Wanted = Mapping[Operator, Names]


def keeps_order(schema: Schema) -> bool:
    """Whether a map of all columns to themselves would leave the event time the same: it orders times by column."""
    told = [name for name, _ in schema.times if name in schema.names and schema.type_of(name).name == "TIMESTAMP"]
    return not told or min(told, key=schema.index) == told[0]


def kept(node: Operator, names: Names) -> Operator:
    """The node with only the named columns."""
    order = [name for name in node.schema.names if name in names]
    return node if len(order) == len(node.schema.names) else Map(node, tuple((name, Column(name)) for name in order))


def reads(node: Operator, names: Names) -> list[tuple[Operator, Names]]:
    """The inputs, and which of their columns are needed to give the named columns."""
    found = _named(node, names)
    if reads_whole_rows(node):
        found[0] = frozenset(node.inputs[0].schema.names)
    if node.derived:
        found = [frozenset(child.schema.names) for child in node.inputs]
    times = [frozenset(filter(None, [child.schema.time])) if asks_time(node) else frozenset() for child in node.inputs]
    return [(child, one | time) for child, one, time in zip(node.inputs, found, times, strict=True)]


@singledispatch
def _named(node: Operator, names: Names) -> list[Names]:
    """What the parameters name, per input."""
    return [frozenset(child.schema.names) for child in node.inputs]


@_named.register
def _(node: Filter, names: Names) -> list[Names]:
    return [names | columns_of(node.predicate)]


@_named.register
def _(node: Map, names: Names) -> list[Names]:
    return [frozenset().union(*(columns_of(e) for name, e in node.columns if name in names))]


@_named.register
def _(node: Union, names: Names) -> list[Names]:
    return [names for _ in node.members]


@_named.register
def _(node: Join, names: Names) -> list[Names]:
    own = frozenset(a for a, _ in node.keys) | (frozenset([node.band.left]) if node.band else frozenset())
    other = frozenset(b for _, b in node.keys) | (frozenset([node.band.right]) if node.band else frozenset())
    return [own | (names & set(node.left.schema.names)), other | (names & set(node.right.schema.names))]


@_named.register(Aggregate)
@_named.register(Partial)
def _(node: Aggregate | Partial, names: Names) -> list[Names]:
    columns = frozenset().union(*(columns_of(a) for _, call in _asked(node, names) for a in call.arguments))
    over = getattr(node.window, "column", None) or getattr(node.window, "order", None)
    return [frozenset(node.keys) | columns | (frozenset([over]) if over else frozenset())]


@_named.register(Combine)
@_named.register(Merge)
def _(node: Combine | Merge, names: Names) -> list[Names]:
    finer = {WINDOW} if isinstance(node, Combine) and node.window is not None else set()
    return [frozenset(node.keys) | finer | {name for name, _ in _asked(node, names)}]


@_named.register
def _(node: Finish, names: Names) -> list[Names]:
    return [names]


@_named.register
def _(node: Resample, names: Names) -> list[Names]:
    own = frozenset(node.input.schema.names)
    return [own] if node.at is None else [own, frozenset(node.keys) | (names & set(node.at.schema.names))]


@_named.register
def _(node: WaitFor, names: Names) -> list[Names]:
    asked = columns_of(node.predicate)
    return [names | (asked & set(node.input.schema.names)), asked & set(node.signal.schema.names)]


def _asked(node: Aggregate | Partial | Combine | Merge, names: Names) -> Functions:
    """The functions whose answers are read; one at least where there is nothing else to give."""
    found = tuple((name, call) for name, call in node.functions if name in names)
    return found if found or node.keys or getattr(node, "window", None) else node.functions[:1]


def narrowed(node: Operator, names: Names, inputs: tuple[Operator, ...], wanted: Wanted) -> Operator:
    """The node over narrowed inputs, itself giving no more than it must."""
    if isinstance(node, Union):
        return Union(tuple(_exactly(child, node.schema, names) for child in inputs))
    if isinstance(node, Merge):
        functions = _asked(node, names)
        wide = frozenset(node.keys) | {name for name, _ in functions}
        return Merge(_exactly(inputs[0], node.schema, wide), node.keys, functions)
    if isinstance(node, Finish):
        states = _exactly(inputs[0], node.schema, names)
        return Finish(states, tuple((name, call) for name, call in node.functions if name in names))
    if isinstance(node, Map):
        return Map(inputs[0], tuple((name, e) for name, e in node.columns if name in names))
    if isinstance(node, Aggregate | Partial | Combine):
        return replace(node, input=inputs[0], functions=_asked(node, names))
    if isinstance(node, Top) and node.rank not in names:
        return replace(node, input=inputs[0], rank=None)
    return node.with_inputs(inputs)


def _exactly(node: Operator, schema: Schema, names: Iterable[str]) -> Operator:
    """The node with the named columns in the order of a schema."""
    order = tuple(name for name in schema.names if name in set(names))
    return node if node.schema.names == order else Map(node, tuple((name, Column(name)) for name in order))
