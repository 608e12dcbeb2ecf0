"""The one way in which all front ends put operators together, so that equal questions give equal graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tradewind.algebra.expressions.tree import Column, Expression
from tradewind.algebra.operators.aggregation import WINDOW, Aggregate, Functions
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Band, Join, Kind, Map, Top
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import is_integer, is_numeric
from tradewind.algebra.windows import Window
from tradewind.errors import GraphError


def project(node: Operator, columns: Iterable[tuple[str, Expression]]) -> Operator:
    """A map to the given columns; none when these are the columns there are."""
    wanted = tuple(columns)
    same = tuple((name, Column(name)) for name in node.schema.names)
    return node if wanted == same else Map(node, wanted)


def extend(node: Operator, columns: Mapping[str, Expression]) -> Operator:
    """All columns of the input with some replaced and others added at the end."""
    names = node.schema.names
    kept = [(name, columns.get(name, Column(name))) for name in names]
    return project(node, [*kept, *((name, e) for name, e in columns.items() if name not in names)])


def rename(node: Operator, names: Mapping[str, str]) -> Operator:
    """The same columns under other names (old: new)."""
    found = {node.schema.find(old): new for old, new in names.items()}
    return project(node, [(found.get(name, name), Column(name)) for name in node.schema.names])


def group(
    node: Operator, keys: Sequence[tuple[str, Expression]], functions: Functions, window: Window | None = None
) -> Aggregate:
    """Group by named expressions; those that are not plain columns are computed in a map first."""
    computed = {name: expression for name, expression in keys if expression != Column(name)}
    for name in computed:
        if name in node.schema.names and any(expression == Column(name) for _, expression in keys):
            raise GraphError(f"two keys are named {name!r}.", hint="give one of them another name.")
    return Aggregate(extend(node, computed) if computed else node, tuple(name for name, _ in keys), functions, window)


def top(
    node: Operator, k: int, by: Sequence[tuple[str, bool]], per: Sequence[str] | None = None, rank: str | None = None
) -> Top:
    """The first k; per window when the rows have one and nothing else was said."""
    if per is None:
        per = (WINDOW,) if node.schema.lag(WINDOW) is not None else ()
    schema = node.schema
    order = tuple((schema.find(name), descending) for name, descending in by)
    return Top(node, k, order, tuple(schema.find(name) for name in per), rank)


def renamed_apart(left: Schema, right: Operator, suffix: str) -> tuple[Operator, dict[str, str]]:
    """The right side of a join, its columns that the left side has too renamed to `name_suffix`; and those names."""
    taken = {name.lower() for name in left.names}
    names = {name: f"{name}_{suffix}" for name in right.schema.names if name.lower() in taken}
    return rename(right, names) if names else right, names


def join(
    left: Operator,
    right: Operator,
    how: Kind,
    keys: Sequence[tuple[str, str]],
    band: Band | None,
    *,
    suffix: str = "right",
) -> Join:
    """A join whose right side's clashing columns get a suffix; keys and band name the columns as they were."""
    apart, names = renamed_apart(left.schema, right, suffix)
    pairs = tuple((left.schema.find(a), names.get(found := right.schema.find(b), found)) for a, b in keys)
    if band is not None:
        found = right.schema.find(band.right)
        band = Band(left.schema.find(band.left), names.get(found, found), band.low, band.high)
    return Join(left, apart, how, pairs, band)


def unit(schema: Schema, column: str) -> str:
    """What distances on a column are given in: 'time' or 'number'."""
    type_ = schema.type_of(column)
    if type_.name in ("TIMESTAMP", "DATE"):
        return "time"
    if is_integer(type_) or is_numeric(type_):
        return "number"
    raise GraphError(f"{column!r} is {type_}: it has no distances.")
