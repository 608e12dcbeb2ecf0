"""Numbers in a text as constants, with the types that Spark gives them."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

from tradewind.algebra.expressions.bounds import nearest
from tradewind.algebra.expressions.tree import Call, Cast, Expression, Literal
from tradewind.algebra.types import (
    BIGINT,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_BITS,
    MAX_PRECISION,
    SMALLINT,
    TINYINT,
    DataType,
    decimal,
    fits,
)  # fmt: skip
from tradewind.errors import ExpressionError

_NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?(BD|[DFLSY])?", re.IGNORECASE | re.ASCII)
_DECIMAL = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?", re.ASCII)
_WHOLE = {"L": BIGINT, "S": SMALLINT, "Y": TINYINT}
_LONGEST = 400
_EXACT_DOUBLE = 2**53


def number(text: str, *, minus: bool = False) -> Expression:
    """A number with the type that Spark derives from its text.

    Whole numbers are INT, BIGINT or DECIMAL by size; those with a point DECIMAL; those with an exponent DOUBLE. A
    suffix says the type: Y, S, L (TINYINT, SMALLINT, BIGINT), F (FLOAT), D (DOUBLE), BD (DECIMAL).

    >>> [str(number(text).type) for text in ("5", "3000000000", "9223372036854775808", "1.19", ".50", "1e0", "5BD")]
    ['INT', 'BIGINT', 'DECIMAL(19,0)', 'DECIMAL(3,2)', 'DECIMAL(2,2)', 'DOUBLE', 'DECIMAL(1,0)']
    >>> str(number("9223372036854775808", minus=True).type)
    'BIGINT'
    """
    found = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        raise ExpressionError(f"{text[:80]!r} is not a number.", hint="write 1, 2.5 or 1e20.")
    digits, exponent, suffix = found[1], found[2] or "", (found[3] or "").upper()
    if suffix in _WHOLE or (not suffix and not exponent and digits.isdigit()):
        return _whole(text, digits, exponent, _WHOLE.get(suffix), minus)
    if suffix == "F":
        return _float(digits + exponent, minus)
    if suffix == "D" or (exponent and not suffix):
        value = float(digits + exponent)
        if not math.isfinite(value):
            raise ExpressionError(f"the number {text[:40]} is out of range.", hint="a DOUBLE goes up to 1.8e308.")
        return Literal(-value if minus else value, DOUBLE)
    return _decimal(("-" if minus else "") + digits + exponent)


def _whole(text: str, digits: str, exponent: str, wanted: DataType | None, minus: bool) -> Literal:
    if exponent or not digits.isdigit():
        raise ExpressionError(f"{text[:40]!r} is not a whole number, as its suffix says.", hint="use D, F or BD.")
    value = -int(digits) if minus else int(digits)
    for type_ in (INT, BIGINT) if wanted is None else (wanted,):
        if fits(value, type_):
            return Literal(value, type_)
    if wanted is not None:
        raise ExpressionError(f"the number {text[:40]} is out of range for {wanted}.", hint="use a wider type.")
    return _decimal(str(value))


def _float(text: str, minus: bool) -> Cast:
    """FLOATs have no text of their own: they are written as the DOUBLE that they are equal to."""
    exact = Decimal(text)
    # Beyond these, all numbers are out of range or zero; a fraction of them could have millions of digits.
    value = nearest(Fraction(exact), FLOAT) if -60 < exact.adjusted() < 39 else 0.0 if exact.adjusted() < 0 else None
    if value is None or Fraction(exact) > Fraction(nearest(Fraction(2) ** 128, FLOAT)):
        raise ExpressionError(f"the number {text[:40]}F is out of range.", hint="a FLOAT goes up to 3.4e38.")
    return Cast(Literal(-value if minus else value, DOUBLE), FLOAT)


def _decimal(text: str) -> Literal:
    value = Decimal(text)
    exponent = value.as_tuple().exponent
    type_ = decimal_type(value)
    if type_ is None or not isinstance(exponent, int):
        raise ExpressionError(
            f"the number {text[:60]} has more than {MAX_PRECISION} digits.",
            hint=f"a DECIMAL has at most {MAX_PRECISION}; write it as a DOUBLE: 1.5e0.",
        )
    return Literal(_at_scale(value, type_.parameters[1]), type_)


def decimal_type(value: Decimal) -> DataType | None:
    """The DECIMAL with as many digits as the value is written with; None when there are too many.

    >>> str(decimal_type(Decimal("0.10"))), str(decimal_type(Decimal("1e3"))), decimal_type(Decimal("1e38"))
    ('DECIMAL(2,2)', 'DECIMAL(4,0)', None)
    """
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        return None
    precision, scale = max(len(digits) + max(exponent, 0), -exponent), max(-exponent, 0)
    return decimal(precision, scale) if precision <= MAX_PRECISION else None


def _at_scale(value: Decimal, scale: int) -> Decimal:
    """The same number with so many digits behind the point, which hold it; zero has no sign."""
    sign, digits, exponent = value.as_tuple()
    shift = scale + int(exponent)
    unscaled = int("".join(map(str, digits))) * 10**shift if shift >= 0 else 0
    return Decimal((sign if unscaled else 0, tuple(map(int, str(unscaled))), -scale))


def converted(constant: Literal, target: DataType) -> Literal | None:
    """A number as a constant of another type; None where it would not be the same number, or another way is needed."""
    value = constant.value
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    if isinstance(value, int) and constant.type not in INTEGER_BITS:
        return None
    if target.name == "DECIMAL":
        return _as_decimal(Decimal(value), target)
    if target == DOUBLE and (isinstance(value, Decimal) or abs(value) <= _EXACT_DOUBLE):
        return Literal(float(value), DOUBLE)
    if isinstance(value, int) and target in INTEGER_BITS and fits(value, target):
        return Literal(value, target)
    return None


def _as_decimal(value: Decimal, target: DataType) -> Literal | None:
    own = decimal_type(value)
    if own is None:
        return None
    (precision, scale), (most, places) = own.parameters, target.parameters
    if scale > places or precision - scale > most - places:
        return None
    return Literal(_at_scale(value, places), target)


def decimal_constant(text: str, target: DataType) -> Literal | None:
    """A text of plain digits as a decimal constant, where the type holds all of them."""
    return _as_decimal(Decimal(text), target) if len(text) <= _LONGEST and _DECIMAL.fullmatch(text) else None


def shortest_decimal(constant: Literal) -> Literal:
    """A whole number as the DECIMAL with just its digits, which Spark takes beside other decimals."""
    digits = Decimal(constant.value) if isinstance(constant.value, int) else None
    type_ = None if digits is None else decimal_type(digits)
    return constant if digits is None or type_ is None else Literal(digits, type_)


def negated(constant: Literal) -> Expression:
    """Minus a constant is a constant, unless it is not a number or leaves its type."""
    match constant.value:
        case bool() | None | str() | bytes():
            return Call("negative", (constant,))
        case int(value) if constant.type in INTEGER_BITS and not fits(-value, constant.type):
            return Call("negative", (constant,))
        case Decimal() as value:
            # Python's minus would round to its context's digits, and zero has no sign.
            return Literal(value.copy_negate() if value else value, constant.type)
        case value:
            return Literal(-value, constant.type)
