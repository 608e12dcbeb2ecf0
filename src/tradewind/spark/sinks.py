"""Where results go: files, the console, or whoever pulls them in this process.

A batch's rows are staged while it is worked out and published once it is committed; publishing twice is publishing
once, so a run that died in between makes good for it when it is started again.
"""

from __future__ import annotations

import queue
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BIGINT, BOOLEAN
from tradewind.errors import DataError
from tradewind.frontends.deployment.formats import check_delivery, checked
from tradewind.spark.columns import WEIGHT
from tradewind.spark.delivery import FINAL, Totals, totals_in, totals_of
from tradewind.spark.encoding import ENCODERS, TIMES
from tradewind.spark.sources.csv_records import header_of
from tradewind.spark.sources.landing import PARSERS
from tradewind.spark.sources.parsing import Reading
from tradewind.spark.sources.records import Part
from tradewind.spark.types import quote

Note = Mapping[str, Any]
"""What a sink must find again to publish a batch; plain data."""


class Sink(Protocol):
    """Takes the rows of one query."""

    counts: bool
    """Whether a note tells how many `final` and `tentative` rows were staged."""

    def stage(self, rows: DataFrame, label: str, *, sure: bool = False) -> Note:
        """Work the rows out and keep them aside. They are `sure` where each is final and counts for one."""

    def publish(self, note: Note) -> None:
        """Let readers see what was staged."""

    def clear(self) -> None:
        """Remove everything that was ever published."""


_TIMES = {"timestampFormat": TIMES}

_DEFAULTS: dict[str, dict[str, Any]] = {
    "json": _TIMES,
    # Left to itself, Spark cuts white space off the ends of texts.
    "csv": {
        "header": True,
        "escape": '"',
        "ignoreLeadingWhiteSpace": False,
        "ignoreTrailingWhiteSpace": False,
        **_TIMES,
    },
    # Columns that begin with an underscore, as our own do, would be attributes.
    "xml": {"rowTag": "row", "attributePrefix": "@", **_TIMES},
}
_STAGING = "_staging"
_OURS = re.compile(r"batch-\d{8,}(-end)?-\d+\..+")
"""Names of files that batches were written to; files of any other name are somebody else's."""


