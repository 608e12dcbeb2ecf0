"""CSV as RFC 4180 has it: a record is a line, and a quote inside quotes is written twice.

An empty field is NULL; in quotes it is an empty text. A quoted line break makes a record of several lines where that is
allowed (`multi_line`). What does not have as many fields as there are columns is bad, as is a quote that is not closed.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BINARY, STRING, DataType
from tradewind.spark.sources.nested import FaultError
from tradewind.spark.sources.parsing import Found, Reading, Rows, letters_of
from tradewind.spark.sources.records import SHOWN, UNREADABLE, Block, Letter, Part, blocks, pieces, unreadable

_SKIPPED = "\0{}"
"""The name of a column that is in a file and not declared."""


def header_of(file: str, reading: Reading) -> tuple[str, ...]:
    """The columns of a file that names them in its first line, in its order, those not declared under other names."""
    line = b""
    try:
        for piece in pieces(Part(file), 1 << 16):
            line += piece
            if b"\n" in line or len(line) > reading.options["max_record_bytes"]:
                break
        if not line.strip():
            return ()
        text = line.split(b"\n")[0].removesuffix(b"\r").decode("utf-8-sig", "replace")
        delimiter, quote = reading.options["delimiter"], reading.options["quote"]
        return _declared(next(csv.reader([text], delimiter=delimiter, quotechar=quote), []), reading.schema)
    except (*UNREADABLE, csv.Error) as error:
        raise FaultError(unreadable(error)) from None


def _declared(given: Sequence[str], schema: Schema) -> tuple[str, ...]:
    known = {name.lower(): name for name in schema.names}
    found = [known.get(name.strip().lower()) for name in given]
    names = [name for name in found if name is not None]
    if not names:
        shown = ", ".join(given)[:100]
        raise FaultError(f"its first line names none of the columns: {shown!r} (without one, say `header: false`)")
    if len(set(names)) < len(names):
        raise FaultError(f"its first line names a column twice: {', '.join(given)[:100]!r}")
    return tuple(name if name is not None else _SKIPPED.format(place) for place, name in enumerate(found))


def parse(part: Part, reading: Reading) -> Iterator[Found]:
    """The rows of a file or a part of one."""
    records = _Records(reading)
    header = bool(reading.columns) and part.start == 0
    for block in blocks(part, reading.options["max_record_bytes"]):
        lines = block.data.split(b"\n")[:-1]
        skipped = 1 if header and lines else 0
        header = header and not lines
        records.take(lines[skipped:], block.first + skipped)
        yield _found(records, reading, block, len(lines))
    records.end()
    yield _found(records, reading, Block(b"", 0), 0)


class _Records:
    """Records out of lines: their bytes, the numbers of the lines they begin at, and letters for the bad ones."""

    def __init__(self, reading: Reading) -> None:
        self.data: list[bytes] = []
        self.numbers: list[int] = []
        self.letters: list[Letter] = []
        self._longest = reading.options["max_record_bytes"] if reading.options["multi_line"] else 0
        self._quote = reading.options["quote"].encode()
        escape = reading.options["escape"]
        self._escaped = re.compile(re.escape(escape.encode()) + b".", re.DOTALL) if escape else None
        self._open: list[bytes] = []
        self._begun = 0

    def take(self, lines: list[bytes], first: int) -> None:
        """More lines, which follow those before."""
        for number, line in enumerate(lines, first):
            odd = self._is_odd(line)
            if self._open or odd:
                self._join(line, number, odd)
            elif line.strip(b"\r"):
                self.data.append(line)
                self.numbers.append(number)

    def end(self) -> None:
        """There are no more lines."""
        if self._open:
            self._give_up("a quote is not closed")

    def clear(self) -> None:
        """Forget the records, but not what may go on."""
        self.data, self.numbers, self.letters = [], [], []

    def _is_odd(self, line: bytes) -> bool:
        """Whether a quote is open at the end of a line that was not at its beginning."""
        if self._quote not in line:
            return False
        plain = self._escaped.sub(b"", line) if self._escaped else line
        return plain.count(self._quote) % 2 == 1

    def _join(self, line: bytes, number: int, odd: bool) -> None:
        begins = not self._open
        if begins:
            self._begun = number
        self._open.append(line)
        if odd and not begins:
            self.data.append(b"\n".join(self._open))
            self.numbers.append(self._begun)
            self._open = []
        elif not self._longest:
            self._give_up("a quote is not closed")
        elif sum(map(len, self._open)) > self._longest:
            self._give_up(f"the record is longer than {self._longest} bytes")

    def _give_up(self, reason: str) -> None:
        self.letters.append(Letter(self._begun, reason, b"\n".join(self._open)[:SHOWN]))
        self._open = []


def _found(records: _Records, reading: Reading, block: Block, lines: int) -> Found:
    rows = Rows(reading)
    names = reading.columns or reading.schema.names
    data, numbers, letters = records.data, records.numbers, [*block.letters, *records.letters]
    records.clear()
    if not data:
        return Found(rows.table({}, 0), letters, lines)
    wrong: dict[int, str] = {}
    empty = pa.table({name: pa.array([], pa.binary()) for name in names})
    table = pa.concat_tables([empty, *_fields(data, 0, names, reading, wrong)])
    kept = [place for place in range(len(data)) if place not in wrong] if wrong else range(len(data))
    columns = {name: _nulls(table[name], type_) for name, type_ in reading.schema.columns if name in names}
    good = rows.table(columns, table.num_rows)
    wrong.update((kept[place], reason) for place, reason in rows.faults.items())
    return Found(good, [*letters, *letters_of(wrong, data, numbers)], lines)


def _fields(
    data: Sequence[bytes], first: int, names: Sequence[str], reading: Reading, wrong: dict[int, str]
) -> list[pa.Table]:
    """The fields of records as bytes; the places of the records that have too few or too many are noted."""
    noted: dict[int, str] = {}

    def invalid(row: pv.InvalidRow) -> str:
        noted[first + row.number - 1] = f"{row.actual_columns} fields, {row.expected_columns} columns"
        return "skip"

    table = _table(b"\n".join(data), names, reading, invalid)
    if table is None and len(data) == 1:
        # Only what is a text can be told about; signs that are none do not change how many fields there are.
        table = _table(data[0].decode("utf-8", "replace").encode(), names, reading, invalid)
    if table is not None and table.num_rows + len(noted) == len(data):
        wrong.update(noted)
        return [table]
    if len(data) == 1:
        wrong[first] = "a line break or a quote where none can be"
        return []
    middle = len(data) // 2
    left = _fields(data[:middle], first, names, reading, wrong)
    return left + _fields(data[middle:], first + middle, names, reading, wrong)


def _table(
    block: bytes, names: Sequence[str], reading: Reading, invalid: Callable[[pv.InvalidRow], str]
) -> pa.Table | None:
    """The fields of a block; None where a record has too few or too many of them and the block is no UTF-8: Arrow
    cannot call `invalid` for such a record.
    """
    try:
        return _parsed(block, names, reading, invalid if _is_text(block) else None)
    except pa.ArrowInvalid:
        return None


def _is_text(block: bytes) -> bool:
    try:
        return block.isascii() or bool(block.decode())
    except UnicodeDecodeError:
        return False


def _parsed(
    block: bytes, names: Sequence[str], reading: Reading, invalid: Callable[[pv.InvalidRow], str] | None
) -> pa.Table:
    options = reading.options
    return pv.read_csv(
        pa.BufferReader(block),
        read_options=pv.ReadOptions(use_threads=False, column_names=list(names), block_size=len(block) + 1),
        parse_options=pv.ParseOptions(
            delimiter=options["delimiter"],
            quote_char=options["quote"],
            escape_char=options["escape"] or False,
            newlines_in_values=options["multi_line"],
            invalid_row_handler=invalid,
        ),
        convert_options=pv.ConvertOptions(
            check_utf8=False,
            column_types=dict.fromkeys(names, pa.binary()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=["", options["null_value"]],
        ),
    )


def _nulls(column: pa.ChunkedArray, type_: DataType) -> pa.Array:
    """A column's texts. Of other types than STRING an empty text in quotes is NULL too."""
    texts = column.combine_chunks()
    if type_ in (STRING, BINARY):
        return texts
    return pc.if_else(pc.equal(pc.binary_length(texts), 0), pa.scalar(None, pa.binary()), texts)
