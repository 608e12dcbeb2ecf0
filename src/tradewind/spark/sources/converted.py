"""Lines and byte records that a converter turns into columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tradewind.algebra.schema import Schema
from tradewind.errors import InputError
from tradewind.frontends.deployment.formats import OPTIONS
from tradewind.spark.sources.converters.protocol import Converter
from tradewind.spark.sources.converters.registry import converter
from tradewind.spark.sources.nested import normalised
from tradewind.spark.sources.parsing import Found, Reading, Rows, letters_of
from tradewind.spark.sources.records import BLOCK, SHOWN, UNREADABLE, Letter, Part, blocks, pieces, unreadable
from tradewind.spark.sources.texts import in_range
from tradewind.spark.types import arrow_type


def parse_text(part: Part, reading: Reading) -> Iterator[Found]:
    """The rows of lines."""
    made = converter_of(reading)
    for block in blocks(part, reading.options["max_record_bytes"]):
        lines = [line.removesuffix(b"\r") for line in block.data.split(b"\n")[:-1]]
        records = [line for line in lines if line.strip()]
        numbers = [number for number, line in enumerate(lines, block.first) if line.strip()]
        found = _converted(records, numbers, made, reading)
        yield Found(found.table, [*block.letters, *found.letters], len(lines))


def parse_binary(part: Part, reading: Reading) -> Iterator[Found]:
    """The rows of records of one length."""
    made = converter_of(reading)
    size = made.record_bytes
    if size is None:
        raise InputError("this converter takes lines.", hint="say `format: text`.")
    number = 0
    waiting = b""
    reason = None
    try:
        for piece in pieces(part, max(BLOCK // size, 1) * size):
            data = waiting + piece
            many = len(data) // size
            waiting = data[many * size :]
            records = [data[i * size : (i + 1) * size] for i in range(many)]
            yield _converted(records, range(number, number + many), made, reading)
            number += many
    except UNREADABLE as error:
        reason = unreadable(error)
    if waiting and reason is None:
        reason = f"the file ends after {len(waiting)} of a record's {size} bytes"
    if reason is not None:
        yield Found(Rows(reading).table({}, 0), [Letter(number, reason, waiting[:SHOWN])], 1)


def converter_of(reading: Reading) -> Converter:
    """The converter that an origin names, with the options that are its own."""
    own = {name: value for name, value in reading.options.items() if name not in OPTIONS["text"]}
    return converter(reading.options["converter"], own, reading.schema)


def _converted(records: Sequence[bytes], numbers: Sequence[int], made: Converter, reading: Reading) -> Found:
    rows = Rows(reading)
    if not records:
        return Found(rows.table({}, 0), [], 0)
    try:
        given = pa.array(records, pa.binary() if made.record_bytes is None else pa.binary(made.record_bytes))
        columns = _columns(given, made, rows, reading.schema)
    except Exception as error:  # noqa: BLE001 - a plug-in may raise anything, and the records are to blame or it is
        reason = f"converter {reading.options['converter']} failed: {type(error).__name__}: {error}"
        rows.faults.update(dict.fromkeys(range(len(records)), reason))
        columns = {}
    done = [
        name for name, array in columns.items() if array.type == pa.binary() == arrow_type(reading.schema.type_of(name))
    ]
    table = rows.table(columns, len(records), done)
    return Found(table, letters_of(rows.faults, records, numbers), len(records))


def _columns(given: pa.Array, made: Converter, rows: Rows, schema: Schema) -> dict[str, pa.Array]:
    """The columns that a converter makes of records, checked."""
    if made.record_bytes is None:
        given = _strings(given, rows)
    table, reasons = made.convert(given)
    if table.num_rows != len(given) or len(reasons) != len(given):
        raise ValueError(f"{len(given)} records gave {table.num_rows} rows and {len(reasons)} reasons")
    for place in pc.indices_nonzero(pc.is_valid(reasons)).to_pylist():
        rows.faults.setdefault(place, reasons[place].as_py())
    columns: dict[str, Any] = {}
    for name, type_ in schema.columns:
        if name in table.column_names:
            column = table[name].combine_chunks()
            text = column.type in (pa.string(), pa.binary())
            columns[name] = column if text else normalised(column.cast(arrow_type(type_)))
            if not in_range(columns[name]):
                raise ValueError(f"column {name}: a time beyond the years 1 to 9999")
    return columns


def _strings(given: pa.Array, rows: Rows) -> pa.Array:
    """Lines as strings; those that are no UTF-8 are empty ones, and bad."""
    try:
        return given.cast(pa.string())
    except pa.ArrowInvalid:
        lines: list[str] = []
        for place, line in enumerate(given.to_pylist()):
            try:
                lines.append(line.decode())
            except UnicodeDecodeError:
                rows.faults[place] = "not valid UTF-8"
                lines.append("")
        return pa.array(lines, pa.string())
