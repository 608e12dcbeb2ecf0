"""What crosses the links of a run over files, beside what was planned: 20 queries, three formats, two networks.

./dev bench links [--rows 20000] [--ship-all] [NAME ...]

Each query runs by itself, with nothing declared of its streams. With `--ship-all` it runs once more with everything
shipped to where its answer goes, so that it is seen whether the plan that was chosen was the better one.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tradewind.cli.flows import Flows
from tradewind.cli.progress import Progress
from tradewind.runtime.deployment import deployment
from tradewind.runtime.wiring import Network
from tradewind.spark.session import Session, start

SHOPS = ("a", "b", "c")
NETWORKS = {
    "star": [("a", "hq"), ("b", "hq"), ("c", "hq")],
    "row": [("a", "b"), ("b", "c"), ("c", "hq")],
}
SCHEMAS = {
    "sales": "ts TIMESTAMP, shop STRING, amount INT",
    "orders": "ts TIMESTAMP, shop STRING, client BIGINT, price DECIMAL(12,2)",
    "requests": (
        "ts TIMESTAMP, url STRING, agent STRING, client BIGINT, latency DOUBLE, price DECIMAL(12,2), status INT"
    ),
}
"""Short rows, rows with money, and long rows."""
FORMATS = {"sales": "csv", "orders": "json", "requests": "parquet"}
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_AGENTS = [f"Mozilla/5.0 (X11; Linux x86_64; rv:{n}.0) Gecko/20100101 Browser/{n}.{n % 7}" for n in range(40)]
_ARROW = {"ts": pa.timestamp("us", "UTC"), "price": pa.decimal128(12, 2), "status": pa.int32(), "amount": pa.int32()}


@dataclass(frozen=True, slots=True)
class Case:
    """A query over one stream, and the network that it runs in."""

    name: str
    sql: str
    stream: str = "sales"
    network: str = "star"
    share: float = 1.0
    """The share of the rows that is there: what a few rows take is mostly not rows."""


CASES = (
    Case("count by shop", "SELECT shop, count(*) AS n FROM sales GROUP BY shop"),
    Case("count by shop, in a row", "SELECT shop, count(*) AS n FROM sales GROUP BY shop", network="row"),
    Case("few rows by shop", "SELECT shop, count(*) AS n FROM sales GROUP BY shop", share=0.01),
    Case(
        "totals by shop", "SELECT shop, sum(amount) AS s, avg(amount) AS m, max(amount) AS x FROM sales GROUP BY shop"
    ),
    Case("count by amount", "SELECT amount, count(*) AS n FROM sales GROUP BY amount"),
    Case("by shop and amount", "SELECT shop, amount, count(*) AS n FROM sales GROUP BY shop, amount"),
    Case("count of all", "SELECT count(*) AS n, min(amount) AS least FROM sales"),
    Case(
        "by minute and shop",
        "SELECT window.start AS m, shop, sum(amount) AS s FROM sales GROUP BY window(ts, '1 minute'), shop",
    ),
    Case("rows kept", "SELECT ts, shop, amount FROM sales WHERE shop = 'north'"),
    Case("columns kept", "SELECT shop, amount FROM sales"),
    Case("money by shop", "SELECT shop, sum(price) AS s FROM orders GROUP BY shop", "orders"),
    Case("money by shop, in a row", "SELECT shop, sum(price) AS s FROM orders GROUP BY shop", "orders", "row"),
    Case("few orders by shop", "SELECT shop, sum(price) AS s FROM orders GROUP BY shop", "orders", "row", 0.005),
    Case("money by client, in a row", "SELECT client, sum(price) AS s FROM orders GROUP BY client", "orders", "row"),
    Case("orders as they are", "SELECT * FROM orders", "orders", "row"),
    Case("count by url", "SELECT url, count(*) AS n FROM requests GROUP BY url", "requests"),
    Case("latency by status", "SELECT status, avg(latency) AS m FROM requests GROUP BY status", "requests"),
    Case("spread by status", "SELECT status, stddev_samp(latency) AS d FROM requests GROUP BY status", "requests"),
    Case(
        "clients by status",
        "SELECT status, approx_count_distinct(client) AS n FROM requests GROUP BY status",
        "requests",
    ),
    Case("requests as they are", "SELECT * FROM requests", "requests", "star", 0.5),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A link of a run: what crossed it, and what was planned to."""

    start: str
    end: str
    bytes: int
    predicted: int
    rows: int
    messages: int

    @property
    def ratio(self) -> float:
        """Planned over measured."""
        return self.predicted / self.bytes if self.bytes else math.inf


