"""A batch's arrivals: the rows of all origins, how late they are, where the marks stand, and what becomes of bad ones.

At most two Spark jobs are done for it, however many origins there are: one that lands files, and one that looks at the
times of Parquet rows where the files' footers do not tell them, or tell that some are late.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tradewind.spark.engine import NEVER, Arrived, Engine
from tradewind.spark.sources.landing import Landed, land
from tradewind.spark.sources.letters import BadRecord, bad_files, bad_records, forget_batch, refusal, write_dead_letters
from tradewind.spark.sources.readers import Desk, Facts, Plan
from tradewind.spark.sources.reading import OriginReader
from tradewind.spark.step import together
from tradewind.spark.types import quote


class Survey(NamedTuple):
    """What came from an origin: good rows, bad records, rows behind the mark that stood, those of them that come too
    late to count, the first and last event time in microseconds since 1970, and files that were gone before they could
    be read.
    """

    rows: int = 0
    bad: int = 0
    late: int = 0
    dropped: int = 0
    earliest: int | None = None
    latest: int | None = None
    missing_files: int = 0

    def __add__(self, more: Survey) -> Survey:  # type: ignore[override] # of tuples nobody has a use for
        """Both together."""
        ends = [one for one in (self.earliest, more.earliest) if one is not None]
        lasts = [one for one in (self.latest, more.latest) if one is not None]
        return Survey(
            self.rows + more.rows,
            self.bad + more.bad,
            self.late + more.late,
            self.dropped + more.dropped,
            min(ends, default=None),
            max(lasts, default=None),
            self.missing_files + more.missing_files,
        )


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What came in a batch, by stream and origin."""

    arrived: Mapping[str, Mapping[str, Arrived]]
    surveys: Mapping[tuple[str, str], Survey]
    warnings: Sequence[str] = ()
    """What whoever runs this should know."""


@dataclass(slots=True)
class _Origin:
    """An origin that has something new."""

    reader: OriginReader
    desk: Desk
    plan: Plan
    landed: Sequence[Landed] = ()

    @property
    def bad(self) -> int:
        return len(self.plan.bad) + sum(one.bad for one in self.landed)

    def records(self) -> Iterator[BadRecord]:
        name = self.reader.origin
        return chain(bad_files(name, self.plan.bad), bad_records(name, self.plan.tasks, self.landed))


def arrivals(  # noqa: PLR0917 - all that a batch is, given once
    spark: SparkSession,
    readers: Sequence[OriginReader],
    given: Sequence[Sequence[Path]],
    engine: Engine,
    folder: Path,
    batch: int,
    numbers: Sequence[int],
    *,
    arrival: bool,
    direct: bool = True,
) -> Arrivals:
    """Read a batch: the new files of every reader. Bad records end the run here or are written to `folder`.

    What an earlier batch has landed there is removed. Readers are told apart by their numbers; with `arrival` rows
    bring along what sorts them as they came. Without `direct` all files are landed, so that damage is found here.
    """
    shutil.rmtree(folder / "landed", ignore_errors=True)
    origins = []
    missing = {}
    warnings: list[str] = []
    for number, reader, files in zip(numbers, readers, given, strict=True):
        # The name of a trigger file tells its rows, whether it is there or not.
        there = list(files) if reader.format == "rate" else [file for file in files if file.exists()]
        missing[reader.stream, reader.origin] = sorted({*files} - {*there})
        warnings += [_missing(reader, file) for file in missing[reader.stream, reader.origin]]
        warnings += reader.warnings(there)
        if there:
            desk = _desk(reader, engine, Desk(number, folder / "landed" / str(number), arrival=arrival, direct=direct))
            origins.append(_Origin(reader, desk, reader.plan(spark, there, desk)))
    _land(spark, origins)
    _judge(origins, folder / "dead_letters", batch)
    surveys = {(reader.stream, reader.origin): Survey() for reader in readers}
    arrived: dict[str, dict[str, Arrived]] = {}
    for origin, survey in zip(origins, _surveys(origins), strict=True):
        reader = origin.reader
        surveys[reader.stream, reader.origin] = survey
        mark = NEVER if survey.latest is None else survey.latest - reader.source.late_by
        arrived.setdefault(reader.stream, {})[reader.origin] = Arrived(_rows(spark, origin), mark, survey.late > 0)
    surveys = {place: one._replace(missing_files=len(missing[place])) for place, one in surveys.items()}
    return Arrivals(arrived, surveys, warnings)


