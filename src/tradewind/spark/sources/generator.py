"""Rows that nobody wrote: computed by Spark from a row number and a seed, the same whenever they are asked for.

Which rows are due is told by trigger files, empty files named after row numbers. So Spark tracks and replays generated
rows as it does files: those of a finite run are all there at its start, those of an endless one appear as time passes.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tradewind.algebra.schema import Schema
from tradewind.algebra.times import parse_timestamp
from tradewind.algebra.types import INTEGER_BITS, MICROS, DataType, is_integer
from tradewind.spark.literals import text_sql
from tradewind.spark.sources.places import drop
from tradewind.spark.types import ddl, quote

FIRST = parse_timestamp("2026-01-01")
"""The first event time of a finite run that does not say one."""

_TICK = 0.1
_DAY = 86_400_000_000
_MOST = 10_000
"""So many trigger files at most are issued at once for a finite run."""
_LONGEST = 100_000
"""So many rows at most one trigger file of an endless run stands for."""

_FEW = 1000
"""So many different values a column has for which nothing is declared."""


class Span(NamedTuple):
    """Rows from one number up to another, which is not among them."""

    first: int
    end: int


def span_of(file: Path) -> Span:
    """The rows that a trigger file stands for."""
    _, first, end = file.name.split("-")
    return Span(int(first), int(end))


def merged(spans: list[Span]) -> list[Span]:
    """The same rows in as few spans as can be.

    >>> merged([Span(0, 5), Span(5, 9), Span(12, 13)])
    [Span(first=0, end=9), Span(first=12, end=13)]
    """
    found: list[Span] = []
    for span in sorted(spans):
        if found and found[-1].end == span.first:
            found[-1] = Span(found[-1].first, span.end)
        else:
            found.append(span)
    return found


class TriggerFiles:
    """The folder of trigger files by which one reader of an origin learns which rows are due. Each reader has its own:
    Spark removes the files that it has read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._next = folder / ".next"
        self._last = 0
        self._issued: int | None = None

    def issue_all(self, rows: int, per_batch: int) -> None:
        """All rows are due, in batches of so many. What has been issued once is not issued again."""
        step = max(per_batch, -(-rows // _MOST))
        for first in range(self.issued(), rows, step):
            self.issue(Span(first, min(first + step, rows)))

    def issue_up_to(self, due: int) -> None:
        """The rows before a number are due, as far as they were not before."""
        for first in range(self.issued(), due, _LONGEST):
            self.issue(Span(first, min(first + _LONGEST, due)))

    def issue(self, span: Span) -> None:
        """Some more rows are due."""
        name = f"rows-{span.first:018}-{span.end:018}"
        self._last = drop(self.folder, name, self._last, span.end - span.first)
        _note(self._next, span.end)
        self._issued = span.end

    def issued(self) -> int:
        """How many rows have ever been due here. A file may have been written by a run that died over it."""
        if self._issued is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            waiting = list(self.folder.glob("rows-*"))
            # Their times may be ahead of the clock, if many were issued at once.
            self._last = max([self._last, *(file.stat().st_mtime_ns for file in waiting)])
            self._issued = max([_noted(self._next), *(span_of(file).end for file in waiting)])
        return self._issued


class Clock:
    """How many rows of an endless origin have fallen due: the same for everybody who reads it at this site.

    It goes on from where an earlier run left off, so rows that would have fallen due while nothing ran never do. Each
    reader that follows it gets all rows from the first one on, in trigger files of its own.
    """

    def __init__(self, folder: Path, rate: float) -> None:
        self._due = folder / "due"
        self._rate = rate
        self._followers: list[TriggerFiles] = []
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="generator", daemon=True)
        self._thread.start()

    def follow(self, files: TriggerFiles) -> None:
        """Let a reader know of what is due, and of whatever will be."""
        with self._lock:
            files.issue_up_to(_noted(self._due))
            self._followers.append(files)

    def leave(self, files: TriggerFiles) -> bool:
        """A reader needs no more rows; whether nobody does."""
        with self._lock:
            self._followers.remove(files)
            return not self._followers

    def stop(self) -> None:
        """No more rows fall due."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        first = _noted(self._due)
        begin = time.perf_counter()
        while not self._stopped.wait(_TICK):
            due = first + int((time.perf_counter() - begin) * self._rate)
            with self._lock:
                # Should a disk be full, or a reader's folder be gone, what was not issued is made up for later.
                with suppress(OSError):
                    _note(self._due, due)
                for files in self._followers:
                    with suppress(OSError):
                        files.issue_up_to(due)


_clocks: dict[Path, Clock] = {}
_clocks_lock = threading.Lock()


def follow(folder: Path, rate: float, files: TriggerFiles) -> None:
    """Let a reader's trigger files follow the clock that is kept in a folder."""
    with _clocks_lock:
        folder.mkdir(parents=True, exist_ok=True)
        if folder not in _clocks:
            _clocks[folder] = Clock(folder, rate)
        _clocks[folder].follow(files)


def leave(folder: Path, files: TriggerFiles) -> None:
    """A reader needs no more rows. The clock stops when nobody follows it."""
    with _clocks_lock:
        if _clocks[folder].leave(files):
            _clocks.pop(folder).stop()


def begun(folder: Path) -> int:
    """The moment at which a clock was first used, in microseconds since 1970."""
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / "begun"
    if not mark.exists():
        mark.touch()
    return mark.stat().st_mtime_ns // 1000


def _noted(file: Path) -> int:
    return int(file.read_text()) if file.exists() else 0


def _note(file: Path, number: int) -> None:
    partial = file.with_suffix(".partial")
    partial.write_text(str(number))
    partial.replace(file)


class Generated(NamedTuple):
    """What rows are made from: their columns, how many different values each has, and what sets an origin apart."""

    schema: Schema
    distinct: Mapping[str, int]
    name: str
    seed: int
    rate: float
    start: int

    def time(self, row: int) -> int:
        """The event time of a row, as the rows have it too."""
        if isinstance(self.rate, int):
            return self.start + row * MICROS // self.rate
        return self.start + math.floor(row * (MICROS / self.rate))

    def columns(self) -> list[str]:
        """The columns of the row with the number `id`, as SQL."""
        found = []
        for place, (name, type_) in enumerate(self.schema.columns):
            if name == self.schema.time:
                sql = f"timestamp_micros({self._time_sql()})"
            else:
                hash_ = f"xxhash64(id, {self.seed}L, {text_sql(self.name)}, {place})"
                sql = self._value(name, type_, hash_, self.distinct.get(name))
            found.append(f"{sql} AS {quote(name)}")
        return found

    def _time_sql(self) -> str:
        if isinstance(self.rate, int):
            return f"{self.start}L + (id * {MICROS}L) div {self.rate}L"
        return f"{self.start}L + CAST(floor(id * {MICROS / self.rate!r}D) AS BIGINT)"

    def _value(self, name: str, type_: DataType, hash_: str, distinct: int | None) -> str:
        """One of so many values of a type, as the hash decides."""
        most = distinct or _FEW
        if is_integer(type_):
            return f"CAST(pmod({hash_}, {min(most, 2 ** (INTEGER_BITS[type_] - 1) - 1)}L) AS {ddl(type_)})"
        number = f"pmod({hash_}, {most}L)"
        match type_.name:
            case "BOOLEAN":
                return f"(pmod({hash_}, {min(most, 2)}L) = 0)"
            case "FLOAT" | "DOUBLE":
                steps = distinct or 2**53
                return f"CAST(pmod({hash_}, {steps}L) / {float(steps)!r}D AS {ddl(type_)})"
            case "DECIMAL":
                precision, scale = type_.parameters
                digits = f"pmod({hash_}, {min(most, 10 ** min(precision, 18) - 1)}L)"
                return f"CAST(CAST({digits} AS DECIMAL(20,0)) / {10**scale}BD AS {ddl(type_)})"
            case "DATE":
                return f"date_from_unix_date({self.start // _DAY} + CAST({number} AS INT))"
            case "TIMESTAMP":
                return f"timestamp_micros({self.start}L + {number} * {MICROS}L)"
            case "INTERVAL":
                return f"INTERVAL '0 00:00:01' DAY TO SECOND * {number}"
            case "ARRAY":
                each = self._value(name, type_.element, f"xxhash64({hash_}, i)", distinct)
                return f"transform(sequence(0L, pmod({hash_}, 3L)), i -> {each})"
            case "STRUCT":
                parts = [
                    f"{text_sql(inner)}, {self._value(inner, part, f'xxhash64({hash_}, {place})', distinct)}"
                    for place, (inner, part) in enumerate(type_.fields)
                ]
                return f"named_struct({', '.join(parts)})"
        text = f"concat({text_sql(name)}, '-', {number})"
        return f"CAST({text} AS BINARY)" if type_.name == "BINARY" else text
