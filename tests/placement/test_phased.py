"""Order first, places second: as good as the order allows, and no better."""

from __future__ import annotations

import pytest

from tests.placement.baseline_cases import cost, far_partner, sound_and_not_below_exact
from tests.placement.random_cases import Case, random_case
from tradewind.errors import InputError
from tradewind.placement.choices import Choices, Content
from tradewind.placement.exact import exact
from tradewind.placement.phased import phased
from tradewind.placement.plan import Goal
from tradewind.placement.running import Running


def test_the_order_with_the_fewest_bytes_ships_more():
    case = far_partner()
    # A⋈B at their origin, 2 bytes over four links; against A and B, 10 bytes each, over four links to C.
    assert cost(case, exact(case.ground, case.choices, case.goal)) == pytest.approx(2 * 4)
    plan = phased(case.ground, case.choices, case.goal)
    # A⋈C and B⋈C give 1 byte alike. C goes to B, 10 over four links, meets it and A there, and 0.002 return.
    assert cost(case, plan) == pytest.approx(10 * 4 + 0.002 * 4)
    assert {step.inputs for step in plan.steps} == {("B", "C"), ("A", "B⋈C")}


def test_what_runs_is_used_only_if_its_order_has_it():
    case = far_partner()
    running = Running(case.ground.network)
    for number, key in enumerate(["A⋈B", "B⋈C"]):
        goal = Goal(f"other{number}", key, 4)
        running.add(goal.query, exact(case.ground, case.choices, goal), {"A": (0,), "B": (0,), "C": (4,)})
    with_pair = Case(case.ground, case.choices, case.goal, running)
    # A⋈B is at hand at the sink, and C arises there: nothing more to pay. The fixed order wants B⋈C, which is there
    # too, and A, which has to come: 10 bytes over four links; or B⋈C, 1 byte, goes to meet it, and the answer returns.
    assert cost(with_pair, exact(case.ground, case.choices, case.goal, running)) == pytest.approx(0)
    tree = {step.inputs for step in phased(case.ground, case.choices, case.goal).steps}
    assert ("B", "C") in tree
    assert 0 < cost(with_pair, phased(case.ground, case.choices, case.goal, running)) <= 1 * 4 + 0.002 * 4 + 1e-9


@pytest.mark.parametrize("block", range(4))
def test_plans_are_sound_and_never_below_exact(block):
    ratios = [
        sound_and_not_below_exact(random_case(seed, most=None), phased) for seed in range(50 * block, 50 * block + 50)
    ]
    assert sum(ratio is None for ratio in ratios) < 15
    assert any(ratio is not None and ratio > 1.01 for ratio in ratios)


def test_an_answer_without_streams_is_refused():
    case = far_partner()
    with pytest.raises(InputError, match="cannot be made"):
        phased(case.ground, Choices((Content("X", 1.0),), ()), Goal("q", "X", 0))
