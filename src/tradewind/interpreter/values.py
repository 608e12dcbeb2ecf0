"""How values look in Python, and the limits of their types.

BOOLEAN is bool, whole numbers int, FLOAT and DOUBLE float (a FLOAT is already rounded to 32 bits), DECIMAL
Decimal, STRING str, BINARY bytes, DATE days and TIMESTAMP microseconds since 1970 in UTC, INTERVAL microseconds,
ARRAY and STRUCT tuples, and NULL of any type None.
"""

from __future__ import annotations

import math
import struct
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from tradewind.algebra.types import INTEGER_BITS, DataType

Value = Any
"""A value; what it is, is said by the DataType that goes with it, which Python's types cannot express."""

EXACT = Context(prec=1000, Emin=-999_999, Emax=999_999)
"""Decimal arithmetic wide enough that no number of ours, a DOUBLE written out included, is ever cut."""


def within(value: int, bits: int) -> int | None:
    """The whole number if a signed integer of so many bits can hold it, else None."""
    return value if -(1 << (bits - 1)) <= value < 1 << (bits - 1) else None


def whole(value: int, type_: DataType) -> int | None:
    """The whole number if the integer type can hold it, else None."""
    return within(value, INTEGER_BITS[type_])


def single(value: float) -> float:
    """The nearest number that 32 bits can hold; beyond their range, infinity."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def single_of(exact: Decimal) -> float:
    """The nearest 32-bit number to an exact one.

    >>> single_of(Decimal("16777217.0000000001")), single(float(Decimal("16777217.0000000001")))
    (16777218.0, 16777216.0)
    """
    double = float(exact)
    if math.isfinite(double) and (near := Decimal(double)) != exact:
        # Rounding twice errs on ties. Cutting to an odd last bit in between is known not to.
        if abs(near) > abs(exact):
            double = math.nextafter(double, 0.0)
        bits = struct.unpack("<q", struct.pack("<d", double))[0] | 1
        double = math.copysign(struct.unpack("<d", struct.pack("<q", bits))[0], exact)
    return single(double)


def fixed(value: Decimal, type_: DataType) -> Decimal | None:
    """The number at the decimal type's scale, halves away from zero, or None when it has too many digits."""
    precision, scale = type_.parameters
    if value and value.adjusted() > precision - scale:
        return None
    rounded = value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, EXACT)
    # A Java BigDecimal knows no negative zero.
    rounded = rounded or rounded.copy_abs()
    return rounded if rounded.copy_abs() < Decimal(10) ** (precision - scale) else None
