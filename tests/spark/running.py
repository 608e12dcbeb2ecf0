"""A graph run on Spark batch by batch, asked in the same words as the interpreter's `Run`."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

from tradewind.interpreter.checking import canonical
from tradewind.interpreter.run import Weighted
from tradewind.spark.columns import ARRIVAL, WEIGHT
from tradewind.spark.engine import Arrived, Engine
from tradewind.spark.session import partitions
from tradewind.spark.types import from_arrow, to_arrow


class SparkRun:
    """Feeds rows to an engine and adds up what it gives."""

    def __init__(self, spark, graph, folder: Path, origins, *, horizon=None, buckets=2):
        known = {stream: list(names) or [""] for stream, names in origins.items()}
        for node in graph:
            if node.kind == "source" and node.origins:
                known[node.stream] = list(dict.fromkeys([*node.origins, *known.get(node.stream, ())]))
        named = {stream: tuple(known.get(stream, [""])) for stream in graph.sources()}
        self.spark, self.graph, self.folder = spark, graph, folder
        self.settings = {"origins": named, "horizon": horizon, "buckets": buckets}
        self.engine = Engine.at(spark, graph, folder, **self.settings)
        self.answers: dict[str, Counter] = {name: Counter() for name in graph.names}

    def restart(self):
        """Go on from what lies in the folder, as a new process would."""
        self.engine = Engine.at(self.spark, self.graph, self.folder, **self.settings)

    def feed(self, batch, marks=None):
        arrived: dict[str, dict[str, Arrived]] = {}
        before = self.engine.marks
        for stream in self.graph.sources():
            source = self.graph.sources()[stream]
            given = batch.get(stream, {})
            # As the interpreter takes them: in the order in which the batch names them.
            for number, origin in enumerate(dict.fromkeys([*given, *self.engine.origins[stream]])):
                rows = given.get(origin, ())
                set_by_hand = (marks or {}).get(stream, {}).get(origin, -math.inf)
                arrived.setdefault(stream, {})[origin] = self._arrived(
                    source, rows, before[stream][origin], set_by_hand, number
                )
        self._advance(lambda deliver: self.engine.advance(self.engine.memory.committed.batch + 1, arrived, deliver))

    def end(self):
        self._advance(self.engine.close)

    def answer(self, name):
        return (
            +self.answers[name]
            if all(w > 0 for w in self.answers[name].values())
            else Counter({row: w for row, w in self.answers[name].items() if w})
        )

    def _arrived(self, source, rows, before, set_by_hand, number):
        given = [row if isinstance(row, Weighted) else Weighted(row, 1) for row in rows]
        values = [canonical(row.values, source.schema) for row in given]
        mark, late = set_by_hand, False
        if source.schema.time:
            place = source.schema.index(source.schema.time)
            times = [row[place] for row in values if row[place] is not None]
            mark = max([mark, *(time - source.late_by for time in times)])
            late = any(time < before for time in times)
        if not given:
            return Arrived(None, mark, late)
        table = to_arrow(values, source.schema)
        frame = self.spark.createDataFrame(
            table.append_column(WEIGHT, [[row.weight for row in given]]).append_column(
                "_place", [list(range(len(given)))]
            )
        )
        if partitions(self.spark) == 1:
            frame = frame.coalesce(1)  # as where rows are taken in
        return Arrived(frame.selectExpr("*", f"{number} AS {ARRIVAL[0]}"), mark, late)

    def _advance(self, go):
        found = {}

        def deliver(deltas, step):
            for name, frame in deltas.items():
                if frame is not None:
                    schema = self.graph[name].schema
                    found[name] = frame.select(*(f"`{n}`" for n in schema.names), WEIGHT).toArrow()
            return {}

        go(deliver)
        for name, table in found.items():
            schema = self.graph[name].schema
            rows = from_arrow(table.select(list(schema.names)), schema)
            for row, weight in zip(rows, table[WEIGHT].to_pylist(), strict=True):
                self.answers[name][row] += weight
