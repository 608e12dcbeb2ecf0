"""Readers of files and of generated rows: how a batch's new files become rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from tradewind.algebra.operators.core import Source
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BIGINT, DataType, is_fraction
from tradewind.errors import InputError
from tradewind.frontends.deployment.formats import CONVERTED
from tradewind.spark.columns import ARRIVAL, WEIGHT
from tradewind.spark.literals import text_sql
from tradewind.spark.sources.bounds import Bounds
from tradewind.spark.sources.converted import converter_of
from tradewind.spark.sources.csv_records import header_of
from tradewind.spark.sources.footers import Footer, footer_of
from tradewind.spark.sources.generator import FIRST, Generated, TriggerFiles, begun, follow, leave, merged, span_of
from tradewind.spark.sources.lacking import lacking
from tradewind.spark.sources.landing import SPLIT, Task
from tradewind.spark.sources.nested import FaultError
from tradewind.spark.sources.parsing import Reading
from tradewind.spark.sources.places import literal, require_there, tracked_files
from tradewind.spark.sources.push import subscribe
from tradewind.spark.sources.records import Part, suffix_of
from tradewind.spark.step import together
from tradewind.spark.types import quote, schema_ddl

_SPLITTABLE = ("json", "text")
_MOST_ROWS = 5_000_000
"""So many rows at most of an endless origin are in one batch: a trigger file seems to have a byte for each row."""


class Desk(NamedTuple):
    """What a batch is read for: the origin's number, where its mark stands and which rows come too late to count, a
    folder for files that are landed, and whether the order of arrival is asked for.

    Without `direct` Spark reads no file as it is: each is read through first, and what is damaged is found.
    """

    number: int
    folder: Path
    mark: float = -math.inf
    bound: float = -math.inf
    arrival: bool = False
    direct: bool = True


class Facts(NamedTuple):
    """How many rows there are, and the first and the last event time."""

    rows: int
    earliest: int | None = None
    latest: int | None = None


_NOTHING = Facts(0)


@dataclass(slots=True)
class Plan:
    """How a batch's files are read: rows that are there, what is known of them (None: they must be looked at), what has
    to be landed first, and files that cannot be read.
    """

    direct: DataFrame | None = None
    facts: Facts | None = _NOTHING
    tasks: list[Task] = field(default_factory=list)
    bad: list[tuple[Path, str]] = field(default_factory=list)


class Known(NamedTuple):
    """What all readers have."""

    stream: str
    origin: str
    format: str
    on_bad: str
    source: Source


class _Reader:
    def __init__(self, known: Known) -> None:
        self.stream, self.origin, self.format, self.on_bad, self.source = known
        weight = ((WEIGHT, BIGINT),) if self.source.revisions else ()
        self._schema = Schema((*self.source.schema.columns, *weight), self.source.schema.times)
        self._shape = schema_ddl(self._schema)

    def close(self) -> None:
        """Nothing to give back."""

    def warnings(self, _: Sequence[Path]) -> list[str]:
        """Nothing to warn of."""
        return []

    def landed(self, spark: SparkSession, desk: Desk) -> DataFrame:
        """The rows that were landed, in the order in which they stood in their files."""
        frame = spark.read.schema(self._shape).parquet(literal(desk.folder / "rows"))
        arrival = _arrival(desk, "_metadata.row_index", file="_metadata.file_name")
        return frame.selectExpr(*(quote(name) for name in self._schema.names), *arrival)


class FileReader(_Reader):
    """Reads files of any format."""

    def __init__(self, known: Known, options: dict[str, Any], place: Path, bounds: Bounds | None = None) -> None:
        super().__init__(known)
        self._bounds = bounds
        self._place = place
        self._options = options
        self._reading = Reading(self._schema, options)
        self._landing = "parquet" if self.format == "push" else self.format
        self._first: Path | None = None
        if self.format in CONVERTED:
            takes_bytes = converter_of(self._reading).record_bytes is not None
            if takes_bytes != (self.format == "binary"):
                wanted = "binary" if takes_bytes else "text"
                raise InputError(f"its converter needs `format: {wanted}`.", where=f"format {self.format}")

    def check(self, *, wait: bool) -> None:
        """The files have to be there, unless they may still come."""
        if not wait:
            require_there(self._place)

    def tracked(self, spark: SparkSession, *, wait: bool = False) -> DataFrame:
        """A streaming frame over the files."""
        return tracked_files(spark, self._place, self._options, wait=wait)

    def warnings(self, files: Sequence[Path]) -> list[str]:
        """At the first file, also if its batch is done again: the declared columns that it lacks."""
        if not files or self._first not in (None, files[0]):
            return []
        self._first = files[0]
        found = lacking(files[:1], self.format, self._options, self.source.schema)
        return [
            f"stream {self.stream!r} at {self.origin!r}: {files[0]} has no column {name!r}, which is NULL then. "
            f"Hint: {hint}"
            for name, hint in found
        ]

    def plan(self, spark: SparkSession, files: Sequence[Path], desk: Desk) -> Plan:
        """Parquet is read as it is where it can be; everything else is landed."""
        # Links may have come since the place was checked: what counts is where each file leads when it is read.
        refused = {} if self._bounds is None else {file: self._bounds.refusal(file) for file in files}
        allowed = [file for file in files if refused.get(file) is None]
        plan = Plan()
        if self._landing == "parquet":
            plan = self._plan_parquet(spark, allowed, desk)
        else:
            for file in allowed:
                self._land(file, desk, plan)
        plan.bad += [(file, f"it {why}") for file, why in refused.items() if why is not None]
        return plan

    def _plan_parquet(self, spark: SparkSession, files: Sequence[Path], desk: Desk) -> Plan:
        plan = Plan()
        footers: dict[Path, Footer] = {}
        for file in files:
            try:
                footers[file] = footer_of(str(file), self._schema)
            except FaultError as error:
                plan.bad.append((file, str(error)))
        # Landed files have an order of their own, so with it asked for it is all of them or none.
        whole = not desk.direct or (desk.arrival and not all(footer.direct for footer in footers.values()))
        direct = []
        for file, footer in footers.items():
            if footer.rows and footer.direct and not whole:
                direct.append(file)
            elif footer.rows:
                self._land(file, desk, plan)
        if direct:
            frame = spark.read.schema(self._shape).parquet(*map(literal, direct))
            shown = [*self._columns(), *_arrival(desk, "_metadata.row_index", **_in_order(direct))]
            # Most often the columns are as they are, and what need not be parsed is not.
            plan.direct = frame if shown == list(map(quote, self._schema.names)) else frame.selectExpr(*shown)
            plan.facts = _facts([footers[file] for file in direct])
        return plan

    def _columns(self) -> list[str]:
        columns = []
        for name, type_ in self.source.schema.columns:
            own, normal = quote(name), normal_sql(quote(name), type_)
            columns.append(own if normal == own else f"{normal} AS {own}")
        return [*columns, f"coalesce({WEIGHT}, 1L) AS {WEIGHT}"] if self.source.revisions else columns

    def _land(self, file: Path, desk: Desk, plan: Plan) -> None:
        reading = self._reading
        if self.format == "csv" and self._options["header"]:
            try:
                reading = replace(reading, columns=header_of(str(file), reading))
            except FaultError as error:
                plan.bad.append((file, str(error)))
                return
        for part in self._parts(file):
            name = f"{len(plan.tasks):08}"
            plan.tasks.append(
                Task(part, self._landing, reading, str(desk.folder), name, desk.arrival, desk.mark, desk.bound)
            )

    def _parts(self, file: Path) -> list[Part]:
        """A file as one part, or, if it is long and its lines stand for themselves, as several."""
        size = file.stat().st_size
        lines = self.format in _SPLITTABLE or (self.format == "csv" and not self._options["multi_line"])
        if not lines or suffix_of(str(file)) or size <= SPLIT:
            return [Part(str(file))]
        return [Part(str(file), start, min(start + SPLIT, size)) for start in range(0, size, SPLIT)]


class PushedReader(FileReader):
    """Reads the rows that programs push into an origin, from a folder of its own."""

    def __init__(self, known: Known, options: dict[str, Any], place: Path, inbox: Path) -> None:
        super().__init__(known, options, place)
        self._inbox = inbox

    def check(self, *, wait: bool) -> None:
        """Rows may come at any time."""

    def tracked(self, spark: SparkSession, *, wait: bool = False) -> DataFrame:
        """A streaming frame over the files that come from now on, and those that nobody has read yet."""
        subscribe(self._inbox, self._place)
        return tracked_files(spark, self._place, self._options, wait=True, own=True)


class GeneratedReader(_Reader):
    """Makes rows up."""

    def __init__(
        self, known: Known, options: dict[str, Any], distinct: Mapping[str, int], files: TriggerFiles, clock: Path
    ) -> None:
        super().__init__(known)
        self._options = options
        self._distinct = distinct
        self._files = files
        self._clock = clock
        self._follows = False

    def check(self, *, wait: bool) -> None:
        """Without waiting it has to end some time."""
        if not wait and self._options["rows"] is None:
            raise InputError(
                f"stream {self.stream!r} at {self.origin!r} never ends, so there is no waiting for its end.",
                hint="say how many `rows:` it has, or for how long to run.",
            )

    def tracked(self, spark: SparkSession, *, wait: bool = False) -> DataFrame:
        """A streaming frame over the trigger files, which are issued from now on."""
        self.check(wait=wait)
        rows = self._options["rows"]
        if rows is not None:
            self._files.issue_all(rows, self._options["rows_per_batch"])
        elif not self._follows:
            begun(self._clock)
            follow(self._clock, self._options["rows_per_second"], self._files)
            self._follows = True
        limit = {"max_files_per_batch": 1} if rows is not None else {"max_bytes_per_batch": _MOST_ROWS}
        return tracked_files(spark, self._files.folder, limit, wait=True, own=True)

    def close(self) -> None:
        """No more rows fall due for this reader."""
        if self._follows:
            leave(self._clock, self._files)
            self._follows = False

    def plan(self, spark: SparkSession, files: Sequence[Path], desk: Desk) -> Plan:
        """The rows of the trigger files, computed."""
        made = self._generated()
        spans = merged([span_of(file) for file in files])
        columns = [*made.columns(), *([f"1L AS {WEIGHT}"] if self.source.revisions else [])]
        arrival = _arrival(desk, "id")
        frames = [spark.range(span.first, span.end).selectExpr(*columns, *arrival) for span in spans]
        rows = sum(span.end - span.first for span in spans)
        if not rows or self.source.schema.time is None:
            return Plan(together(*frames), Facts(rows))
        return Plan(together(*frames), Facts(rows, made.time(spans[0].first), made.time(spans[-1].end - 1)))

    def _generated(self) -> Generated:
        start = self._options["start"]
        if start is None:
            start = FIRST if self._options["rows"] is not None else begun(self._clock)
        name = f"{self.stream}/{self.origin}"
        options = self._options
        return Generated(self.source.schema, self._distinct, name, options["seed"], options["rows_per_second"], start)


def _arrival(desk: Desk, place: str, *, time: str | None = None, file: str | None = None) -> list[str]:
    """The columns that sort rows as they came: by origin, by file, and as they stand in it."""
    if not desk.arrival:
        return []
    parts = zip((str(desk.number), time, file, f"CAST({place} AS BIGINT)"), ARRIVAL, strict=True)
    return [f"{sql} AS {name}" for sql, name in parts if sql is not None]


def _in_order(files: Sequence[Path]) -> dict[str, str]:
    """What tells files apart in the order in which Spark takes them: times, and paths only where times are equal."""
    times = {file.stat().st_mtime_ns // 1_000_000 for file in files}
    path = {"file": "_metadata.file_path"} if len(times) < len(files) else {}
    return {"time": "unix_millis(_metadata.file_modification_time)", **path}


def _facts(footers: Sequence[Footer]) -> Facts | None:
    if not all(footer.timed for footer in footers):
        return None
    earliest = [footer.earliest for footer in footers if footer.earliest is not None]
    latest = [footer.latest for footer in footers if footer.latest is not None]
    return Facts(sum(footer.rows for footer in footers), min(earliest, default=None), max(latest, default=None))


def normal_sql(sql: str, type_: DataType) -> str:
    """A column with one zero: -0.0 is 0.0, also inside arrays and structs."""
    if is_fraction(type_):
        return f"({sql} + CAST(0 AS {type_.name}))"
    if not _has_fraction(type_):
        return sql
    if type_.name == "ARRAY":
        return f"transform({sql}, e -> {normal_sql('e', type_.element)})"
    parts = ", ".join(f"{text_sql(name)}, {normal_sql(f'{sql}.{quote(name)}', inner)}" for name, inner in type_.fields)
    return f"if({sql} IS NULL, NULL, named_struct({parts}))"


def _has_fraction(type_: DataType) -> bool:
    return is_fraction(type_) or any(_has_fraction(inner) for _, inner in type_.fields)
