"""JSON lines: each line an object, each field of it a column.

Whole blocks are parsed at once by Arrow. If that finds anything at all to complain about, the block's lines are read
one by one: slower, and with a reason for each bad one. A number, text or truth is converted as `CAST` would its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from tradewind.algebra.types import DataType
from tradewind.frontends.deployment.formats import EPOCHS
from tradewind.spark.sources.nested import FaultError, Tree, normalised, read_json
from tradewind.spark.sources.parsing import Found, Reading, Rows, letters_of
from tradewind.spark.sources.records import Block, Part, blocks
from tradewind.spark.sources.texts import in_range
from tradewind.spark.types import arrow_type

_POWER = re.compile(rb"[0-9.][eE][+-]?[0-9]{3}")
_AS_TEXT = ("DATE", "BINARY", "INTERVAL")
"""Types that Arrow does not read from JSON texts."""


def parse(part: Part, reading: Reading) -> Iterator[Found]:
    """The rows of a file or a part of one."""
    for block in blocks(part, reading.options["max_record_bytes"]):
        found = None if reading.careful else _at_once(block, reading)
        yield found if found is not None else _one_by_one(block, reading)


def _at_once(block: Block, reading: Reading) -> Found | None:
    """The rows of a block in which every line is a good object; None when one may not be."""
    data = block.data.replace(b"\r\n", b"\n") if b"\r" in block.data else block.data
    lines = data.count(b"\n")
    types = [type_ for _, type_ in reading.schema.columns]
    if not _plain_objects(data, lines) or not _is_text(data) or not all(_quick(type_) for type_ in types):
        return None
    if any(type_.name == "DECIMAL" for type_ in types) and _POWER.search(data):
        # Arrow crashes on great negative powers of ten.
        return None
    try:
        columns = _columns(data, reading)
    except pa.ArrowInvalid:
        return None
    if not all(len(column) == lines for column in columns.values()):
        return None
    if reading.bounded and not all(map(in_range, columns.values())):
        return None
    rows = Rows(reading)
    table = rows.table(columns, lines)
    return Found(table, block.letters, lines) if not rows.faults else None


def _plain_objects(data: bytes, lines: int) -> bool:
    """Whether each line begins and ends like an object: a line `null` makes Arrow crash, and what is begun in one line
    cannot go on in the next.
    """
    return data[:1] == b"{" and data.count(b"\n{") + 1 == lines and data.count(b"}\n") == lines


def _is_text(data: bytes) -> bool:
    """Whether bytes are UTF-8; Arrow looks at them only here and there."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _columns(data: bytes, reading: Reading) -> Mapping[str, pa.Array]:
    epoch = reading.options.get("epoch")
    wanted = pa.schema([(name, _asked(type_, epoch)) for name, type_ in reading.schema.columns])
    table = pj.read_json(
        pa.BufferReader(data),
        read_options=pj.ReadOptions(use_threads=False, block_size=len(data) + 1),
        parse_options=pj.ParseOptions(explicit_schema=wanted, unexpected_field_behavior="ignore"),
    )
    columns = {name: normalised(table[name].combine_chunks()) for name in table.column_names}
    for name, type_ in reading.schema.columns:
        if type_.name == "TIMESTAMP" and epoch is not None:
            columns[name] = pc.multiply_checked(columns[name], EPOCHS[epoch]).cast(arrow_type(type_))
        elif type_.name == "DECIMAL":
            columns[name] = columns[name].cast(arrow_type(type_))
    return columns


def _quick(type_: DataType, outer: bool = True) -> bool:
    """Whether Arrow reads a type from JSON, or its text as a column of its own."""
    if type_.fields:
        return all(_quick(inner, outer=False) for _, inner in type_.fields)
    return outer or type_.name not in (*_AS_TEXT, "TIMESTAMP", "DECIMAL")


def _asked(type_: DataType, epoch: str | None) -> pa.DataType:
    if type_.name == "TIMESTAMP" and epoch is not None:
        return pa.int64()
    if type_.name == "DECIMAL":
        # Arrow does not see that a number has too many whole digits for its type, so it is given a type of many more.
        return pa.decimal256(76, type_.parameters[1])
    return pa.string() if type_.name in _AS_TEXT else arrow_type(type_)


def _one_by_one(block: Block, reading: Reading) -> Found:
    """The rows of a block, line by line."""
    lines = block.data.split(b"\n")[:-1]
    records: list[bytes] = []
    numbers: list[int] = []
    objects: list[dict[str, Tree]] = []
    rows = Rows(reading)
    for number, line in enumerate(lines, block.first):
        if not line.strip():
            continue
        try:
            objects.append(_object(line))
        except FaultError as error:
            rows.faults[len(records)] = str(error)
            objects.append({})
        records.append(line)
        numbers.append(number)
    table = rows.of_trees(objects)
    return Found(table, (*block.letters, *letters_of(rows.faults, records, numbers)), len(lines))


def _object(line: bytes) -> dict[str, Tree]:
    found = read_json(line)
    if not isinstance(found, dict):
        raise FaultError("not an object")
    return found
