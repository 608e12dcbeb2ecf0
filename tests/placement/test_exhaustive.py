"""The planner that tries everything, on cases small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.placement.random_cases import random_case
from tradewind.cost.prices import Prices
from tradewind.errors import InputError
from tradewind.network.network import Network, Place, Wire, both_ways
from tradewind.placement.choices import Choices, Content, Recipe
from tradewind.placement.exhaustive import combinations, exhaustive
from tradewind.placement.ground import Ground
from tradewind.placement.joins import Input, JoinQuery, join_choices
from tradewind.placement.plan import Goal


def line(*prices: float) -> Ground:
    """Sites in a row, with the prices of the links between neighbours."""
    places = [Place(f"s{number}") for number in range(len(prices) + 1)]
    wires = [Wire(f"s{number}", f"s{number + 1}", 1.0, 1.0, price) for number, price in enumerate(prices)]
    network = Network.of(places, both_ways(wires))
    return Ground(network, Prices.of_links(network, network.usd_per_gb))


def test_a_join_that_shrinks_is_made_between_its_streams():
    ground = line(1.0, 1.0, 5.0)
    choices, key = join_choices(
        JoinQuery((Input("A", (0,), 10.0), Input("B", (2,), 4.0)), {frozenset({"A", "B"}): 1 / 40})
    )
    plan = exhaustive(ground, choices, Goal("q", key, 3))
    # B goes two links to A, and one byte three links to the sink: or A goes to B, or both part of the way.
    assert plan.cost(ground.prices) == pytest.approx(4 * 2 + 1 * (1 + 1 + 5))
    assert {step.site for step in plan.steps} == {0}


def test_all_trees_times_all_places_are_counted():
    ground = line(1.0, 1.0, 1.0)
    for streams, trees in ((2, 1), (3, 3), (4, 15), (5, 105)):
        choices, key = join_choices(JoinQuery(tuple(Input(f"S{i}", (0,), 1.0) for i in range(streams))))
        assert combinations(ground, choices, Goal("q", key, 0)) == trees * 4 ** (streams - 1)


def test_too_many_combinations_are_refused_before_any_is_tried():
    ground = line(*(1.0 for _ in range(40)))
    choices, key = join_choices(JoinQuery(tuple(Input(f"S{i}", (0,), 1.0) for i in range(6))))
    with pytest.raises(InputError, match="109,484,109,945 combinations are too many"):
        exhaustive(ground, choices, Goal("q", key, 0))


def test_what_a_query_uses_twice_is_counted_once():
    ground = line(1.0, 1.0)
    contents = (Content("A", 10.0, origins=(0,)), Content("A with A", 100.0))
    choices = Choices(contents, (Recipe(1, (0, 0)),))
    plan = exhaustive(ground, choices, Goal("q", "A with A", 2))
    assert plan.cost(ground.prices) == pytest.approx(20.0)


def test_a_content_may_not_pass_sites_that_are_closed_to_it():
    ground = line(1.0, 1.0)
    choices = Choices((Content("A", 1.0, origins=(0,), within=frozenset({0, 2})),), ())
    with pytest.raises(InputError, match="nothing can bring the answer to 's2'"):
        exhaustive(ground, choices, Goal("q", "A", 2))


def test_what_runs_is_free_where_it_runs():
    with_reuse = [case for seed in range(30) if (case := random_case(seed, before=3)).running is not None]
    cheaper = 0
    for case in with_reuse:
        try:
            alone = exhaustive(case.ground, case.choices, case.goal).cost(case.ground.prices)
        except InputError:
            continue
        plan = exhaustive(case.ground, case.choices, case.goal, case.running)
        assert case.running is not None
        whole = case.running.whole
        new = sum(hop.bytes_per_second * case.ground.prices.per_byte[hop.link] for hop in plan.hops - whole.hops)
        new += sum(
            step.cores * case.ground.prices.per_core[step.site] + case.ground.prices.per_operator[step.site]
            for step in plan.steps - whole.steps
        )
        assert new <= alone * (1 + 1e-9)
        cheaper += bool(np.isclose(new, alone)) is False
    assert cheaper > 10
