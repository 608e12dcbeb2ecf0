"""The share of rows that a condition keeps, from the number of values of its columns and a few rules.

| condition | share |
|---|---|
| `a = constant` | 1 / values of a |
| `a = b` | 1 / the larger number of values |
| `a IN (…)` | constants / values of a |
| `a < constant` and the like | `RANGE`, 1/3; both ends bound: 1/9 by the rule for AND |
| `pmod(x, n) < m`, `pmod(x, n) = m` | m / n, 1 / n: how samples are drawn and keys are dealt out |
| `LIKE`, `startswith`, `endswith`, `contains`, `array_contains` | `PATTERN`, 1/10 |
| `a IS NULL` | `MISSING`, 1/100 |
| a BOOLEAN column, anything else | `OTHER`, 1/2 |
| `NOT p`, `p AND q`, `p OR q` | 1 - p, p · q, 1 - (1 - p)(1 - q): as if they were independent |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

from tradewind.algebra.expressions.tree import Call, Case, Cast, Column, Expression, Literal, children

RANGE = 1 / 3
PATTERN = 0.1
MISSING = 0.01
OTHER = 0.5
MANY = 1e6
"""A column in which every row has its own value counts as one with so many."""
_RANGES = ("<", "<=", ">", ">=")
_PATTERNS = ("like", "startswith", "endswith", "contains", "array_contains")

Counts = Callable[[Expression], float]
"""How many values an expression has; infinite where every row has its own."""


def share(condition: Expression, values: Counts) -> float:
    """The share of rows for which the condition is true."""
    return min(1.0, max(0.0, _share(condition, values)))


def _share(condition: Expression, values: Counts) -> float:
    match condition:
        case Literal(value=value):
            return 1.0 if value is True else 0.0
        case Case(branches=branches, otherwise=otherwise):
            return _chosen(branches, otherwise, values)
        case Call(function=function, arguments=arguments):
            return _call(function, arguments, values)
    return OTHER


def _chosen(branches: tuple[tuple[Expression, Expression], ...], otherwise: Expression, values: Counts) -> float:
    kept, left = 0.0, 1.0
    for when, then in branches:
        met = left * share(when, values)
        kept, left = kept + met * share(then, values), left - met
    return kept + left * share(otherwise, values)


def _call(function: str, arguments: tuple[Expression, ...], values: Counts) -> float:
    if function == "not":
        return 1 - share(arguments[0], values)
    if function == "and":
        return math.prod(share(part, values) for part in arguments)
    if function == "or":
        return 1 - math.prod(1 - share(part, values) for part in arguments)
    if function in ("=", "<=>", "<>"):
        same = _equal(arguments[0], arguments[1], values)
        return 1 - same if function == "<>" else same
    if function == "in":
        return min(1.0, (len(arguments) - 1) / min(MANY, max(1.0, values(arguments[0]))))
    if function in _RANGES:
        return _range(function, arguments, values)
    if function in ("isnull", "isnotnull"):
        return MISSING if function == "isnull" else 1 - MISSING
    return PATTERN if function in _PATTERNS else OTHER


def _equal(left: Expression, right: Expression, values: Counts) -> float:
    if isinstance(left, Literal) and isinstance(right, Literal):
        return 1.0 if left == right else 0.0
    counts = [values(side) for side in (left, right) if not isinstance(side, Literal)]
    return 1 / min(MANY, max(1.0, *counts))


def _range(function: str, arguments: tuple[Expression, ...], values: Counts) -> float:
    left, right = (_plain(side) for side in arguments)
    if isinstance(left, Call) and left.function == "pmod" and isinstance(right, Literal):
        parts, limit = _number(left.arguments[1]), _number(right)
        if parts and limit is not None:
            below = (limit + (1 if function == "<=" else 0)) / parts
            return below if function in ("<", "<=") else 1 - (limit + (1 if function == ">" else 0)) / parts
    if isinstance(left, Literal) and isinstance(right, Literal):
        return OTHER
    return RANGE


def _plain(expression: Expression) -> Expression:
    """Without the conversions around it."""
    while isinstance(expression, Cast):
        expression = expression.of
    return expression


def _number(expression: Expression) -> float | None:
    value = expression.value if isinstance(expression, Literal) else None
    return float(value) if isinstance(value, int | float | Decimal) else None


_FEW = {
    "hour": 24, "minute": 60, "second": 60, "month": 12, "day": 31, "dayofweek": 7, "dayofyear": 366, "quarter": 4,
    "year": 10, "sign": 3,
}  # fmt: skip
_TRUTHS = ("=", "<>", "<=>", "and", "or", "not", "in", "isnull", "isnotnull", "isnan", *_RANGES, *_PATTERNS)


def count_values(expression: Expression, of_column: Callable[[str], float]) -> float:
    """How many values an expression has at most: a function has no more than its arguments together."""
    match expression:
        case Literal():
            return 1.0
        case Column(name=name):
            return of_column(name)
        case Case(branches=branches, otherwise=otherwise):
            return sum(count_values(then, of_column) for _, then in branches) + count_values(otherwise, of_column)
        case Call(function=function, arguments=arguments) if function in ("%", "pmod"):
            limit = _number(arguments[1])
            most = abs(limit) if limit else math.inf
            return min(most, math.prod(count_values(part, of_column) for part in arguments))
        case Call(function=function) if function in _TRUTHS:
            return 2.0
        case Call(function=function) if function in _FEW:
            return float(_FEW[function])
    return math.prod((count_values(part, of_column) for part in children(expression)), start=1.0)
