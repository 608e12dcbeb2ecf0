"""What a run remembers between micro-batches: tables of rows in Parquet segments, and commits that make them count.

A table's segments are added to or replaced batch by batch. Each row has an `_until`: nothing that is in time can touch
it later, so a batch without late rows opens only the segments that reach that far. Nothing that a batch writes counts
before its commit; a batch that died is done again from the commit before it.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from tradewind.spark.columns import UNTIL, WEIGHT, consolidated, passing, reaches_sql
from tradewind.spark.session import partitions

_MANY = 12
"""So many segments of one table are made one."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows written by one batch. They count as far as their `_until` lies below `below` (None: all of them)."""

    path: str
    rows: int
    last: int | None
    """The greatest `_until`; None when a row has none, which is for ever."""
    below: int | None = None

    def reaches(self, threshold: float) -> bool:
        """Whether rows of it may be touched by what comes from the threshold on."""
        end = math.inf if self.last is None else self.last
        return self.rows > 0 and end >= threshold and (self.below is None or self.below > threshold)


@dataclass(frozen=True, slots=True)
class Commit:
    """All that holds after a batch: the tables' segments and schemas, and whatever else the run wants to find again."""

    batch: int = -1
    tables: Mapping[str, tuple[Segment, ...]] = field(default_factory=dict)
    schemas: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def used(self) -> set[str]:
        """The folders that its tables and files are in, below that of the memory."""
        segments = {segment.path for segments in self.tables.values() for segment in segments}
        return segments | set(self.folders.values())

    @property
    def rows(self) -> int:
        """How many rows its tables have."""
        return sum(segment.rows for segments in self.tables.values() for segment in segments)


class Memory:
    """The tables of one run, in a folder."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self._commits = folder / "commits"
        self._commits.mkdir(parents=True, exist_ok=True)
        self.committed = last_commit(folder)
        self._tables: dict[str, tuple[Segment, ...]] = {}
        self._schemas: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        self.batch = -1
        self._written = 0
        self._frozen: dict[str, float] = {}
        self._in_one_place = False

    def begin(self, batch: int) -> None:
        """Start a batch from the last commit, whatever an earlier attempt has left behind."""
        self.batch, self._written = batch, 0
        self._in_one_place = partitions(self._spark) == 1
        self._tables = dict(self.committed.tables)
        self._schemas = dict(self.committed.schemas)
        self._folders = dict(self.committed.folders)
        shutil.rmtree(self._folder / f"batch-{batch}", ignore_errors=True)
        shutil.rmtree(self._folder / "scratch", ignore_errors=True)

    def folder_of(self, name: str) -> str | None:
        """Where the last batch that had to wrote files under a name."""
        return str(self._folder / self._folders[name]) if name in self._folders else None

    def new_folder(self, name: str) -> str:
        """Where this batch writes files under a name, all of them anew."""
        self._folders[name] = f"batch-{self.batch}/{name}"
        found = self._folder / self._folders[name]
        found.mkdir(parents=True, exist_ok=True)
        return str(found)

    def scratch(self, name: str) -> str:
        """Where this batch writes what nobody needs after it."""
        return str(self._folder / "scratch" / name)

    def read(self, table: str, threshold: float) -> DataFrame | None:
        """The rows of a table that may be touched by what comes from the threshold on; None when there are none."""
        frames = [self._open(table, segment, threshold) for segment in self._reaching(table, threshold)]
        found = None
        for frame in frames:
            found = frame if found is None else found.unionByName(frame)
        return found

    def _reaching(self, table: str, threshold: float) -> list[Segment]:
        return [segment for segment in self._tables.get(table, ()) if segment.reaches(threshold)]

    def _open(self, table: str, segment: Segment, threshold: float) -> DataFrame:
        schema = StructType.fromJson(json.loads(self._schemas[table]))
        frame = self._spark.read.schema(schema).parquet(str(self._folder / segment.path))
        if self._in_one_place:
            frame = frame.coalesce(1)
        if segment.below is not None:
            frame = frame.where(f"{UNTIL} < {passing(segment.below, UNTIL)}")
        return frame.where(reaches_sql(UNTIL, threshold))

    def append(self, table: str, frame: DataFrame) -> DataFrame | None:
        """Add rows to a table, and give them as they were written; None when there are none."""
        segment = self._write(table, frame)
        self._tables[table] = (*self._tables.get(table, ()), *([segment] if segment.rows else ()))
        return self._open(table, segment, -math.inf) if segment.rows else None

    def adopt(self, table: str, other: Memory, known_as: str) -> None:
        """Add all rows of another memory's table to one of this, as they are there: files are copied, not read."""
        for segment in other.committed.tables[known_as]:
            self._written += 1
            path = f"batch-{self.batch}/{table}-{self._written}"
            shutil.copytree(other._folder / segment.path, self._folder / path)
            self._tables[table] = (*self._tables.get(table, ()), replace(segment, path=path))
        if known_as in other.committed.schemas:
            self._schemas.setdefault(table, other.committed.schemas[known_as])

    def rewrite(self, table: str, frame: DataFrame, threshold: float) -> DataFrame | None:
        """Replace all rows of a table that reach the threshold, and give the new ones."""
        segment = self._write(table, frame)
        kept = [_cut(old, threshold) for old in self._tables.get(table, ())]
        self._tables[table] = (*(old for old in kept if old.rows), *([segment] if segment.rows else ()))
        return self._open(table, segment, -math.inf) if segment.rows else None

    def _write(self, table: str, frame: DataFrame) -> Segment:
        self._written += 1
        path = f"batch-{self.batch}/{table}-{self._written}"
        if table not in self._schemas:
            self._schemas[table] = frame.schema.json()
        frame.write.mode("overwrite").parquet(str(self._folder / path))
        return _measured(self._folder, path)

    def forget(self, prefix: str, frozen: float) -> None:
        """Drop the segments of some tables of which nothing reaches what can still come."""
        for table, segments in self._tables.items():
            if table.startswith(prefix):
                self._frozen[table] = frozen
                self._tables[table] = tuple(segment for segment in segments if segment.reaches(frozen))

    def compact(self) -> None:
        """Make one segment of the newest ones, where a table has many; rows that add up are added up.

        A segment is only taken in by others that are together at least half its size, so that each row is written a
        number of times that grows with the logarithm of the table.
        """
        for table, segments in list(self._tables.items()):
            if len(segments) <= _MANY:
                continue
            first = _first_to_merge(segments)
            frozen = self._frozen.get(table, -math.inf)
            frame = None
            for segment in segments[first:]:
                opened = self._open(table, segment, frozen)
                frame = opened if frame is None else frame.unionByName(opened)
            if frame is None:
                continue
            if WEIGHT in frame.columns:
                frame = consolidated(frame, [name for name in frame.columns if name != WEIGHT])
            merged = self._write(table, frame.sortWithinPartitions(UNTIL))
            self._tables[table] = (*segments[:first], *([merged] if merged.rows else ()))

    def commit(self, notes: Mapping[str, Any]) -> None:
        """Make everything of this batch count, at once; then remove what no longer does."""
        new = Commit(self.batch, self._tables, self._schemas, self._folders, notes)
        self._save(new)
        self.committed = new
        self._remove_unused()

    def note(self, notes: Mapping[str, Any]) -> None:
        """Keep other notes with the last commit; whatever this batch did to tables is forgotten."""
        self.committed = replace(self.committed, notes=notes)
        self._save(self.committed)
        shutil.rmtree(self._folder / f"batch-{self.batch}", ignore_errors=True)
        shutil.rmtree(self._folder / "scratch", ignore_errors=True)

    def _save(self, new: Commit) -> None:
        write_commit(self._folder, new)

    def _remove_unused(self) -> None:
        used = self.committed.used
        for path in self._folder.glob("batch-*/*"):
            if path.relative_to(self._folder).as_posix() not in used:
                shutil.rmtree(path)
        for batch in self._folder.glob("batch-*"):
            if not any(batch.iterdir()):
                batch.rmdir()
        shutil.rmtree(self._folder / "scratch", ignore_errors=True)
        for old in self._commits.glob("*.json"):
            if int(old.stem) < self.committed.batch - 1:
                old.unlink()


