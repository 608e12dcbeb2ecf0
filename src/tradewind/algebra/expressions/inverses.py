"""How each function that grows or falls with its argument is undone: a bound on its result bounds its argument."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from tradewind.algebra.expressions.bounds import (
    DAY,
    Bound,
    before_ceiling,
    before_cutting,
    before_floor,
    before_function,
    before_rounding,
    snapped,
    whole_bound,
)  # fmt: skip
from tradewind.algebra.expressions.clock import UNIT_MICROS
from tradewind.algebra.expressions.tree import Expression, Literal
from tradewind.algebra.types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    MAX_PRECISION,
    MICROS,
    TIMESTAMP,
    DataType,
    is_fraction,
    is_integer,
)

Back = Callable[[Bound], Bound | None]
Undo = Callable[["Given"], "Step | None"]
_EPOCH = dt.date(1970, 1, 1).toordinal()
_TOP = 2**63 - 1
_MONDAY = 4 * DAY
_TICKS = {"seconds": MICROS, "millis": 1_000, "micros": 1}


@dataclass(frozen=True, slots=True)
class Step:
    """One function undone: what it is applied to, whether it grows (+1) or falls (-1), and how a bound goes back."""

    inner: Expression
    sign: int
    back: Back


@dataclass(frozen=True, slots=True)
class Given:
    """A function's one varying argument, its constants, and whether a constant comes first."""

    inner: Expression
    constants: list[Literal]
    constant_first: bool
    type: DataType
    result: DataType

    @property
    def number(self) -> Fraction | None:
        """The one constant as a number."""
        value = self.constants[0].value if len(self.constants) == 1 else None
        return Fraction(value) if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else None

    def growing(self, back: Back) -> Step:
        """A function that grows."""
        return Step(self.inner, 1, back)

    def linear(self, factor: Fraction, shift: Fraction, *, quotient: bool = False) -> Step:
        """`inner * factor + shift`, rounded to the result's type."""
        # Only where the digits were cut to what fits is a sum or a product of decimals rounded.
        exactly = not quotient and self.result.name == "DECIMAL" and self.result.parameters[0] < MAX_PRECISION

        def back(bound: Bound) -> Bound | None:
            exact = bound if exactly else before_rounding(bound, self.result)
            return None if exact is None else exact.moved(exact.at - shift).scaled(1 / factor)

        return Step(self.inner, 1 if factor > 0 else -1, back)


def _add(given: Given) -> Step | None:
    return None if given.number is None else given.linear(Fraction(1), given.number)


def _subtract(given: Given) -> Step | None:
    if given.number is None:
        return None
    return (
        given.linear(Fraction(-1), given.number) if given.constant_first else given.linear(Fraction(1), -given.number)
    )


def _multiply(given: Given) -> Step | None:
    return given.linear(given.number, Fraction(0)) if given.number else None


def _divide(given: Given) -> Step | None:
    if not given.number or given.constant_first:
        return None
    return given.linear(1 / given.number, Fraction(0), quotient=True)


def _negate(given: Given) -> Step | None:
    return given.linear(Fraction(-1), Fraction(0))


def _div(given: Given) -> Step | None:
    factor = given.number
    if not factor or given.constant_first or given.type.name == "DECIMAL":
        return None

    def back(bound: Bound) -> Bound | None:
        quotient: Bound | None = before_cutting(bound)
        if is_fraction(given.type) and quotient is not None:
            quotient = before_rounding(quotient, given.type)
        return None if quotient is None else quotient.scaled(factor)

    return Step(given.inner, 1 if factor > 0 else -1, back)


def _floor(given: Given) -> Step | None:
    return None if given.type.name == "DECIMAL" else given.growing(before_floor)


def _ceiling(given: Given) -> Step | None:
    return None if given.type.name == "DECIMAL" else given.growing(before_ceiling)


def _round(given: Given) -> Step | None:
    places = given.number if given.constants else Fraction(0)
    if places is None or given.constant_first or abs(places) > 30:
        return None
    half = Fraction(1, 2) / Fraction(10) ** int(places)

    def back(bound: Bound) -> Bound:
        # Doubles are rounded by their decimal digits, which stand for them to within a few of their last bits.
        room = half + (abs(bound.at) + half) * Fraction(1, 2**40 if is_fraction(given.type) else 10**40)
        return Bound(bound.high, bound.at + (room if bound.high else -room))

    return given.growing(back)


def _root(given: Given) -> Step | None:
    def back(bound: Bound) -> Bound | None:
        # The root of a number below zero is NaN, which is above any bound.
        exact = before_rounding(bound, DOUBLE)
        return exact.moved(exact.at**2) if exact is not None and exact.high and exact.at > 0 else None

    return given.growing(back)


def _exponential(given: Given) -> Step | None:
    def back(bound: Bound) -> Bound | None:
        if not Fraction(1, 10**290) < bound.at < 10**290:
            return None
        found = before_function(bound, math.log)
        return None if found is None else found.moved(found.at + (1 if bound.high else -1) * Fraction(1, 10**9))

    return given.growing(back)


def _logarithm(base: float) -> Undo:
    def step(given: Given) -> Step | None:
        return given.growing(
            lambda bound: before_function(bound, lambda v: math.pow(base, v)) if abs(bound.at) < 280 else None
        )

    return step


def _power(given: Given) -> Step | None:
    power = given.number
    if power is None or given.constant_first or not Fraction(1, 100) <= power <= 1000:
        return None
    odd = power.denominator == 1 and power.numerator % 2 == 1

    def root(value: float) -> float:
        return math.copysign(math.pow(abs(value), 1 / float(power)), value)

    def back(bound: Bound) -> Bound | None:
        # Powers that are not odd give the same for x and -x, or NaN: only a bound from above says something about x.
        if not (odd or (bound.high and bound.at >= 0)) or abs(bound.at) > 10**290:
            return None
        # What lies below the smallest doubles counts as zero.
        outward = Fraction(1, 10**280) * (1 if bound.high else -1)
        return before_function(bound.moved(bound.at + outward), root)

    return given.growing(back) if odd else Step(given.inner, 1, back)


