"""One Structured Streaming query for a graph: Spark tracks what is new, each micro-batch is planned as a whole.

The frame that `foreachBatch` hands over hides the scan from Catalyst: nothing is pushed into it. So the query's own
plan only tells which files a batch holds, and the batch is planned from the scan on. Offsets, batches and recovery
are Structured Streaming's.
"""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from tradewind.algebra.graph import Graph
from tradewind.algebra.idleness import Place
from tradewind.errors import RunError, TradewindError
from tradewind.spark.carrying import Carrier
from tradewind.spark.changing import require_sound
from tradewind.spark.channels.outlets import Outlet
from tradewind.spark.columns import WEIGHT
from tradewind.spark.delivery import Totals, Wish, deliverable, totals_in
from tradewind.spark.engine import Arrived, Deltas, Engine
from tradewind.spark.intake import Intake, Taken
from tradewind.spark.session import FEW, fit_plans, lives
from tradewind.spark.silence import Silence
from tradewind.spark.sinks import Note, Pulled, Sink
from tradewind.spark.sources.damage import may_be_damage
from tradewind.spark.sources.survey import Survey
from tradewind.spark.step import Step
from tradewind.spark.weights import is_unit

_NO_SPACE = "No space left on device"
"""What every system says, in C's words."""
_OURS = re.compile(r"^tradewind\.errors\.\w+: (?P<what>.*?)(?: Hint: (?P<hint>.*))?$", re.MULTILINE)
_RAISED = re.compile(r"[\w.]+(Error|Exception)\b")
"""How the last line of a traceback begins."""


@dataclass(frozen=True, slots=True)
class Report:
    """What one micro-batch did."""

    batch: int
    seconds: float
    origins: Mapping[tuple[str, str], Survey]
    marks: Mapping[str, Mapping[str, float]]
    queries: Mapping[str, Totals]
    channels: Mapping[str, int] = field(default_factory=dict)
    """Rows that came, by channel."""
    fragment: str = ""
    site: str = ""
    warnings: Sequence[str] = ()


