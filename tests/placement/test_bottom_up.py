"""Coordinators from the sink up: sound plans, each from what its coordinators know, and the best where one sees all."""

from __future__ import annotations

from functools import partial
from statistics import fmean

import pytest

from tests.placement.baseline_cases import cost, far_partner, on_a_line, sound_and_not_below_exact
from tests.placement.random_cases import Case, random_case
from tradewind.cost.prices import Prices
from tradewind.errors import InputError
from tradewind.experiments.workload import Rule, workload
from tradewind.network.clusters import clusters
from tradewind.network.network import Network, Place
from tradewind.placement.bottom_up import bottom_up, parts_to_pass_up
from tradewind.placement.exact import exact
from tradewind.placement.ground import Ground
from tradewind.placement.joins import Input, JoinQuery, join_choices
from tradewind.placement.plan import Goal
from tradewind.placement.running import Running


@pytest.mark.parametrize("block", range(3))
def test_plans_are_sound_whatever_the_clusters(block):
    found = []
    for seed in range(40 * block, 40 * block + 40):
        case = random_case(seed, most=None)
        hierarchy = clusters(case.ground.routes(), 2 + seed % 3)
        found.append(sound_and_not_below_exact(case, partial(bottom_up, hierarchy=hierarchy, refine=seed % 2 == 0)))
    assert sum(ratio is None for ratio in found) < 12


def test_one_cluster_gives_the_best_plan():
    ratios = [sound_and_not_below_exact(random_case(seed, most=None), bottom_up) for seed in range(60)]
    assert [ratio for ratio in ratios if ratio is not None] == pytest.approx([1.0] * sum(r is not None for r in ratios))


def test_a_query_that_its_own_cluster_can_answer_does_not_look_further():
    """A stream of the sink's cluster is used though, over the border, what is wanted runs already."""
    ground = on_a_line(6)
    choices, key = join_choices(JoinQuery((Input("A", (0,), 10.0), Input("B", (2,), 10.0)), {frozenset("AB"): 0.05}))
    hierarchy = clusters(ground.routes(), 3)
    assert sorted(child.members for child in hierarchy.children) == [(0, 1, 2), (3, 4, 5)]
    running = Running(ground.network)
    origins = {"A": (0,), "B": (2,)}
    running.add("other", exact(ground, choices, Goal("other", key, 5)), origins)
    sites = running.sites(key)
    goal = Goal("q", key, 1)
    plan = bottom_up(ground, choices, goal, running, hierarchy)
    assert sites & {3, 4, 5}
    assert all(step.site <= 2 for step in plan.steps)


def test_parts_are_made_where_they_leave_fewer_bytes_to_pass_up():
    case = far_partner()
    numbers = case.choices.numbers
    goal = numbers[case.goal.content]
    assert parts_to_pass_up(case.choices, goal, [numbers["A"], numbers["B"]]) == [numbers["A⋈B"]]
    assert parts_to_pass_up(case.choices, goal, [numbers["A"]]) == []
    growing, key = join_choices(
        JoinQuery((Input("A", (0,), 10.0), Input("B", (0,), 10.0), Input("C", (4,), 10.0)), {frozenset("AB"): 0.5})
    )
    known = [growing.numbers["A"], growing.numbers["B"]]
    assert parts_to_pass_up(growing, growing.numbers[key], known) == []


def test_what_is_at_hand_is_joined_before_the_rest_is_asked_for():
    case = far_partner(sink=0)
    plan = bottom_up(case.ground, case.choices, case.goal, None, clusters(case.ground.routes(), 3))
    assert {step.inputs for step in plan.steps} == {("A", "B"), ("A⋈B", "C")}
    assert max(step.site for step in plan.steps if step.output == "A⋈B") <= 2


def test_what_runs_in_a_cluster_is_used_there():
    case = far_partner()
    hierarchy = clusters(case.ground.routes(), 3)
    running = Running(case.ground.network)
    first = bottom_up(case.ground, case.choices, case.goal, None, hierarchy)
    running.add("first", first, {"A": (0,), "B": (0,), "C": (4,)})
    again = Case(case.ground, case.choices, case.goal, running)
    assert cost(again, bottom_up(case.ground, case.choices, case.goal, running, hierarchy)) == 0


def test_with_clusters_of_16_refined_plans_are_near_the_best():
    work = workload(Rule(nodes=128, streams=10, queries=30), 1)
    planner = partial(bottom_up, hierarchy=clusters(work.ground.routes(), 16))
    cases = [Case(work.ground, one.choices, one.goal, None) for one in work.queries]
    refined = fmean(sound_and_not_below_exact(case, partial(planner, refine=True)) or 9 for case in cases)
    plain = fmean(sound_and_not_below_exact(case, planner) or 9 for case in cases)
    assert 1 <= refined < 1.2
    # Above the lowest level only coordinators are thought of.
    assert refined < plain


def test_without_a_way_there_is_no_plan():
    case = far_partner()
    alone = Network.of([Place(f"s{site}") for site in range(5)], [])
    nothing = Prices.of_bytes(alone)
    with pytest.raises(InputError, match="no coordinator finds a way"):
        bottom_up(Ground(alone, nothing), case.choices, case.goal)
