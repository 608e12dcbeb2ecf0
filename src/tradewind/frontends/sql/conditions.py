"""The conditions of a join sorted into equal keys, one band, and the rest."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from tradewind.algebra.expressions.tree import Call, Column, Expression, Literal, columns_of, walk
from tradewind.algebra.expressions.typing import resolve
from tradewind.algebra.operators.core import Band
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import (
    DATE,
    DOUBLE,
    INTERVAL,
    NULL,
    TIMESTAMP,
    common,
    is_fraction,
    is_integer,
    is_orderable,
)  # fmt: skip

Number = int | float | Fraction
Key = tuple[Expression, Expression]
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_EXACT = 2**53
"""Below this all whole numbers are DOUBLEs."""

_AGES = 10_000 * 366 * 86_400_000_000
"""Microseconds in more than the years 1 to 9999, in which times lie."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a join can do itself, and the conditions that are left to a filter."""

    keys: tuple[Key, ...]
    """What must be equal: an expression over the columns of each side."""

    band: Band | None
    rest: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class _Bound:
    """`low <= right - left <= high`, as one condition says it; not `exact` when the condition says more than that."""

    left: str
    right: str
    low: float | None
    high: float | None
    exact: bool
    condition: Expression


def sort_out(conditions: Iterable[Expression], left: Schema, right: Schema) -> Terms:
    """Keys are equalities of something of each side; of the bounds, those on one pair of columns become the band.

    That pair is the first one on which both sides tell the time, or else the first.
    """
    keys: list[Key] = []
    bounds: list[_Bound] = []
    rest: list[Expression] = []
    for condition in conditions:
        pair = _key(condition, left, right)
        bound = _bound(condition, left, right)
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
    """The bound that a condition says; it holds wherever the condition is true."""
    if not isinstance(condition, Call) or condition.function not in _MIRRORED or len(condition.arguments) != 2:
        return None
    one, other = condition.arguments
    sides = _side(one), _side(other)
    if sides[0] is None or sides[1] is None:
        return None
    (plus, c1), (minus, c2) = sides[0], sides[1]
    weights = {name: plus.get(name, 0) - minus.get(name, 0) for name in (*plus, *minus)}
    columns = {name: weight for name, weight in weights.items() if weight}
    a = next((name for name in columns if name in left.names), None)
    b = next((name for name in columns if name in right.names), None)
    if a is None or b is None or len(columns) != 2 or columns[a] != -columns[b] or abs(columns[a]) != 1:
        return None
    types = left.type_of(a), right.type_of(b)
    if all(is_integer(type_) for type_ in types):
        exact = isinstance(one, Column) and isinstance(other, Column)  # sums can overflow, and are then NULL
    elif all(type_ == TIMESTAMP for type_ in types):
        exact = len(weights) == 2 and max(_reach(one), _reach(other)) < 2**63
    else:
        direct = one == Call("-", (Column(b), Column(a))) and isinstance(other, Literal)
        doubles = DOUBLE in types and all(is_integer(type_) or is_fraction(type_) for type_ in types)
        return _fraction(condition, (a, b), c2) if direct and doubles else None
    if columns[b] == 1:
        return _limits(condition, (a, b), condition.function, c2 - c1, exact=exact)
    return _limits(condition, (a, b), _MIRRORED[condition.function], c1 - c2, exact=exact)


def _limits(condition: Expression, pair: tuple[str, str], sign: str, limit: Number, *, exact: bool) -> _Bound:
    """`right - left` compared with a number; over whole numbers and times `<` is `<=` of one less."""
    low = high = None
    if sign in (">", ">=", "="):
        low = math.floor(limit) + 1 if sign == ">" else math.ceil(limit)
    if sign in ("<", "<=", "="):
        high = math.ceil(limit) - 1 if sign == "<" else math.floor(limit)
    return _Bound(*pair, low, high, exact, condition)


def _fraction(condition: Call, pair: tuple[str, str], limit: Number) -> _Bound | None:
    """`right - left` at most, or just, a DOUBLE. Others are no bounds: NaN is greater than all numbers, but at no
    distance.
    """
    if condition.function in (">", ">="):
        return None
    limit = float(limit)
    low = limit if condition.function == "=" else None
    return _Bound(*pair, low, limit, condition.function != "<", condition)


def _side(expression: Expression) -> tuple[dict[str, int], Number] | None:
    """One side of a comparison: a sum of whole numbers or times, or a fraction alone, so that nothing is rounded."""
    if isinstance(expression, Literal) and isinstance(expression.value, Decimal):
        return ({}, Fraction(expression.value)) if abs(expression.value) < _EXACT else None
    if isinstance(expression, Literal) and isinstance(expression.value, float):
        return ({}, expression.value) if abs(expression.value) < _EXACT else None
    return _linear(expression)


def _linear(expression: Expression) -> tuple[dict[str, int], int] | None:
    """A sum of columns, each added or taken off, and a whole number (microseconds for intervals)."""
    match expression:
        case Column(name=name):
            return {name: 1}, 0
        case Literal(value=int(value), type=type_) if not isinstance(value, bool):
            return None if type_ in (TIMESTAMP, DATE) else ({}, value)
        case Call(function="negative", arguments=(of,)):
            return _combined(({}, 0), _linear(of), -1)
        case Call(function="+" | "-" as sign, arguments=(a, b)):
            return _combined(_linear(a), _linear(b), 1 if sign == "+" else -1)
    return None


def _combined(
    a: tuple[dict[str, int], int] | None, b: tuple[dict[str, int], int] | None, sign: int
) -> tuple[dict[str, int], int] | None:
    if a is None or b is None:
        return None
    weights = {name: a[0].get(name, 0) + sign * b[0].get(name, 0) for name in (*a[0], *b[0])}
    return weights, a[1] + sign * b[1]


def _reach(expression: Expression) -> int:
    """A number that a sum of times and lengths of time cannot exceed on the way, whatever their signs."""
    total = 0
    for part in walk(expression):
        if isinstance(part, Column):
            total += _AGES
        elif isinstance(part, Literal) and isinstance(part.value, int):
            total += abs(part.value)
    return total
