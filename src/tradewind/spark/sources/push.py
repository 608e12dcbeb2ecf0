"""Rows that a program pushes into a stream: each table becomes a file that the next batch finds."""

from __future__ import annotations

import hashlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tradewind.algebra.operators.core import Source
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BIGINT
from tradewind.errors import DataError
from tradewind.interpreter.checking import check_row
from tradewind.spark.columns import WEIGHT
from tradewind.spark.sources.columnar import fitted
from tradewind.spark.sources.nested import FaultError
from tradewind.spark.sources.python_rows import FORMS, PythonRows, is_table, narrowed, table_of, weighted_rows
from tradewind.spark.types import arrow_schema, to_arrow

_MILLISECOND = 1_000_000
_PAGE = 8_000_000
"""Pages are written one by one: with fewer of them a file is written a quarter faster."""
_SHORT = 1_000
"""Chunks of fewer rows than this are put together before they are written: each of them has its price."""
_HALVED = 4_000_000
"""So many bytes are written as two files at once."""


class Kept:
    """Tables that have been pushed and are in this process still, by their files, for as long as somebody wants them:
    to take them from here is quicker than to read them again. For what does not fit the oldest are let go.
    """

    def __init__(self, most_bytes: int = 1_000_000_000) -> None:
        self.wanted = False
        self._most = most_bytes
        self._tables: dict[Path, tuple[pa.Table, int]] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def put(self, file: Path, table: pa.Table, size: int) -> None:
        """Keep a table, if it is wanted and there is room without those that were put here before."""
        with self._lock:
            if not self.wanted or size > self._most:
                return
            while self._bytes + size > self._most:
                self._bytes -= self._tables.pop(next(iter(self._tables)))[1]
            self._tables[file] = table, size
            self._bytes += size

    def get(self, file: Path) -> pa.Table | None:
        """The table that went into a file, if it is here."""
        with self._lock:
            found = self._tables.get(file)
        return found[0] if found is not None else None

    def forget(self, upto: Path) -> None:
        """Let go of a file's table, and of those that went into the same folder before."""
        with self._lock:
            for file in [one for one in self._tables if one.parent == upto.parent and one.name <= upto.name]:
                self._bytes -= self._tables.pop(file)[1]


