"""Dashboards over one log: many aggregates by few columns, in a few windows, that share partials.

A hundred queries of the kind that panels ask: counts, sums, averages and distinct clients of a request log, by some of
its columns, per minute, five minutes or hour, for all requests or for some, delivered to a few places. What they cost
is counted in three ways: each query planned and paid alone; in order of arrival, with re-use; and together.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tradewind.cost.prices import Prices
from tradewind.experiments.chart import Line, Panel, draw, painter, text
from tradewind.experiments.cumulative import Spread, deploy, savings
from tradewind.experiments.result import Result
from tradewind.experiments.workload import Workload
from tradewind.frontends.deployment.check import load
from tradewind.placement.exact import exact
from tradewind.placement.many import OFFERS, together
from tradewind.placement.plan import Plan
from tradewind.placement.planning import Problem, problem

SHOWS = "What a hundred dashboard panels over one log save by sharing, in order of arrival and planned together."

WANTED = "Nothing was published to compare with; at least 30 % below no sharing was asked for."

QUERIES = 100

_SCHEMA = (
    "ts TIMESTAMP, service STRING, status INT, method STRING, country STRING, client STRING, bytes BIGINT, "
    "latency_ms INT"
)
_KEYS = (("status",), ("country",), ("method",), ("status", "country"), ("service",), ("service", "status"))
_WINDOWS = ("1 minute", "5 minutes", "1 hour")
_FUNCTIONS = (
    "count(*) AS hits",
    "sum(bytes) AS bytes",
    "max(latency_ms) AS slowest",
    "avg(latency_ms) AS latency",
    "approx_count_distinct(client) AS clients",
)
_CONDITIONS = ("", "WHERE status >= 500", "WHERE method = 'GET'", "WHERE country = 'NL'")


def dashboards(queries: int = 100, seed: int = 0, edges: int = 6) -> str:
    """A deployment file with so many panels over one log that arises at some edge sites."""
    chance = random.Random(seed)
    sinks = ("dc-1", "dc-2", "hq")
    lines = ["sites:", *(f"  edge-{n}: {{cores: 4, region: r{n % 2}}}" for n in range(1, edges + 1))]
    lines += [
        "  dc-1: {cores: 32, region: r1}",
        "  dc-2: {cores: 32, region: r0}",
        "  hq: {cores: 32, region: hq}",
        "links:",
    ]
    for number in range(1, edges + 1):
        lines.append(
            f"  - {{between: [edge-{number}, dc-{1 + (number + 1) % 2}], mbps: 1000, ms: 10, usd_per_gb: 0.02}}"
        )
    lines += [
        "  - {between: [dc-1, hq], mbps: 10000, ms: 40, usd_per_gb: 0.05}",
        "  - {between: [dc-2, hq], mbps: 10000, ms: 40, usd_per_gb: 0.05}",
        "streams:",
        "  requests:",
        f"    schema: {_SCHEMA}",
        "    time: ts",
        "    distinct: {service: 200, status: 12, method: 5, country: 120, client: 1000000}",
        "    at:",
        *(f"      edge-{n}: {{rows_per_second: 5000, row_bytes: 60}}" for n in range(1, edges + 1)),
        "queries:",
    ]
    for number in range(queries):
        keys, window = chance.choice(_KEYS), chance.choice(_WINDOWS)
        functions = ", ".join(chance.sample(_FUNCTIONS, chance.choice((1, 1, 2, 3))))
        lines += [
            f"  panel_{number}:",
            f"    sql: {_sql(', '.join(keys), functions, chance.choice(_CONDITIONS), window)}",
            f"    deliver: {{site: {chance.choice(sinks)}}}",
            "    fresh_within: 30 seconds",
        ]
    return "\n".join([*lines, "objective: dollars", ""])


def _sql(keys: str, functions: str, condition: str, window: str) -> str:
    what = f"SELECT window.start AS at, {keys}, {functions} FROM requests {condition}"
    return f"{what} GROUP BY window(ts, '{window}'), {keys}"


@dataclass(frozen=True, eq=False)
class Measured:
    """What the panels of one seed cost, cumulatively, in the order in which they are asked."""

    task: Problem
    plan: Plan
    """All panels together."""
    alone: tuple[float, ...]
    in_order: tuple[float, ...]
    together: tuple[float, ...]


def measure(queries: int, seed: int, offers: int = OFFERS) -> Measured:
    """Plan the panels of a seed in all three ways; with fewer `offers`, planning together tries less."""
    task = problem(load(dashboards(queries, seed)), Prices.of_dollars)
    work = Workload(task.ground, task.asked)
    shared = together(task.ground, task.asked, task.shared, offers=offers)
    plans = [shared.plans[one.goal.query] for one in task.asked]
    return Measured(
        task,
        shared.whole,
        deploy(work, exact, reuse=False).alone,
        deploy(work, exact, reuse=True).once,
        tuple(_cumulative(plans, task.ground.prices)),
    )


def _cumulative(plans: Iterable[Plan], prices: Prices) -> Iterable[float]:
    """What the first plans cost together, after each."""
    whole = Plan()
    for plan in plans:
        whole |= plan
        yield whole.cost(prices)


def compare(runs: Iterable[Measured]) -> dict[str, Spread]:
    """By how much sharing is cheaper in the end."""
    some = list(runs)
    alone, in_order, shared = ([getattr(one, way)[-1] for one in some] for way in ("alone", "in_order", "together"))
    return {
        "together against no sharing": savings(shared, alone),
        "in order of arrival against no sharing": savings(in_order, alone),
        "together against in order of arrival": savings(shared, in_order),
    }


def run(seeds: int, out: Path) -> Result:
    """Measure, draw and compare."""
    painter()
    runs = [measure(QUERIES, seed) for seed in range(seeds)]
    compared = compare(runs)
    measured = "; ".join(f"{label} {spread.mean:.1%} ± {spread.deviation:.1%}" for label, spread in compared.items())
    caption = (WANTED, f"Measured, over {seeds} seeds, less by: {measured}.")
    title = f"{QUERIES} dashboard panels over one log"
    lines = {"alone": "no sharing", "in_order": "re-use in order of arrival", "together": "planned together"}
    panel = Panel(
        "What is shared counts once",
        tuple(Line(label, tuple(getattr(one, way) for one in runs)) for way, label in lines.items()),
    )
    return Result(
        title,
        ("saving", "mean ± deviation (least to most)"),
        tuple((label, spread.percent()) for label, spread in compared.items()),
        caption,
        text(panel),
        (draw(out / "dashboards.png", title, (panel,), " ".join(caption)),),
        {
            "seeds": seeds,
            "savings": {label: spread.json() for label, spread in compared.items()},
            "dollars_an_hour": {way: [getattr(one, way)[-1] for one in runs] for way in lines},
        },
    )
