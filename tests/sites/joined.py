"""Two streams at one site that are joined for another one, and a declared selectivity that may be wrong."""

from __future__ import annotations

from pathlib import Path

import tradewind as tw
from tests.sites.shops import write
from tradewind.runtime.deployment import Deployment

RIGHT, WRONG = 0.05, 0.00001
"""Of ten thousand pairs a second the join keeps five hundred: twenty keys, within a second."""
SECONDS, RATE, KEYS = 30, 100, 20
FILE = """
sites: {{west: {{cores: 1}}, hq: {{cores: 1}}}}
links: [{{between: [west, hq], mbps: 100, ms: 1, usd_per_gb: 0.05}}]
streams:
  orders:
    schema: ts TIMESTAMP, k BIGINT, amount BIGINT
    time: ts
    at: {{west: {{format: parquet, path: data/orders, rows_per_second: {rate}}}}}
  ships:
    schema: at TIMESTAMP, k BIGINT, weight BIGINT
    time: at
    at: {{west: {{format: parquet, path: data/ships, rows_per_second: {rate}}}}}
queries:
  sent:
    sql: |
      SELECT o.ts, o.k, o.amount, s.at, s.weight FROM orders o JOIN ships s
      ON o.k = s.k AND s.at BETWEEN o.ts AND o.ts + INTERVAL 1 SECOND
    deliver: {{site: hq, format: parquet, path: out/sent}}
    selectivity: {{"orders,ships": {selectivity}}}
"""


def laid_out(folder: Path, selectivity: float, rate: float = RATE) -> Deployment:
    """The deployment in a folder, with its rows."""
    path = folder / "joined.yaml"
    path.write_text(FILE.format(selectivity=selectivity, rate=rate))
    found = tw.deployment(path)
    step = 1_000_000 // RATE
    for number, name in enumerate(("orders", "ships")):
        rows = [(n * step + number, n * 7 % KEYS, n * 31 % 1000) for n in range(SECONDS * RATE)]
        write(folder / "data" / name, rows, found.streams[name].source.schema, files=2)
    return found
