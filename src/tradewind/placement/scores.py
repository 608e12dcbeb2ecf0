"""What makes one plan better than another, for searches that compare whole plans: tuples, the less the better."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isclose

from tradewind.cost.utility import Benefit, net_utility
from tradewind.frontends.metrics.tree import Metric
from tradewind.placement.choices import Choices
from tradewind.placement.ground import Ground
from tradewind.placement.measures import measure, profile
from tradewind.placement.plan import Plan

Score = Callable[[Plan], tuple[float, ...]]

_CLOSE = 1e-9
"""Sums of the same numbers in another order differ by less."""
_CLOSE_TO_ZERO = 1e-12


def better(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether the first number that differs, by more than rounding, is less."""
    for left, right in zip(one, other, strict=True):
        if left != right and not isclose(left, right, rel_tol=_CLOSE, abs_tol=_CLOSE_TO_ZERO):
            return left < right
    return False


def metric_score(metric: Metric, ground: Ground, choices: Choices) -> Score:
    """Broken bounds first, then the metric, then what the plan costs."""

    def score(plan: Plan) -> tuple[float, ...]:
        found = measure(plan, ground.network, choices)
        excess = sum(found.excess(bound) for bound in metric.where)
        return (excess, *profile(found, metric.cost), plan.cost(ground.prices))

    return score


def utility_score(benefits: Mapping[str, Benefit], ground: Ground, choices: Choices) -> Score:
    """The greatest net utility first, then the least cost; the ground's prices must be dollars in an hour."""

    def score(plan: Plan) -> tuple[float, ...]:
        return -utility(plan, benefits, ground, choices), plan.cost(ground.prices)

    return score


def utility(plan: Plan, benefits: Mapping[str, Benefit], ground: Ground, choices: Choices) -> float:
    """What a plan's answers are worth at their response times, minus what it costs."""
    found = measure(plan, ground.network, choices)
    return net_utility(benefits, found.response_ms, plan.cost(ground.prices))


def response_score(ground: Ground, choices: Choices) -> Score:
    """The response times of all queries together first, then what the plan costs."""

    def score(plan: Plan) -> tuple[float, ...]:
        return sum(measure(plan, ground.network, choices).response_ms.values()), plan.cost(ground.prices)

    return score
