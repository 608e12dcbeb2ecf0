"""`fixed_binary`: records of one length, in which each field is so many bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tradewind.algebra.schema import Schema
from tradewind.algebra.times import HIGHEST, LOWEST
from tradewind.algebra.types import DataType, is_fraction
from tradewind.errors import DataError, InputError
from tradewind.frontends.deployment.formats import EPOCHS
from tradewind.spark.sources.converters.protocol import Converted, good, only
from tradewind.spark.types import arrow_type

_HINT = (
    "write `fields: ts i8, price f8, ticker s6, _ x2`, in order: name and kind, one of i, u, f, s, b, x, with a length."
)
_DAY = 86_400_000_000
_KINDS = {"i": (1, 2, 4, 8), "u": (1, 2, 4), "f": (4, 8)}


class _Field(NamedTuple):
    name: str
    kind: str
    length: int


class FixedBinary:
    """Fields as `name kind`: i1 to i8 and u1 to u4 whole numbers, f4 and f8 fractions, s text and b bytes of so many
    bytes, x bytes that mean nothing. `endian` is little or big. A TIMESTAMP counts `epoch` units since 1970, a DATE
    days.
    """

    def __init__(self, options: Mapping[str, Any], schema: Schema) -> None:
        only(options, ("fields", "endian", "epoch"))
        self._schema = schema
        self._endian = _one_of(options, "endian", {"little": "<", "big": ">"})
        self._factor = EPOCHS[_one_of(options, "epoch", {name: name for name in reversed(EPOCHS)})]
        self._fields = [_field(text, schema) for text in str(options.get("fields", "")).split(",")]
        self.record_bytes: int | None = sum(field.length for field in self._fields)
        self._layout = np.dtype([(f"{place}", self._code(field)) for place, field in enumerate(self._fields)])

    def _code(self, field: _Field) -> str:
        return f"{self._endian}{field.kind}{field.length}" if field.kind in _KINDS else f"V{field.length}"

    def convert(self, records: pa.Array) -> Converted:
        """The fields as values."""
        packed = records.cast(pa.binary(self.record_bytes))
        start = packed.offset * packed.type.byte_width
        rows = np.frombuffer(packed.buffers()[1], self._layout, len(packed), start)
        arrays, reasons = {}, good(len(records))
        for place, field in enumerate(self._fields):
            if field.kind != "x":
                column = np.ascontiguousarray(rows[f"{place}"])
                bounds = self._bounds(self._schema.type_of(field.name))
                if bounds is not None and not _within(column, *bounds):
                    wrong = (column < bounds[0]) | (column > bounds[1])
                    reasons = pc.if_else(
                        pa.array(wrong), f"column {field.name}: a time beyond the years 1 to 9999", reasons
                    )
                    column = np.where(wrong, 0, column)
                arrays[field.name] = self._array(field, column)
        return Converted(pa.table(arrays), reasons)

    def _bounds(self, type_: DataType) -> tuple[int, int] | None:
        """Between which numbers a time lies."""
        unit = {"TIMESTAMP": self._factor, "DATE": _DAY}.get(type_.name)
        return None if unit is None else (-(-LOWEST // unit), HIGHEST // unit)

    def _array(self, field: _Field, column: np.ndarray[Any, Any]) -> pa.Array:
        type_ = self._schema.type_of(field.name)
        if field.kind in ("s", "b"):
            found = pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(field.length), len(column), [None, pa.py_buffer(column.tobytes())]
            )
            return _text(found) if field.kind == "s" else found.cast(pa.binary())
        found = pa.array(column.astype(column.dtype.newbyteorder("=")))
        if type_.name == "TIMESTAMP":
            return pc.multiply(found.cast(pa.int64()), self._factor).cast(arrow_type(type_))
        return found.cast(pa.int32()).cast(arrow_type(type_)) if type_.name == "DATE" else found.cast(arrow_type(type_))

    def encode(self, table: pa.Table) -> pa.Array:
        """Records of the rows; a NULL cannot be written."""
        rows = np.zeros(table.num_rows, self._layout)
        for place, field in enumerate(self._fields):
            if field.kind != "x":
                rows[f"{place}"] = self._column(field, table[field.name].combine_chunks())
        data = pa.py_buffer(rows.tobytes())
        return pa.FixedSizeBinaryArray.from_buffers(pa.binary(self.record_bytes), table.num_rows, [None, data])

    def _column(self, field: _Field, array: pa.Array) -> np.ndarray[Any, Any]:
        if array.null_count:
            raise DataError(f"column {field.name!r} has a NULL, for which there are no bytes.")
        if field.kind in ("s", "b"):
            values = [bytes(value) for value in array.cast(pa.binary()).to_pylist()]
            if any(len(value) > field.length for value in values):
                raise DataError(f"a value of {field.name!r} is longer than its field, {field.length} bytes.")
            return np.array([value.ljust(field.length, b"\0") for value in values], f"V{field.length}")
        type_ = self._schema.type_of(field.name)
        plain = array.cast(
            pa.int32() if type_.name == "DATE" else pa.int64() if type_.name == "TIMESTAMP" else array.type
        )
        numbers: np.ndarray[Any, Any] = plain.to_numpy(zero_copy_only=False)
        numbers = numbers // self._factor if type_.name == "TIMESTAMP" else numbers
        wanted = np.dtype(f"{field.kind}{field.length}")
        if field.kind != "f" and not _within(numbers, np.iinfo(wanted).min, np.iinfo(wanted).max):
            raise DataError(f"a value of {field.name!r} does not fit into {field.kind}{field.length}.")
        return numbers.astype(wanted)


def _within(numbers: np.ndarray[Any, Any], least: int, most: int) -> bool:
    return not len(numbers) or bool(least <= int(numbers.min()) and int(numbers.max()) <= most)


def _text(found: pa.Array) -> pa.Array:
    """Texts without what fills them up; blank ones are NULL. Bytes that are no UTF-8 stay, to be found out later."""
    trimmed = pc.ascii_trim(found.cast(pa.binary()).view(pa.string()), characters=" \0").view(pa.binary())
    return pc.if_else(pc.equal(pc.binary_length(trimmed), 0), pa.scalar(None, pa.binary()), trimmed)


def _one_of(options: Mapping[str, Any], name: str, known: Mapping[str, str]) -> str:
    given = str(options.get(name, next(iter(known))))
    if given not in known:
        raise InputError(f"`{name}: {given[:60]}` is not known.", hint=f"there is: {', '.join(known)}.")
    return known[given]


def _field(text: str, schema: Schema) -> _Field:
    parts = text.split()
    if len(parts) != 2 or not parts[1][1:].isdecimal() or int(parts[1][1:]) == 0:
        raise InputError(f"{text.strip()[:60]!r} is no field.", hint=_HINT)
    kind, length = parts[1][0], int(parts[1][1:])
    if kind == "x":
        return _Field(parts[0], kind, length)
    name = schema.find(parts[0])
    type_ = schema.type_of(name)
    if length not in _KINDS.get(kind, (length,)) or not _suits(kind, length, type_):
        raise InputError(f"{parts[1]!r} cannot hold column {name!r} of type {type_}.", hint=_HINT)
    return _Field(name, kind, length)


def _suits(kind: str, length: int, type_: DataType) -> bool:
    """Whether every value of a kind of field is one of a column's type."""
    match kind:
        case "s":
            return type_.name == "STRING"
        case "b":
            return type_.name == "BINARY"
        case "f":
            return is_fraction(type_) and (length == 4 or type_.name == "DOUBLE")
        case "i" | "u":
            bits = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64, "TIMESTAMP": 64, "DATE": 32}.get(
                type_.name, 0
            )
            return 8 * length + (1 if kind == "u" else 0) <= bits
    return False
