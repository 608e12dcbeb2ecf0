"""Cases that are easy to work out by hand, and what must hold for the plans of any planner."""

from __future__ import annotations

from tests.placement.random_cases import Case
from tradewind.cost.prices import Prices
from tradewind.errors import InputError
from tradewind.network.network import Network, Place, Wire
from tradewind.placement.exact import exact
from tradewind.placement.ground import Ground
from tradewind.placement.joins import Input, JoinQuery, join_choices
from tradewind.placement.many import Planner
from tradewind.placement.plan import Goal, Plan, providers
from tradewind.placement.running import added


def on_a_line(sites: int, prices: dict[int, float] | None = None) -> Ground:
    """Sites 0, 1, 2, … in a row; a byte costs 1 a link, or what is given for the link behind a site."""
    wires = [
        Wire(f"s{a}", f"s{b}", 1.0, 1.0, (prices or {}).get(low, 1.0))
        for low in range(sites - 1)
        for a, b in [(low, low + 1), (low + 1, low)]
    ]
    network = Network.of([Place(f"s{site}") for site in range(sites)], wires)
    return Ground(network, Prices.of_links(network, network.usd_per_gb))


def far_partner(sink: int = 4) -> Case:
    """A and B arise together at one end, C at the other, four links away; the sink is at C's end, or where it is said.

    Every stream is 10 bytes/s; A⋈B gives 2, A⋈C and B⋈C give 1, all three 1. The fewest bytes come from joining C
    first, but then 10 bytes cross all links for A or B, and as many for the other.
    """
    inputs = (Input("A", (0,), 10.0), Input("B", (0,), 10.0), Input("C", (4,), 10.0))
    pairs = {("A", "B"): 0.02, ("A", "C"): 0.01, ("B", "C"): 0.01}
    # Together: 1000 · 0.02 · 0.01 · 0.01 = 0.002 bytes/s.
    choices, key = join_choices(JoinQuery(inputs, {frozenset(pair): value for pair, value in pairs.items()}))
    return Case(on_a_line(5), choices, Goal("q", key, sink), None)


def cost(case: Case, plan: Plan) -> float:
    return added(plan, case.running, case.ground.prices)


def complete(case: Case, plan: Plan) -> bool:
    """Whether a plan, by itself, brings the answer to where it is wanted."""
    origins = {content.key: content.origins for content in case.choices.contents}
    return (case.goal.content, case.goal.site) in providers(plan, case.ground.network, origins)


def sound_and_not_below_exact(case: Case, planner: Planner) -> float | None:
    """Check a plan; how its cost compares with the exact one, or None where the planner found no plan."""
    try:
        plan = planner(case.ground, case.choices, case.goal, case.running)
    except InputError:
        return None
    assert plan.goals == (case.goal,)
    assert complete(case, plan)
    for recipe in case.choices.recipes:
        key = case.choices.contents[recipe.output].key
        inputs = tuple(case.choices.contents[i].key for i in recipe.inputs)
        for step in plan.steps:
            if recipe.at is not None and (step.output, step.inputs, step.kind) == (key, inputs, recipe.kind):
                assert step.site in recipe.at
    best = cost(case, exact(case.ground, case.choices, case.goal, case.running))
    found = cost(case, plan)
    assert found >= best - 1e-9 * max(1.0, best)
    return found / best if best > 1e-9 else 1.0
