"""Coordinators from the top down: sound plans, near the best, and the best where one coordinator sees all."""

from __future__ import annotations

from functools import partial
from statistics import fmean

import pytest

from tests.placement.baseline_cases import cost, far_partner, sound_and_not_below_exact
from tests.placement.random_cases import Case, random_case
from tradewind.cost.prices import Prices
from tradewind.errors import InputError
from tradewind.experiments.workload import Rule, workload
from tradewind.network.clusters import clusters
from tradewind.network.network import Network, Place
from tradewind.placement.ground import Ground
from tradewind.placement.running import Running
from tradewind.placement.top_down import top_down


@pytest.mark.parametrize("block", range(3))
def test_plans_are_sound_whatever_the_clusters(block):
    found = []
    for seed in range(40 * block, 40 * block + 40):
        case = random_case(seed, most=None)
        hierarchy = clusters(case.ground.routes(), 2 + seed % 3)
        found.append(sound_and_not_below_exact(case, partial(top_down, hierarchy=hierarchy)))
    assert sum(ratio is None for ratio in found) < 12


def test_one_cluster_gives_the_best_plan():
    ratios = [sound_and_not_below_exact(random_case(seed, most=None), top_down) for seed in range(60)]
    assert [ratio for ratio in ratios if ratio is not None] == pytest.approx([1.0] * sum(r is not None for r in ratios))


def test_operators_go_to_the_cluster_of_their_streams():
    case = far_partner()
    plan = top_down(case.ground, case.choices, case.goal, None, clusters(case.ground.routes(), 3))
    assert {(step.inputs, step.site) for step in plan.steps if step.output == "A⋈B"} == {(("A", "B"), 0)}
    assert cost(case, plan) == pytest.approx(8)


def test_what_runs_in_a_cluster_is_used_there():
    case = far_partner()
    hierarchy = clusters(case.ground.routes(), 3)
    running = Running(case.ground.network)
    running.add(
        "first", top_down(case.ground, case.choices, case.goal, None, hierarchy), {"A": (0,), "B": (0,), "C": (4,)}
    )
    again = Case(case.ground, case.choices, case.goal, running)
    assert cost(again, top_down(case.ground, case.choices, case.goal, running, hierarchy)) == 0


def test_with_clusters_of_16_plans_are_near_the_best():
    work = workload(Rule(nodes=128, streams=10, queries=30), 1)
    hierarchy = clusters(work.ground.routes(), 16)
    planner = partial(top_down, hierarchy=hierarchy)
    cases = [Case(work.ground, one.choices, one.goal, None) for one in work.queries]
    assert 1 <= fmean(sound_and_not_below_exact(case, planner) or 9 for case in cases) < 1.15


def test_without_a_way_there_is_no_plan():
    case = far_partner()
    alone = Network.of([Place(f"s{site}") for site in range(5)], [])
    nothing = Prices.of_bytes(alone)
    with pytest.raises(InputError, match="no coordinator finds a way"):
        top_down(Ground(alone, nothing), case.choices, case.goal)
