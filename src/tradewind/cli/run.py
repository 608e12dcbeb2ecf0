"""`tradewind run`: a deployment at work on this machine, with a line for every batch."""

from __future__ import annotations

import importlib
import json
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tradewind.algebra.durations import parse_duration
from tradewind.algebra.times import format_timestamp
from tradewind.cli.check import AsJson, File
from tradewind.cli.rows import as_object
from tradewind.errors import InputError
from tradewind.runtime.deployment import deployment

if TYPE_CHECKING:
    from tradewind.frontends.deployment.deployment import Query
    from tradewind.runtime.live import Live
    from tradewind.spark.query import Report

UntilDone = Annotated[bool, typer.Option("--until-done", help="End when everything that is there has been read.")]
For = Annotated[str | None, typer.Option("--for", metavar="DURATION", help="End after so long, such as 60s.")]
State = Annotated[
    Path | None,
    typer.Option("--state", help="The folder that a later run goes on from.  [default: .tradewind/FILE beside FILE]"),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Forget the state and what was delivered, and start again.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No line for every batch.")]


_SECOND = 1_000_000


def state_of(file: Path, given: Path | None) -> Path:
    """Where the state of a file's runs lies."""
    return given if given is not None else file.resolve().parent / ".tradewind" / file.stem


def run(  # noqa: PLR0917, the command line's options come as parameters
    file: File,
    until_done: UntilDone = False,
    for_: For = None,
    state: State = None,
    fresh: Fresh = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Run FILE here, on Spark, and deliver what its queries ask. Ctrl-C stops; the next run goes on from there."""
    if until_done and for_ is not None:
        raise InputError("--until-done and --for exclude each other.", hint="choose one.")
    limit = parse_duration(for_) / 1e6 if for_ is not None else None
    found = deployment(file)
    progress = Progress(quiet, found.queries)
    live = found.run(
        state=state_of(file, state), until_done=until_done, fresh=fresh, on_batch=progress.batch, show=progress.rows
    )
    begin = time.perf_counter()
    # Spark takes the signals for itself when it starts, so they are taken after it.
    with live, _interruptible() as interrupted:
        progress.say(f"running {file} at {live.site}; state in {live.state}")
        ended = _watch(live, limit, interrupted)
        totals = live.totals
    seconds = time.perf_counter() - begin
    progress.end(seconds, ended)
    if as_json:
        typer.echo(json.dumps(progress.summary(totals, seconds, ended), indent=2))


def _watch(live: Live, limit: float | None, interrupted: list[int]) -> str:
    """Wait for the end; how it came: done, over or stopped."""
    begin = time.perf_counter()
    while not interrupted:
        if live.wait(0.2):
            return "done"
        if limit is not None and time.perf_counter() - begin >= limit:
            return "over"
    return "stopped"


@contextmanager
def _interruptible() -> Iterator[list[int]]:
    """Signals end the run between two looks at it instead of in the middle of something."""
    seen: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        seen.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Progress:
    """Tells how a run goes, on stderr, and remembers what it read."""

    def __init__(self, quiet: bool, queries: Mapping[str, Query]) -> None:
        self._quiet = quiet
        self._queries = queries
        self._newest: int | None = None
        self.batches = 0
        self.origins: dict[tuple[str, str], dict[str, int]] = {}

    def say(self, text: str) -> None:
        """A line for people."""
        if not self._quiet:
            typer.echo(text, err=True)

    def batch(self, report: Report) -> None:
        """One batch: rows, rate, how far the slowest stream is settled, and the answers' sizes."""
        self.batches += 1
        rows = 0
        for place, survey in report.origins.items():
            counted = self.origins.setdefault(place, {"rows": 0, "bad": 0, "late": 0, "dropped": 0})
            for what in counted:
                counted[what] += getattr(survey, what)
            rows += survey.rows
        rate = rows / report.seconds if report.seconds else 0.0
        answers = ", ".join(
            f"{name} {one.final:,} final" + (f" + {one.tentative:,}" if one.tentative else "")
            for name, one in report.queries.items()
        )
        odd = sum(one.bad + one.late for one in report.origins.values())
        self.say(
            f"batch {report.batch}: {rows:,} rows in {report.seconds:.1f} s ({rate:,.0f}/s), {self._settled(report)}; "
            f"{answers}{f'; {odd:,} late or bad' if odd else ''}"
        )

    def rows(self, name: str, table: Any) -> None:
        """Rows of a query that is delivered to the console."""
        # Loaded on use: other commands do not need what reads rows.
        answers = importlib.import_module("tradewind.runtime.answers")
        schema = answers.delivered_schema(self._queries[name].operator.schema)
        for row in answers.delivered_rows(table, schema):
            typer.echo(f"{name}: {json.dumps(as_object(row, schema))}")

    def end(self, seconds: float, how: str) -> None:
        """The last line."""
        rows = sum(one["rows"] for one in self.origins.values())
        words = {
            "done": "everything read",
            "over": "time is over",
            "stopped": "stopped; the next run goes on from here",
        }
        batches = "1 batch" if self.batches == 1 else f"{self.batches:,} batches"
        self.say(f"{words[how]}: {rows:,} rows in {batches}, {seconds:.1f} s")
        for (stream, origin), one in self.origins.items():
            if one["bad"] or one["late"]:
                self.say(
                    f"  {stream} at {origin}: {one['bad']:,} bad, {one['late']:,} late, {one['dropped']:,} dropped"
                )

    def summary(self, totals: Any, seconds: float, how: str) -> dict[str, Any]:
        """The run as plain data. At one site no link carries anything."""
        streams: dict[str, dict[str, Any]] = {}
        for (stream, origin), one in self.origins.items():
            streams.setdefault(stream, {})[origin] = one
        queries = {
            name: {"rows": one.final + one.tentative, "final": one.final, "tentative": one.tentative}
            for name, one in totals.items()
        }
        return {"ended": how, "seconds": round(seconds, 3), "links": [], "queries": queries, "streams": streams}

    def _settled(self, report: Report) -> str:
        """How far everything is settled, and how far behind the newest row so far that is."""
        marks = [mark for origins in report.marks.values() for mark in origins.values()]
        seen = [self._newest, *(survey.latest for survey in report.origins.values())]
        self._newest = max((time for time in seen if time is not None), default=None)
        lowest = min(marks, default=float("-inf"))
        if self._newest is None or not float("-inf") < lowest < float("inf"):
            return "nothing settled yet"
        behind = max(0, self._newest - int(lowest)) / _SECOND
        settled = int(lowest) - int(lowest) % _SECOND
        return f"settled to {format_timestamp(settled)}, {behind:,.1f} s behind the newest row"
