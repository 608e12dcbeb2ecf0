"""The mixed-integer planner against the exact one, and against trying everything for two queries."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random

import numpy as np
import pytest

from tests.placement.random_cases import World, random_case, random_ground
from tradewind.cost.prices import Prices
from tradewind.errors import InputError
from tradewind.network.network import Network, Place, Wire, both_ways
from tradewind.placement.choices import Choices, Content, Recipe, merged
from tradewind.placement.exact import exact
from tradewind.placement.exhaustive import exhaustive
from tradewind.placement.ground import Ground
from tradewind.placement.limits import Limits, latency
from tradewind.placement.mip import mip
from tradewind.placement.plan import Goal, Hop, Plan, providers, step_of
from tradewind.placement.running import Running, added


@pytest.mark.parametrize("block", range(5))
def test_for_one_query_it_is_as_good_as_exact(block):
    for seed in range(10 * block, 10 * block + 10):
        case = random_case(seed, sites=12 + seed % 9, streams=3 + seed % 2, most=None)
        best = added(exact(case.ground, case.choices, case.goal, case.running), case.running, case.ground.prices)
        found = mip(case.ground, case.choices, [case.goal], case.running)
        assert found.cost == pytest.approx(best, rel=1e-9), f"seed {seed}"
        assert found.bound == pytest.approx(best, rel=1e-6), f"seed {seed}"


def simple_paths(network: Network, start: int, end: int, seen: tuple[int, ...] = ()) -> Iterator[list[int]]:
    """All ways without a circle, as links."""
    if start == end:
        yield []
        return
    for link in np.flatnonzero(network.start == start).tolist():
        after = int(network.end[link])
        if after not in seen and after != start:
            yield from ([link, *rest] for rest in simple_paths(network, after, end, (*seen, start)))


def every_plan(network: Network, choices: Choices, number: int, end: int) -> Iterator[Plan]:
    """All plans that bring a content to a site, by whatever ways."""
    content = choices.contents[number]
    for site in range(len(network)):
        for path in simple_paths(network, site, end):
            hops = Plan(hops=frozenset(Hop(content.key, link, content.bytes_per_second) for link in path))
            if site in content.origins:
                yield hops
            for way in choices.ways[number]:
                recipe = choices.recipes[way]
                made = hops | Plan(frozenset({step_of(choices, recipe, site)}))
                for parts in product(*(list(every_plan(network, choices, one, site)) for one in recipe.inputs)):
                    whole = made
                    for part in parts:
                        whole |= part
                    yield whole


@pytest.mark.parametrize("seed", range(8))
def test_two_queries_share_as_well_as_the_best_of_all_pairs_of_plans(seed):
    random = Random(seed)
    ground = random_ground(random, 4)
    world = World(random, 4, 3, 1)
    world.strict = False
    (first, one), (second, two) = world.query(2), world.query(3)
    goals = [Goal("one", one, random.randrange(4)), Goal("two", two, random.randrange(4))]
    least = np.inf
    for plan in every_plan(ground.network, first, first.numbers[one], goals[0].site):
        cost = plan.cost(ground.prices)
        if cost < least:
            running = Running(ground.network)
            running.add("one", plan, world.origins)
            # Given what the first query does, the exact planner is the best for the second.
            least = min(least, cost + added(exact(ground, second, goals[1], running), running, ground.prices))
    found = mip(ground, merged([first, second]), goals)
    assert found.cost == pytest.approx(least, rel=1e-9)
    served = providers(found.plan, ground.network, world.origins)
    assert all((goal.content, goal.site) in served for goal in goals)


def test_four_queries_cost_no_more_together_than_one_after_the_other():
    for seed in range(4):
        random = Random(seed)
        ground = random_ground(random, 8)
        world = World(random, 8, 4, 1)
        world.strict = False
        queries = [world.query(random.randint(2, 3)) for _ in range(4)]
        choices = merged([part for part, _ in queries])
        goals = [Goal(f"q{number}", key, random.randrange(8)) for number, (_, key) in enumerate(queries)]
        running = Running(ground.network)
        for goal in goals:
            running.add(goal.query, exact(ground, choices, goal, running), world.origins)
        found = mip(ground, choices, goals)
        assert found.cost <= running.whole.cost(ground.prices) * (1 + 1e-9)
        assert found.bound == pytest.approx(found.cost, rel=1e-6)


def test_what_a_query_uses_twice_is_paid_once():
    for seed in range(20):
        random = Random(seed)
        ground = random_ground(random, 5)
        contents = (Content("A", 10.0, origins=(0,)), Content("A[f]", 4.0), Content("A⋈A[f]", 15.0))
        choices = Choices(contents, (Recipe(1, (0,), "filter", 0.5), Recipe(2, (0, 1), "join", 0.5)))
        goal = Goal("q", "A⋈A[f]", 4)
        tried = exhaustive(ground, choices, goal).cost(ground.prices)
        found = mip(ground, choices, [goal])
        assert found.cost <= tried * (1 + 1e-9)
        assert found.bound <= found.cost <= exact(ground, choices, goal).cost(ground.prices) * (1 + 1e-9)


def two_sites(cores: float) -> tuple[Ground, Choices, Goal]:
    """A chain of four operators, a stream at the first of two sites, and the sink there too."""
    places = [Place("a", cores=4.0), Place("b", cores=2.0)]
    network = Network.of(places, both_ways([Wire("a", "b", 100.0, 10.0, 1.0)]))
    contents = (Content("S", 1.0, origins=(0,)), *(Content(f"S{number}", 1.0) for number in range(4)))
    choices = Choices(contents, tuple(Recipe(number + 1, (number,), "map", cores) for number in range(4)))
    return Ground(network, Prices.of_links(network, network.usd_per_gb)), choices, Goal("q", "S3", 0)


def test_the_largest_load_is_made_small():
    ground, choices, goal = two_sites(1.0)
    assert mip(ground, choices, [goal]).cost == pytest.approx(0.0)
    found = mip(ground, choices, [goal], objective="load")
    assert found.cost == pytest.approx(3 / 4)
    assert found.plan.at_sites(ground.network).tolist() == [3.0, 1.0]
    # Of the plans of that load the cheapest goes there and back once.
    assert found.plan.cost(ground.prices) == pytest.approx(2.0)


def test_limits_of_many_goals_hold_together():
    ground, choices, goal = two_sites(1.0)
    both = [goal, Goal("at b", "S0", 1)]
    found = mip(ground, choices, both, limits=Limits(cores=np.array([3.0, 2.0]), deadline_ms={"at b": 10.0, "q": 20.0}))
    assert (found.plan.at_sites(ground.network) <= [3.0, 2.0]).all()
    for one in both:
        assert latency(found.plan, ground.network, one, {"S": (0,)}) <= 20.0
    with pytest.raises(InputError, match="no plan keeps all limits"):
        mip(ground, choices, both, limits=Limits(cores=np.array([1.0, 2.0])))
    with pytest.raises(InputError, match="no plan keeps all limits"):
        mip(ground, choices, both, limits=Limits(cores=np.array([3.0, 2.0]), deadline_ms={"q": 19.0}))


def test_a_deadline_of_a_query_that_uses_a_stream_twice_is_kept():
    wires = [Wire("a", "b", 100.0, 50.0, 1.0), Wire("a", "b", 100.0, 5.0, 3.0)]
    network = Network.of([Place("a"), Place("b")], both_ways(wires))
    ground = Ground(network, Prices.of_links(network, network.usd_per_gb))
    contents = (Content("A", 10.0, origins=(0,)), Content("A[f]", 4.0), Content("A⋈A[f]", 50.0))
    choices = Choices(contents, (Recipe(1, (0,), "filter"), Recipe(2, (0, 1), "join")))
    goal = Goal("q", "A⋈A[f]", 1)
    assert mip(ground, choices, [goal]).cost == pytest.approx(10.0)
    assert mip(ground, choices, [goal], limits=Limits(deadline_ms={"q": 20.0})).cost == pytest.approx(30.0)
    with pytest.raises(InputError, match="no plan keeps all limits"):
        mip(ground, choices, [goal], limits=Limits(deadline_ms={"q": 4.0}))
