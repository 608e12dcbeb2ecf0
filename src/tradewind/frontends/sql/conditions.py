"""The conditions of a join sorted into equal keys, one band, and the rest."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tradewind.algebra.expressions.tree import Call, Column, Expression, Literal
from tradewind.algebra.operators.core import Band
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DATE, TIMESTAMP, is_integer, is_numeric

Number = int | float
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


@dataclass(frozen=True, slots=True)
class Terms:
    """What a join can do itself, and the conditions that are left to a filter."""

    keys: tuple[tuple[str, str], ...]
    band: Band | None
    rest: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class _Bound:
    """`low <= right - left <= high`, as one condition says it; not `exact` when the condition says more than that."""

    left: str
    right: str
    low: Number | None
    high: Number | None
    exact: bool
    condition: Expression


def sort_out(conditions: Iterable[Expression], left: Schema, right: Schema) -> Terms:
    """Keys are equalities of a column of each side; of the bounds, those on one pair of columns become the band.

    That pair is the first one on which both sides tell the time, or else the first.
    """
    keys: list[tuple[str, str]] = []
    bounds: list[_Bound] = []
    rest: list[Expression] = []
    for condition in conditions:
        if (pair := _key(condition, left, right)) is not None:
            keys.append(pair)
        elif (bound := _bound(condition, left, right)) is not None:
            bounds.append(bound)
        else:
            rest.append(condition)
    band, unused = _band(bounds, left, right)
    return Terms(tuple(dict.fromkeys(keys)), band, tuple(rest) + unused)


def _key(condition: Expression, left: Schema, right: Schema) -> tuple[str, str] | None:
    match condition:
        case Call(function="=", arguments=(Column(name=a), Column(name=b))):
            if a in left.names and b in right.names:
                return a, b
            if b in left.names and a in right.names:
                return b, a
    return None


def _band(bounds: list[_Bound], left: Schema, right: Schema) -> tuple[Band | None, tuple[Expression, ...]]:
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


def _bound(condition: Expression, left: Schema, right: Schema) -> _Bound | None:
    if not isinstance(condition, Call) or condition.function not in _MIRRORED or len(condition.arguments) != 2:
        return None
    sides = _linear(condition.arguments[0]), _linear(condition.arguments[1])
    if sides[0] is None or sides[1] is None:
        return None
    (plus, c1), (minus, c2) = sides[0], sides[1]
    weights = {name: plus.get(name, 0) - minus.get(name, 0) for name in (*plus, *minus)}
    columns = {name: weight for name, weight in weights.items() if weight}
    a = next((name for name in columns if name in left.names), None)
    b = next((name for name in columns if name in right.names), None)
    if a is None or b is None or len(columns) != 2 or columns[a] != -columns[b] or abs(columns[a]) != 1:
        return None
    whole = _is_whole(a, b, left, right)
    direct = condition.arguments[0] == Call("-", (Column(b), Column(a)))
    if not whole and not (direct and is_numeric(left.type_of(a)) and is_numeric(right.type_of(b))):
        return None
    if columns[b] == 1:
        return _limits(condition, (a, b), condition.function, c2 - c1, whole=whole)
    return _limits(condition, (a, b), _MIRRORED[condition.function], c1 - c2, whole=whole)


def _limits(condition: Expression, pair: tuple[str, str], sign: str, limit: Number, *, whole: bool) -> _Bound | None:
    """`right - left` compared with a number; over whole numbers and times `<` is `<=` of one less."""
    if not math.isfinite(limit):
        return None
    low = high = None
    if sign in (">", ">=", "="):
        low = limit if not whole else math.floor(limit) + 1 if sign == ">" else math.ceil(limit)
    if sign in ("<", "<=", "="):
        high = limit if not whole else math.ceil(limit) - 1 if sign == "<" else math.floor(limit)
    return _Bound(*pair, low, high, whole or sign not in ("<", ">"), condition)


def _is_whole(a: str, b: str, left: Schema, right: Schema) -> bool:
    """Whether distances of two columns are whole numbers; others are not rearranged, as rounding changes answers."""
    types = left.type_of(a), right.type_of(b)
    return all(type_ == TIMESTAMP for type_ in types) or all(is_integer(type_) for type_ in types)


def _linear(expression: Expression) -> tuple[dict[str, int], Number] | None:
    """A sum of columns, each added or taken off, and a number (microseconds for intervals)."""
    match expression:
        case Column(name=name):
            return {name: 1}, 0
        case Literal(value=int() | float() as value, type=type_) if not isinstance(value, bool):
            return None if type_ in (TIMESTAMP, DATE) else ({}, value)
        case Call(function="negative", arguments=(of,)):
            return _combined(({}, 0), _linear(of), -1)
        case Call(function="+" | "-" as sign, arguments=(a, b)):
            return _combined(_linear(a), _linear(b), 1 if sign == "+" else -1)
    return None


def _combined(
    a: tuple[dict[str, int], Number] | None, b: tuple[dict[str, int], Number] | None, sign: int
) -> tuple[dict[str, int], Number] | None:
    if a is None or b is None:
        return None
    weights = {name: a[0].get(name, 0) + sign * b[0].get(name, 0) for name in (*a[0], *b[0])}
    return weights, a[1] + sign * b[1]
