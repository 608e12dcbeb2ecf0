"""Bounds on values, in exact arithmetic: how they follow a value back through rounding and cutting."""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from tradewind.algebra.expressions.tree import Literal
from tradewind.algebra.times import HIGHEST, LOWEST
from tradewind.algebra.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INTERVAL,
    TIMESTAMP,
    DataType,
    fits,
    is_fraction,
    is_integer,
    is_numeric,
)

DAY = 86_400_000_000
_DATES = (LOWEST // DAY, HIGHEST // DAY)
_MOST = {DOUBLE: Fraction(2) ** 1024, FLOAT: Fraction(2) ** 128}
"""Where rounding to a type gives infinity, from below: no finite value comes from so far out."""


@dataclass(frozen=True, slots=True)
class Bound:
    """`value < b` or `value <= b` (high), `value > b` or `value >= b` (not high). NaN is above every low bound."""

    high: bool
    at: Fraction
    strict: bool = False

    def moved(self, at: Fraction) -> Bound:
        """The same kind of bound elsewhere."""
        return replace(self, at=at)

    def scaled(self, factor: Fraction) -> Bound:
        """The bound times a number; below zero, high becomes low."""
        return Bound(self.high == (factor > 0), self.at * factor, self.strict)

    def holds(self, value: Fraction) -> bool:
        """Whether a number satisfies the bound."""
        if value == self.at:
            return not self.strict
        return (value < self.at) == self.high

    @property
    def op(self) -> str:
        """The comparison, as an operator's symbol."""
        return ("<" if self.high else ">") + ("" if self.strict else "=")


def bound_of(op: str, constant: Literal) -> Bound | None:
    """The bound that a comparison with a constant sets; None for what is no number or time, or not finite."""
    value, type_ = constant.value, constant.type
    known = is_numeric(type_) or type_ in (TIMESTAMP, DATE, INTERVAL)
    if (
        not known
        or not isinstance(value, int | float | Decimal)
        or not math.isfinite(value)
        or op[:1] not in "<>"
        or op == "<>"
    ):
        return None
    return Bound(op[0] == "<", Fraction(value), len(op) == 1) if op in ("<", "<=", ">", ">=") else None


def whole_bound(bound: Bound) -> Bound:
    """The bound for a value that is a whole number, with the bound itself allowed."""
    if bound.at.denominator == 1:
        step = (-1 if bound.high else 1) if bound.strict else 0
        return Bound(bound.high, bound.at + step)
    return Bound(bound.high, Fraction(math.floor(bound.at) if bound.high else math.ceil(bound.at)))


def snapped(bound: Bound) -> Bound:
    """The bound for a value that is a whole number, at a whole number."""
    return bound if bound.at.denominator == 1 else whole_bound(bound)


def before_rounding(bound: Bound, type_: DataType) -> Bound | None:
    """What an exact number must satisfy, given that its rounding to the type satisfies the bound.

    Rounding never changes the order of two numbers, and leaves those that the type can hold as they are. So a result
    below a number of the type comes from below it, and one up to it from below the next.
    """
    if type_.name == "DECIMAL":
        # What is rounded to the digits that fit is less than one of its last digits away.
        room = Fraction(1, 10 ** type_.parameters[1])
        return Bound(bound.high, bound.at + (room if bound.high else -room))
    if not is_fraction(type_):
        return snapped(bound)
    near = _representable(bound, type_)
    if near is None or near.strict:
        return near
    following = neighbour(float(near.at), type_, up=bound.high)
    return Bound(
        bound.high, following if following is not None else _MOST[type_] * (1 if bound.high else -1), strict=True
    )


def _representable(bound: Bound, type_: DataType) -> Bound | None:
    """The same bound at a number that the type can hold; None when all its finite numbers lie on one side."""
    if abs(bound.at) >= _MOST[type_]:
        return None
    near = Fraction(nearest(bound.at, type_))
    if near == bound.at:
        return bound
    if (near > bound.at) == bound.high:
        found = neighbour(float(near), type_, up=not bound.high)
        return None if found is None else Bound(bound.high, found)
    return Bound(bound.high, near)


def nearest(number: Fraction, type_: DataType) -> float:
    """The FLOAT or DOUBLE nearest to a number; the largest one beyond all of them."""
    largest = sys.float_info.max if type_ == DOUBLE else float(_MOST[FLOAT] - 2**104)
    if abs(number) >= Fraction(largest):
        return largest if number > 0 else -largest
    value = float(number)
    if type_ == DOUBLE:
        return value
    if Fraction(value) != number:
        # Rounding twice errs on ties. Cutting to an odd last bit in between is known not to.
        cut = math.nextafter(value, 0.0) if abs(Fraction(value)) > abs(number) else value
        value = float(struct.unpack("<d", struct.pack("<q", struct.unpack("<q", struct.pack("<d", cut))[0] | 1))[0])
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def neighbour(value: float, type_: DataType, *, up: bool) -> Fraction | None:
    """The next number of the type; None where there is none that is finite."""
    if type_ == DOUBLE:
        found = math.nextafter(value, math.inf if up else -math.inf)
    elif value == 0:
        found = math.ldexp(1.0 if up else -1.0, -149)
    else:
        bits = struct.unpack("<i", struct.pack("<f", abs(value)))[0] + (1 if (value > 0) == up else -1)
        found = math.copysign(struct.unpack("<f", struct.pack("<i", bits))[0], value)
    return Fraction(found) if math.isfinite(found) else None


def before_cutting(bound: Bound) -> Bound:
    """What a number must satisfy, given that its whole part (towards zero) satisfies the bound."""
    end = whole_bound(bound)
    if end.high:
        return Bound(True, end.at + 1, strict=True) if end.at >= 0 else end
    return Bound(False, end.at - 1, strict=True) if end.at <= 0 else end


def before_floor(bound: Bound) -> Bound:
    """What a number must satisfy, given that the greatest whole number not above it satisfies the bound."""
    end = whole_bound(bound)
    return Bound(True, end.at + 1, strict=True) if end.high else end


def before_ceiling(bound: Bound) -> Bound:
    """What a number must satisfy, given that the least whole number not below it satisfies the bound."""
    return before_floor(bound.scaled(Fraction(-1))).scaled(Fraction(-1))


def before_function(bound: Bound, inverse: Callable[[float], float], share: float = 1e-9) -> Bound | None:
    """What a number must satisfy, given that a growing function of it does; `inverse` undoes the function nearly.

    Logarithms and powers differ in their last digits between engines: the bound is moved outward by far more than that.
    """
    try:
        value = inverse(float(bound.at))
    except (ArithmeticError, ValueError):
        return None
    if not math.isfinite(value):
        return None
    room = abs(Fraction(value)) * Fraction(share) + Fraction(1, 10**300)
    return Bound(bound.high, Fraction(value) + (room if bound.high else -room))


def literal_of(bound: Bound, type_: DataType) -> tuple[str, Literal] | None:
    """The comparison that says the bound of a value of the type; None when the type has no constant near it."""
    if type_ == DOUBLE:
        near = _representable(bound, DOUBLE)
        return None if near is None else (near.op, Literal(float(near.at) + 0.0, DOUBLE))
    if type_.name == "DECIMAL":
        return _decimal_of(bound, type_)
    exact = snapped(bound)
    at = int(exact.at)
    if is_integer(type_):
        allowed = fits(at, type_)
    else:
        low, high = _DATES if type_ == DATE else (LOWEST, HIGHEST)
        allowed = type_ in (DATE, TIMESTAMP) and low <= at <= high
    return (exact.op, Literal(at, type_)) if allowed else None


def _decimal_of(bound: Bound, type_: DataType) -> tuple[str, Literal] | None:
    precision, scale = type_.parameters
    exact = snapped(bound.moved(bound.at * 10**scale))
    digits = tuple(map(int, str(abs(int(exact.at)))))
    value = Decimal((1 if exact.at < 0 else 0, digits, -scale))
    return (exact.op, Literal(value, type_)) if len(digits) <= precision else None
