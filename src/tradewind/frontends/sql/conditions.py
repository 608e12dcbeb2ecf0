"""The conditions of a join sorted into equal keys, one band, and the rest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tradewind.algebra.expressions.distances import Distance, distance_of
from tradewind.algebra.expressions.tree import Call, Column, Expression, columns_of
from tradewind.algebra.expressions.typing import resolve
from tradewind.algebra.operators.core import Band
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import INTERVAL, NULL, common, is_orderable

Key = tuple[Expression, Expression]


@dataclass(frozen=True, slots=True)
class Terms:
    """What a join can do itself, and the conditions that are left to a filter."""

    keys: tuple[Key, ...]
    """What must be equal: an expression over the columns of each side."""

    band: Band | None
    rest: tuple[Expression, ...]


def sort_out(conditions: Iterable[Expression], left: Schema, right: Schema) -> Terms:
    """Keys are equalities of something of each side; of the bounds, those on one pair of columns become the band.

    That pair is the first one on which both sides tell the time, or else the first.
    """
    keys: list[Key] = []
    bounds: list[Distance] = []
    rest: list[Expression] = []
    for condition in conditions:
        pair = _key(condition, left, right)
        bound = distance_of(condition, left, right)
        if pair is not None and (bound is None or not bound.exact or all(isinstance(one, Column) for one in pair)):
            keys.append(pair)
        elif bound is not None:
            bounds.append(bound)
        else:
            rest.append(condition)
    band, unused = _band(bounds, left, right)
    return Terms(tuple(dict.fromkeys(keys)), band, tuple(rest) + unused)


def _key(condition: Expression, left: Schema, right: Schema) -> Key | None:
    match condition:
        case Call(function="=", arguments=(a, b)):
            for one, other in ((a, b), (b, a)):
                if _is_over(one, left) and _is_over(other, right):
                    return (one, other) if _can_be_equal(one, other, left, right) else None
    return None


def _is_over(expression: Expression, schema: Schema) -> bool:
    columns = columns_of(expression)
    return bool(columns) and columns <= set(schema.names)


def _can_be_equal(one: Expression, other: Expression, left: Schema, right: Schema) -> bool:
    """Whether both can be columns of a join; for plain columns the join itself says what is wrong with them."""
    if isinstance(one, Column) and isinstance(other, Column):
        return True
    types = resolve(one, left)[1], resolve(other, right)[1]
    fit = all(is_orderable(type_) and type_ not in (NULL, INTERVAL) for type_ in types)
    return fit and common(*types) is not None


def _band(bounds: list[Distance], left: Schema, right: Schema) -> tuple[Band | None, tuple[Expression, ...]]:
    if not bounds:
        return None, ()
    pairs = [(bound.left, bound.right) for bound in bounds]
    timed = [(a, b) for a, b in pairs if left.lag(a) is not None and right.lag(b) is not None]
    a, b = (timed or pairs)[0]
    chosen = [bound for bound in bounds if (bound.left, bound.right) == (a, b)]
    lows = [bound.low for bound in chosen if bound.low is not None]
    highs = [bound.high for bound in chosen if bound.high is not None]
    band = Band(a, b, max(lows) if lows else None, min(highs) if highs else None)
    return band, tuple(bound.condition for bound in bounds if bound not in chosen or not bound.exact)
