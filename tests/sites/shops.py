"""A small deployment of four sites whose answers are known: shops, a depot and headquarters."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq

import tradewind as tw
from tradewind.interpreter.run import Run
from tradewind.runtime.answers import answer_of
from tradewind.spark.types import to_arrow

SECOND = 1_000_000
SHOPS = ("north", "south")
FILE = """
sites:
  north: {cores: 1, region: eu}
  south: {cores: 1, region: eu}
  depot: {cores: 2, region: eu}
  hq: {cores: 2, region: us}
links:
  - {between: [north, depot], mbps: 50, ms: 2, usd_per_gb: 0.02}
  - {between: [south, depot], mbps: 50, ms: 2, usd_per_gb: 0.02}
  - {between: [depot, hq], mbps: 50, ms: 5, usd_per_gb: 0.09}
streams:
  sales:
    schema: ts TIMESTAMP, item STRING, amount BIGINT
    time: ts
    late_by: 5 seconds
    distinct: {item: 8}
    at:
      north: {format: parquet, path: data/north, rows_per_second: 100, options: {max_files_per_batch: 1}}
      south: {format: parquet, path: data/south, rows_per_second: 100, options: {max_files_per_batch: 1}}
  prices:
    schema: since TIMESTAMP, item STRING, price DOUBLE
    time: since
    at:
      depot: {format: parquet, path: data/prices, rows_per_second: 1}
queries:
  best:
    sql: |
      SELECT window.start AS begin, item, sum(amount) AS sold, count(*) AS sales FROM sales WHERE amount > 0
      GROUP BY window(ts, '20 seconds'), item
      QUALIFY row_number() OVER (PARTITION BY window ORDER BY sold DESC, item) <= 3
    deliver: {site: hq, format: parquet, path: out/best}
  dear:
    sql: |
      SELECT s.ts, s.item, s.amount, p.price FROM sales s JOIN prices p
      ON s.item = p.item AND s.ts BETWEEN p.since AND p.since + INTERVAL 30 SECONDS WHERE p.price > 5
    deliver: {site: hq, format: parquet, path: out/dear}
"""


class Shops:
    """The deployment in a folder, with rows from a seed."""

    def __init__(self, folder: Path, seed: int, *, rows: int = 60, files: int = 4) -> None:
        chance = random.Random(seed)
        self.folder = folder
        self.file = folder / "shops.yaml"
        self.file.write_text(FILE)
        self.found = tw.deployment(self.file)
        self.rows = {
            "sales": {shop: _sales(chance, rows) for shop in SHOPS},
            "prices": {"depot": [(n * 10 * SECOND, f"i{n % 8}", n % 11 + 0.5) for n in range(12)]},
        }
        for stream, origins in self.rows.items():
            schema = self.found.streams[stream].source.schema
            for origin, given in origins.items():
                place = folder / "data" / ("prices" if stream == "prices" else origin)
                write(place, given, schema, files if stream == "sales" else 1)

    def expected(self) -> dict[str, Counter]:
        """What the interpreter says."""
        graph = self.found.graph()
        run = Run(graph, {stream: list(origins) for stream, origins in self.rows.items()})
        run.feed(self.rows)
        run.end()
        return {name: run.answer(name) for name in graph.names}

    def delivered(self) -> dict[str, Counter]:
        """The rows that were delivered, each with whether it is final."""
        return {name: answer_of(name, query, self.folder) for name, query in self.found.queries.items()}

    def check(self) -> None:
        """Everything is delivered, right and final."""
        delivered = self.delivered()
        assert {name: _plain(rows) for name, rows in delivered.items()} == self.expected()
        assert all(row[-1] for rows in delivered.values() for row in rows)


def _plain(rows: Counter) -> Counter:
    return Counter({row[:-1]: weight for row, weight in rows.items()})


def _sales(chance: random.Random, count: int) -> list[tuple]:
    rows = [(chance.randrange(100 * SECOND), f"i{chance.randrange(8)}", chance.randrange(-2, 9)) for _ in range(count)]
    return sorted(rows, key=lambda row: row[0] + chance.randrange(4 * SECOND))


def write(folder: Path, rows: list[tuple], schema, files: int, first: int = 0) -> None:
    """Rows in files, in the order in which they are to be read."""
    folder.mkdir(parents=True, exist_ok=True)
    size = -(-len(rows) // files)
    for number in range(files):
        path = folder / f"{first + number:03}.parquet"
        pq.write_table(to_arrow(rows[number * size : (number + 1) * size], schema), path)
        os.utime(path, (first + number + 1,) * 2)