@dataclass(slots=True)
class Running:
    """A graph fed by its intake, delivering to its queries' sinks and to channels. It goes on from what its folder
    holds.
    """

    spark: SparkSession
    engine: Engine
    intake: Intake
    wishes: Sequence[Wish]
    sinks: Mapping[str, Sink]
    folder: Path
    on_batch: Callable[[Report], None] = lambda _: None
    outlets: Mapping[str, Outlet] = field(default_factory=dict)
    turn: Callable[[], AbstractContextManager[None]] = nullcontext
    """Within this a batch is done, so that others on the same machine need not do theirs at the same time."""
    carrier: Carrier = field(default_factory=Carrier)
    """Gives answers to those who pull them without Spark's help, where all that is in them was pushed."""
    silence: Silence = field(default_factory=Silence)
    failure: BaseException | None = None
    _query: StreamingQuery | None = None
    _wanted: tuple[Graph, Callable[[], None]] | None = None
    _started: threading.Event = field(default_factory=threading.Event)
    _stopped: bool = False
    _working: threading.Lock = field(default_factory=threading.Lock)
    """Held while a micro-batch is done."""
    _following: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        # Died between a commit and what was to be seen of it? Then it is to be seen now.
        self._publish()

    def start(self, *, interval: float | None = None) -> None:
        """Begin: with an interval in seconds look for news again and again, without take what is there and end."""
        tracked = self.intake.tracked(self.spark, wait=interval is not None)
        checkpoint = self.folder / "offsets"
        # What died while it wrote, or found no room, leaves these behind; Spark does not begin beside them.
        for unfinished in checkpoint.glob("*/.*.tmp"):
            unfinished.unlink(missing_ok=True)
        writer = tracked.writeStream.foreachBatch(self._batch).option("checkpointLocation", str(checkpoint))
        timed = writer.trigger(availableNow=True) if interval is None else writer.trigger(
            processingTime=f"{interval:.3f} seconds"
        )  # fmt: skip
        self._query = timed.start()
        self._started.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end, or so long; whether it has ended. What went wrong in a batch is raised here."""
        if self._query is None:
            return True
        try:
            # Fractions of a second are fine, whatever the type says, down to milliseconds.
            done = self._query.awaitTermination(None if seconds is None else max(seconds, 0.001))  # type: ignore[arg-type]
        except StreamingQueryException as error:
            raise _told(self.failure or error) from error
        return bool(done) or seconds is None

    def over(self) -> bool:
        """Whether it has ended; what went wrong is raised."""
        return self._query is None or (not self._query.isActive and self.wait())

    @property
    def ended(self) -> bool:
        """Whether the last thing that it delivered was what holds if nothing more comes."""
        return bool(self.engine.memory.committed.notes.get("closing"))

    def stop(self) -> None:
        """Stop now. A batch that is under way is done again next time."""
        self._stopped = True
        if self._query is not None:
            try:
                self._query.stop()
            except (Py4JError, OSError):
                if lives(self.spark):  # a Java that is gone has stopped all of it
                    raise
        with self._following:  # one that is under way ends
            self.intake.close()

    def drained(self) -> bool:
        """Whether all that there is has been read, and no channel has more to say; waits for a batch under way."""
        if self._query is None or not self.intake.ended(self.engine):
            return False
        try:
            self._query.processAllAvailable()
        except StreamingQueryException as error:
            raise _told(self.failure or error) from error
        return self.intake.ended(self.engine)

    def close(self) -> None:
        """Nothing more will come: deliver what only the end makes true. Should more come, it is taken back."""
        begun = self.engine.memory.committed.batch >= 0 or self._has_channels
        if begun and not self.ended:
            self.engine.close(self._deliver_closing, self.intake.closing(self.engine))
            self._publish()

    @property
    def totals(self) -> dict[str, Totals]:
        """How many rows every answer has."""
        known = self.engine.memory.committed.notes.get("totals", {})
        return {wish.name: Totals(**known.get(wish.name, {})) for wish in self.wishes}

    @property
    def read(self) -> dict[tuple[str, str], Survey]:
        """What has ever been read of each stream at each origin."""
        noted = self.engine.memory.committed.notes.get("read", {})
        return {(stream, origin): Survey(*one) for stream, some in noted.items() for origin, one in some.items()}

    @property
    def taken(self) -> dict[str, int]:
        """How many rows have ever come by each channel."""
        known: dict[str, int] = self.engine.memory.committed.notes.get("taken", {})
        return known

    def _batch(self, _: DataFrame, batch: int) -> None:
        self._started.wait()
        try:
            with self.turn():
                self._work(batch)
        except BaseException as error:
            self.failure = error
            raise

    def _work(self, number: int) -> None:
        """Do the batch that Spark gives a number. Ours may be another one: Spark counts anew where a fragment has come
        from elsewhere, and knows nothing of batches without rows (`follow`).
        """
        with self._working:
            batch = number + self._begins
            if self._query is None or batch <= self.engine.memory.committed.batch:
                return
            begin = time.perf_counter()
            self._take_changes()
            before = self.engine.memory.committed.notes.get("positions", {})
            taken = self._advance(self._query, batch)
            self._publish()
            if self.intake.inlets is not None:
                self.intake.inlets.done({c: n for c, n in taken.positions.items() if n != before.get(c)})
            spoke = {place: bool(one.rows or one.bad) for place, one in taken.surveys.items()}
            self.silence.looked((p for p, any_ in spoke.items() if any_), (p for p, any_ in spoke.items() if not any_))
            self._done(batch, begin, taken)

    @property
    def _begins(self) -> int:
        """What is added to the number that Spark gives a batch."""
        return int(self.engine.memory.committed.notes.get("begins", 0))

    def _done(self, batch: int, begin: float, taken: Taken) -> None:
        shutil.rmtree(self.folder / "closing", ignore_errors=True)
        seconds = time.perf_counter() - begin
        self.on_batch(
            Report(
                batch, seconds, taken.surveys, self.engine.marks, self.totals, taken.channels, warnings=taken.warnings
            )
        )

    @property
    def marks(self) -> Mapping[str, Mapping[str, float]]:
        """Where every origin stood at the last commit."""
        return self.engine.marks

    @property
    def places(self) -> tuple[Place, ...]:
        """The origins that it reads itself."""
        return tuple((reader.stream, reader.origin) for reader in self.intake.readers)

    def look(self) -> None:
        """See whether Spark has just looked for new rows, and found none."""
        if self._query is None or self._stopped:
            return
        known = self._query.status
        # Data are available from a look that finds some until one that finds none; before the first one it waits for
        # nothing yet.
        looking = known["isTriggerActive"] or not str(known["message"]).startswith("Waiting for")
        if not looking and not known["isDataAvailable"]:
            self.silence.looked((), self.places)

    def follow(self, due: Callable[[], Mapping[Place, float]]) -> bool:
        """Move on the marks of origins that are idle, by a micro-batch without rows; whether there was one. Which are
        `due` is asked when no other batch is under way: one that came meanwhile may have brought rows.

        The commit that ends it holds the new marks, as it does those of rows that came: a crash before it leaves
        everything as it was, and one after it leaves nothing to be decided again.
        """
        with self._following, self.turn(), self._working:
            marks = {} if self._stopped or self._query is None else dict(due())
            if not marks:
                return False
            begin = time.perf_counter()
            arrived: dict[str, dict[str, Arrived]] = {}
            for (stream, origin), mark in marks.items():
                arrived.setdefault(stream, {})[origin] = Arrived(None, mark, late=False)
            committed = self.engine.memory.committed
            batch, begins = committed.batch + 1, self._begins + 1
            positions, closed = (committed.notes.get(what, {}) for what in ("positions", "closed"))
            taken = Taken(arrived, dict.fromkeys(self.places, Survey()), {}, positions, closed)
            fit_plans(self.spark, committed.rows)
            self.engine.advance(
                batch, arrived, lambda new, step: {**self._deliver(new, step, batch, taken), "begins": begins}
            )
            self._publish()
            self._done(batch, begin, taken)
            return True

    def _advance(self, query: StreamingQuery, batch: int) -> Taken:
        """Do a batch up to its commit. Spark reads Parquet files as they are; where it fails at that, all is done again
        with files that were read through first, so that damaged ones are told from the others. Done again after a
        crash, it comes to the same: both attempts depend on nothing but the files.
        """
        # What went into a table stays there, so nothing may have gone there from a file that turns out to be damaged.
        if not self.engine.updates_tables:
            try:
                return self._attempt(query, batch, direct=True)
            except Exception as error:
                if not may_be_damage(error):
                    raise
        return self._attempt(query, batch, direct=False)

    def _attempt(self, query: StreamingQuery, batch: int, *, direct: bool) -> Taken:
        taken = self.intake.take(query, self.engine, self.folder, batch, direct=direct)
        fit_plans(self.spark, taken.rows + self.engine.memory.committed.rows)
        if taken.rows < FEW:
            taken = taken.in_one_place()
        self.engine.advance(batch, taken.arrived, lambda deltas, step: self._deliver(deltas, step, batch, taken))
        return taken

    def change(self, graph: Graph, taken: Callable[[], None]) -> None:
        """Take another graph's parameters at the next batch, and say so when that is done."""
        require_sound(self.engine.graph, graph)
        self._wanted = graph, taken

    def _take_changes(self) -> None:
        if self._wanted is not None:
            (graph, taken), self._wanted = self._wanted, None
            self.engine.change(graph)
            self.wishes = [replace(wish, operator=graph[wish.name]) for wish in self.wishes]
            taken()

    def _publish(self) -> None:
        """Let be seen what the last commit says was staged, here and on channels."""
        notes = self.engine.memory.committed.notes
        for name, note in notes.get("deliveries", {}).items():
            if name in self.sinks:
                self.sinks[name].publish(note)
        for name, note in notes.get("sent", {}).items():
            self.outlets[name].publish(note, self.engine.marks_of(self.engine.graph[name]))

    def _sent(self, deltas: Deltas, step: Step, batch: int, *, few: bool, closing: bool) -> dict[str, Note]:
        """Send what is for channels, not yet to be seen."""
        return {
            name: {
                "batch": batch,
                "parts": outlet.stage(deltas[name], few=few),
                "late": step.clocks[self.engine.graph[name]].late,
                "closing": closing,
            }
            for name, outlet in self.outlets.items()
        }

    def _deliver(self, deltas: Deltas, step: Step, batch: int, taken: Taken) -> dict[str, Any]:
        sent = self._sent(deltas, step, batch, few=taken.rows < FEW, closing=False)
        staged: dict[str, Note] = {}
        totals = self.totals
        for wish in self.wishes:
            if note := self._carried(wish, deltas[wish.name], f"batch-{batch:08}"):
                staged[wish.name] = note
                totals[wish.name] += Totals(note["final"])
                continue
            rows = deliverable(wish, step, deltas[wish.name])
            closing = self.folder / "closing" / wish.name
            if closing.is_dir():
                back = self.spark.read.parquet(str(closing)).withColumn(WEIGHT, -f.col(WEIGHT))
                rows = back if rows is None else rows.unionByName(back)
            if rows is not None:
                sure = is_unit(wish.operator) and not closing.is_dir()
                staged[wish.name], more = self._stage(wish.name, rows, f"batch-{batch:08}", sure=sure)
                totals[wish.name] += more
        self.carrier.done()
        channels = {"sent": sent, "positions": taken.positions, "closed": taken.closed} if self._has_channels else {}
        if self.intake.inlets is not None:
            came = {name: self.taken.get(name, 0) + count for name, count in taken.channels.items()}
            channels["taken"] = {**self.taken, **came}
        read = _added(self.engine.memory.committed.notes.get("read", {}), taken.surveys)
        return {"deliveries": staged, "totals": _plain(totals), "closing": None, "read": read, **channels}

    @property
    def _has_channels(self) -> bool:
        return bool(self.outlets) or self.intake.inlets is not None

    def _deliver_closing(self, deltas: Deltas, step: Step) -> dict[str, Any]:
        staged: dict[str, Note] = {}
        totals = self.totals
        # Sorted behind the batch after which the end came, before the next.
        batch = self.engine.memory.committed.batch
        label = f"batch-{batch:08}-end"
        sent = self._sent(deltas, step, batch, few=True, closing=True)
        for wish in self.wishes:
            rows = deliverable(wish, step, deltas[wish.name], lasting=False)
            if rows is not None:
                # Kept beside the delivery, whatever its format, to be taken back from should more rows come.
                closing = str(self.folder / "closing" / wish.name)
                rows.write.mode("overwrite").parquet(closing)
                kept = self.spark.read.schema(rows.schema).parquet(closing)
                staged[wish.name], more = self._stage(wish.name, kept, label)
                totals[wish.name] += more
        channels = {"sent": sent} if self._has_channels else {}
        return {"deliveries": staged, "totals": _plain(totals), "closing": True, **channels}

    def _carried(self, wish: Wish, news: DataFrame | None, label: str) -> Note | None:
        """Hand the rows of a query to who pulls them as they were pushed, where that is all that there is to do."""
        sink = self.sinks[wish.name]
        if news is None or not isinstance(sink, Pulled):
            return None
        rows = self.carrier.brought(wish.operator, news)
        return None if rows is None else sink.hold(rows, label)

    def _stage(self, name: str, rows: DataFrame, label: str, *, sure: bool = False) -> tuple[Note, Totals]:
        """Hand rows to a query's sink, and count them."""
        sink = self.sinks[name]
        if sink.counts:
            note = sink.stage(rows, label, sure=sure)
            return note, Totals(note["final"], note["tentative"])
        kept = Path(self.engine.memory.scratch(f"stage-{name}"))
        rows.write.mode("overwrite").parquet(str(kept))
        try:
            return sink.stage(self.spark.read.schema(rows.schema).parquet(str(kept)), label), totals_in(kept)
        except (Py4JError, PySparkException) as error:
            # The rows were there: it is the format that does not take them.
            raise _batch_failed(f"query {name!r} could not be delivered: {_cause(error)}") from error


