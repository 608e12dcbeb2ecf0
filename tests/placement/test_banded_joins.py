"""Joins of streams that several bands tie: no order is missed, and every order gives the answer that was asked for."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from tests.placement.banded_joins import Banded, random_banded
from tests.rewrites.comparing import same_at_every_moment
from tradewind.algebra.graph import Graph
from tradewind.cli.plan import as_text
from tradewind.frontends.deployment.check import load
from tradewind.interpreter.run import answer
from tradewind.network.network import Network, Place, Wire
from tradewind.placement.built import built
from tradewind.placement.plan import Hop, Plan, Step
from tradewind.placement.planners import choose
from tradewind.placement.report import Report

CHUNKS, CHUNK = 40, 25


def placed(case: Banded, tree: Any) -> float:
    """The least cost of one tree of joins over all ways to place them, each tried by itself."""
    far = case.distances()

    def members(some: Any) -> frozenset[int]:
        return frozenset([some]) if isinstance(some, int) else members(some[0]) | members(some[1])

    def costs(some: Any) -> list[tuple[int, float]]:
        """Where the tree's rows are made, and at what cost, for every way to place its joins."""
        if isinstance(some, int):
            return [(case.origins[some], 0.0)]
        rates = [case.flow(members(half)) for half in some]
        return [
            (at, one[1] + other[1] + rates[0] * far[one[0]][at] + rates[1] * far[other[0]][at])
            for one, other in product(costs(some[0]), costs(some[1]))
            for at in range(case.sites)
        ]

    rate = case.flow(members(tree))
    return min(cost + rate * far[at][case.sink] for at, cost in costs(tree))


def test_the_oracle_is_the_best_of_all_trees_at_all_sites():
    for seed in range(25):
        case = random_banded(seed, most_streams=4, most_sites=4)
        every = frozenset(range(len(case.rates)))
        best = min(placed(case, tree) for tree in case.trees(every))
        assert case.least() == pytest.approx(best, rel=1e-9)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_order_at_no_sites_is_cheaper_than_the_plan(chunk):
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        case = random_banded(seed)
        found = choose(case.deployment(), "exact")
        assert found.cost == pytest.approx(case.least(), rel=1e-9, abs=1e-15), f"seed {seed}: {case}"


def test_two_streams_at_one_place_are_joined_there_though_the_third_has_a_band_with_each():
    chain = tuple((site - 1, site, 0.05) for site in range(1, 21))
    pairs = ((0, 1), (0, 2), (1, 2))
    for alone in range(3):
        rare = next(pair for pair in pairs if alone not in pair)
        case = Banded(
            21,
            chain,
            tuple(20 if number == alone else 0 for number in range(3)),
            (1000.0,) * 3,
            pairs,
            ((0, 5),) * 3,
            True,
            {pair: 1e-6 if pair == rare else 1e-3 for pair in pairs},
            20,
        )
        found = choose(case.deployment(), "exact")
        assert found.cost == pytest.approx(case.least(), rel=1e-9)
        assert found.bound == found.cost


def rows_for(case: Banded, random: Random) -> dict:
    """A few rows of each stream, whose keys are often equal and whose times are often near, some of them NULL."""
    data: dict = {}
    for number, origin in enumerate(case.origins):
        rows = []
        for at in range(random.randint(2, 7)):
            ts = None if random.random() < 0.05 else (at * 3 + random.randint(-6, 6)) * 1_000_000
            keys = [None if random.random() < 0.05 else random.randint(0, 1) for _ in case.columns(number)[1:-1]]
            rows.append((ts, *keys, float(random.randint(0, 9))))
        data[f"s{number}"] = {f"n{origin}": rows}
    return data


@pytest.mark.sampled(2)
@pytest.mark.parametrize("chunk", range(8))
def test_plans_answer_as_the_query_does_at_every_moment(chunk):
    full = 0
    for seed in range(chunk * 30, chunk * 30 + 30):
        case = random_banded(seed, most_streams=4, most_sites=4)
        deployed = case.deployment()
        found = choose(deployed, "exact")
        contents = found.problem.contents.values()
        after = built(found.plan, found.problem.network, contents)
        before = Graph.of(q=deployed.queries["q"].operator)
        for draw in range(3):
            random = Random(f"{seed} {draw}")
            data = rows_for(case, random)
            same_at_every_moment(before, after, data, random, f"seed {seed}")
            full += bool(answer(before, data, strict=False)["q"])
    assert full > 10


def test_the_plan_says_which_orders_it_did_not_weigh():
    case = random_banded(3, most_streams=4)
    whole = choose(case.deployment(), "exact")
    assert not whole.problem.left_out
    assert "not weighed" not in whole.note
    streams = {
        f"s{n}": {"schema": "ts TIMESTAMP, k INT", "time": "ts", "at": {"n0": {"rows_per_second": 1, "row_bytes": 9}}}
        for n in range(8)
    }
    tied = "s0.k = s{n}.k AND s{n}.ts BETWEEN s0.ts AND s0.ts + INTERVAL 5 SECONDS"
    joins = [f"JOIN s{n} ON {tied.format(n=n)}" for n in range(1, 8)]
    deliver = {"site": "n1", "format": "parquet", "path": "out"}
    query = {"sql": f"SELECT s0.ts, s0.k FROM s0 {' '.join(joins)}", "deliver": deliver}
    links = [{"between": ["n0", "n1"], "mbps": 1e6, "ms": 1, "usd_per_gb": 0.1}]
    sites = {"n0": {"cores": 1000}, "n1": {"cores": 1000}}
    data = {"sites": sites, "links": links, "streams": streams, "queries": {"q": query}, "objective": "dollars"}
    found = choose(load(yaml.safe_dump(data)), "exact")
    assert "joined in the order in which they were written" in found.note
    assert "no plan that was weighed is better" in as_text(Report(found), 0.0)


def test_sums_over_a_plan_do_not_depend_on_the_order_of_its_parts():
    network = Network.of([Place("a"), Place("b")], [Wire("a", "b", 1.0, 1.0, 1.0)])
    rates = [1e16, *[1.0] * 40]  # added one by one, what comes after the large number is lost
    hops = frozenset(Hop(f"content {number}", 0, rate) for number, rate in enumerate(rates))
    steps = frozenset(Step(f"content {number}", (), "join", 1, rate) for number, rate in enumerate(rates))
    plan = Plan(steps, hops)
    assert plan.on_links(network)[0] == math.fsum(rates)
    assert plan.at_sites(network)[1] == math.fsum(rates)


EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAM = """
import json, sys
from pathlib import Path
from tests.placement.banded_joins import random_banded
from tradewind.frontends.deployment.file import deployment
from tradewind.placement.planners import choose
from tradewind.placement.report import Report
cases = [random_banded(number).deployment() for number in range(40, 60)]
cases += [deployment(path) for path in sorted(Path(sys.argv[1]).glob("*.yaml"))]
print(json.dumps([Report(choose(case, "exact")).as_data(0.0) for case in cases]))
"""


@pytest.mark.processes
@pytest.mark.slow
def test_plans_are_the_same_to_the_last_digit_whatever_the_order_of_sets():
    plans = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(EXAMPLES)],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
            timeout=120,
        )
        plans.append(json.loads(run.stdout))
    assert any(len(plan["links"]) > 1 for plan in plans[0])
    assert plans[0] == plans[1]
