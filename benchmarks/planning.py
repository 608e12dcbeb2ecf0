"""How long planning takes before anything runs: importing, checking the examples, rewriting as origins grow in number.

Run with `./dev bench planning`. Each figure is the best of several; bars are relative to the longest of their group.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import tradewind as tw
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.core import Source
from tradewind.algebra.schema import parse_schema
from tradewind.frontends.catalog import Catalog
from tradewind.frontends.sql.query import parse_query
from tradewind.rewrites.engine import rewrite

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.yaml"))
REQUESTS = parse_schema("ts TIMESTAMP, domain STRING, url STRING, bytes BIGINT, status INT", "ts")
TOP = """
SELECT window.start AS minute, domain, count(*) AS hits FROM requests WHERE status < 500
GROUP BY window(ts, '1 minute'), domain
QUALIFY row_number() OVER (PARTITION BY window ORDER BY hits DESC, domain) <= 10
"""


def best(run: Callable[[], object], times: int = 5) -> float:
    """The shortest of several runs, in seconds."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found)


def importing() -> float:
    """The import alone, in a new process each time."""
    program = "import time; start = time.perf_counter(); import tradewind; print(time.perf_counter() - start)"
    runs = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True) for _ in range(5)
    ]
    return min(float(run.stdout) for run in runs)


def top_domains(origins: int) -> Graph:
    """The CDN's question over a stream with so many origins."""
    source = Source("requests", REQUESTS, 10_000_000, tuple(f"site{n}" for n in range(origins)))
    return Graph.of(top=parse_query(TOP, Catalog({"requests": source})))


def show(title: str, figures: dict[str, float]) -> None:
    """Names, milliseconds, and bars."""
    print(f"\n{title}")
    longest = max(figures.values())
    for name, seconds in figures.items():
        print(f"  {name:24} {seconds * 1000:10.2f} ms  {'█' * max(1, round(40 * seconds / longest))}")


def main() -> None:
    """Measure and show."""
    show("import tradewind", {"best of five processes": importing()})
    show("check an example", {path.stem: best(lambda path=path: tw.deployment(path)) for path in EXAMPLES})
    graphs = {path.stem: tw.deployment(path).graph() for path in EXAMPLES}
    show("rewrite an example", {name: best(lambda graph=graph: rewrite(graph)) for name, graph in graphs.items()})
    sizes = {f"{n} origins": top_domains(n) for n in (1, 3, 10, 30, 100, 300, 1000)}
    show(
        "rewrite the top domains", {name: best(lambda graph=graph: rewrite(graph), 3) for name, graph in sizes.items()}
    )


if __name__ == "__main__":
    main()
