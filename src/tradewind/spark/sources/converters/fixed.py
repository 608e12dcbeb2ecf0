"""`fixed`: lines whose fields stand at fixed places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tradewind.algebra.schema import Schema
from tradewind.errors import DataError, InputError
from tradewind.spark.sources.converters.protocol import Converted, only

_HINT = "write `fields: ts 0 24, status 24 3`: name, first character counted from 0, length."


class _Field(NamedTuple):
    name: str
    start: int
    length: int


class Fixed:
    """Fields as `name start length`, in characters. Blanks around a field do not count; a blank field is NULL."""

    record_bytes: int | None = None

    def __init__(self, options: Mapping[str, Any], schema: Schema) -> None:
        only(options, ("fields",))
        self._fields = [_field(text, schema) for text in str(options.get("fields", "")).split(",")]
        self._length = max(field.start + field.length for field in self._fields)

    def convert(self, records: pa.Array) -> Converted:
        """The fields as texts; a line that ends before its last field begins is bad."""
        least = max(field.start for field in self._fields)
        arrays = []
        for field in self._fields:
            text = pc.utf8_trim_whitespace(pc.utf8_slice_codeunits(records, field.start, field.start + field.length))
            arrays.append(pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text))
        length = pc.utf8_length(records)
        reason = f"the line ends before its last field, which begins at {least}"
        reasons = pc.if_else(pc.less_equal(length, least), reason, pa.scalar(None, pa.string()))
        return Converted(pa.table(arrays, names=[field.name for field in self._fields]), reasons)

    def encode(self, table: pa.Table) -> pa.Array:
        """Lines with each field at its place, filled up with blanks."""
        columns = [(field, table[field.name].cast(pa.string()).to_pylist()) for field in self._fields]
        lines = []
        for place in range(table.num_rows):
            line = [" "] * self._length
            for field, texts in columns:
                text = texts[place] or ""
                if len(text) > field.length:
                    raise DataError(f"{text[:60]!r} is longer than field {field.name!r}, {field.length} characters.")
                line[field.start : field.start + len(text)] = text
            lines.append("".join(line))
        return pa.array(lines, pa.string())


def _field(text: str, schema: Schema) -> _Field:
    parts = text.split()
    if len(parts) != 3 or not parts[1].isdecimal() or not parts[2].isdecimal() or int(parts[2]) == 0:
        raise InputError(f"{text.strip()[:60]!r} is no field.", hint=_HINT)
    return _Field(schema.find(parts[0]), int(parts[1]), int(parts[2]))
