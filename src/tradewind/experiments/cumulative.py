"""Queries planned one after the other, and what all of them so far cost together."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from tradewind.experiments.workload import Workload
from tradewind.placement.many import Planner
from tradewind.placement.plan import Hop, Plan, Step
from tradewind.placement.running import Running


@dataclass(frozen=True, slots=True)
class Costs:
    """The cumulative cost after each query, counted in two ways, and how long planning took."""

    alone: tuple[float, ...]
    """Each query pays for all that it uses."""
    once: tuple[float, ...]
    """What is there for several queries, be it by chance, is paid once."""
    seconds_per_query: float


def deploy(work: Workload, planner: Planner, reuse: bool) -> Costs:
    """Plan the queries of a workload in their order, with or without a look at what runs already."""
    prices, running = work.ground.prices, Running(work.ground.network)
    steps: set[Step] = set()
    hops: set[Hop] = set()
    alone, once, spent = [0.0], [0.0], 0.0
    for asked in work.queries:
        begin = time.perf_counter()
        plan = planner(work.ground, asked.choices, asked.goal, running if reuse else None)
        spent += time.perf_counter() - begin
        alone.append(alone[-1] + plan.cost(prices))
        once.append(once[-1] + Plan(plan.steps - steps, plan.hops - hops).cost(prices))
        steps |= plan.steps
        hops |= plan.hops
        if reuse:
            running.add(asked.goal.query, plan, asked.origins)
    return Costs(tuple(alone[1:]), tuple(once[1:]), spent / max(1, len(work.queries)))


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over several seeds."""

    mean: float
    deviation: float
    least: float
    most: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """Mean, sample deviation, least and most of some values."""
        return Spread(fmean(values), stdev(values) if len(values) > 1 else 0.0, min(values), max(values))

    def percent(self) -> str:
        """As text, in percent."""
        return f"{self.mean:.1%} ± {self.deviation:.1%} ({self.least:.1%} to {self.most:.1%})"

    def dollars(self) -> str:
        """As text, in dollars an hour."""
        return f"{self.mean:.2f} ± {self.deviation:.2f}"

    def json(self) -> dict[str, float]:
        """As plain data."""
        return {"mean": self.mean, "deviation": self.deviation, "least": self.least, "most": self.most}


def savings(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """By which share ours is cheaper than theirs, seed by seed."""
    return Spread.of([1 - mine / other for mine, other in zip(ours, theirs, strict=True)])