def _told(error: BaseException) -> BaseException:
    """A failure as users should read it: our own as they are, Spark's by their first line."""
    if isinstance(error, TradewindError):
        return error
    own = _OURS.search(str(error))
    if own is not None:
        # It was raised in a Python worker: of errors there only their text reaches us.
        return RunError(f"a batch failed: {own['what']}", hint=own["hint"])
    return _batch_failed(f"a batch failed: {_cause(error)}")


def _batch_failed(what: str) -> RunError:
    if _NO_SPACE in what:
        return RunError(
            what, hint="nothing of the batch was kept; free disk space, and run again: it goes on from there."
        )
    return RunError(what, hint="nothing of the batch was kept; the whole story is in spark.log in the state folder.")


def _cause(error: BaseException) -> str:
    """What went wrong in the end: the last cause that Java names, or the first line of a message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    if not causes and lines and lines[0].endswith("Python worker:"):
        causes = [line for line in lines if _RAISED.match(line)]
    return causes[-1] if causes else lines[0] if lines else type(error).__name__


def _plain(totals: Mapping[str, Totals]) -> dict[str, dict[str, int]]:
    return {name: {"final": one.final, "tentative": one.tentative} for name, one in totals.items()}


def _added(
    noted: Mapping[str, Mapping[str, Sequence[Any]]], surveys: Mapping[tuple[str, str], Survey]
) -> dict[str, dict[str, list[Any]]]:
    """What has been read so far, as notes hold it, and what was read now."""
    found = {stream: {origin: list(one) for origin, one in some.items()} for stream, some in noted.items()}
    for (stream, origin), new in surveys.items():
        old = Survey(*found.setdefault(stream, {}).get(origin, ()))
        found[stream][origin] = list(old + new)
    return found
