"""A graph at work on Spark, batch by batch: marks move on, every operator gives its deltas, and a commit ends it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Aggregate, Combine, Partial
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Join, Source, Top, Union
from tradewind.algebra.operators.stored import Read, Update
from tradewind.spark.changing import require_sound
from tradewind.spark.columns import ARRIVAL, DUE, WEIGHT, due_sql, quoted
from tradewind.spark.layout import in_order, names_of, writers
from tradewind.spark.memory import Memory
from tradewind.spark.operators import advance
from tradewind.spark.step import Clock, Step, together
from tradewind.spark.storing import bring
from tradewind.spark.tables.address import Address
from tradewind.spark.tables.store import Tables
from tradewind.spark.types import quote

NEVER = -math.inf
ENDED = math.inf
_KEPT = (Join, Top, Aggregate, Partial, Combine)
"""What is worked out once where several read it; all else is quicker done again."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """What came from one origin of a stream in a batch: its rows, and where its mark stands now.

    `late` says whether a row may lie behind the mark that stood before.
    """

    rows: DataFrame | None
    mark: float
    late: bool = True


Deltas = Mapping[str, DataFrame | None]


@dataclass(slots=True)
class Engine:
    """One run of a graph. Batches are numbered; one that is committed is never done again.

    The nodes that `given` names come from elsewhere, by channels: nothing below them runs here. What is known of a
    stream's origins is known of a channel's too, under its name; they are called `stream/site`.
    """

    spark: SparkSession
    graph: Graph
    memory: Memory
    origins: Mapping[str, tuple[str, ...]]
    given: Mapping[str, Operator] = field(default_factory=dict)
    horizon: int | None = None
    buckets: int = 2
    tables_at: str | Address | None = None
    """Where named tables are kept: a file, or a database's URL."""
    _tables: Tables | None = field(init=False, default=None)
    _order: tuple[Operator, ...] = field(init=False)
    _names: dict[Operator, str] = field(init=False)
    _channels: dict[Operator, str] = field(init=False)

    def __post_init__(self) -> None:
        self._channels = {node: name for name, node in self.given.items()}
        self._lay_out()
        boxes = [node for node in self._order if isinstance(node, Read | Update)]
        if boxes and self.tables_at is not None:
            self._tables = Tables(self.tables_at, boxes)

    def _lay_out(self) -> None:
        self._order = in_order(self.graph, self._channels)
        self._names = names_of(self._order)

    @staticmethod
    def at(
        spark: SparkSession, graph: Graph, folder: Path, origins: Mapping[str, Iterable[str]], **more: Any
    ) -> Engine:
        """An engine that goes on from what a folder holds."""
        known = {stream: tuple(names) for stream, names in origins.items()}
        settings = {"tables_at": str(folder / "tables.sqlite"), **more}
        return Engine(spark, graph, Memory(spark, folder), known, **settings)

    def change(self, graph: Graph) -> None:
        """Go on with other parameters from the next batch on; refused where what is remembered would be of no use."""
        require_sound(self.graph, graph)
        self.graph = graph
        self._lay_out()

    def release(self) -> None:
        """Let the tables' database go."""
        if self._tables is not None:
            self._tables.close()

    @property
    def updates_tables(self) -> bool:
        """Whether rows go into named tables, which no second attempt at a batch takes back."""
        return self._tables is not None

    @property
    def marks(self) -> dict[str, dict[str, float]]:
        """Where every origin stood at the last commit."""
        known = self.memory.committed.notes.get("marks", {})
        return {s: {o: known.get(s, {}).get(o, NEVER) for o in origins} for s, origins in self.origins.items()}

    def advance(
        self,
        batch: int,
        arrived: Mapping[str, Mapping[str, Arrived]],
        deliver: Callable[[Deltas, Step], Mapping[str, Any]],
    ) -> None:
        """Do one batch: all operators, then the delivery, then the commit, which keeps what the delivery returns."""
        if batch <= self.memory.committed.batch:
            return
        before = self.marks
        now = {s: {o: max(mark, _mark(arrived, s, o)) for o, mark in known.items()} for s, known in before.items()}
        step = self._step(batch, before, now, arrived)
        try:
            notes = deliver(self._deltas(step, arrived, before), step)
            for node in self._order:
                self.memory.forget(f"{self._names[node]}-", step.clocks[node].frozen)
            self.memory.compact()
            self.memory.commit({**self.memory.committed.notes, **notes, "marks": now})
        finally:
            step.release()

    def close(
        self,
        deliver: Callable[[Deltas, Step], Mapping[str, Any]],
        arrived: Mapping[str, Mapping[str, Arrived]] | None = None,
    ) -> None:
        """Say what holds if nothing more comes than what `arrived` holds. Only the delivery is kept: should more come,
        the run goes on as if this had not been asked.
        """
        before = self.marks
        now = {stream: dict.fromkeys(known, ENDED) for stream, known in before.items()}
        last = arrived or {}
        step = self._step(self.memory.committed.batch + 1, before, now, last)
        try:
            with self._tables.supposing() if self._tables is not None else nullcontext():
                notes = deliver(self._deltas(step, last, before), step)
            self.memory.note({**self.memory.committed.notes, **notes})
        finally:
            step.release()

    def _step(
        self,
        batch: int,
        before: Mapping[str, Mapping[str, float]],
        now: Mapping[str, Mapping[str, float]],
        arrived: Mapping[str, Mapping[str, Arrived]],
    ) -> Step:
        self.memory.begin(batch)
        late = {
            s for s, origins in arrived.items() if any(one.late and one.rows is not None for one in origins.values())
        }
        horizon = math.inf if self.horizon is None else self.horizon
        clocks: dict[Operator, Clock] = {}
        for node in self._order:
            place = self._read_from(node)
            if place is not None:
                name, wanted = place
                old = min((before[name][o] for o in wanted), default=NEVER)
                new = min((now[name][o] for o in wanted), default=NEVER)
                clocks[node] = Clock(old, new, _less(old, horizon), _less(new, horizon), name in late)
            else:
                seen = [clocks[n] for n in (*node.inputs, *writers(node, self._order))]
                clocks[node] = Clock(
                    min(one.before for one in seen),
                    min(one.now for one in seen),
                    min(one.thawed for one in seen),
                    min(one.frozen for one in seen),
                    any(one.late for one in seen),
                )
        return Step(self.spark, self.memory, dict(self._names), clocks, buckets=self.buckets, tables=self._tables)

    def _read_from(self, node: Operator) -> tuple[str, tuple[str, ...]] | None:
        """The channel or the stream that a node's rows come from, and their origins; None if they are made here."""
        if node in self._channels:
            name = self._channels[node]
            return name, self.origins[name]
        return (node.stream, node.origins or self.origins[node.stream]) if isinstance(node, Source) else None

    @property
    def united(self) -> dict[str, Operator]:
        """The channels that nothing but a union reads, and that union: it does not matter which of them a row is of."""
        readers: dict[Operator, list[Operator]] = {}
        for node in self._order:
            for child in () if node in self._channels else node.inputs:
                readers.setdefault(child, []).append(node)
        wanted = {node for _, node in self.graph.results}
        return {
            name: readers[node][0]
            for node, name in self._channels.items()
            if node not in wanted and len(readers.get(node, ())) == 1 and isinstance(readers[node][0], Union)
        }

    def marks_of(self, node: Operator) -> dict[str, float]:
        """How far each origin below a node is, by the name that channels know it by; None promised is not there."""
        found: dict[str, float] = {}
        waiting, seen = [node], set[Operator]()
        marks = self.marks
        while waiting:
            one = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            place = self._read_from(one)
            if place is None:
                waiting.extend((*one.inputs, *writers(one, self._order)))
                continue
            name, origins = place
            for origin in origins:
                known = origin if one in self._channels else f"{name}/{origin}"
                found[known] = min(found.get(known, ENDED), marks[name][origin])
        return found

    def _deltas(
        self, step: Step, arrived: Mapping[str, Mapping[str, Arrived]], before: Mapping[str, Mapping[str, float]]
    ) -> Deltas:
        readers = Counter(child for node in self._order for child in node.inputs)
        readers.update(node for _, node in self.graph.results)
        for node in self._order:
            if node in self._channels:
                came = together(*(one.rows for one in arrived.get(self._channels[node], {}).values()))
                # Fetched once, whoever reads it.
                step.deltas[node] = step.keep(came) if came is not None and readers[node] > 1 else came
                continue
            if isinstance(node, Source):
                step.deltas[node] = self._source(node, arrived.get(node.stream, {}), before[node.stream])
                continue
            found = advance(node, step)
            if found is not None and readers[node] > 1 and isinstance(node, _KEPT):
                found = step.keep(found)
            step.deltas[node] = found
        if step.waiting:
            bring(step, step.waiting)
        return {name: step.deltas[node] for name, node in self.graph.results}

    def _source(self, node: Source, arrived: Mapping[str, Arrived], before: Mapping[str, float]) -> DataFrame | None:
        """The rows of all origins that a source reads, without those that come too late to count."""
        frames = []
        for origin in node.origins or self.origins[node.stream]:
            came = arrived.get(origin)
            if came is None or came.rows is None:
                continue
            rows = came.rows
            weight = WEIGHT if WEIGHT in rows.columns else f"1L AS {WEIGHT}"
            hidden = [name for name in ARRIVAL if name in rows.columns]
            frame = rows.selectExpr(*quoted(node.schema.names), f"{due_sql(node.schema)} AS {DUE}", weight, *hidden)
            bound = before[origin]
            if came.late and self.horizon is not None and node.schema.time and math.isfinite(bound):
                frame = frame.where(not_too_late_sql(node.schema.time, bound, self.horizon))
            frames.append(frame)
        return together(*frames)


def not_too_late_sql(time: str, mark: float, horizon: int) -> str:
    """Whether a row comes no more than the horizon behind a mark."""
    return f"({quote(time)} IS NULL OR {quote(time)} >= timestamp_micros({max(int(mark) - horizon, -(2**63))}L))"


def _mark(arrived: Mapping[str, Mapping[str, Arrived]], stream: str, origin: str) -> float:
    found = arrived.get(stream, {}).get(origin)
    return found.mark if found is not None else NEVER


def _less(mark: float, horizon: float) -> float:
    """A mark less the horizon; nothing is ever too late when the horizon is endless."""
    return NEVER if horizon == math.inf else mark - horizon
