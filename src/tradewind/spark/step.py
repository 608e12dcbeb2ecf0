"""One micro-batch of a graph: what is new from each operator, worked out from what is new from its inputs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.storagelevel import StorageLevel

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.stored import Read, Update
from tradewind.errors import InternalError
from tradewind.spark.memory import Memory
from tradewind.spark.session import partitions
from tradewind.spark.tables.store import Tables


class Clock(NamedTuple):
    """Where an operator's input stands: its mark before and after this batch, and whether the batch holds late rows.

    Nothing will ever come about rows settled before `frozen`; before the batch that was `thawed`.
    """

    before: float
    now: float
    thawed: float
    frozen: float
    late: bool

    @property
    def threshold(self) -> float:
        """What is settled before this cannot be touched by the batch."""
        return self.thawed if self.late else self.before


class Step:
    """A micro-batch at work. `deltas` holds what each operator gives; None stands for nothing at all."""

    def __init__(
        self,
        spark: SparkSession,
        memory: Memory,
        names: dict[Operator, str],
        clocks: dict[Operator, Clock],
        *,
        buckets: int,
        tables: Tables | None = None,
    ) -> None:
        self.spark = spark
        self.memory = memory
        self.names = names
        self.clocks = clocks
        self.buckets = buckets
        self._tables = tables
        self.found: dict[Operator, list[DataFrame]] = {}
        self.waiting: dict[Read | Update, pa.Table] = {}
        self.deltas: dict[Operator, DataFrame | None] = {}
        self._kept: list[DataFrame] = []

    @property
    def batch(self) -> int:
        """The number of the batch."""
        return self.memory.batch

    @property
    def partitions(self) -> int:
        """How many parts rows are dealt out to when they are grouped."""
        return partitions(self.spark)

    @property
    def tables(self) -> Tables:
        """The named tables that boxes read and update."""
        if self._tables is None:
            raise InternalError("a box works on a table, but no tables are open.")
        return self._tables

    def keep(self, frame: DataFrame) -> DataFrame:
        """A frame that several will read, computed once."""
        kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
        self._kept.append(kept)
        return kept

    def stands_for(self, node: Operator, meant: Operator) -> None:
        """Let an operator remember under the name of the one that abbreviates it."""
        self.names[meant], self.clocks[meant] = self.names[node], self.clocks[node]

    def materialised(self, frame: DataFrame, name: str) -> DataFrame | None:
        """A frame computed now and never again, whoever reads it; None when it is empty."""
        path = self.memory.scratch(name)
        frame.write.mode("overwrite").parquet(path)
        if not any(pq.read_metadata(file).num_rows for file in Path(path).glob("*.parquet")):
            return None
        return self.spark.read.schema(frame.schema).parquet(path)

    def release(self) -> None:
        """Give back what was kept."""
        for frame in self._kept:
            frame.unpersist()
        self._kept.clear()

    def remembered(self, node: Operator, role: str) -> str:
        """The name of a table in which an operator remembers something."""
        return f"{self.names[node]}-{role}"

    def read(self, node: Operator, role: str, threshold: float | None = None) -> DataFrame | None:
        """What an operator remembers that this batch may touch."""
        reached = self.clocks[node].threshold if threshold is None else threshold
        return self.memory.read(self.remembered(node, role), reached)

    def append(self, node: Operator, role: str, frame: DataFrame) -> DataFrame | None:
        """Remember more rows."""
        return self.memory.append(self.remembered(node, role), frame)

    def rewrite(self, node: Operator, role: str, frame: DataFrame) -> DataFrame | None:
        """Remember other rows in place of those that this batch may touch."""
        return self.memory.rewrite(self.remembered(node, role), frame, self.clocks[node].threshold)


def together(*frames: DataFrame | None) -> DataFrame | None:
    """All rows of the frames that there are."""
    found = None
    for frame in frames:
        if frame is not None:
            found = frame if found is None else found.unionByName(frame, allowMissingColumns=True)
    return found


ENDED = math.inf
"""The mark of a stream that has ended."""
