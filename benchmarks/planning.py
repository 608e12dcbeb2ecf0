"""How long planning takes before anything runs: importing, checking the examples, rewriting as origins grow in number,
planning joins.

Run with `./dev bench planning`. Each figure is the best of several; bars are relative to the longest of their group.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import yaml

import tradewind as tw
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.core import Source
from tradewind.algebra.schema import parse_schema
from tradewind.frontends.catalog import Catalog
from tradewind.frontends.deployment.check import load
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.frontends.sql.query import parse_query
from tradewind.placement.planners import choose
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


def clique(streams: int, sites: int) -> Deployment:
    """A join of streams at several sites, each pair with its own key and band."""
    chance = random.Random(streams * sites)
    places = [f"site{n}" for n in range(sites)]
    links = [
        {"between": [places[n], places[chance.randrange(n)]], "usd_per_gb": round(chance.uniform(0.01, 0.1), 3)}
        for n in range(1, sites)
    ]
    sources = {
        f"s{n}": {
            "schema": "ts TIMESTAMP, k INT, v DOUBLE",
            "time": "ts",
            "at": {chance.choice(places): {"rows_per_second": chance.randint(100, 1000), "row_bytes": 50}},
        }
        for n in range(streams)
    }
    tied = "s{a}.k = s{b}.k AND s{b}.ts BETWEEN s{a}.ts AND s{a}.ts + INTERVAL 5 SECONDS"
    joins = [f"JOIN s{b} ON {' AND '.join(tied.format(a=a, b=b) for a in range(b))}" for b in range(1, streams)]
    columns = ", ".join(f"s{n}.ts AS ts{n}, s{n}.v AS v{n}" for n in range(streams))
    query = {
        "sql": f"SELECT {columns} FROM s0 {' '.join(joins)}",
        "selectivity": {f"s{a},s{b}": 10 ** chance.uniform(-4, -2) for b in range(streams) for a in range(b)},
        "deliver": {"site": places[-1], "format": "parquet", "path": "out"},
    }
    whole = {
        "sites": {place: {} for place in places},
        "links": [{"mbps": 1000, "ms": 5, **link} for link in links],
        "streams": sources,
        "queries": {"q": query},
        "objective": "dollars",
    }
    return load(yaml.safe_dump(whole, sort_keys=False))


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
    cliques = {f"{n} streams, 33 sites": clique(n, 33) for n in (3, 4, 5, 6)}
    show("plan a clique of joins", {name: best(lambda one=one: choose(one), 10) for name, one in cliques.items()})


if __name__ == "__main__":
    main()
