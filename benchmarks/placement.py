"""How long planning takes as networks, queries and edge sites grow in number.

Run with `./dev bench placement`; `--cases` chooses among:

- joins: one query of 2 to 6 streams in transit-stub networks. Streams arise at sites drawn evenly, at rates from 0.5 to
  1.5, and any two of them keep 0.3 to 1.2 of the product of their rates. The time is that of `exact` alone, in a
  network whose links were sorted, or whose distances were worked out, by a query before; then the same with the making
  of the query's choices. Each size runs in a process of its own, whose peak of memory is shown.
- tree: a count by minute and domain over edge sites below 20 datacenters below a root: all of `choose`, that is
  rewriting, reading, planning, and the comparison with shipping everything; the file is parsed before.
- incremental: queries of 3 to 6 streams that come one after the other in a network of 128 sites and re-use what runs.

Each figure is the best of several rounds, the mean over some queries; of large networks there is one round. Beside the
time on the clock stands that of the processor, which says more on a machine with other work to do.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from _charts import curves

from tradewind.cost.prices import Prices
from tradewind.experiments.workload import Rule, workload
from tradewind.frontends.deployment.check import load
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.network.network import Network
from tradewind.network.tiers import tiers
from tradewind.network.transit_stub import transit_stub
from tradewind.placement.exact import exact
from tradewind.placement.ground import Ground
from tradewind.placement.joins import Input, JoinQuery, join_choices
from tradewind.placement.many import one_by_one
from tradewind.placement.plan import Goal
from tradewind.placement.planners import choose

RATES, KEPT = (0.5, 1.5), (0.3, 1.2)
DATACENTERS = 20
LARGE = 100_000
"""From so many sites on, few queries are planned, and each once."""

AIMS = {128: 0.010, 10_000: 0.3, 1_000_000: 30.0}
"""Seconds for a query of up to 6 streams, by sites."""
MOST_GB = 12.0
TREE_AIM = {500: 2.0}
INCREMENTAL_AIM = {1_000: 20.0}


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds on the clock and of the processor."""

    clock: float
    processor: float


def timed(run: Callable[[], object]) -> Timed:
    """How long a run takes."""
    clock, processor = time.perf_counter(), time.process_time()
    run()
    return Timed(time.perf_counter() - clock, time.process_time() - processor)


def best(times: Sequence[Timed]) -> Timed:
    """The least of several runs."""
    return Timed(min(one.clock for one in times), min(one.processor for one in times))


def mean(times: Sequence[Timed]) -> Timed:
    """The mean over several queries."""
    return Timed(
        float(np.mean([one.clock for one in times])),
        float(np.mean([one.processor for one in times])),
    )


@dataclass(frozen=True, slots=True)
class Measured:
    """Queries of so many streams: planning alone, planning and making choices, and the longest planning."""

    streams: int
    alone: Timed
    whole: Timed
    longest: float


def drawn(sites: int, streams: int, seed: int) -> tuple[JoinQuery, int]:
    """A query and its sink."""
    rng = np.random.default_rng([sites, streams, seed])
    names = [f"S{number}" for number in range(streams)]
    origins, rates = rng.choice(sites, size=streams, replace=False), rng.uniform(*RATES, size=streams)
    inputs = tuple(Input(name, (int(o),), float(r)) for name, o, r in zip(names, origins, rates, strict=True))
    kept = {frozenset(pair): float(rng.uniform(*KEPT)) for pair in combinations(names, 2)}
    return JoinQuery(inputs, kept), int(rng.integers(sites))


def plan_join(ground: Ground, query: JoinQuery, sink: int) -> tuple[Timed, Timed]:
    """The times of planning alone, and of making the choices and planning."""
    clock, processor = time.perf_counter(), time.process_time()
    choices, key = join_choices(query)
    alone = timed(lambda: exact(ground, choices, Goal("q", key, sink)))
    return alone, Timed(time.perf_counter() - clock, time.process_time() - processor)


def measure_joins(sites: int, streams: Sequence[int], queries: int, rounds: int) -> tuple[list[Measured], float]:
    """All numbers of streams in a network of one size; and the most memory that it took, in GB."""
    network = transit_stub(sites, 0)
    ground = Ground(network, Prices.of_links(network, network.usd_per_gb))
    plan_join(ground, *drawn(sites, 3, 1_000))
    found = []
    for some in streams:
        cases = [drawn(sites, some, seed) for seed in range(queries)]
        runs = [[plan_join(ground, *case) for _ in range(rounds)] for case in cases]
        alone = [best([one for one, _ in case]) for case in runs]
        whole = [best([one for _, one in case]) for case in runs]
        found.append(Measured(some, mean(alone), mean(whole), max(one.clock for one in alone)))
    return found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def joins(options: argparse.Namespace) -> None:
    """Time over sites, for each number of streams."""
    print("\njoins: a query of so many streams, in milliseconds")
    print(
        f"{'sites':>10} {'streams':>7} {'exact':>10} {'processor':>10} {'longest':>10} {'+ choices':>10} {'GB':>6}  aim"
    )
    series: dict[str, dict[float, float]] = {f"{some} streams": {} for some in options.streams}
    for sites in options.sites:
        few = sites >= LARGE
        queries, rounds = (2, 1) if few else (5, options.rounds)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as child:
            found, peak = child.submit(measure_joins, sites, options.streams, queries, rounds).result()
        for one in found:
            series[f"{one.streams} streams"][sites] = one.alone.clock
            print(
                f"{sites:>10,} {one.streams:>7} {one.alone.clock * 1000:>10,.1f} {one.alone.processor * 1000:>10,.1f} "
                f"{one.longest * 1000:>10,.1f} {one.whole.clock * 1000:>10,.1f} {peak:>6.2f}  "
                f"{verdict(one.alone.clock, AIMS.get(sites))}"
            )
        if sites == max(AIMS):
            print(f"{'':>10} memory: {peak:.1f} GB of at most {MOST_GB:.0f}: {'kept' if peak <= MOST_GB else 'MISSED'}")
    aims = {sites: aim for sites, aim in AIMS.items() if sites in options.sites}
    curves("placement", "The best plan of one query", ("sites", "seconds"), series, aims)


