"""How a run goes, told on stderr while it does."""

from __future__ import annotations

import importlib
import json
import math
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from tradewind.algebra.plain import as_object
from tradewind.algebra.times import format_timestamp
from tradewind.cli.board import Board, Figures
from tradewind.cost.declared import ROWS_PER_SECOND

if TYPE_CHECKING:
    from tradewind.errors import BadRecordsError
    from tradewind.frontends.deployment.deployment import Deployment
    from tradewind.runtime.deviations import Deviation
    from tradewind.runtime.live import Live
    from tradewind.runtime.saying import Level, Say
    from tradewind.spark.query import Report
    from tradewind.spark.sources.survey import Survey

_SECOND = 1_000_000
_OFTEN = 0.5
"""Seconds between two looks at a run of many sites on a terminal."""
_COUNTED = ("rows", "bad", "late", "dropped", "missing_files")
"""What is counted of each stream at each origin."""
_SELDOM = 2.0
"""Seconds between two lines about a run of many sites."""
MOMENT = 5.0
"""Seconds for which it is not worth a word that an origin is waited for."""
_RARELY = 30.0
"""Seconds between two lines that say the same."""


class Progress:
    """Tells how a run goes, on stderr, and remembers what it read."""

    def __init__(self, quiet: bool, found: Deployment, say: Say | None = None, *, rows_aside: bool = False) -> None:
        self._quiet = quiet
        self._rows_aside = rows_aside
        self._to_machines = say
        self._queries = found.queries
        self._newest: int | None = None
        self._rates = {
            (name, site): origin.rows_per_second or ROWS_PER_SECOND
            for name, stream in found.streams.items()
            for site, origin in stream.origins.items()
        }
        self._begin = self._said = self._changed = time.perf_counter()
        self._rows = 0
        self._last_line = ""
        drawn = sys.stderr.isatty() and not quiet and say is None
        self._board = Board(Console(stderr=True, highlight=False)) if drawn else None
        self._compared = self._begin
        self.warnings: list[str] = []
        self.deviations: list[Deviation] = []
        """What contradicts the plan by now."""
        self._told: set[tuple[str, str]] = set()
        self._failed: set[str] = set()
        self.batches = 0
        self.origins: dict[tuple[str, str], dict[str, int]] = {}

    def say(self, text: str, *, level: Level = "info", **fields: object) -> None:
        """A line for people, or for machines where they are to read it."""
        if self._quiet and level == "info":
            return
        if self._to_machines is not None:
            self._to_machines(text.strip(), level=level, **fields)
        elif self._board is not None:
            self._board.console.print(text, markup=False, soft_wrap=True)
        else:
            typer.echo(text, err=True)

    def batch(self, report: Report) -> None:
        """One batch: rows, rate, how far the slowest stream is settled, and the answers' sizes."""
        self.batches += 1
        rows = 0
        for place, survey in report.origins.items():
            counted = self.origins.setdefault(place, dict.fromkeys(_COUNTED, 0))
            for what in counted:
                counted[what] += getattr(survey, what)
            rows += survey.rows
        self._note_times(report)
        for warning in report.warnings:
            # A stream that several fragments read is the same stream.
            if warning not in self.warnings:
                self.warn(warning)
        if report.fragment:
            return  # of many sites a line from time to time tells more
        rate = rows / report.seconds if report.seconds else 0.0
        answers = ", ".join(
            f"{name} {one.final:,} final" + (f" + {one.tentative:,}" if one.tentative else "")
            for name, one in report.queries.items()
        )
        odd = sum(one.bad + one.late for one in report.origins.values())
        self.say(
            f"{self._clock()} batch {report.batch}: {rows:,} rows in {report.seconds:.1f} s ({rate:,.0f}/s), "
            f"{self._settled(report)}; "
            f"{answers}{f'; {odd:,} late or bad' if odd else ''}",
            batch=report.batch, rows=rows, seconds=round(report.seconds, 3),
        )  # fmt: skip

    def _note_times(self, report: Report) -> None:
        for survey in report.origins.values():
            if survey.latest is not None:
                self._newest = survey.latest if self._newest is None else max(self._newest, survey.latest)

    def seconds_of(self, read: Mapping[tuple[str, str], Survey]) -> float:
        """How much of the streams' own time was read: by their times, or by their rows and rates if they have none."""
        # Loaded on use: other commands do not need what runs.
        expected = importlib.import_module("tradewind.runtime.expected")
        reads = {place: expected.Read(one.rows, one.earliest, one.latest) for place, one in read.items()}
        longest = expected.span_of(reads, self._rates)
        return 0.0 if longest is None else float(longest.seconds)

    def say_failed(self, failed: Mapping[str, BadRecordsError]) -> None:
        """Say of each query once that it does not go on, while others do."""
        for query, error in failed.items():
            if query not in self._failed:
                self._failed.add(query)
                self.say(f"query {query} failed: {error}", level="warning", query=query)

    def look(self, live: Live, news: Iterable[str]) -> None:
        """Look at a run: say what is new, and from time to time how it goes."""
        for said in news:
            self.say(said)
        if time.perf_counter() - self._compared >= _SELDOM:
            self.compare(live)
        self.say_links(live)
        if live.planned is None:
            self._say_waits(live)

    def warn(self, text: str, **fields: object) -> None:
        """Say what whoever runs this should know, and remember it."""
        self.warnings.append(text)
        self.say(f"warning: {text}", level="warning", **fields)

    def compare(self, live: Live) -> None:
        """Warn of what contradicts the plan, of each thing once."""
        self._compared = time.perf_counter()
        self.deviations = live.deviations()
        for one in self.deviations:
            if (one.kind, one.name) not in self._told:
                self._told.add((one.kind, one.name))
                self.warn(one.message, predicted=one.predicted, measured=one.measured)

    def say_links(self, live: Live) -> None:
        """From time to time, how a run of many sites goes: rows read, links, answers, and who is waited for."""
        now = time.perf_counter()
        if live.planned is None or now - self._said < (_SELDOM if self._board is None else _OFTEN):
            return
        seconds, self._said = now - self._said, now
        if self._board is not None:
            read = {place: one["rows"] for place, one in self.origins.items()}
            marks = {name: min(some.values(), default=math.nan) for name, some in live.marks().items()}
            behind = {
                name: max(0, self._newest - mark) / _SECOND
                for name, mark in marks.items()
                if self._newest is not None and math.isfinite(mark)
            }
            self._board.show(Figures(read, live.links(), live.totals, behind, _with_seconds(live)))
            return
        rows = sum(one["rows"] for one in self.origins.values())
        counts = live.links()
        moved, waiting = (sum(getattr(one, what) for one in counts.values()) for what in ("bytes", "backlog_bytes"))
        answers = ", ".join(
            f"{name} {one.final:,} final" + (f" + {one.tentative:,}" if one.tentative else "")
            for name, one in live.totals.items()
        )
        cuts = [f"{start}:{end}" for (start, end), one in counts.items() if one.cut]
        missing = sorted({origin for some in live.missing().values() for origin in some})
        waits, idle = longest_waits(live), idle_origins(live)
        rate, self._rows = (rows - self._rows) / seconds, rows
        line = (
            f"{rows:,} rows read ({rate:,.0f}/s), {moved:,} bytes over links"
            f"{f', {waiting:,} waiting' if waiting else ''}; {answers}{_named('cut', cuts)}{_named('idle', idle)}"
        )
        waited_for = [name for name, for_ in waits.items() if name in missing or for_ >= MOMENT]
        if (same := line + _named("", waited_for)) == self._last_line and now - self._changed < _RARELY:
            return
        self._last_line, self._changed = same, now
        fields: dict[str, Any] = {
            "rows": rows, "bytes": moved, "backlog_bytes": waiting, "cut": cuts, "missing": missing,
            "waits_for": {name: round(for_, 1) for name, for_ in waits.items()}, "idle": idle,
        }  # fmt: skip
        self.say(f"{self._clock()} {line}{self._since(waited_for, waits)}", **fields)

    def _say_waits(self, live: Live) -> None:
        """Whom a run at one site waits for, whenever that changes: its batches are told one by one."""
        waits, idle = longest_waits(live), idle_origins(live)
        waited_for = [name for name, for_ in waits.items() if for_ >= MOMENT]
        line = f"{_named('idle', idle)}{_named('', waited_for)}"
        if line == self._last_line:
            return
        self._last_line = line
        said = f"{_named('idle', idle)}{self._since(waited_for, waits)}" or "; nobody is waited for"
        self.say(f"{self._clock()} {said[2:]}", waits_for=waits, idle=idle)

    def _since(self, names: Sequence[str], waits: Mapping[str, float]) -> str:
        return _named("waits for", [f"{name} since {self._clock(waits[name])}" for name in names])

    def _clock(self, ago: float = 0.0) -> str:
        """The time since the run began, as lines begin with it, or some seconds before that."""
        seconds = max(0, int(time.perf_counter() - ago - self._begin))
        return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"

    def rows(self, name: str, table: Any) -> None:
        """Rows of a query that is delivered to the console: on stdout, unless that is for one JSON object."""
        # Loaded on use: other commands do not need what reads rows.
        answers = importlib.import_module("tradewind.runtime.answers")
        schema = answers.delivered_schema(self._queries[name].operator.schema)
        for row in answers.delivered_rows(table, schema):
            typer.echo(f"{name}: {json.dumps(as_object(row, schema))}", err=self._rows_aside)

    def end(self, seconds: float, how: str) -> None:
        """The last line."""
        rows = sum(one["rows"] for one in self.origins.values())
        words = {
            "done": "everything read",
            "failed": "ended, but not all queries could go on",
            "over": "time is over",
            "stopped": "stopped; the next run goes on from here",
        }
        batches = "1 batch" if self.batches == 1 else f"{self.batches:,} batches"
        self.say(f"{words[how]}: {rows:,} rows in {batches}, {seconds:.1f} s", rows=rows, seconds=round(seconds, 3))
        for (stream, origin), one in self.origins.items():
            if one["bad"] or one["late"] or one["missing_files"]:
                counted = f"{one['bad']:,} bad, {one['late']:,} late, {one['dropped']:,} dropped"
                missing = f", {one['missing_files']:,} missing files" if one["missing_files"] else ""
                self.say(f"  {stream} at {origin}: {counted}{missing}")

    def close(self) -> None:
        """Take away what is only drawn while it goes on."""
        if self._board is not None:
            self._board.stop()

    def summary(self, totals: Any, read: Mapping[tuple[str, str], Survey], seconds: float, how: str) -> dict[str, Any]:
        """The run as plain data; what was read counts through all runs of the same state."""
        streams: dict[str, dict[str, Any]] = {}
        for (stream, origin), one in read.items():
            streams.setdefault(stream, {})[origin] = {what: getattr(one, what) for what in _COUNTED}
        queries = {
            name: {"rows": one.final + one.tentative, "final": one.final, "tentative": one.tentative}
            for name, one in totals.items()
        }
        return {
            "ended": how, "seconds": round(seconds, 3), "queries": queries, "streams": streams,
            "warnings": self.warnings, "deviations": [one.to_json() for one in self.deviations],
        }  # fmt: skip

    def _settled(self, report: Report) -> str:
        """How far everything is settled, and how far behind the newest row so far that is."""
        marks = [mark for origins in report.marks.values() for mark in origins.values()]
        lowest = min(marks, default=float("-inf"))
        if self._newest is None or not float("-inf") < lowest < float("inf"):
            return "nothing settled yet"
        behind = max(0, self._newest - int(lowest)) / _SECOND
        settled = int(lowest) - int(lowest) % _SECOND
        return f"settled to {format_timestamp(settled)}, {behind:,.1f} s behind the newest row"


def longest_waits(live: Live) -> dict[str, float]:
    """The origins that answers wait for, and for how many seconds they have not moved."""
    waits: dict[str, float] = {}
    for origins in live.waits().values():
        for origin, seconds in origins.items():
            waits[origin] = max(seconds, waits.get(origin, 0.0))
    return waits


def _with_seconds(live: Live) -> dict[str, tuple[str, ...]]:
    """For each query the origins that it waits for, and how long they have not moved."""
    missing = live.missing()
    return {
        query: tuple(
            f"{name} for {for_:,.0f} s"
            for name, for_ in some.items()
            if name in missing.get(query, ()) or for_ >= MOMENT
        )
        for query, some in live.waits().items()
    }


def idle_origins(live: Live) -> list[str]:
    """The origins that are silent and not waited for."""
    return sorted(f"{stream}/{site}" for (stream, site), one in live.origins().items() if one.idle)


def _named(what: str, names: Sequence[str]) -> str:
    return f"; {what}: {', '.join(names)}" if names else ""
