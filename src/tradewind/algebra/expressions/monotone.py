"""Which expressions grow (or fall) with one column, and what a bound on such an expression says about the column.

The bounds are exact for whole numbers and times. For FLOAT and DOUBLE they lie at most one representable number
outside (a billionth for exp, logarithms and powers), so that no row is lost that the original condition keeps: not at
NaN, which is above all numbers, not at infinities, and not at NULL. Overflow gives NULL, which satisfies nothing.
"""

from __future__ import annotations

import math

from tradewind.algebra.expressions.bounds import bound_of, literal_of
from tradewind.algebra.expressions.inverses import STEPS, Given, Step, cast_back
from tradewind.algebra.expressions.tree import Call, Cast, Column, Expression, Field, Literal
from tradewind.algebra.expressions.typing import type_of
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DOUBLE, FLOAT, is_fraction


def direction(expression: Expression, column: str, schema: Schema) -> int | None:
    """+1 when a greater value of the column never gives a smaller one of the expression, -1 when never a greater one.

    NULL and NaN are left aside. None when it cannot be told.

    >>> from tradewind.algebra.expressions.typing import parse_expression
    >>> from tradewind.algebra.schema import parse_schema
    >>> rows = parse_schema("a INT, ts TIMESTAMP")
    >>> direction(parse_expression("10 - a * 2", rows), "a", rows)
    -1
    """
    sign = 1
    while expression != Column(column):
        step = _step(expression, schema)
        if step is None:
            return None
        expression, sign = step.inner, sign * step.sign
    return sign


def preimage(
    expression: Expression, op: str, constant: Literal, schema: Schema
) -> tuple[Expression, str, Literal] | None:
    """A bound on one column (or field) that holds wherever `expression op constant` is true: the column, op, constant.

    >>> from tradewind.algebra.expressions.typing import parse_expression
    >>> from tradewind.algebra.schema import parse_schema
    >>> from tradewind.algebra.types import INT
    >>> rows = parse_schema("a INT")
    >>> column, op, constant = preimage(parse_expression("10 - a * 2", rows), "<", Literal(3, INT), rows)
    >>> column.name, op, constant.value
    ('a', '>=', 4)
    """
    bound = bound_of(op, constant)
    current = expression
    while bound is not None and not _plain(current, schema):
        step = _step(current, schema)
        if step is None:
            return None
        if step.sign < 0 and not bound.high and is_fraction(type_of(step.inner, schema)):
            return None  # NaN goes to NaN, which is above any bound: an upper bound on the column would lose its rows
        current, bound = step.inner, step.back(bound)
    if bound is None or current == expression:
        return None
    if type_of(current, schema) == FLOAT:  # constants are written as DOUBLE, which holds every FLOAT
        current = Cast(current, DOUBLE)
    said = literal_of(bound, type_of(current, schema))
    return None if said is None else (current, *said)


def _plain(expression: Expression, schema: Schema) -> bool:
    if isinstance(expression, Field):
        return _plain(expression.of, schema)
    return isinstance(expression, Column) or (
        isinstance(expression, Cast) and isinstance(expression.of, Column) and type_of(expression.of, schema) == FLOAT
    )


def _step(expression: Expression, schema: Schema) -> Step | None:
    if isinstance(expression, Cast):
        found = cast_back(type_of(expression.of, schema), expression.type)
        return None if found is None else Step(expression.of, 1, found)
    if not isinstance(expression, Call):
        return None
    constants = [a for a in expression.arguments if isinstance(a, Literal)]
    others = [a for a in expression.arguments if not isinstance(a, Literal)]
    if len(others) != 1 or any(c.value is None or not _finite(c) for c in constants):
        return None
    result, name = type_of(expression, schema), expression.function
    given = Given(
        others[0], constants, isinstance(expression.arguments[0], Literal), type_of(others[0], schema), result
    )
    return STEPS[name](given) if name in STEPS else None


def _finite(constant: Literal) -> bool:
    return not isinstance(constant.value, float) or math.isfinite(constant.value)