def verdict(seconds: float, aim: float | None) -> str:
    """The aim, and whether it is kept."""
    return "" if aim is None else f"{aim:g} s: {'kept' if seconds <= aim else 'MISSED'}"


def edge_sites(edges: int) -> Deployment:
    """A count over edge sites below datacenters, delivered at the root."""
    network = tiers((DATACENTERS, edges // DATACENTERS))
    names = [place.name for place in network.places]
    at = {name: {"format": "parquet", "path": name, "rows_per_second": 100, "row_bytes": 90} for name in names}
    sql = "SELECT window.start AS t, domain, count(*) AS hits FROM requests GROUP BY window(ts, '1 minute'), domain"
    file = {
        "sites": {place.name: {"cores": int(place.cores), "region": place.region} for place in network.places},
        "links": list(declared_links(network)),
        "streams": {
            "requests": {
                "schema": "ts TIMESTAMP, domain STRING, url STRING, status INT",
                "time": "ts",
                "distinct": {"domain": 20_000, "url": 900_000, "status": 12},
                "at": {name: source for name, source in at.items() if name.startswith("edge")},
            }
        },
        "queries": {"hits": {"sql": sql, "deliver": {"site": "root", "format": "parquet", "path": "hits"}}},
    }
    return load(json.dumps(file))


def declared_links(network: Network) -> Iterator[dict[str, object]]:
    """The links of a network as a deployment file says them, each once for both ways."""
    for link in range(0, len(network.start), 2):
        yield {
            "between": [network.name(network.start[link]), network.name(network.end[link])],
            "mbps": float(network.mbps[link]),
            "ms": float(network.ms[link]),
            "usd_per_gb": float(network.usd_per_gb[link]),
        }


def tree(options: argparse.Namespace) -> None:
    """Time over edge sites."""
    print(f"\ntree: one aggregate over edge sites below {DATACENTERS} datacenters, in seconds")
    print(f"{'edge sites':>10} {'choose':>10} {'processor':>10}  aim")
    found: dict[float, float] = {}
    for edges in options.edges:
        deployment = edge_sites(edges)
        took = best([timed(partial(choose, deployment)) for _ in range(options.rounds)])
        found[edges] = took.clock
        print(f"{edges:>10,} {took.clock:>10.2f} {took.processor:>10.2f}  {verdict(took.clock, TREE_AIM.get(edges))}")
    aims = {edges: aim for edges, aim in TREE_AIM.items() if edges in options.edges}
    curves("placement_tree", "An aggregation tree", ("edge sites", "seconds"), {"choose": found}, aims)


def incremental(options: argparse.Namespace) -> None:
    """Time over queries."""
    print("\nincremental: queries one after the other with re-use on 128 sites, in seconds")
    print(f"{'queries':>10} {'all':>10} {'processor':>10} {'ms a query':>10}  aim")
    found: dict[float, float] = {}
    for queries in options.queries:
        work = workload(Rule(nodes=128, streams=10, queries=queries, rates=RATES, kept=KEPT), 0)
        took = best([timed(partial(one_by_one, work.ground, work.queries)) for _ in range(options.rounds)])
        found[queries] = took.clock
        each, aim = took.clock / queries * 1000, INCREMENTAL_AIM.get(queries)
        print(f"{queries:>10,} {took.clock:>10.2f} {took.processor:>10.2f} {each:>10.2f}  {verdict(took.clock, aim)}")
    aims = {queries: aim for queries, aim in INCREMENTAL_AIM.items() if queries in options.queries}
    curves("placement_queries", "Queries one after the other", ("queries", "seconds"), {"with re-use": found}, aims)


CASES = {"joins": joins, "tree": tree, "incremental": incremental}


def main() -> None:
    """Measure and show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--sites", nargs="+", type=int, default=[128, 1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--streams", nargs="+", type=int, default=[2, 3, 4, 5, 6])
    parser.add_argument("--edges", nargs="+", type=int, default=[100, 200, 500, 1_000])
    parser.add_argument("--queries", nargs="+", type=int, default=[100, 300, 1_000])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for case in options.cases:
        CASES[case](options)


if __name__ == "__main__":
    main()
