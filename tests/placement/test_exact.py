"""The exact planner against the one that tries everything."""

from __future__ import annotations

import pytest

from tests.placement.random_cases import Case, random_case
from tradewind.errors import InputError
from tradewind.network import routes
from tradewind.placement.exact import exact
from tradewind.placement.exhaustive import exhaustive
from tradewind.placement.ground import Ground
from tradewind.placement.plan import Plan, providers
from tradewind.placement.running import added


def complete(case: Case, plan: Plan) -> bool:
    """Whether a plan, by itself, brings the answer to where it is wanted."""
    origins = {content.key: content.origins for content in case.choices.contents}
    return (case.goal.content, case.goal.site) in providers(plan, case.ground.network, origins)


@pytest.mark.parametrize("block", range(10))
def test_exact_is_as_cheap_as_the_best_of_all_combinations(block):
    refused = 0
    for seed in range(100 * block, 100 * block + 100):
        case = random_case(seed)
        try:
            best = exhaustive(case.ground, case.choices, case.goal, case.running)
        except InputError:
            refused += 1
            with pytest.raises(InputError, match="nothing can bring the answer"):
                exact(case.ground, case.choices, case.goal, case.running)
            continue
        found = exact(case.ground, case.choices, case.goal, case.running)
        costs = [added(plan, case.running, case.ground.prices) for plan in (found, best)]
        assert costs[0] == pytest.approx(costs[1], rel=1e-9, abs=1e-12), f"seed {seed}"
        assert complete(case, found), f"seed {seed}"
        assert complete(case, best), f"seed {seed}"
    assert refused < 10


def test_searches_of_large_networks_find_the_same_costs(monkeypatch):
    for seed in range(150):
        case = random_case(seed)
        costs = []
        for dense in (256, 0):
            monkeypatch.setattr(routes, "DENSE", dense)
            ground = Ground(case.ground.network, case.ground.prices)
            try:
                plan = exact(ground, case.choices, case.goal, case.running)
                costs.append(added(plan, case.running, ground.prices))
            except InputError:
                costs.append(float("inf"))
        assert costs[1] == pytest.approx(costs[0], rel=1e-9, abs=1e-12), f"seed {seed}"