class Inbox:
    """A folder that rows are put into, by any number of threads of one process.

    Each fragment that reads them has a folder of its own, and gets a link to every file: Spark removes there what it
    has read. Files stay in the inbox until somebody reads them. Spark reads files in the order of the times of their
    last change, so these grow with each file, as its number does.
    """

    def __init__(self, folder: Path, schema: Schema, *, revisions: bool = False, kept: Kept | None = None) -> None:
        self._folder = folder
        self._kept = kept or Kept()
        self._source = Source(folder.parent.name, schema, revisions=revisions)
        self._schema = Schema((*schema.columns, (WEIGHT, BIGINT))) if revisions else schema
        self._arrow = arrow_schema(self._schema)
        self._time = schema.time
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        self._last = max((int(file.stem.removeprefix("rows-")) for file in folder.glob("rows-*.parquet")), default=0)
        self._row_bytes = _row_bytes(self._arrow)

    def enqueue(self, rows: PythonRows) -> int:
        """Put rows in (an Arrow table, a data frame, tuples or dictionaries), and say how many; once this returns they
        will be read.

        Where the stream has revisions, a column `_weight` (or a `Weighted` row) says how often a row counts.
        """
        table = self.fitting(rows)
        if table.num_rows:
            self.write(table)
        return int(table.num_rows)

    def fitting(self, rows: PythonRows) -> pa.Table:
        """Rows in the declared columns and types; an error that says what does not fit."""
        return self._converted(rows) if is_table(rows) else self._checked(rows)

    def size(self, table: pa.Table) -> int:
        """The bytes of fitting rows."""
        return table.num_rows * self._row_bytes if self._row_bytes is not None else int(table.nbytes)

    def write(self, table: pa.Table) -> None:
        """Put fitting rows in, in their order, as one file or, if they are many, as two that are written at once."""
        half = table.num_rows // 2
        halves = [table.slice(0, half), table.slice(half)] if half and self.size(table) > _HALVED else [table]
        # Names that begin with a dot are passed over by Spark.
        own = f".partial-{os.getpid()}-{threading.get_ident()}"
        partials = [self._folder / f"{own}-{number}" for number in range(len(halves))]
        try:
            if len(halves) == 1:
                self._write_file(table, partials[0])
            else:
                with ThreadPoolExecutor(len(halves)) as both:
                    list(both.map(self._write_file, halves, partials))
        except BaseException:
            # On a full disk every byte counts.
            for partial in partials:
                with suppress(OSError):
                    partial.unlink(missing_ok=True)
            raise
        with self._lock:
            for partial, half in zip(partials, halves, strict=True):
                self._kept.put(self._publish(partial), half, self.size(half))

    def _publish(self, partial: Path) -> Path:
        written = partial.stat()
        self._last = max(written.st_mtime_ns // _MILLISECOND, self._last + 1)
        os.utime(partial, ns=(written.st_atime_ns, self._last * _MILLISECOND))
        file = partial.rename(file_of(self._folder, self._last))
        return next(iter(_handed_out(self._folder)), self._folder) / file.name

    def _write_file(self, table: pa.Table, path: Path) -> None:
        pq.write_table(
            _compact(table),
            path,
            compression="none",
            use_dictionary=False,
            write_statistics=[self._time] if self._time is not None else False,
            column_encoding="PLAIN",
            data_page_size=_PAGE,
        )

    def _converted(self, given: Any) -> pa.Table:
        """The declared columns of a table or data frame in their types."""
        if isinstance(given, pa.Table) and given.schema.equals(self._arrow):
            return given
        try:
            table = given if isinstance(given, pa.Table) else table_of(given)
            missing = [name for name in self._source.schema.names if name not in table.column_names]
            if missing:
                raise DataError(f"the table has no column {missing[0]!r}.", hint=self._hint())
            if WEIGHT in table.column_names and not self._source.revisions:
                raise DataError("the table has weights.", hint="declare `revisions: true` on the stream.")
            return fitted(narrowed(table, self._schema, fractions=table is not given), self._schema)
        except (FaultError, pa.ArrowInvalid) as error:
            raise DataError(f"the table does not fit: {error}.", hint=self._hint()) from None

    def _checked(self, rows: Any) -> pa.Table:
        try:
            weighted = weighted_rows(rows, self._source.schema, revisions=self._source.revisions)
        except DataError as error:
            raise error.at(f"stream {self._source.stream}") from None
        for row in weighted:
            check_row(self._source, *row, forms=FORMS)
        plain = [(*row.values, row.weight) if self._source.revisions else row.values for row in weighted]
        return to_arrow(plain, self._schema)

    def _hint(self) -> str:
        return f"the stream's columns: {self._source.schema}."


_HANDING_OUT = threading.Lock()
"""Nobody begins to read while files are handed out."""
_READERS = ".readers"


def subscribe(inbox: Path, place: Path) -> None:
    """Let somebody who reads in a folder of its own have all files of an inbox from now on."""
    place.mkdir(parents=True, exist_ok=True)
    readers = inbox / _READERS
    readers.mkdir(parents=True, exist_ok=True)
    known = readers / hashlib.sha256(str(place.absolute()).encode()).hexdigest()[:16]
    with _HANDING_OUT:
        if not known.is_symlink():
            known.symlink_to(place.absolute())
    _handed_out(inbox)


def _handed_out(inbox: Path) -> list[Path]:
    """Give every file of an inbox to all who read it; the folders that these read."""
    with _HANDING_OUT:
        places = []
        for known in sorted((inbox / _READERS).glob("*")):
            if known.exists():
                places.append(known.readlink())
            else:
                known.unlink()  # the fragment is gone, and its folder with it
        if places:
            for file in sorted(inbox.glob("rows-*.parquet")):
                for place in places:
                    # A run that died may have given it to some, who know it by its name if they have read it.
                    with suppress(FileExistsError):
                        os.link(file, place / file.name)
                file.unlink()
        return places


def own_inbox(own: Path, stream: str, origin: str) -> Path:
    """Where a fragment with a folder of its own reads the rows that are pushed at an origin of a stream."""
    return own / "sources" / stream / origin


def inbox_of(state: Path, stream: str, origin: str) -> Path:
    """Where rows that are pushed at an origin of a stream go, in the state of a run."""
    return state / "inbox" / stream / origin


def file_of(folder: Path, time: int) -> Path:
    """The file in an inbox that was last changed at a time, in milliseconds."""
    return folder / f"rows-{time:015}.parquet"


def _row_bytes(schema: pa.Schema) -> int | None:
    """The bytes of a row, where all rows have as many."""
    types = [field.type for field in schema]
    simple = all(pa.types.is_primitive(one) or pa.types.is_decimal(one) for one in types)
    return -(-sum(one.bit_width for one in types) // 8) if simple else None


def _compact(table: pa.Table) -> pa.Table:
    """The table in chunks that are worth it; columns without NULLs say so, and are written a third faster."""
    if table.num_rows < _SHORT * max((column.num_chunks for column in table.columns), default=0):
        table = table.combine_chunks()
    sure = [field.with_nullable(table[field.name].null_count > 0) for field in table.schema]
    return pa.table(table.columns, schema=pa.schema(sure, table.schema.metadata))
