"""Rows that a program pushes into a stream: each table becomes a file that the next batch finds."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tradewind.algebra.operators.core import Source
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BIGINT
from tradewind.errors import DataError
from tradewind.interpreter.checking import check_row
from tradewind.interpreter.run import GivenRow, Weighted
from tradewind.spark.columns import WEIGHT
from tradewind.spark.sources.columnar import fitted
from tradewind.spark.sources.nested import FaultError
from tradewind.spark.types import arrow_schema, to_arrow

_MILLISECOND = 1_000_000
_PAGE = 8_000_000
"""Pages are written one by one: with fewer of them a file is written a quarter faster."""


class Inbox:
    """A folder that rows are put into, by any number of threads of one process.

    Spark reads files in the order of the times of their last change, so these grow with each file, as its number does.
    """

    def __init__(self, folder: Path, schema: Schema, *, revisions: bool = False) -> None:
        self._folder = folder
        self._source = Source(folder.parent.name, schema, revisions=revisions)
        self._schema = Schema((*schema.columns, (WEIGHT, BIGINT))) if revisions else schema
        self._arrow = arrow_schema(self._schema)
        self._time = schema.time
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        self._last = max((int(file.stem.removeprefix("rows-")) for file in folder.glob("rows-*.parquet")), default=0)

    def enqueue(self, rows: pa.Table | Sequence[GivenRow]) -> int:
        """Put rows in, a table or tuples, and say how many; once this returns they will be read.

        Where the stream has revisions, a column `_weight` (or a `Weighted` row) says how often a row counts.
        """
        table = self.fitting(rows)
        if table.num_rows:
            self.write(table)
        return int(table.num_rows)

    def fitting(self, rows: pa.Table | Sequence[GivenRow]) -> pa.Table:
        """Rows in the declared columns and types; an error that says what does not fit."""
        return self._converted(rows) if isinstance(rows, pa.Table) else self._checked(rows)

    def write(self, table: pa.Table) -> None:
        """Put fitting rows in, as one file."""
        # Names that begin with a dot are passed over by Spark.
        partial = self._folder / f".partial-{os.getpid()}-{threading.get_ident()}"
        try:
            self._write_file(table, partial)
        except BaseException:
            # On a full disk every byte counts.
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise
        with self._lock:
            written = partial.stat()
            self._last = max(written.st_mtime_ns // _MILLISECOND, self._last + 1)
            os.utime(partial, ns=(written.st_atime_ns, self._last * _MILLISECOND))
            partial.rename(self._folder / f"rows-{self._last:015}.parquet")

    def _write_file(self, table: pa.Table, path: Path) -> None:
        pq.write_table(
            table,
            path,
            compression="none",
            use_dictionary=False,
            write_statistics=[self._time] if self._time is not None else False,
            column_encoding="PLAIN",
            data_page_size=_PAGE,
        )

    def _converted(self, table: pa.Table) -> pa.Table:
        """The declared columns of a table in their types."""
        if table.schema.equals(self._arrow):
            return table
        missing = [name for name in self._source.schema.names if name not in table.column_names]
        if missing:
            raise DataError(f"the table has no column {missing[0]!r}.", hint=self._hint())
        if WEIGHT in table.column_names and not self._source.revisions:
            raise DataError("the table has weights.", hint="declare `revisions: true` on the stream.")
        try:
            return fitted(table, self._schema)
        except (FaultError, pa.ArrowInvalid) as error:
            raise DataError(f"the table does not fit: {error}.", hint=self._hint()) from None

    def _checked(self, rows: Sequence[GivenRow]) -> pa.Table:
        weighted = [row if isinstance(row, Weighted) else Weighted(row, 1) for row in rows]
        for row in weighted:
            check_row(self._source, *row)
        plain = [(*row.values, row.weight) if self._source.revisions else row.values for row in weighted]
        return to_arrow(plain, self._schema)

    def _hint(self) -> str:
        return f"the stream's columns: {self._source.schema}."
