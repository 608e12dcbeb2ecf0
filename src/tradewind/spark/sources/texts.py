"""Texts as values of their declared types: one meaning, whatever format a text was found in.

Whole columns are converted at once. Only where that fails is it found out, half by half, which texts are at fault;
those are tried as `CAST` reads them, which takes more forms.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from tradewind.algebra.times import HIGHEST, LOWEST
from tradewind.algebra.types import STRING, DataType, is_fraction, is_integer
from tradewind.frontends.deployment.formats import EPOCHS
from tradewind.interpreter.casts import convert
from tradewind.interpreter.number_text import parse_decimal
from tradewind.interpreter.values import EXACT, Value, within
from tradewind.spark.types import arrow_type

_DAY = 86_400_000_000
Typed = tuple[pa.Array, list[int]]
"""Values, and the places of the texts that are none; there the value is NULL."""


@dataclass(frozen=True, slots=True)
class Times:
    """How texts tell times."""

    epoch: str | None = None
    """What a number counts since 1970 where a TIMESTAMP is declared; None where times are written as such."""
    bounded: bool = True
    """Whether times beyond the years 1 to 9999 are bad. Streams have none, but answers have: a window that holds the
    last second of 9999 ends in the year 10000.
    """


PLAIN = Times()


def typed(texts: pa.Array, type_: DataType, times: Times = PLAIN) -> Typed:
    """Texts (strings, or bytes that should be strings) as values of a type."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    found, bad = _bisected(texts, 0, _cast(type_, times), _single(type_, times), times.bounded)
    parts = [part.cast(arrow_type(type_)) for part in found]
    return normal(pa.concat_arrays(parts) if len(parts) > 1 else parts[0]), bad


def normal(array: pa.Array) -> pa.Array:
    """The array with one zero: -0.0 is 0.0, as everywhere behind a source."""
    return pc.add(array, pa.scalar(0.0, array.type)) if pa.types.is_floating(array.type) else array


def in_range(array: pa.Array) -> bool:
    """Whether all times of an array lie in the years 1 to 9999; other types have no such bounds."""
    if pa.types.is_timestamp(array.type):
        ends = pc.min_max(array.cast(pa.int64())).as_py()
        return ends["min"] is None or (ends["min"] >= LOWEST and ends["max"] <= HIGHEST)
    if pa.types.is_date32(array.type):
        ends = pc.min_max(array.cast(pa.int32())).as_py()
        return ends["min"] is None or (ends["min"] * _DAY >= LOWEST and ends["max"] * _DAY <= HIGHEST)
    return True


Cast = Callable[[pa.Array], pa.Array]


def _bisected(texts: pa.Array, first: int, cast: Cast, single: Cast, bounded: bool) -> tuple[list[pa.Array], list[int]]:
    """The parts of a column that can be cast whole, as large as they come, and the places of what cannot be cast."""
    if texts.null_count == len(texts):
        return [pa.nulls(len(texts))], []
    try:
        found = cast(texts)
        if not bounded or in_range(found):
            return [found], []
    except (ValueError, pa.ArrowNotImplementedError):  # Arrow's and base64's own errors are ValueErrors
        pass
    if len(texts) == 1:
        array = single(texts)
        return [array], [] if array[0].is_valid else [first]
    middle = len(texts) // 2
    left, bad_left = _bisected(texts[:middle], first, cast, single, bounded)
    right, bad_right = _bisected(texts[middle:], first + middle, cast, single, bounded)
    return left + right, bad_left + bad_right


def _cast(type_: DataType, times: Times) -> Cast:
    """A conversion of a whole column, which fails if a single text does not fit."""
    wanted = arrow_type(type_)

    def plain(texts: pa.Array) -> pa.Array:
        return texts.cast(pa.string()).cast(wanted)

    if is_integer(type_):
        # Arrow reads hexadecimal numbers, nobody else does.
        return lambda texts: plain(_without(texts, "[xX]"))
    if type_.name == "DECIMAL":
        # Arrow crashes on great negative powers of ten.
        return lambda texts: plain(_without(texts, "[eE]"))
    if type_.name == "TIMESTAMP":
        return lambda texts: _times(texts.cast(pa.string()), wanted, times.epoch)
    if type_.name == "BINARY":
        return lambda texts: pa.array([_bytes(text) for text in texts.to_pylist()], pa.binary())
    if type_.name == "INTERVAL":
        return _one_by_one
    return plain


def _one_by_one(texts: pa.Array) -> pa.Array:
    raise pa.ArrowInvalid(f"{len(texts)} texts that are to be read one by one")


def _without(texts: pa.Array, pattern: str) -> pa.Array:
    """The texts, if none of them has a part that is like the pattern."""
    strings = texts.cast(pa.string())
    if pc.any(pc.match_substring_regex(strings, pattern)).as_py():
        return _one_by_one(texts)
    return strings


def _times(texts: pa.Array, wanted: pa.DataType, epoch: str | None) -> pa.Array:
    if epoch is not None:
        numbers = _without(texts, "[xX]").cast(pa.int64())
        return pc.multiply_checked(numbers, EPOCHS[epoch]).cast(wanted)
    try:
        return texts.cast(wanted)
    except pa.ArrowInvalid:
        # None of them has a zone, then: UTC.
        return texts.cast(pa.timestamp("us")).cast(wanted)


def _bytes(text: str | bytes | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)


def _single(type_: DataType, times: Times) -> Cast:
    """What `CAST` makes of one text, in an array; NULL when it is no value of the type."""

    def convert_one(texts: pa.Array) -> pa.Array:
        try:
            text = texts.cast(pa.string())[0].as_py()
            found = _value(text, type_, times.epoch)
        except pa.ArrowInvalid:  # bytes that are no text
            found = None
        return _array(found, type_, times.bounded)

    return convert_one


def _value(text: str, type_: DataType, epoch: str | None) -> Value:
    if type_.name == "BINARY":
        return None
    if type_.name == "TIMESTAMP" and epoch is not None:
        number = parse_decimal(text)
        if number is not None and number.adjusted() < 25:
            return within(int(EXACT.multiply(number, Decimal(EPOCHS[epoch])).to_integral_value("ROUND_FLOOR")), 64)
    return convert(text, STRING, type_)


def _array(value: Value, type_: DataType, bounded: bool) -> pa.Array:
    """One value as an array; times out of bounds, if there are any, are none."""
    if value is not None and is_fraction(type_):
        return pa.array([value], arrow_type(type_))
    array = pa.array([value], _numbers(type_)).cast(arrow_type(type_))
    return array if not bounded or in_range(array) else pa.nulls(1, arrow_type(type_))


def _numbers(type_: DataType) -> pa.DataType:
    """The type of an array in which a value of the interpreter's is held before it gets its own."""
    return {"DATE": pa.int32(), "TIMESTAMP": pa.int64(), "INTERVAL": pa.int64()}.get(type_.name, arrow_type(type_))
