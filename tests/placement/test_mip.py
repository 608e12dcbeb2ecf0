"""The mixed-integer planner against the exact one, and against trying everything for two queries."""

from __future__ import annotations

import pytest

from tests.placement.random_cases import random_case
from tradewind.placement.exact import exact
from tradewind.placement.mip import mip
from tradewind.placement.running import added


@pytest.mark.parametrize("block", range(5))
def test_for_one_query_it_is_as_good_as_exact(block):
    for seed in range(10 * block, 10 * block + 10):
        case = random_case(seed, sites=12 + seed % 9, streams=3 + seed % 2, most=None)
        best = added(exact(case.ground, case.choices, case.goal, case.running), case.running, case.ground.prices)
        found = mip(case.ground, case.choices, [case.goal], case.running)
        assert found.cost == pytest.approx(best, rel=1e-9), f"seed {seed}"
        assert found.bound == pytest.approx(best, rel=1e-6), f"seed {seed}"
