"""The search reaches the optimum of tiny cases, keeps to what may be, and is never worse than what it starts from."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.placement.brute_force import least_score
from tests.placement.objective_cases import objective_case
from tradewind.cost.prices import Prices
from tradewind.cost.utility import Benefit
from tradewind.errors import InputError
from tradewind.frontends.metrics.grammar import OBJECTIVES, read_metric
from tradewind.frontends.metrics.tree import Metric
from tradewind.network.network import Network, Place, Wire
from tradewind.placement.choices import Choices, Content, Recipe
from tradewind.placement.derivations import QUICKEST
from tradewind.placement.exact import exact
from tradewind.placement.ground import Ground
from tradewind.placement.local_search import local_search
from tradewind.placement.measures import broken_bounds, evaluate, measure
from tradewind.placement.plan import Goal, Plan, providers
from tradewind.placement.scores import better, metric_score, utility, utility_score

LATENCY_WITHIN_LOAD = read_metric(
    {
        "cost": "AVERAGE(MAX(response_ms, OPERATORS), QUERIES)",
        "where": ["MAX(SUM(load, OPERATORS), NODES) <= 0.6"],
    }
)


def is_whole(plan: Plan, network: Network, choices: Choices) -> bool:
    """Whether every goal is reached and nothing in the plan waits for what never comes."""
    found = providers(plan, network, {content.key: content.origins for content in choices.contents})
    reached = all((goal.content, goal.site) in found for goal in plan.goals)
    return reached and all((key, step.site) in found for step in plan.steps for key in step.inputs)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("metric", [OBJECTIVES["load"], LATENCY_WITHIN_LOAD], ids=["load", "latency within load"])
def test_the_optimum_of_tiny_cases(metric: Metric, seed: int) -> None:
    case = objective_case(seed)
    score = metric_score(metric, case.ground, case.choices)
    plan = local_search(case.ground, case.choices, case.goals, score, seed=seed)
    assert is_whole(plan, case.ground.network, case.choices)
    assert plan.goals == case.goals
    # Dearer routes of the same load would only cost time here: the oracle takes the quickest everywhere.
    least = least_score(case.deriver, case.goals, score, (QUICKEST,))
    assert not better(least[:2], score(plan)[:2])


def test_no_plan_is_weighed_twice_while_it_climbs() -> None:
    case = objective_case(1, sites=4, sizes=(3, 2))
    honest = metric_score(OBJECTIVES["load"], case.ground, case.choices)
    weighed: Counter[Plan] = Counter()

    def score(plan: Plan) -> tuple[float, ...]:
        weighed[plan] += 1
        return honest(plan)

    local_search(case.ground, case.choices, case.goals, score)
    assert len(weighed) > 100
    # The plan that it starts from is weighed once more, to be compared with.
    assert sum(weighed.values()) <= len(weighed) + 1


@pytest.mark.parametrize("seed", range(3))
def test_never_worse_than_its_start(seed: int) -> None:
    case = objective_case(seed, sites=4, sizes=(3, 2))
    score = metric_score(OBJECTIVES["latency"], case.ground, case.choices)
    by_load = metric_score(OBJECTIVES["load"], case.ground, case.choices)
    start = local_search(case.ground, case.choices, case.goals, by_load, rounds=1)
    for rounds in (0, 1):
        found = local_search(case.ground, case.choices, case.goals, score, start=start, rounds=rounds)
        assert not better(score(start), score(found))


def test_a_sum_of_prices_is_found_as_by_the_exact_planner() -> None:
    case = objective_case(3, sites=5, sizes=(3,))
    found = local_search(case.ground, case.choices, case.goals, lambda plan: (plan.cost(case.ground.prices),), rounds=5)
    best = exact(case.ground, case.choices, case.goals[0])
    assert found.cost(case.ground.prices) == pytest.approx(best.cost(case.ground.prices))


def test_the_same_seed_gives_the_same_plan() -> None:
    case = objective_case(7, sites=4, sizes=(3, 3))
    score = metric_score(OBJECTIVES["load"], case.ground, case.choices)
    one, other = (local_search(case.ground, case.choices, case.goals, score, seed=5, rounds=1) for _ in range(2))
    assert one == other


@pytest.mark.parametrize("seed", range(2))
def test_operators_and_contents_stay_where_they_may_be(seed: int) -> None:
    case = objective_case(seed, sites=5, sizes=(3, 3))
    # One more site, whose links are the quickest and cheapest, but which nothing may use.
    free = frozenset(range(5))
    places = [*case.ground.network.places, Place("forbidden", 99.0)]
    old = case.ground.network
    wires = [
        Wire(old.name(a), old.name(b), 100.0, float(ms), float(usd))
        for a, b, ms, usd in zip(old.start, old.end, old.ms, old.usd_per_gb, strict=True)
    ]
    for place in old.places:
        wires += [Wire(place.name, "forbidden", 100.0, 0.1, 0.001), Wire("forbidden", place.name, 100.0, 0.1, 0.001)]
    network = Network.of(places, wires)
    choices = Choices(
        tuple(replace(content, within=free) for content in case.choices.contents),
        tuple(replace(recipe, at=free) for recipe in case.choices.recipes),
    )
    ground = Ground(network, Prices.of_dollars(network))
    plan = local_search(ground, choices, case.goals, metric_score(OBJECTIVES["load"], ground, choices), rounds=1)
    assert {step.site for step in plan.steps} <= free
    assert {int(network.end[hop.link]) for hop in plan.hops} <= free


def test_what_cannot_be_brought_is_an_error() -> None:
    network = Network.of([Place("a"), Place("b")], [Wire("b", "a", 1.0)])
    choices = Choices((Content("x", 1.0, 1.0, (0,)),), ())
    ground = Ground(network, Prices.of_dollars(network))
    score = metric_score(OBJECTIVES["load"], ground, choices)
    with pytest.raises(InputError, match="nothing can bring the answer to 'b'"):
        local_search(ground, choices, [Goal("q", "x", 1)], score)


def two_ways(usd_of_the_quick_link: float, wish_ms: float, priority: float) -> tuple[float, float]:
    """Response time and cost of the plan of greatest net utility, between a quick dear link and a slow cheap way."""
    places = [Place("source"), Place("relay"), Place("sink")]
    wires = [
        Wire("source", "sink", 100.0, 10.0, usd_of_the_quick_link),
        Wire("source", "relay", 100.0, 100.0, 0.1),
        Wire("relay", "sink", 100.0, 100.0, 0.1),
    ]
    network = Network.of(places, wires)
    choices = Choices((Content("x", 1e6, 1e4, (0,)), Content("y", 1e6, 1e4)), (Recipe(1, (0,), "map", 0.1),))
    ground = Ground(network, Prices.of_dollars(network))
    benefits = {"q": Benefit.of_wishes(wish_ms, priority)}
    goals = [Goal("q", "y", 2)]
    plan = local_search(ground, choices, goals, utility_score(benefits, ground, choices))
    response = measure(plan, network, choices).response_ms["q"]
    cost = plan.cost(ground.prices)
    assert utility(plan, benefits, ground, choices) == pytest.approx(benefits["q"].after(response) - cost)
    return response, cost


def test_a_faster_and_dearer_plan_where_the_benefit_says_so() -> None:
    # The slow way costs 0.72 dollars in an hour and takes 200 ms; the quick one 3.6 and 10 ms.
    assert two_ways(1.0, wish_ms=100.0, priority=10.0) == pytest.approx((10.0, 3.6))
    # The prices rise: 10 dollars for an answer in time, minus 10.8, are less than half of them minus 0.72.
    assert two_ways(3.0, wish_ms=100.0, priority=10.0) == pytest.approx((200.0, 0.72))
    # The answer is worth little, or may be late: the cheap way.
    assert two_ways(1.0, wish_ms=100.0, priority=2.0) == pytest.approx((200.0, 0.72))
    assert two_ways(1.0, wish_ms=200.0, priority=10.0) == pytest.approx((200.0, 0.72))


def test_a_bound_on_load_spreads_operators_that_latency_would_gather() -> None:
    places = [Place("a", 4.0), Place("b", 4.0)]
    wires = [Wire("a", "b", 100.0, 10.0), Wire("b", "a", 100.0, 10.0)]
    network = Network.of(places, wires)
    contents = (Content("x", 1e3, 10.0, (0,)), Content("y1", 1e2, 1.0), Content("y2", 1e2, 1.0))
    choices = Choices(contents, (Recipe(1, (0,), "first", 3.0), Recipe(2, (0,), "second", 3.0)))
    ground = Ground(network, Prices.of_dollars(network))
    goals = [Goal("q1", "y1", 0), Goal("q2", "y2", 0)]
    free = read_metric("AVERAGE(MAX(response_ms, OPERATORS), QUERIES)")
    bound = read_metric({"cost": str(free.cost), "where": ["MAX(SUM(cores, OPERATORS), NODES) <= 4"]})
    for metric, expected in ((free, 0.0), (bound, 10.0)):
        plan = local_search(ground, choices, goals, metric_score(metric, ground, choices))
        assert evaluate(metric, plan, network, choices) == expected
        assert not broken_bounds(metric, plan, network, choices)
