"""The soonest answers there are, and no dearer than the programme that finds them."""

import pytest

from tests.placement.brute_force import all_distances, least_score, quickest
from tests.placement.objective_cases import objective_case
from tradewind.cost.prices import Prices
from tradewind.errors import InputError
from tradewind.network.network import Network, Place, Wire
from tradewind.placement.choices import Choices, Content, Recipe
from tradewind.placement.exact import exact
from tradewind.placement.fastest import fastest
from tradewind.placement.ground import Ground
from tradewind.placement.measures import measure
from tradewind.placement.plan import Goal
from tradewind.placement.scores import better, response_score


@pytest.mark.parametrize("seed", range(8))
def test_the_least_response_time(seed: int) -> None:
    case = objective_case(seed, sites=4, sizes=(3,), streams=3)
    network, goal = case.ground.network, case.goals[0]
    links = zip(network.start.tolist(), network.end.tolist(), network.ms.tolist(), strict=True)
    number = case.choices.numbers[goal.content]
    least = quickest(case.choices, number, goal.site, all_distances(len(network), links))
    plan = fastest(case.ground, case.choices, goal, rounds=1)
    assert measure(plan, network, case.choices).response_ms[goal.query] == pytest.approx(least)


@pytest.mark.parametrize("seed", range(4))
def test_of_equally_quick_plans_a_cheap_one(seed: int) -> None:
    case = objective_case(seed, sizes=(3,), streams=3)
    score = response_score(case.ground, case.choices)
    found = score(fastest(case.ground, case.choices, case.goals[0]))
    assert not better(least_score(case.deriver, case.goals, score), found)


def test_off_the_slowest_way_there_is_time_to_save() -> None:
    """The far stream needs 100 ms in any case; so the near one takes the cheap way of 50 ms, not the dear one of 5."""
    places = [Place(name) for name in ("far", "near", "relay", "sink")]
    wires = [
        Wire("far", "sink", 100.0, 100.0, 0.01),
        Wire("near", "sink", 100.0, 5.0, 5.0),
        Wire("near", "relay", 100.0, 25.0, 0.01),
        Wire("relay", "sink", 100.0, 25.0, 0.01),
    ]
    network = Network.of(places, wires)
    contents = (Content("x", 1e4, 1.0, (0,)), Content("y", 1e4, 1.0, (1,)), Content("xy", 1e2, 1.0))
    choices = Choices(contents, (Recipe(2, (0, 1)),))
    ground = Ground(network, Prices.of_dollars(network))
    plan = fastest(ground, choices, Goal("q", "xy", 3))
    assert measure(plan, network, choices).response_ms["q"] == pytest.approx(100.0)
    assert {hop.link for hop in plan.hops} == {0, 2, 3}


def test_it_may_cost_more_than_the_cheapest_plan() -> None:
    places = [Place(name) for name in ("source", "relay", "sink")]
    wires = [
        Wire("source", "sink", 1.0, 1.0, 9.0),
        Wire("source", "relay", 1.0, 9.0, 1.0),
        Wire("relay", "sink", 1.0, 9.0, 1.0),
    ]
    network = Network.of(places, wires)
    choices = Choices((Content("x", 1e4, 1.0, (0,)),), ())
    ground, goal = Ground(network, Prices.of_dollars(network)), Goal("q", "x", 2)
    quick, cheap = fastest(ground, choices, goal), exact(ground, choices, goal)
    assert [measure(plan, network, choices).response_ms["q"] for plan in (quick, cheap)] == [1.0, 18.0]
    assert quick.cost(ground.prices) > cheap.cost(ground.prices)


def test_links_without_latency_are_links() -> None:
    network = Network.of([Place("a"), Place("b")], [Wire("a", "b", 1.0, 0.0)])
    choices = Choices((Content("x", 1.0, 1.0, (0,)),), ())
    ground = Ground(network, Prices.of_dollars(network))
    plan = fastest(ground, choices, Goal("q", "x", 1))
    assert measure(plan, network, choices).response_ms == {"q": 0.0}
    with pytest.raises(InputError, match="nothing can bring the answer"):
        fastest(ground, Choices((Content("x", 1.0, 1.0, (1,)),), ()), Goal("q", "x", 0))