def write(case: Case, folder: Path, rows: int) -> Path:
    """The data of a case and the file that declares it."""
    kind = FORMATS[case.stream]
    for shop in SHOPS:
        place = folder / "data" / shop
        place.mkdir(parents=True)
        table = list(_rows(case.stream, random.Random(f"{shop}{case.stream}"), int(rows * case.share)))
        _written(place / f"0.{kind}", kind, table)
    links = "\n".join(
        f"  - {{between: [{a}, {b}], mbps: 50, ms: 5, usd_per_gb: 0.05}}" for a, b in NETWORKS[case.network]
    )
    at = "\n".join(f"      {shop}: {{format: {kind}, path: data/{shop}}}" for shop in SHOPS)
    file = folder / "trial.yaml"
    file.write_text(f"""
sites: {{a: {{cores: 1}}, b: {{cores: 1}}, c: {{cores: 1}}, hq: {{cores: 2}}}}
links:
{links}
streams:
  {case.stream}:
    schema: {SCHEMAS[case.stream]}
    time: ts
    at:
{at}
queries:
  asked:
    sql: {json.dumps(case.sql)}
    deliver: {{site: hq, format: parquet, path: out/asked}}
""")
    return file


def _rows(stream: str, draw: random.Random, count: int) -> Iterator[dict[str, object]]:
    for n in range(count):
        row: dict[str, object] = {"ts": _BEGIN + timedelta(milliseconds=1000 * n + draw.randrange(1000))}
        shop = draw.choice(("north", "south", "west"))
        client = int(draw.paretovariate(0.8)) % 100_000
        price = Decimal(int(draw.lognormvariate(7, 1))) / 100
        if stream == "sales":
            row |= {"shop": shop, "amount": draw.randrange(500)}
        elif stream == "orders":
            row |= {"shop": shop, "client": client, "price": price}
        else:
            page = int(draw.paretovariate(1.0)) % 5_000
            title = f"a-rather-long-title-of-page-{page * 7919 % 10_007}"
            row |= {
                "url": f"https://www.example.org/articles/2026/{page % 12}/{title}",
                "agent": draw.choice(_AGENTS), "client": client, "latency": draw.lognormvariate(3, 1), "price": price,
                "status": draw.choices((200, 304, 404, 500), (80, 15, 4, 1))[0],
            }  # fmt: skip
        yield row


def _written(path: Path, kind: str, rows: Sequence[dict[str, object]]) -> None:
    if kind == "parquet":
        names = list(rows[0])
        arrays = [pa.array([row[name] for row in rows], _ARROW.get(name)) for name in names]
        pq.write_table(pa.table(arrays, names=names), path)
        return
    plain = [{k: v.isoformat() if isinstance(v, datetime) else v for k, v in row.items()} for row in rows]
    if kind == "csv":
        lines = [",".join(rows[0]), *(",".join(str(value) for value in row.values()) for row in plain)]
    else:
        lines = [
            "{" + ", ".join(f'"{k}": {v if isinstance(v, Decimal) else json.dumps(v)}' for k, v in row.items()) + "}"
            for row in plain
        ]
    path.write_text("\n".join(lines) + "\n")


def run(case: Case, rows: int, spark: Session, planner: str = "exact") -> list[Outcome]:
    """Run a case over its files until all is read; each link that carried something or should have."""
    with tempfile.TemporaryDirectory(prefix="links-") as folder:
        found = deployment(write(case, Path(folder), rows))
        network = Network((), imitate=False, backbone=None)
        with found.run(state=Path(folder) / "state", spark=spark, planner=planner, network=network) as live:
            live.wait()
            seconds = Progress(True, found, None, rows_aside=True).seconds_of(live.read())
            links = Flows.of(live).links(live.links(), live.predicted(), seconds)
    return [
        Outcome(one["from"], one["to"], one["bytes"], one["predicted_bytes"], one["rows"], one["messages"])
        for one in links
    ]


def main() -> None:
    """Print a line for each link of each case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", help="cases; all if none is named")
    parser.add_argument("--rows", type=int, default=20_000, help="rows at each site")
    parser.add_argument("--ship-all", action="store_true", help="run each case once more, with everything shipped")
    asked = parser.parse_args()
    wanted = [case for case in CASES if not asked.names or case.name in asked.names]
    with tempfile.TemporaryDirectory(prefix="spark-") as folder:
        spark = start(2, Path(folder), memory="2g")
        try:
            print(f"{'query':28} {'link':8} {'planned':>10} {'measured':>10} {'ratio':>6} {'rows':>8} {'messages':>8}")
            for case in wanted:
                for planner in ("exact", "ship-all") if asked.ship_all else ("exact",):
                    for one in run(case, asked.rows, spark, planner):
                        name = case.name if planner == "exact" else f"  {planner}"
                        print(
                            f"{name:28} {one.start}→{one.end:6} {one.predicted:10,} {one.bytes:10,} {one.ratio:6.2f} "
                            f"{one.rows:8,} {one.messages:8,}",
                            flush=True,
                        )
        finally:
            spark.stop()


if __name__ == "__main__":
    main()
