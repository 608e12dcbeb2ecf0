"""Where results go: files, the console, or whoever pulls them in this process.

A batch's rows are staged while it is worked out and published once it is committed; publishing twice is publishing
once, so a run that died in between makes good for it when it is started again.
"""

from __future__ import annotations

import queue
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame

from tradewind.algebra.schema import Schema
from tradewind.errors import InputError, unknown
from tradewind.spark.types import quote

Note = Mapping[str, Any]
"""What a sink must find again to publish a batch; plain data."""


class Sink(Protocol):
    """Takes the rows of one query."""

    def stage(self, rows: DataFrame, batch: int) -> Note:
        """Work the rows out and keep them aside."""

    def publish(self, note: Note) -> None:
        """Let readers see what was staged."""

    def clear(self) -> None:
        """Remove everything that was ever published."""


_SUFFIXES = {"parquet": "parquet", "json": "json", "csv": "csv", "xml": "xml", "orc": "orc"}
_OPTIONS = {
    "parquet": {"compression"},
    "json": {"compression"},
    "csv": {"compression", "header", "delimiter", "sep"},
    "xml": {"compression", "rowTag", "rootTag"},
    "orc": {"compression"},
}
_FLAT = ("csv",)
_STAGING = "_staging"


class Files:
    """Files in a folder, named by batch, so that publishing a batch again changes nothing."""

    def __init__(self, folder: Path, format_: str, options: Mapping[str, Any], schema: Schema) -> None:
        if format_ not in _SUFFIXES:
            raise unknown("format of a delivery", format_, [*_SUFFIXES, "console", "memory"])
        for name in options:
            if name not in _OPTIONS[format_]:
                raise unknown(f"option of a {format_} delivery", name, sorted(_OPTIONS[format_]))
        self.folder = folder
        self.format = format_
        self._schema = schema
        self._options = {"header": "true"} | dict(options) if format_ == "csv" else dict(options)

    def stage(self, rows: DataFrame, batch: int) -> Note:
        """Write the batch's files where no reader looks."""
        staging = self.folder / _STAGING / str(batch)
        shutil.rmtree(staging, ignore_errors=True)
        writer = self._plain(rows).write.format(self.format).mode("overwrite")
        for name, value in self._options.items():
            writer = writer.option(name, _text(value))
        writer.save(str(staging))
        files = sorted(file.name for file in staging.iterdir() if file.is_file() and file.name[0] not in "._")
        endings = [file[file.index(".") :] for file in files]
        return {"batch": batch, "files": [[file, f"batch-{batch:08}-{i}{end}"] for i, (file, end) in _numbered(files, endings)]}

    def publish(self, note: Note) -> None:
        """Move the staged files to their place; those that are there already were moved before."""
        staging = self.folder / _STAGING / str(note["batch"])
        for staged, name in note["files"]:
            if (staging / staged).exists():
                (staging / staged).replace(self.folder / name)
        shutil.rmtree(self.folder / _STAGING, ignore_errors=True)

    def clear(self) -> None:
        """Remove the files of all batches, and nothing else."""
        for file in self.published():
            file.unlink()
        shutil.rmtree(self.folder / _STAGING, ignore_errors=True)

    def published(self) -> list[Path]:
        """The files of all batches, in order."""
        return sorted(self.folder.glob("batch-*.*")) if self.folder.is_dir() else []

    def _plain(self, rows: DataFrame) -> DataFrame:
        """Rows as the format can hold them: CSV has no nested values."""
        if self.format not in _FLAT:
            return rows
        nested = {name for name, type_ in self._schema.columns if type_.name in ("STRUCT", "ARRAY")}
        binary = {name for name, type_ in self._schema.columns if type_.name == "BINARY"}
        shown = []
        for name in rows.columns:
            column = quote(name)
            shown.append(f"to_json({column}) AS {column}" if name in nested else f"base64({column}) AS {column}" if name in binary else column)
        return rows.selectExpr(*shown)


def _numbered(files: list[str], endings: list[str]) -> list[tuple[int, tuple[str, str]]]:
    return list(enumerate(zip(files, endings, strict=True)))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Pulled:
    """Rows for whoever pulls them in this process, as Arrow tables, batch by batch."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[pa.Table | None] = queue.SimpleQueue()
        self._staged: pa.Table | None = None

    def stage(self, rows: DataFrame, batch: int) -> Note:
        """Bring the rows into this process."""
        self._staged = rows.toArrow()
        return {"batch": batch}

    def publish(self, note: Note) -> None:
        """Put them where they are waited for."""
        if self._staged is not None and self._staged.num_rows:
            self._waiting.put(self._staged)
        self._staged = None

    def clear(self) -> None:
        """Nothing lasts here."""

    def finish(self) -> None:
        """Nothing more will come."""
        self._waiting.put(None)

    def pull(self, timeout: float | None = None) -> pa.Table | None:
        """The next batch of rows, waited for; None when no more will come. `queue.Empty` when the time is over."""
        return self._waiting.get(timeout=timeout)


class Shown:
    """Rows shown as they come, by a function that prints."""

    def __init__(self, show: Callable[[pa.Table], None]) -> None:
        self._show = show
        self._staged: pa.Table | None = None

    def stage(self, rows: DataFrame, batch: int) -> Note:
        """Bring the rows into this process."""
        self._staged = rows.toArrow()
        return {"batch": batch}

    def publish(self, note: Note) -> None:
        """Print them."""
        if self._staged is not None:
            self._show(self._staged)
        self._staged = None

    def clear(self) -> None:
        """What was printed stays printed."""


class Nowhere:
    """Rows are worked out and thrown away: for measuring."""

    def stage(self, rows: DataFrame, batch: int) -> Note:
        """Work them out."""
        rows.write.format("noop").mode("overwrite").save()
        return {"batch": batch}

    def publish(self, note: Note) -> None:
        """There is nothing to see."""

    def clear(self) -> None:
        """There is nothing to remove."""


def require_folder(path: Path | None, query: str) -> Path:
    """The folder of a delivery to files."""
    if path is None:
        raise InputError(f"query {query!r} is delivered to files, but has no path.", hint="deliver: {path: out/…}.")
    return path
