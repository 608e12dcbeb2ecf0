"""Figure 4 of Seshadri et al.: planners that know only their part of the network, against the best plan.

128 sites, 10 streams, 100 queries of 2 to 5 joins (see `workload`), clusters of at most 16. The paper's yardstick is an
exhaustive search without re-use; ours is the exact planner, which finds the same least cost, as is checked by an
exhaustive search for some queries of 2 joins, the largest that it can do here. Clusters are made once, before the
queries come, and their making is not in the time of a query.

As the paper describes it, bottom-up puts operators at the members of the cluster that plans them. The refined one lets
these plan again inside, as top-down does. With two levels most queries are answered at the top, where refined bottom-up
and top-down are the same: that they cost the same says nothing about either. The paper does not give the size of its
clusters; of 4, 8, 16, 32 and 64, tried on two to four seeds, 16 came nearest to exact, so this is the kindest choice.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from functools import partial
from math import isclose
from pathlib import Path

from tradewind.experiments.chart import Line, Panel, draw, painter, text
from tradewind.experiments.cumulative import Costs, Spread, deploy
from tradewind.experiments.result import Result
from tradewind.experiments.workload import Rule, Workload, workload
from tradewind.network.clusters import MAX_SIZE, clusters
from tradewind.placement.bottom_up import bottom_up
from tradewind.placement.exact import exact
from tradewind.placement.exhaustive import combinations, exhaustive
from tradewind.placement.many import Planner
from tradewind.placement.top_down import top_down

SHOWS = "How near planning with parts of the network comes to the best plan, with and without re-use (128 sites)."

PUBLISHED = (
    "Published: bottom-up and top-down come close to an exhaustive search, which took 3 to 4 minutes a query, while "
    "they took 0.08 to 0.15."
)

CHECKED = 10
"""So many queries of each seed are also searched exhaustively."""

RULE = Rule(nodes=128, streams=10, queries=100)

Runs = dict[tuple[str, bool], list[Costs]]


def planners(work: Workload) -> dict[str, Planner]:
    """The exact planner, and those that work on a hierarchy of clusters."""
    hierarchy = clusters(work.ground.routes(), MAX_SIZE)
    return {
        "exact": exact,
        "top-down": partial(top_down, hierarchy=hierarchy),
        "bottom-up": partial(bottom_up, hierarchy=hierarchy),
        "bottom-up, refined": partial(bottom_up, hierarchy=hierarchy, refine=True),
    }


def measure(rule: Rule, seeds: int) -> Runs:
    """All planners, with and without re-use, on the workloads of some seeds."""
    found: Runs = {}
    for seed in range(seeds):
        work = workload(rule, seed)
        for name, planner in planners(work).items():
            for reuse in (False, True):
                found.setdefault((name, reuse), []).append(deploy(work, planner, reuse))
    return found


@dataclass(frozen=True, slots=True)
class Checked:
    """How many queries an exhaustive search could do, for how many the exact planner was as cheap, and the time."""

    queries: int
    equal: int
    seconds_per_query: float


def check(rule: Rule, seeds: int, most: int = 100_000) -> Checked:
    """Hold the exact planner against an exhaustive search where there are at most so many combinations to try."""
    done, equal, spent = 0, 0, 0.0
    for seed in range(seeds):
        work = workload(rule, seed)
        small = [one for one in work.queries if combinations(work.ground, one.choices, one.goal) <= most]
        for one in small[:CHECKED]:
            begin = time.perf_counter()
            found = exhaustive(work.ground, one.choices, one.goal, None, most).cost(work.ground.prices)
            spent += time.perf_counter() - begin
            done += 1
            equal += isclose(found, exact(work.ground, one.choices, one.goal).cost(work.ground.prices))
    return Checked(done, equal, spent / max(1, done))


def line(runs: Runs, name: str, reuse: bool) -> Line:
    """A planner's cumulative costs: with re-use what is shared counts once, without it each query pays for all."""
    return Line(name, tuple(costs.once if reuse else costs.alone for costs in runs[name, reuse]))


def above_exact(runs: Runs, name: str, reuse: bool) -> Spread:
    """By which share a planner's cost in the end is above that of the exact one, seed by seed."""
    ours, best = (line(runs, one, reuse).runs for one in (name, "exact"))
    return Spread.of([mine[-1] / least[-1] - 1 for mine, least in zip(ours, best, strict=True)])


def run(seeds: int, out: Path) -> Result:
    """Measure, draw and compare."""
    painter()
    runs, checked = measure(RULE, seeds), check(RULE, seeds)
    caption = (PUBLISHED, _near(runs, seeds), _searched(checked))
    title = f"{RULE.nodes} sites, {RULE.streams} streams, {RULE.queries} queries"
    names = list(dict.fromkeys(name for name, _ in runs))
    drawn = [
        Panel("With re-use" if reuse else "Without re-use", tuple(line(runs, name, reuse) for name in names))
        for reuse in (False, True)
    ]
    found = {key: figures(runs, *key) for key in runs}
    rows = [
        (name, "yes" if reuse else "no", cost.dollars(), above.percent(), f"{seconds.mean * 1000:.1f}")
        for (name, reuse), (cost, above, seconds) in found.items()
    ]
    rows.append(("exhaustive (2 joins)", "no", "", "", f"{checked.seconds_per_query * 1000:.1f}"))
    data = [
        {"planner": name, "reuse": reuse, "cost": c.json(), "above_exact": a.json(), "seconds_per_query": s.json()}
        for (name, reuse), (c, a, s) in found.items()
    ]
    return Result(
        title,
        ("planner", "re-use", "dollars an hour", "above exact: mean ± deviation (least to most)", "ms a query"),
        tuple(rows),
        caption,
        "\n\n".join(text(panel) for panel in drawn),
        (draw(out / "figure_4.png", title, drawn, " ".join(caption)),),
        {"seeds": seeds, "planners": data, "exhaustive": asdict(checked)},
    )


def figures(runs: Runs, name: str, reuse: bool) -> tuple[Spread, Spread, Spread]:
    """A planner's cost in the end, by which share that is above the exact planner's, and its seconds a query."""
    cost = Spread.of([costs[-1] for costs in line(runs, name, reuse).runs])
    seconds = Spread.of([costs.seconds_per_query for costs in runs[name, reuse]])
    return cost, above_exact(runs, name, reuse), seconds


def _near(runs: Runs, seeds: int) -> str:
    near = "; ".join(
        f"{name} {above_exact(runs, name, reuse).mean:+.1%}{' with re-use' if reuse else ''}"
        for name, reuse in runs
        if name != "exact"
    )
    return f"Measured, over {seeds} seeds, against the exact planner: {near}."


def _searched(checked: Checked) -> str:
    return (
        f"An exhaustive search of {checked.queries} queries of 2 joins took {checked.seconds_per_query * 1000:.1f} ms "
        f"each; the exact planner's cost was the same for {checked.equal} of them."
    )
