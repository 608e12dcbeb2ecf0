"""A small market that goes on for as long as a test likes: shops whose sales are written while faults happen, and what
the interpreter says of them.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

import tradewind as tw
from tradewind.errors import TradewindError
from tradewind.interpreter.run import Run
from tradewind.runtime.answers import answer_of
from tradewind.spark.types import to_arrow

SECOND = 1_000_000
BEGIN = 1_000 * SECOND
"""When the first sale is; those at 0 are so late that they are dropped."""
_FILE = """
sites:
{sites}
  hq: {{cores: 1}}
links:
{links}
channels: {{keep: 1 day}}
streams:
  sales:
    schema: ts TIMESTAMP, item STRING, amount BIGINT
    time: ts
    late_by: 5 seconds
    distinct: {{item: 8}}
    at:
{origins}
queries:
  best:
    sql: |
      SELECT window.start AS begin, item, sum(amount) AS sold, count(*) AS sales FROM sales WHERE amount > 0
      GROUP BY window(ts, '20 seconds'), item
      QUALIFY row_number() OVER (PARTITION BY window ORDER BY sold DESC, item) <= 3
    deliver: {{site: hq, format: parquet, path: out/best}}
    fresh_within: 3 seconds
    revise_within: 60 seconds
  large:
    sql: SELECT ts, item, amount FROM sales WHERE amount > 6
    deliver: {{site: hq, format: parquet, path: out/large}}
    fresh_within: 3 seconds
    revise_within: 60 seconds
"""

Row = tuple[int, str, int]


def text_of(shops: tuple[str, ...]) -> str:
    """The deployment of a market with these shops."""
    origin = "      {0}: {{format: parquet, path: data/{0}, rows_per_second: 20}}"
    link = "  - {{between: [{0}, hq], mbps: 50, ms: 2, usd_per_gb: 0.05}}"
    return _FILE.format(
        sites="\n".join(f"  {shop}: {{cores: 1}}" for shop in shops),
        links="\n".join(link.format(shop) for shop in shops),
        origins="\n".join(origin.format(shop) for shop in shops),
    )


@dataclass
class Market:
    """Shops in a folder. Each `sell` writes one more file for each of them; `expected` is what all of it amounts to."""

    folder: Path
    seed: int
    shops: tuple[str, ...] = ("north", "south")
    given: dict[str, int] = field(default_factory=dict)
    """Rows that were written, by shop."""
    dropped: dict[str, int] = field(default_factory=dict)
    """Those of them that come too late to count."""
    ticks: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.file = self.folder / "market.yaml"
        self.file.write_text(text_of(self.shops))
        self.found = tw.deployment(self.file)
        self._chance = random.Random(self.seed)
        self._run = Run(self.found.graph(), {"sales": list(self.shops)}, horizon=60 * SECOND)
        for shop in self.shops:
            (self.folder / "data" / shop).mkdir(parents=True)
            self.given[shop] = self.dropped[shop] = 0

    @property
    def sites(self) -> tuple[str, ...]:
        return (*self.shops, "hq")

    def sell(self, rows: int = 20) -> None:
        """Ten more seconds of sales at every shop, as a file that is there at once."""
        with self._lock:
            for shop in self.shops:
                made = self._sales(rows)
                if self.ticks:
                    made.append((0, "i0", 9))
                    self.dropped[shop] += 1
                self._write(shop, made)
                self._run.feed({"sales": {shop: made}})
                self.given[shop] += len(made)
            self.ticks += 1

    def close(self) -> None:
        """A sale of nothing, long after all others: everything before it is final."""
        with self._lock:
            for shop in self.shops:
                last = [(BEGIN + (self.ticks + 100) * 10 * SECOND, "i0", 0)]
                self._write(shop, last)
                self._run.feed({"sales": {shop: last}})
                self.given[shop] += 1
            self.ticks += 101

    def expected(self) -> dict[str, Counter]:
        """What the interpreter says of all that was written."""
        with self._lock:
            return {name: self._run.answer(name) for name in self.found.queries}

    def delivered(self) -> dict[str, Counter]:
        """What was delivered, each row with whether it is final."""
        return {name: self._answer(name) for name in self.found.queries}

    def differences(self) -> list[str]:
        """How the answers differ from what they should be, in words."""
        expected, delivered = self.expected(), self.delivered()
        return [said for name in expected for said in differences(name, expected[name], delivered[name])]

    def _answer(self, name: str) -> Counter:
        try:
            return answer_of(name, self.found.queries[name], self.folder)
        except TradewindError:
            return Counter()  # nothing yet

    def _sales(self, count: int) -> list[Row]:
        chance, begin = self._chance, BEGIN + self.ticks * 10 * SECOND
        return sorted(
            (begin + chance.randrange(14 * SECOND), f"i{chance.randrange(8)}", chance.randrange(-2, 10))
            for _ in range(count)
        )

    def _write(self, shop: str, rows: list[Row]) -> None:
        schema = self.found.streams["sales"].source.schema
        path = self.folder / "data" / shop / f"{self.ticks:05}.parquet"
        partial = path.with_name(f".{path.name}")
        pq.write_table(to_arrow(rows, schema), partial)
        partial.replace(path)


def differences(name: str, expected: Counter, delivered: Counter) -> list[str]:
    """How one answer differs from what it should be; whether rows are final does not matter here."""
    has: Counter = Counter()
    for row, weight in delivered.items():
        has[row[:-1]] += weight
    return [
        f"{name} misses {-over} of {row}" if over < 0 else f"{name} has {over} too many of {row}"
        for row in {**expected, **has}
        if (over := has[row] - expected[row])
    ]
