"""The plan that is chosen beside all placements of the same query, each run on the same data and counted.

./dev bench cheapest [--rows 40000]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _charts import chart

from tradewind.errors import TradewindError
from tradewind.runtime.deployment import Deployment, deployment, runnable
from tradewind.runtime.planned import planned
from tradewind.runtime.wiring import Network
from tradewind.spark.session import Session, start

BASE = 1_700_000_000_000_000
EDGES = ("ams", "waw", "mad")
FILE = """
sites:
  ams: {cores: 2}
  waw: {cores: 2}
  mad: {cores: 2}
  dc: {cores: 4}
  hq: {cores: 4}
links:
  - {between: [ams, dc], mbps: 50, ms: 5, usd_per_gb: 0.02}
  - {between: [waw, dc], mbps: 50, ms: 5, usd_per_gb: 0.02}
  - {between: [mad, dc], mbps: 50, ms: 5, usd_per_gb: 0.03}
  - {between: [dc, hq], mbps: 100, ms: 50, usd_per_gb: 0.08}
streams:
  requests:
    schema: ts TIMESTAMP, domain STRING, bytes BIGINT
    time: ts
    late_by: 1 second
    at:
      ams: {format: parquet, path: data/ams}
      waw: {format: parquet, path: data/waw}
      mad: {format: parquet, path: data/mad}
queries:
  top:
    sql: |
      SELECT window.start AS minute, domain, count(*) AS hits, sum(bytes) AS bytes FROM requests
      GROUP BY window(ts, '1 minute'), domain
      QUALIFY row_number() OVER (PARTITION BY window ORDER BY hits DESC, domain) <= 10
    deliver: {site: hq, format: noop}
    fresh_within: 3 minutes
"""
PLACES = {
    "partial": (None, "dc", "hq"),
    "combine": (None, "dc", "hq"),
    "merge": (None, "dc", "hq"),
    "top": (None, "dc"),
}


def lay_out(folder: Path, rows: int) -> Path:
    for number, edge in enumerate(EDGES):
        draw = np.random.default_rng(number)
        (folder / "data" / edge).mkdir(parents=True)
        for minute in range(2):
            times = BASE + minute * 60_000_000 + np.arange(rows) * (60_000_000 // rows)
            domains = np.minimum(draw.zipf(1.2, rows), 5_000)
            table = pa.table({
                "ts": pa.array(times, pa.timestamp("us", "UTC")),
                "domain": [f"site-{one}.example" for one in domains],
                "bytes": draw.integers(100, 100_000, rows),
            })  # fmt: skip
            pq.write_table(table, folder / "data" / edge / f"{minute}.parquet")
    (folder / "cdn.yaml").write_text(FILE)
    return folder / "cdn.yaml"


def placements(found: Deployment) -> Iterator[tuple[str, Deployment]]:
    """Every placement of the operators that can be pinned, once, and shipping everything."""
    seen = set()
    query = found.queries["top"]
    for sites in product(*PLACES.values()):
        pins = {kind: site for kind, site in zip(PLACES, sites, strict=True) if site is not None}
        other = runnable(replace(found, queries={"top": replace(query, pin=pins)}))
        try:
            names = tuple(one.name for one in planned(other).deployed.fragments)
        except TradewindError:
            continue  # no plan keeps these pins
        if names not in seen:
            seen.add(names)
            yield ", ".join(f"{kind} at {site}" for kind, site in pins.items()) or "chosen", other


def dollars(found: Deployment, spark: Session, state: Path, planner: str = "exact") -> float:
    prices = {ends: link.usd_per_gb for link in found.links for ends in (link.between, link.between[::-1])}
    options = {"spark": spark, "fresh": True, "planner": planner, "network": Network(imitate=False)}
    with found.run(state=state, **options) as live:
        live.wait()
        return sum(one.bytes * prices[ends] for ends, one in live.links().items()) / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=40_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        found = deployment(lay_out(folder, given.rows))
        spark = start(2, folder / "spark", log=folder / "spark.log")
        costs = {"everything shipped": dollars(found, spark, folder / "state", "ship-all")}
        for name, other in placements(found):
            costs[name] = dollars(other, spark, folder / "state")
        spark.stop()
    ratio = costs["chosen"] / min(costs.values())
    shown = {name: cost * 1e6 for name, cost in sorted(costs.items(), key=lambda one: one[1])}
    chart(
        "cheapest",
        f"All {len(costs)} placements; chosen over cheapest {ratio:.2f} (aim 1.1)",
        "millionth $",
        {"": shown},
    )


if __name__ == "__main__":
    main()
