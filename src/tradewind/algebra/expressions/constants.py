"""Numbers in a text as constants of a type."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from tradewind.algebra.expressions.tree import Call, Expression, Literal
from tradewind.algebra.types import BIGINT, DOUBLE, INT, INTEGER_BITS, DataType, decimal, fits
from tradewind.errors import ExpressionError

_NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DECIMAL = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?", re.ASCII)
_LONGEST = 400


def number(text: str, *, minus: bool = False) -> Literal:
    """A number as Spark SQL would write it: whole ones INT or BIGINT by size, the rest DOUBLE.

    >>> number("5").type.name, number("3000000000").type.name, number("9223372036854775808", minus=True).type.name
    ('INT', 'BIGINT', 'BIGINT')
    """
    sign = _checked(text, minus)
    if not text.isdigit():
        value = sign * float(text)
        if not math.isfinite(value):
            raise ExpressionError(f"the number {text[:40]} is out of range.", hint="a DOUBLE goes up to 1.8e308.")
        return Literal(value, DOUBLE)
    for type_ in (INT, BIGINT):
        if fits(sign * int(text), type_):
            return Literal(sign * int(text), type_)
    raise ExpressionError(f"the number {text[:40]} is out of range.", hint="write it as a DOUBLE: 1e20.")


def typed_number(text: str, target: DataType, *, minus: bool = False) -> Literal | None:
    """`5L`, `2.0D`, `1.5BD` and plain casts of numbers are constants of their type; None where they do not fit it."""
    sign = _checked(text, minus)
    if target in INTEGER_BITS and text.isdigit() and fits(sign * int(text), target):
        return Literal(sign * int(text), target)
    if target == DOUBLE and math.isfinite(float(text)):
        return Literal(sign * float(text), DOUBLE)
    return decimal_literal(sign * Decimal(text), target) if target.name == "DECIMAL" else None


def _checked(text: str, minus: bool) -> int:
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
        raise ExpressionError(f"{text[:80]!r} is not a number.", hint="write 1, 2.5 or 1e20.")
    return -1 if minus else 1


def decimal_constant(text: str, target: DataType) -> Literal | None:
    """A text of plain digits as a decimal constant."""
    return decimal_literal(Decimal(text), target) if len(text) <= _LONGEST and _DECIMAL.fullmatch(text) else None


def decimal_literal(value: Decimal, target: DataType) -> Literal | None:
    """The constant at its own number of digits, when these are what the type has or the type is the default one."""
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or exponent > 0:
        return None
    scale = -exponent
    own = decimal(max(len(digits), scale, 1), scale)
    return Literal(value, own) if target in (own, decimal(10, 0)) and (scale or target == own) else None


def negated(constant: Literal) -> Expression:
    """Minus a constant is a constant, unless it is not a number or leaves its type."""
    match constant.value:
        case bool() | None | str() | bytes():
            return Call("negative", (constant,))
        case int(value) if constant.type in INTEGER_BITS and not fits(-value, constant.type):
            return Call("negative", (constant,))
        case value:
            return Literal(-value, constant.type)