def _missing(reader: OriginReader, file: Path) -> str:
    return (
        f"stream {reader.stream!r} at {reader.origin!r}: {file} was there and is gone before it was read; its "
        "rows are missing. Hint: leave files until a run has read them."
    )


def _desk(reader: OriginReader, engine: Engine, desk: Desk) -> Desk:
    mark = engine.marks[reader.stream][reader.origin]
    return desk._replace(mark=mark, bound=NEVER if engine.horizon is None else mark - engine.horizon)


def _land(spark: SparkSession, origins: Sequence[_Origin]) -> None:
    """Land what is to be landed, of all origins at once."""
    done = iter(land(spark, [task for origin in origins for task in origin.plan.tasks]))
    for origin in origins:
        origin.landed = [next(done) for _ in origin.plan.tasks]


def _judge(origins: Sequence[_Origin], folder: Path, batch: int) -> None:
    """Refuse a batch with a bad record where that is to end the run; else write dead letters."""
    forget_batch(folder, batch)
    wrong = [origin for origin in origins if origin.bad]
    for origin in wrong:
        if origin.reader.on_bad == "fail":
            raise refusal(origin.reader.stream, origin.reader.format, next(origin.records()), origin.bad)
    for stream in dict.fromkeys(origin.reader.stream for origin in wrong):
        records = chain.from_iterable(one.records() for one in wrong if one.reader.stream == stream)
        write_dead_letters(records, folder / stream, batch)


def _rows(spark: SparkSession, origin: _Origin) -> DataFrame | None:
    landed = origin.reader.landed(spark, origin.desk) if any(one.rows for one in origin.landed) else None
    return together(origin.plan.direct, landed)


def _surveys(origins: Sequence[_Origin]) -> list[Survey]:
    looked = _looked_at([origin for origin in origins if _must_look(origin)])
    found = []
    for origin in origins:
        facts = origin.plan.facts or Facts(0)
        known = looked.get(origin.desk.number, Survey(facts.rows, earliest=facts.earliest, latest=facts.latest))
        for one in origin.landed:
            known += Survey(one.rows, 0, one.late, one.dropped, one.earliest, one.latest)
        found.append(known._replace(bad=origin.bad))
    return found


def _must_look(origin: _Origin) -> bool:
    """Whether only the rows themselves can tell when they are, or how many of them are late."""
    facts = origin.plan.facts
    if origin.plan.direct is None:
        return False
    return facts is None or (facts.earliest is not None and facts.earliest < origin.desk.mark)


def _looked_at(origins: Sequence[_Origin]) -> dict[int, Survey]:
    """Surveys of rows that are there, by the origin's number; one job for all."""
    frames = []
    for origin in origins:
        time = origin.reader.source.schema.time
        if origin.plan.direct is not None and time is not None:
            moment = f"unix_micros({quote(time)})"
            late, dropped = (_before_sql(moment, bound) for bound in (origin.desk.mark, origin.desk.bound))
            columns = (f"{origin.desk.number} AS origin", f"{moment} AS t", f"{late} AS late", f"{dropped} AS dropped")
            frames.append(origin.plan.direct.selectExpr(*columns))
    union = together(*frames)
    if union is None:
        return {}
    sums = ("count(*)", "count_if(late)", "count_if(dropped)", "min(t)", "max(t)")
    found = union.groupBy("origin").agg(*map(f.expr, sums)).collect()
    return {origin: Survey(rows, 0, *rest) for origin, rows, *rest in found}


def _before_sql(moment: str, bound: float) -> str:
    if math.isinf(bound):
        return f"({moment} IS NOT NULL)" if bound > 0 else "false"
    return f"({moment} < {int(bound)}L)"
