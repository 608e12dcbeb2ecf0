"""What the functions on numbers and the arithmetic operators do. Overflow and division by zero give None."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal

from tradewind.algebra.types import DOUBLE, FLOAT, INTEGER_BITS, MAX_PRECISION, DataType, is_integer
from tradewind.interpreter.number_text import digits_of
from tradewind.interpreter.values import EXACT, Value, fixed, single, whole, within

Types = tuple[DataType, ...]

MOST_QUOTIENT = 1e38
"""Spark can tell the rest of a division of decimals whose quotient is below."""

_PLACES = 400
"""No DOUBLE has a digit so many places before or after the point."""


def _fit(value: Value, type_: DataType) -> Value:
    """A result of exact or IEEE arithmetic as a value of its type; times and intervals are 64-bit whole numbers."""
    if type_ == DOUBLE:
        return value
    if type_ == FLOAT:
        return single(value)
    if type_.name == "DECIMAL":
        return fixed(value, type_)
    return within(value, INTEGER_BITS.get(type_, 64))


def _add(_: Types, result: DataType, left: Value, right: Value) -> Value:
    return _fit(EXACT.add(left, right) if isinstance(left, Decimal) else left + right, result)


def _subtract(_: Types, result: DataType, left: Value, right: Value) -> Value:
    return _fit(EXACT.subtract(left, right) if isinstance(left, Decimal) else left - right, result)


def _multiply(_: Types, result: DataType, left: Value, right: Value) -> Value:
    return _fit(EXACT.multiply(left, right) if isinstance(left, Decimal) else left * right, result)


def _divide(_: Types, result: DataType, left: Value, right: Value) -> Value:
    if right == 0:
        return None
    if isinstance(left, Decimal):
        return fixed(EXACT.divide(left, right), result)
    return _fit(left / right, result)


def _rest(left: Value, right: Value) -> Value:
    """What a division leaves over, with the sign of the dividend, as in Java."""
    if isinstance(left, Decimal):
        return EXACT.remainder(left, right)
    if isinstance(left, int):
        return abs(left) % abs(right) * (-1 if left < 0 else 1)
    return math.nan if math.isinf(left) else math.fmod(left, right)


def has_wide_quotient(left: DataType, right: DataType) -> bool:
    """Whether a quotient of decimals of these types may have more whole digits than a decimal."""
    (precision, scale), (_, places) = left.parameters, right.parameters
    return precision - scale + places > MAX_PRECISION


def _undivided(types: Types, left: Value, right: Value) -> bool:
    """Division by zero leaves no rest, and by too small a decimal neither."""
    if right == 0 or not isinstance(left, Decimal) or not has_wide_quotient(*types):
        return bool(right == 0)
    return not abs(float(left) / float(right)) < MOST_QUOTIENT


def _remainder(types: Types, result: DataType, left: Value, right: Value) -> Value:
    return None if _undivided(types, left, right) else _fit(_rest(left, right), result)


def _pmod(types: Types, result: DataType, left: Value, right: Value) -> Value:
    if _undivided(types, left, right):
        return None
    rest = _rest(left, right)
    if not rest < 0:
        return _fit(rest, result)
    total: Value = EXACT.add(rest, right) if isinstance(rest, Decimal) else rest + right
    if isinstance(total, int):
        # Spark adds in 32 or 64 bits. They run over only when the divisor is negative and enormous.
        half = 1 << (63 if INTEGER_BITS[result] == 64 else 31)
        total = (total + half) % (2 * half) - half
    return _fit(_rest(single(total) if result == FLOAT else total, right), result)


def _div(_: Types, result: DataType, left: Value, right: Value) -> Value:
    if right == 0:
        return None
    if isinstance(left, int):
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return whole(quotient, result)
    number = EXACT.divide_int(left, right) if isinstance(left, Decimal) else left / right
    return whole(int(number), result) if math.isfinite(number) else None


def _negative(_: Types, result: DataType, value: Value) -> Value:
    return _fit(value.copy_negate() if isinstance(value, Decimal) else -value, result)


def _abs(_: Types, result: DataType, value: Value) -> Value:
    return _fit(value.copy_abs() if isinstance(value, Decimal) else abs(value), result)


def _sign(value: float) -> float:
    return value if value == 0 or math.isnan(value) else math.copysign(1.0, value)


def _toward(up: bool) -> Callable[..., Value]:
    """The nearest whole number from above or below."""

    def apply(_: Types, result: DataType, value: Value) -> Value:
        if isinstance(value, Decimal):
            return fixed(value.to_integral_value(ROUND_CEILING if up else ROUND_FLOOR, EXACT), result)
        if not math.isfinite(value):
            return None
        return whole(math.ceil(value) if up else math.floor(value), result)

    return apply


def _round(_: Types, result: DataType, value: Value, places: int = 0) -> Value:
    if is_integer(result) and places >= 0:
        return value
    if not math.isfinite(value):
        return value
    places = max(min(places, _PLACES), -_PLACES)
    exact = is_integer(result) or isinstance(value, Decimal)
    number = Decimal(value) if exact else digits_of(value, result)
    rounded = number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, EXACT)
    if result.name == "DECIMAL":
        return fixed(rounded, result)
    # Adding zero takes the sign from -0.0, which Java's decimals do not have.
    return whole(int(rounded), result) if is_integer(result) else float(rounded) + 0.0


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _logarithm(base: Callable[[float], float]) -> Callable[[float], float | None]:
    return lambda value: None if value <= 0 else base(value)


def _pow(base: float, exponent: float) -> float:
    if math.isnan(exponent) or (math.isinf(exponent) and abs(base) == 1):
        # Java says NaN where C says 1.
        return math.nan
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf
    except ValueError:
        if base != 0:
            return math.nan
        return math.copysign(math.inf, base) if exponent % 2 == 1 else math.inf


TYPED: dict[str, Callable[..., Value]] = {
    "+": _add, "-": _subtract, "*": _multiply, "/": _divide, "%": _remainder, "pmod": _pmod, "div": _div,
    "negative": _negative, "abs": _abs, "ceil": _toward(up=True), "floor": _toward(up=False), "round": _round,
}  # fmt: skip

PLAIN: dict[str, Callable[..., Value]] = {
    "sign": _sign,
    "sqrt": lambda value: math.nan if value < 0 else math.sqrt(value),
    "exp": _exp,
    "ln": _logarithm(math.log),
    "log10": _logarithm(math.log10),
    "log2": _logarithm(lambda value: math.log(value) / math.log(2)),
    "pow": _pow,
    "isnan": lambda value: value is not None and math.isnan(value),
}
