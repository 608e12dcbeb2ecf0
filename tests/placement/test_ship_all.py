"""Everything at the sink: every base stream on its cheapest route, every operator there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.placement.baseline_cases import cost, far_partner, sound_and_not_below_exact
from tests.placement.random_cases import Case, random_case
from tradewind.errors import InputError
from tradewind.placement.choices import Choices
from tradewind.placement.plan import Goal
from tradewind.placement.running import Running
from tradewind.placement.ship_all import ship_all

ORIGINS = {"A": (0,), "B": (0,), "C": (4,)}


def test_all_streams_come_and_all_operators_are_there():
    case = far_partner(sink=1)
    plan = ship_all(case.ground, case.choices, case.goal)
    assert cost(case, plan) == pytest.approx(10 + 10 + 3 * 10)
    assert {step.site for step in plan.steps} == {1}
    assert {hop.content for hop in plan.hops} == {"A", "B", "C"}


def test_a_stream_crosses_a_link_once_for_all_sinks():
    near, far = far_partner(sink=3), far_partner(sink=4)
    running = Running(near.ground.network)
    running.add("near", ship_all(near.ground, near.choices, near.goal), ORIGINS)
    again = Case(far.ground, far.choices, far.goal, running)
    # A and B are at site 3 already, C arises at 4; the answer that is at 3, though small, is not asked for.
    assert cost(again, ship_all(far.ground, far.choices, far.goal, running)) == pytest.approx(10 + 10)


def test_a_stream_itself_may_be_the_answer():
    case = far_partner()
    plan = ship_all(case.ground, case.choices, Goal("q", "A", 2))
    assert not plan.steps
    assert plan.cost(case.ground.prices) == pytest.approx(20)


def test_of_several_orders_the_one_with_the_least_work_there_is_taken():
    case = far_partner()
    recipes = tuple(
        replace(
            recipe, kind="costly" if recipe.inputs == (0, 1) else "join", cores=5.0 if recipe.inputs == (0, 1) else 1.0
        )
        for recipe in case.choices.recipes
    )
    case.ground.prices.per_core[:] = 1.0
    plan = ship_all(case.ground, Choices(case.choices.contents, recipes), case.goal)
    assert {step.kind for step in plan.steps} == {"join"}


def test_operators_that_must_run_elsewhere_do():
    case = far_partner()
    elsewhere = tuple(replace(recipe, at=frozenset({0})) for recipe in case.choices.recipes)
    plan = ship_all(case.ground, Choices(case.choices.contents, elsewhere), case.goal)
    assert {step.site for step in plan.steps} == {0}
    assert plan.goals == (case.goal,)


def test_where_rows_may_not_come_to_the_sink_there_is_no_plan():
    case = far_partner()
    there = frozenset({0, 1, 2, 3})
    kept = tuple(replace(content, within=there) for content in case.choices.contents)
    with pytest.raises(InputError, match="may not be computed at 's4'"):
        ship_all(case.ground, Choices(kept, case.choices.recipes), case.goal)


def test_plans_are_sound_and_never_below_exact():
    ratios = [sound_and_not_below_exact(random_case(seed, most=None), ship_all) for seed in range(100)]
    assert sum(ratio is None for ratio in ratios) < 50
    assert max(ratio for ratio in ratios if ratio is not None) > 1.5
