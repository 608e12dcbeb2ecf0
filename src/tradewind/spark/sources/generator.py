"""Rows that nobody wrote: computed by Spark from a row number and a seed, the same whenever they are asked for.

Which rows are due is told by tickets, empty files named after row numbers. So Spark tracks and replays generated rows
as it does files: those of a finite run are all there at its start, those of an endless one appear as time passes.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
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
"""So many tickets at most are issued at once."""

_FEW = 1000
"""So many different values a column has for which nothing is declared."""


class Span(NamedTuple):
    """Rows from one number up to another, which is not among them."""

    first: int
    end: int


def span_of(ticket: Path) -> Span:
    """The rows that a ticket stands for."""
    _, first, end = ticket.name.split("-")
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


class Tickets:
    """The folder of an origin's tickets."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._next = folder / ".next"
        self._last = 0

    def issue_all(self, rows: int, per_batch: int) -> None:
        """All rows are due, in batches of so many. What has been issued once is not issued again."""
        step = max(per_batch, -(-rows // _MOST))
        for first in range(self.issued(), rows, step):
            self.issue(Span(first, min(first + step, rows)))

    def issue(self, span: Span) -> None:
        """Some more rows are due."""
        self._last = drop(self.folder, f"rows-{span.first:018}-{span.end:018}", self._last)
        partial = self._next.with_suffix(".partial")
        partial.write_text(str(span.end))
        partial.replace(self._next)

    def issued(self) -> int:
        """How many rows have ever been due here. A ticket may have been issued by a run that died over it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        noted = int(self._next.read_text()) if self._next.exists() else 0
        return max([noted, *(span_of(ticket).end for ticket in self.folder.glob("rows-*"))])

    def begun(self) -> int:
        """The moment at which this folder was first used, in microseconds since 1970."""
        self.folder.mkdir(parents=True, exist_ok=True)
        mark = self.folder / ".begun"
        if not mark.exists():
            mark.touch()
        return mark.stat().st_mtime_ns // 1000


class Clockwork:
    """Issues tickets at a rate, from where an earlier run left off, until it is stopped."""

    def __init__(self, tickets: Tickets, rate: float) -> None:
        self._tickets = tickets
        self._rate = rate
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="generator", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        first = issued = self._tickets.issued()
        begin = time.perf_counter()
        while not self._stopped.wait(_TICK):
            due = first + int((time.perf_counter() - begin) * self._rate)
            if due > issued:
                self._tickets.issue(Span(issued, due))
                issued = due

    def stop(self) -> None:
        """No more tickets."""
        self._stopped.set()
        self._thread.join()


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
