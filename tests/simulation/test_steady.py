"""Where nothing waits, a simulation says what the cost model says."""

import numpy as np
import pytest

from tests.simulation.plans import random_join, random_network, slowest_way
from tradewind.network.network import Network
from tradewind.placement.plan import Plan
from tradewind.placement.running import Running
from tradewind.simulation.rates import Rates
from tradewind.simulation.schedule import Schedule
from tradewind.simulation.simulate import simulate


def agrees(plan: Plan, network: Network, rates: Rates, start: float = 0.0) -> None:
    seen = simulate(plan, network, rates, 60.0).averages(start=start)
    np.testing.assert_allclose(seen.bytes_per_second, plan.on_links(network), rtol=0.01)
    np.testing.assert_allclose(seen.busy_cores, plan.at_sites(network), rtol=0.01)
    np.testing.assert_allclose(seen.latency, slowest_way(plan, network, rates.origins), rtol=0.01)


@pytest.mark.parametrize("seed", range(30))
def test_random_join_plans_cost_what_the_plan_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng, int(rng.integers(4, 30)), int(rng.integers(1, 10)))
    plan, contents = random_join(rng, network, int(rng.integers(2, 5)))
    assert plan.steps
    agrees(plan, network, Rates.of(contents))


@pytest.mark.parametrize("seed", range(5))
def test_many_queries_together_cost_what_the_plan_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng, 20, 8)
    running, known = Running(network), {}
    for number in range(6):
        plan, contents = random_join(rng, network, 3, f"q{number}")
        running.add(f"q{number}", plan, {one.key: one.origins for one in contents if one.origins})
        known.update({one.key: one for one in contents})
    agrees(running.whole, network, Rates.of(known.values()))


@pytest.mark.parametrize("seed", range(5))
def test_it_comes_back_to_the_cost_model_after_the_rates_were_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng, 12, 4)
    plan, contents = random_join(rng, network, 3)
    schedules = {
        one.key: Schedule(((0.0, float(rng.uniform(0.2, 3))), (7.31, float(rng.uniform(0.2, 3))), (20.0, 1.0)))
        for one in contents
        if one.origins
    }
    agrees(plan, network, Rates.of(contents, schedules), start=25.0)