def last_commit(folder: Path) -> Commit:
    """What holds in the folder of a memory."""
    known = sorted(int(path.stem) for path in (folder / "commits").glob("*.json"))
    if not known:
        return Commit()
    return read_commit((folder / "commits" / f"{known[-1]}.json").read_text())


def read_commit(text: str) -> Commit:
    """A commit as it was written."""
    data = json.loads(text)
    tables = {name: tuple(Segment(**one) for one in segments) for name, segments in data["tables"].items()}
    return Commit(data["batch"], tables, data["schemas"], data["folders"], data["notes"])


def write_commit(folder: Path, new: Commit) -> None:
    """Let a commit hold in the folder of a memory, at once."""
    path = folder / "commits" / f"{new.batch}.json"
    partial = path.with_suffix(".partial")
    with partial.open("w") as file:
        json.dump(asdict(new), file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def _first_to_merge(segments: Sequence[Segment]) -> int:
    """The place from which on segments are made one."""
    first = len(segments) - 2
    together = sum(segment.rows for segment in segments[first:])
    while first > 0 and segments[first - 1].rows <= 2 * together:
        first -= 1
        together += segments[first].rows
    return first


def _cut(segment: Segment, threshold: float) -> Segment:
    """The segment without the rows that reach a threshold; its `rows` is 0 when nothing is left."""
    if threshold == -math.inf:
        return replace(segment, rows=0)
    if threshold == math.inf:
        # Rows without end are the only ones that reach it, and a bound leaves just them out.
        return segment if segment.last is not None else replace(segment, below=segment.below or 2**63 - 1)
    if segment.last is not None and segment.last < threshold:
        return segment
    below = int(threshold) if segment.below is None else min(segment.below, int(threshold))
    return replace(segment, below=below)


def _measured(folder: Path, path: str) -> Segment:
    """A segment with what its files' footers say."""
    rows, last, endless = 0, -(2**63), False
    for file in sorted((folder / path).glob("*.parquet")):
        footer = pq.read_metadata(file)
        rows += footer.num_rows
        place = footer.schema.names.index(UNTIL)
        for group in (footer.row_group(i) for i in range(footer.num_row_groups)):
            found = group.column(place).statistics
            if found is None or found.null_count is None or found.null_count > 0 or not found.has_min_max:
                endless = True
            else:
                last = max(last, found.max)
    return Segment(path, rows, None if endless else last)