class Files:
    """Files in a folder, named by batch, so that publishing a batch again changes nothing.

    `allowed` raises where a path may not be written to. It is asked before each write: a link that came there later
    may lead elsewhere.
    """

    def __init__(
        self,
        folder: Path,
        format_: str,
        options: Mapping[str, Any],
        schema: Schema,
        allowed: Callable[[Path], None] = lambda _: None,
    ) -> None:
        check_delivery(format_, options)
        self._allowed = allowed
        self.folder = folder
        self.format = format_
        self._schema = schema
        self._options = {**_DEFAULTS.get(format_, {}), **options}
        self._publishing = threading.Lock()
        self.counts = format_ == "parquet"

    def stage(self, rows: DataFrame, label: str, *, sure: bool = False) -> Note:
        """Write the batch's files where no reader looks."""
        staging = self.folder / _STAGING / label
        self._allowed(staging)
        shutil.rmtree(staging, ignore_errors=True)
        writer = self._plain(rows).write.format(self.format).mode("overwrite")
        for name, value in self._options.items():
            writer = writer.option(name, _text(value))
        writer.save(str(staging))
        files = sorted(file.name for file in staging.iterdir() if file.is_file() and file.name[0] not in "._")
        named = [[file, f"{label}-{i}{file[file.index('.') :]}"] for i, file in enumerate(files)]
        counted = asdict(totals_in(staging)) if self.counts else {}
        return {"label": label, "files": named, **counted}

    def publish(self, note: Note) -> None:
        """Move the staged files to their place; those that are there already were moved before."""
        staging = self.folder / _STAGING / str(note["label"])
        self._allowed(self.folder)
        self._allowed(staging)
        with self._publishing:
            for staged, name in note["files"]:
                if (staging / staged).exists():
                    (staging / staged).replace(self.folder / name)
        shutil.rmtree(self.folder / _STAGING, ignore_errors=True)

    def clear(self) -> None:
        """Remove the files of all batches, and nothing else."""
        self._allowed(self.folder)
        for file in self.published():
            file.unlink()
        shutil.rmtree(self.folder / _STAGING, ignore_errors=True)

    def prepare(self) -> None:
        """From now on an answer without rows is an answer."""
        self._allowed(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def staging(self) -> Path:
        """Where batches are that are not published yet."""
        return self.folder / _STAGING

    def published(self) -> list[Path]:
        """The files of all batches, in order."""
        if not self.folder.is_dir():
            return []
        return sorted(file for file in self.folder.iterdir() if _OURS.fullmatch(file.name))

    def delivered(self) -> Iterator[pa.Table]:
        """The rows of all batches that this sink has published, none of them in part."""
        with self._publishing:
            files = self.published()
        return self.read(files)

    def read(self, files: Sequence[Path]) -> Iterator[pa.Table]:
        """The rows of published files: columns, `_final` and `_weight`, in their types."""
        if self.format == "parquet":
            yield from (pq.read_table(file) for file in files)
            return
        schema = Schema((*self._schema.columns, (FINAL, BOOLEAN), (WEIGHT, BIGINT)))
        reading = Reading(schema, checked(self.format, self._read_back()), bounded=False)
        for file in files:
            headed = bool(reading.options.get("header"))
            known = replace(reading, columns=header_of(str(file), reading)) if headed else reading
            for found in PARSERS[self.format](Part(str(file)), known):
                if found.letters:
                    raise DataError(f"holds a row that cannot be read: {found.letters[0].reason}.", where=str(file))
                yield found.table

    def _read_back(self) -> dict[str, Any]:
        """The options that read what was written."""
        if self.format == "csv":
            delimiter = self._options.get("delimiter", self._options.get("sep", ","))
            return {"delimiter": delimiter, "header": self._options["header"], "multi_line": True}
        return {"rowTag": self._options["rowTag"]} if self.format == "xml" else {}

    def _plain(self, rows: DataFrame) -> DataFrame:
        """Rows as the format can hold them."""
        encoder = ENCODERS.get(self.format)
        if encoder is None:
            return rows
        own = [f"{encoder(quote(name), type_)} AS {quote(name)}" for name, type_ in self._schema.columns]
        return rows.selectExpr(*own, FINAL, WEIGHT)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _brought(rows: DataFrame, *, sure: bool) -> tuple[pa.Table, Totals]:
    """The rows in this process, and how many there are: values that are known beforehand need not travel."""
    if not sure:
        found = rows.toArrow()
        return found, totals_of(found)
    found = _surely(rows.drop(FINAL, WEIGHT).toArrow())
    return found, Totals(final=found.num_rows)


def _surely(rows: pa.Table) -> pa.Table:
    """Rows each of which is final and counts for one."""
    for name, value in ((FINAL, pa.scalar(True)), (WEIGHT, pa.scalar(1, pa.int64()))):
        rows = rows.append_column(name, pa.repeat(value, rows.num_rows))
    return rows


class Dequeuer:
    """Gets every row that is delivered, as Arrow tables, batch by batch, whoever else gets them too."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[pa.Table | None] = queue.SimpleQueue()

    def put(self, rows: pa.Table | None) -> None:
        """Rows to be waited for; None when no more will come."""
        self._waiting.put(rows)

    def pull(self, timeout: float | None = None) -> pa.Table | None:
        """The next batch of rows, waited for; None when no more will come. `queue.Empty` when the time is over."""
        return self._waiting.get(timeout=timeout)


class Pulled:
    """Rows for those who pull them in this process. Nothing is copied for each.

    Tables are held besides, whoever has pulled them, so that the whole answer can be added up: so many bytes of them
    since they were last taken. Beyond that all are let go, and there is no whole answer any more.
    """

    counts = True

    def __init__(self, most_bytes: int = 200_000_000) -> None:
        self._dequeuers = [Dequeuer()]
        self._free = True
        self._staged: pa.Table | None = None
        self._most = most_bytes
        self._held: list[pa.Table] | None = []
        self._bytes = 0
        self._holding = threading.Lock()

    def stage(self, rows: DataFrame, label: str, *, sure: bool = False) -> Note:
        """Bring the rows into this process."""
        self._staged, totals = _brought(rows, sure=sure)
        return {"label": label, **asdict(totals)}

    def hold(self, rows: pa.Table, label: str) -> Note:
        """Stage rows that are in this process already, each of them final."""
        self._staged = _surely(rows)
        return {"label": label, **asdict(Totals(final=rows.num_rows))}

    def publish(self, note: Note) -> None:
        """Put them where they are waited for."""
        if self._staged is not None and self._staged.num_rows:
            self._keep(self._staged)
            for one in self._dequeuers:
                one.put(self._staged)
        self._staged = None

    def _keep(self, rows: pa.Table) -> None:
        with self._holding:
            self._bytes += rows.nbytes
            if self._bytes > self._most:
                self._held = None
            elif self._held is not None:
                self._held.append(rows)

    def taken(self) -> list[pa.Table] | None:
        """The tables that were delivered since this was last asked; None if they were too many to be held."""
        with self._holding:
            if self._held is None:
                return None
            tables, self._held, self._bytes = self._held, [], 0
            return tables

    def clear(self) -> None:
        """Nothing lasts here."""

    def finish(self) -> None:
        """Nothing more will come."""
        for one in self._dequeuers:
            one.put(None)

    def first(self) -> Dequeuer:
        """The one that has been there from the start, so that it misses nothing."""
        self._free = False
        return self._dequeuers[0]

    def another(self) -> Dequeuer:
        """One more, which gets what is delivered from now on; the first one as long as nobody has it."""
        if self._free:
            return self.first()
        self._dequeuers.append(Dequeuer())
        return self._dequeuers[-1]


class Shown:
    """Rows shown as they come, by a function that prints."""

    counts = True

    def __init__(self, show: Callable[[pa.Table], None]) -> None:
        self._show = show
        self._staged: pa.Table | None = None

    def stage(self, rows: DataFrame, label: str, *, sure: bool = False) -> Note:
        """Bring the rows into this process."""
        self._staged, totals = _brought(rows, sure=sure)
        return {"label": label, **asdict(totals)}

    def publish(self, note: Note) -> None:
        """Print them."""
        if self._staged is not None:
            self._show(self._staged)
        self._staged = None

    def clear(self) -> None:
        """What was printed stays printed."""


class Nowhere:
    """Rows are worked out and thrown away: for measuring. Each delta is counted as one final row.

    With `columns: false` they are only counted: nobody looks at them, and Spark need not either.
    """

    counts = True

    def __init__(self, *, columns: bool = True) -> None:
        self._columns = columns

    def stage(self, rows: DataFrame, label: str, *, sure: bool = False) -> Note:
        """Work the rows' own columns out; Spark does not see that they are only counted."""
        if not self._columns:
            return {"label": label, **asdict(Totals(final=rows.count()))}
        count = rows.drop(FINAL, WEIGHT)._jdf.queryExecution().toRdd().count()  # noqa: SLF001 - no other way is as quick
        return {"label": label, **asdict(Totals(final=count))}

    def publish(self, note: Note) -> None:
        """There is nothing to see."""

    def clear(self) -> None:
        """There is nothing to remove."""
