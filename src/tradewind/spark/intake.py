"""What a fragment reads: streams where they arise, and channels; batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tradewind.backbone.commits import Commit, Part
from tradewind.errors import InternalError
from tradewind.spark.channels.inlets import Inlets, marks_in
from tradewind.spark.engine import ENDED, NEVER, Arrived, Engine
from tradewind.spark.sources.reading import OriginReader, files_of, names_of
from tradewind.spark.sources.survey import Survey, arrivals


@dataclass(frozen=True, slots=True)
class Taken:
    """What a batch holds: rows and marks by stream and origin, what is known of them, how far channels were read, and
    the last words of those that have ended for now.
    """

    arrived: Mapping[str, Mapping[str, Arrived]]
    surveys: Mapping[tuple[str, str], Survey]
    channels: Mapping[str, int]
    """Rows by channel."""
    positions: Mapping[str, int]
    closed: Mapping[str, Any]
    warnings: Sequence[str] = ()

    @property
    def rows(self) -> int:
        """How many rows came."""
        return sum(one.rows for one in self.surveys.values()) + sum(self.channels.values())

    def in_one_place(self) -> Taken:
        """The same with each origin's rows in one partition: few rows are grouped there sooner than by an exchange."""
        arrived = {
            name: {
                origin: one if one.rows is None else replace(one, rows=one.rows.coalesce(1))
                for origin, one in some.items()
            }
            for name, some in self.arrived.items()
        }
        return replace(self, arrived=arrived)


@dataclass(slots=True)
class Intake:
    """The readers of a fragment's own streams, and its channels.

    `numbers` tell the readers' origins apart in all fragments of a run; `arrival` says whether the order in which rows
    come makes a difference, here or behind.
    """

    readers: Sequence[OriginReader] = ()
    inlets: Inlets | None = None
    numbers: Sequence[int] = field(default_factory=list)
    arrival: bool = False

    def tracked(self, spark: SparkSession, *, wait: bool) -> DataFrame:
        """A streaming frame by which Spark tracks what is new."""
        found = None
        frames = [reader.tracked(spark, wait=wait) for reader in self.readers]
        if self.inlets is not None:
            frames.append(self.inlets.tracked(spark))
        for one in frames:
            found = one if found is None else found.unionByName(one)
        if found is None:
            raise ValueError("a query needs an origin or a channel")
        return found

    def take(self, query: StreamingQuery, engine: Engine, folder: Path, batch: int, *, direct: bool = True) -> Taken:
        """What the batch holds that a query is at. Without `direct` files are read through first (see `arrivals`)."""
        leaves = leaves_of(query)
        wanted = len(self.readers) + (self.inlets is not None)
        if len(leaves) != wanted:
            raise InternalError(f"the batch's plan reads {len(leaves)} sources and not {wanted}.")
        files = [files_of(leaf) for leaf in leaves[: len(self.readers)]]
        numbers = self.numbers or range(len(self.readers))
        found = arrivals(
            engine.spark, self.readers, files, engine, folder, batch, numbers, arrival=self.arrival, direct=direct
        )
        notes = engine.memory.committed.notes
        positions, closed = dict(notes.get("positions", {})), dict(notes.get("closed", {}))
        arrived, rows = dict(found.arrived), {}
        if self.inlets is not None:
            ends = self.inlets.tickets.ends(names_of(leaves[-1]), positions)
            data: dict[str, list[Commit]] = {}
            for name, commits in self.inlets.between(positions, ends).items():
                data[name] = [commit for _, commit in commits if not commit.closing]
                rows[name] = sum(commit.rows for commit in data[name])
                last = commits[-1].commit if commits else None
                closed[name] = _plain(last) if last is not None and last.closing else None
            arrived |= _arrived(self.inlets, engine, data)
            positions.update(ends)
        return Taken(arrived, found.surveys, rows, positions, closed, found.warnings)

    def closing(self, engine: Engine) -> Mapping[str, Mapping[str, Arrived]]:
        """What holds on the channels if nothing more comes."""
        if self.inlets is None:
            return {}
        closed = engine.memory.committed.notes.get("closed", {})
        last = {name: [_commit(one)] for name, one in closed.items() if one is not None}
        return _arrived(self.inlets, engine, last, ENDED)

    def ended(self, engine: Engine) -> bool:
        """Whether all channels have said their last words for now, and have been heard."""
        if self.inlets is None:
            return True
        notes = engine.memory.committed.notes
        closed, positions = notes.get("closed", {}), notes.get("positions", {})
        if any(closed.get(name) is None for name in self.inlets.addresses):
            return False
        return all(positions.get(name, 0) >= head for name, head in self.inlets.heads().items())

    def close(self) -> None:
        """Nothing more is wanted."""
        for reader in self.readers:
            reader.close()


def _arrived(
    inlets: Inlets, engine: Engine, commits: Mapping[str, Sequence[Commit]], end: float | None = None
) -> dict[str, dict[str, Arrived]]:
    """Where each origin of some channels stands, and the rows of their commits: those of channels that are only read
    together are fetched together, and stand under the first of them.
    """
    found: dict[str, dict[str, Arrived]] = {}
    for group in _together(engine, commits, apart=inlets.one_each):
        rows = inlets.rows(engine.spark, {name: commits[name] for name in group})
        late = any(commit.late for name in group for commit in commits[name])
        for name in group:
            origins = engine.origins[name]
            marks = marks_in(commits[name], origins)
            found[name] = {
                origin: Arrived(
                    rows if (name, origin) == (group[0], origins[0]) else None,
                    marks.get(origin, NEVER) if end is None else end,
                    late,
                )
                for origin in origins
            }
    return found


def _together(engine: Engine, channels: Iterable[str], *, apart: bool) -> list[list[str]]:
    """Channels whose rows only one union reads, in one group; all others by themselves."""
    groups: dict[object, list[str]] = {}
    unions = {} if apart else engine.united
    for name in channels:
        groups.setdefault(unions.get(name, name), []).append(name)
    return list(groups.values())


def leaves_of(query: StreamingQuery) -> list[Any]:
    """The sources of the batch that a query is at, in order, as its plan has them."""
    # What PySpark hands to `foreachBatch` does not tell what is new; the batch's plan does.
    leaves = query._jsq.streamingQuery().lastExecution().logical().collectLeaves()  # noqa: SLF001
    return [leaves.apply(number) for number in range(leaves.size())]


def _plain(commit: Commit) -> dict[str, Any]:
    """A commit as notes hold it."""
    return {
        "fragment": commit.fragment, "epoch": commit.epoch, "batch": commit.batch, "late": commit.late,
        "parts": [[list(part.messages), part.rows, part.bytes] for part in commit.parts],
    }  # fmt: skip


def _commit(noted: Mapping[str, Any]) -> Commit:
    parts = tuple(Part(tuple(messages), rows, size) for messages, rows, size in noted["parts"])
    return Commit(noted["fragment"], noted["epoch"], noted["batch"], parts, late=noted["late"], closing=True)
