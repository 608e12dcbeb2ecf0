"""Conversion of values from type to type: what Spark's `try_cast` gives, and NULL where a result does not fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

from tradewind.algebra.civil import DAY, date_text, timestamp_text
from tradewind.algebra.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    INTERVAL,
    MICROS,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    is_fraction,
)  # fmt: skip
from tradewind.interpreter.number_text import (
    BLANKS,
    digits_of,
    fraction_text,
    parse_decimal,
    parse_fraction,
    parse_whole,
)  # fmt: skip
from tradewind.interpreter.time_text import interval_text, parse_date, parse_interval, parse_timestamp
from tradewind.interpreter.values import EXACT, Value, fixed, single, single_of, whole, within

_WORDS = dict.fromkeys(("t", "true", "y", "yes", "1"), True) | dict.fromkeys(("f", "false", "n", "no", "0"), False)


def convert(value: Value, source: DataType, target: DataType) -> Value:
    """The value as a value of `target`, or None; `convertible` says which pairs of types there are.

    >>> from tradewind.algebra.types import INT
    >>> convert(" 12 ", STRING, INT), convert(1e10, DOUBLE, STRING), convert("1.5", STRING, INT)
    (12, '1.0E10', None)
    """
    if value is None or source == NULL:
        return None
    if source == target:
        return value
    if target.name == "ARRAY":
        return tuple(convert(part, source.element, target.element) for part in value)
    if target.name == "STRUCT":
        parts = zip(value, source.fields, target.fields, strict=True)
        return tuple(convert(part, have, want) for part, (_, have), (_, want) in parts)
    return _TO[target.name](value, source, target)


def _to_text(value: Value, source: DataType, _: DataType) -> str:
    if is_fraction(source):
        return fraction_text(value, source)
    match source.name:
        case "BOOLEAN":
            return "true" if value else "false"
        case "DECIMAL":
            return format(fixed(value, source) or Decimal(0).scaleb(-source.parameters[1]), "f")
        case "BINARY":
            return str(value, "utf-8", "replace")
        case "DATE":
            return date_text(value)
        case "TIMESTAMP":
            return timestamp_text(value)
        case "INTERVAL":
            return interval_text(value)
        case "ARRAY":
            return f"[{', '.join(_part(part, source.element) for part in value)}]"
        case "STRUCT":
            parts = zip(value, source.fields, strict=True)
            return "{" + ", ".join(_part(part, inner) for part, (_, inner) in parts) + "}"
    return str(value)


def _part(value: Value, type_: DataType) -> str:
    return "null" if value is None else str(convert(value, type_, STRING))


def _to_boolean(value: Value, source: DataType, _: DataType) -> bool | None:
    return _WORDS.get(value.strip(BLANKS).lower()) if source == STRING else value != 0


def _to_whole(value: Value, source: DataType, target: DataType) -> int | None:
    if source == STRING:
        return parse_whole(value, target)
    if source == TIMESTAMP:
        return whole(value // MICROS, target)
    if source == INTERVAL:
        return whole(abs(value) // MICROS * (1 if value > 0 else -1), target)
    if is_fraction(source):
        return _cut(value, INTEGER_BITS[target])
    return whole(int(value), target)


def _cut(value: float, bits: int) -> int | None:
    """The whole part of a number."""
    if not math.isfinite(value):
        return None
    # Spark compares with the highest BIGINT as a DOUBLE, which is one more, and then takes the highest.
    return 2**63 - 1 if bits == 64 and value == 2.0**63 else within(int(value), bits)


def _to_fraction(value: Value, source: DataType, target: DataType) -> float | None:
    if source == STRING:
        return parse_fraction(value, target)
    if source == TIMESTAMP:
        value = float(value) / MICROS
    if target == FLOAT:
        return single(value) if isinstance(value, float) else single_of(Decimal(value))
    return float(value)


def _to_decimal(value: Value, source: DataType, target: DataType) -> Decimal | None:
    number: Decimal | None
    if source == STRING:
        number = parse_decimal(value)
    elif source in (INTERVAL, TIMESTAMP):
        number = Decimal(value).scaleb(-6)
    elif is_fraction(source):
        # Of a FLOAT, too, the digits as a DOUBLE are taken.
        number = digits_of(value, DOUBLE) if math.isfinite(value) else None
    else:
        number = Decimal(value)
    return None if number is None else fixed(number, target)


def _to_binary(value: Value, _: DataType, __: DataType) -> bytes:
    return bytes(value, "utf-8")


def _to_date(value: Value, source: DataType, _: DataType) -> int | None:
    return parse_date(value) if source == STRING else value // DAY


def _to_timestamp(value: Value, source: DataType, _: DataType) -> int | None:
    if source == STRING:
        return parse_timestamp(value)
    if is_fraction(source):
        return _cut(value * MICROS, 64)
    unit = DAY if source == DATE else MICROS
    return within(int(EXACT.multiply(value, unit)) if isinstance(value, Decimal) else value * unit, 64)


def _to_interval(value: Value, source: DataType, _: DataType) -> int | None:
    if source == STRING:
        return parse_interval(value)
    return within(int(EXACT.multiply(value, MICROS).to_integral_value(ROUND_HALF_UP)), 64)


_TO: dict[str, Callable[[Value, DataType, DataType], Value]] = {
    STRING.name: _to_text, BOOLEAN.name: _to_boolean, BINARY.name: _to_binary, DATE.name: _to_date,
    TIMESTAMP.name: _to_timestamp, INTERVAL.name: _to_interval, "DECIMAL": _to_decimal,
    **{type_.name: _to_fraction for type_ in (FLOAT, DOUBLE)}, **{type_.name: _to_whole for type_ in INTEGER_BITS},
}  # fmt: skip