def _truncate(given: Given) -> Step | None:
    unit = str(given.constants[0].value).lower()
    if not given.constant_first or unit not in UNIT_MICROS:
        return None
    length, offset = UNIT_MICROS[unit], _MONDAY if unit == "week" else 0
    regular = unit not in ("month", "quarter", "year")

    def back(bound: Bound) -> Bound:
        end = whole_bound(bound)
        if not regular:
            return Bound(True, end.at + length, strict=True) if end.high else end
        # The last (or first) unit that lies wholly within the bound.
        first = (int(end.at) - (0 if end.high else 1) - offset) // length + 1
        return Bound(end.high, Fraction(first * length + offset), strict=end.high)

    return given.growing(back)


def _ticks(unit: int) -> Undo:
    """Whole units since 1970, of a time."""
    return lambda given: given.growing(lambda bound: before_floor(bound).scaled(Fraction(unit)))


def _of_ticks(unit: int) -> Undo:
    """A time from whole units since 1970."""
    return lambda given: given.linear(Fraction(unit), Fraction(0))


def _date_shift(sign: int) -> Undo:
    def step(given: Given) -> Step | None:
        if given.number is None or given.type != DATE:
            return None
        return given.linear(Fraction(1), sign * given.number)

    return step


def _year(given: Given) -> Step | None:
    def back(bound: Bound) -> Bound | None:
        end = whole_bound(bound)
        year = int(end.at) + (1 if end.high else 0)
        if not 1 <= year <= 9999:
            return None
        return Bound(end.high, Fraction(dt.date(year, 1, 1).toordinal() - _EPOCH), strict=end.high)

    return given.growing(back)


def _choice(*, greatest: bool) -> Undo:
    """Where every constant alone fails the bound, the column must satisfy it. Else NULL may do: it is passed over."""

    def step(given: Given) -> Step | None:
        values = [c.value for c in given.constants if isinstance(c.value, int | float | Decimal)]
        if len(values) < len(given.constants):
            return None
        return given.growing(
            lambda bound: (
                bound if bound.high != greatest and not any(bound.holds(Fraction(value)) for value in values) else None
            )
        )

    return step


STEPS: dict[str, Undo] = {
    "+": _add, "-": _subtract, "datediff": _subtract, "*": _multiply, "/": _divide, "negative": _negate, "div": _div,
    "floor": _floor, "ceil": _ceiling, "round": _round, "sqrt": _root, "exp": _exponential, "pow": _power,
    "ln": _logarithm(math.e), "log10": _logarithm(10.0), "log2": _logarithm(2.0), "date_trunc": _truncate,
    "year": _year,
    "date_add": _date_shift(1), "date_sub": _date_shift(-1),
    "greatest": _choice(greatest=True), "least": _choice(greatest=False),
    **{f"unix_{name}": _ticks(unit) for name, unit in _TICKS.items()},
    **{f"timestamp_{name}": _of_ticks(unit) for name, unit in _TICKS.items()},
}  # fmt: skip
"""By the name of the function; None where these arguments do not make it monotone."""


def cast_back(source: DataType, target: DataType) -> Back | None:
    """How a bound on a converted value goes back; None for conversions that do not keep the order."""
    if is_integer(target):
        if is_integer(source):
            return snapped
        if source == TIMESTAMP:
            return lambda bound: before_floor(bound).scaled(Fraction(MICROS))
        return (lambda bound: _cut(bound, target)) if is_fraction(source) else None
    if is_fraction(target):
        if source == TIMESTAMP:
            return lambda bound: _from_seconds(bound, target)
        return (lambda bound: before_rounding(bound, target)) if is_integer(source) or is_fraction(source) else None
    if target.name == "DECIMAL":
        return _as_decimal(source, target)
    if target == DATE and source == TIMESTAMP:
        return lambda bound: before_floor(bound).scaled(Fraction(DAY))
    if target != TIMESTAMP:
        return None
    if is_fraction(source):
        return lambda bound: _scaled(before_rounding(before_cutting(bound), DOUBLE), Fraction(1, MICROS))
    unit = DAY if source == DATE else MICROS if is_integer(source) else None
    return None if unit is None else lambda bound: snapped(bound).scaled(Fraction(1, unit))


def _as_decimal(source: DataType, target: DataType) -> Back | None:
    """Numbers become decimals of more digits as they are, and others by rounding, or NULL where they do not fit."""
    if is_integer(source):
        return snapped
    if source.name != "DECIMAL":
        return None
    rounded = source.parameters[1] > target.parameters[1]
    return lambda bound: before_rounding(bound, target) if rounded else bound


def _cut(bound: Bound, target: DataType) -> Bound | None:
    # Spark converts 2.0**63, which is out of range, to the highest BIGINT.
    return None if target == BIGINT and bound.high and whole_bound(bound).at >= _TOP else before_cutting(bound)


def _scaled(bound: Bound | None, factor: Fraction) -> Bound | None:
    return None if bound is None else bound.scaled(factor)


def _from_seconds(bound: Bound, target: DataType) -> Bound | None:
    """A time becomes a DOUBLE, is divided to seconds, and perhaps rounded again to a FLOAT."""
    seconds = before_rounding(bound, target)
    if seconds is not None and target == FLOAT:
        seconds = before_rounding(seconds, DOUBLE)
    micros = _scaled(seconds, Fraction(MICROS))
    return None if micros is None else before_rounding(micros, DOUBLE)
