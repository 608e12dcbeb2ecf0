"""Batches of files read by Spark as a running query reads them, without the query."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from tests.spark.sources.writing import SIMPLE, plain
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Source
from tradewind.algebra.schema import Schema
from tradewind.frontends.deployment.deployment import DeclaredStream
from tradewind.frontends.deployment.model import Origin
from tradewind.spark.buckets.dispatch import needs_arrival
from tradewind.spark.columns import ARRIVAL, WEIGHT
from tradewind.spark.engine import Engine
from tradewind.spark.sources.reading import Folders, OriginReader, reader
from tradewind.spark.sources.survey import Arrivals, Survey, arrivals
from tradewind.spark.types import from_arrow, to_arrow

SECOND = 1_000_000


def parquet(path: Path, given, schema=SIMPLE, **options) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(to_arrow(given, schema), path, **options)
    return path


def written(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def bag(given) -> Counter:
    return Counter(plain(row) for row in given)


def simple(count: int, start: int = 0) -> list:
    return [((start + i) * SECOND, f"k{i % 3}", i) for i in range(count)]


def declared(
    schema: Schema, *, on_bad: str = "fail", revisions: bool = False, late_by: int = 0, distinct=None, **origins
) -> DeclaredStream:
    """A stream with origins, each given as the keys of its declaration."""
    known = {name: Origin(**keys) for name, keys in origins.items()}
    return DeclaredStream(Source("s", schema, late_by, tuple(known), revisions), known, distinct or {}, "free", on_bad)


class Read(NamedTuple):
    """What a batch gave: rows and surveys by origin, marks, and dead letters."""

    rows: dict[str, list[tuple[Any, ...]]]
    surveys: dict[str, Survey]
    found: Arrivals
    letters: list[dict[str, Any]]


class Site:
    """The readers of one stream, an engine that knows their marks, and batches that are counted."""

    def __init__(
        self, spark, stream: DeclaredStream, folder: Path, *, horizon=None, node: Operator | None = None
    ) -> None:
        self.spark, self.folder = spark, folder / "state"
        self.readers: list[OriginReader] = [
            reader(stream, "s", origin, Folders(folder, self.folder, self.folder)) for origin in stream.origins
        ]
        graph = Graph((("out", node or stream.source),))
        self.engine = Engine.at(spark, graph, self.folder / "memory", {"s": tuple(stream.origins)}, horizon=horizon)
        self.schema = stream.source.schema
        self.batch = 0

    def set_marks(self, **marks: float) -> None:
        """Let the origins' marks stand somewhere."""
        self.engine.memory.begin(self.batch)
        self.engine.memory.commit({"marks": {"s": marks}})

    def read(self, **files: list[Path]) -> Read:
        """Read new files by origin."""
        given = [files.get(one.origin, []) for one in self.readers]
        arrival = any(needs_arrival(node) for node in self.engine.graph)
        numbers = range(len(self.readers))
        found = arrivals(
            self.spark, self.readers, given, self.engine, self.folder, self.batch, numbers, arrival=arrival
        )
        rows = {origin: self._rows(arrived.rows) for origin, arrived in found.arrived.get("s", {}).items()}
        path = self.folder / "dead_letters" / "s" / f"batch-{self.batch:08}.jsonl"
        letters = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        self.batch += 1
        return Read(rows, {origin: survey for (_, origin), survey in found.surveys.items()}, found, letters)

    def _rows(self, frame) -> list[tuple[Any, ...]]:
        if frame is None:
            return []
        columns = [f"`{name}`" for name in self.schema.names]
        if known := [name for name in ARRIVAL if name in frame.columns]:
            frame = frame.orderBy(*known)
        table = frame.select(*columns, *([WEIGHT] if WEIGHT in frame.columns else [])).toArrow()
        rows = [plain(row) for row in from_arrow(table.select(list(self.schema.names)), self.schema)]
        return (
            [(*row, weight) for row, weight in zip(rows, table[WEIGHT].to_pylist(), strict=True)]
            if WEIGHT in table.column_names
            else rows
        )
