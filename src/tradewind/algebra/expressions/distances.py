"""What a condition says of how far apart two columns are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from tradewind.algebra.expressions.tree import Call, Column, Expression, Literal, walk
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DATE, DOUBLE, TIMESTAMP, is_fraction, is_integer

Number = int | float | Fraction
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_EXACT = 2**53
"""Below this all whole numbers are DOUBLEs."""

AGES = 10_000 * 366 * 86_400_000_000
"""Microseconds in more than the years 1 to 9999, in which times lie."""


@dataclass(frozen=True, slots=True)
class Distance:
    """`low <= right - left <= high`, as one condition says it; not `exact` when the condition says more than that."""

    left: str
    right: str
    low: float | None
    high: float | None
    exact: bool
    condition: Expression


def distance_of(condition: Expression, left: Schema, right: Schema) -> Distance | None:
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


def _limits(condition: Expression, pair: tuple[str, str], sign: str, limit: Number, *, exact: bool) -> Distance:
    """`right - left` compared with a number; over whole numbers and times `<` is `<=` of one less."""
    low = high = None
    if sign in (">", ">=", "="):
        low = math.floor(limit) + 1 if sign == ">" else math.ceil(limit)
    if sign in ("<", "<=", "="):
        high = math.ceil(limit) - 1 if sign == "<" else math.floor(limit)
    return Distance(*pair, low, high, exact, condition)


def _fraction(condition: Call, pair: tuple[str, str], limit: Number) -> Distance | None:
    """`right - left` at most, or just, a DOUBLE. Others are no bounds: NaN is greater than all numbers, but at no
    distance.
    """
    if condition.function in (">", ">="):
        return None
    limit = float(limit)
    low = limit if condition.function == "=" else None
    return Distance(*pair, low, limit, condition.function != "<", condition)


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
            total += AGES
        elif isinstance(part, Literal) and isinstance(part.value, int):
            total += abs(part.value)
    return total
