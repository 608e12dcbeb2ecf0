"""The four scenarios of the multi-query paper: each comes out, and flips when its condition is reversed."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache

import pytest

from tradewind.experiments import scenarios
from tradewind.experiments.figure_1_network import NODES, Rates, ground
from tradewind.experiments.scenarios import (
    SCENARIOS,
    Outcome,
    Scenario,
    delayed_filtering,
    operator_duplication,
    operator_reuse,
    planned,
    unique_operators,
)
from tradewind.placement.plan import Plan

Q1 = ("Q1@Sink1", "Q1@Sink5")
FIRST_PLAN = ("A⋈C", "B")
SECOND_PLAN = ("A⋈B", "C")


@cache
def outcomes(make: Callable[[], Scenario]) -> list[Outcome]:
    """The plans of a scenario: as described, and reversed."""
    scenario = make()
    return [planned(case) for case in (scenario.described, *scenario.reversed)]


def joins(outcome: Outcome) -> set[tuple[tuple[str, ...], str, tuple[str, ...]]]:
    """What is joined, where, and for which queries."""
    steps = [step for step in outcome.running.whole.steps if step.kind == "join"]
    return {(step.inputs, outcome.ground.network.name(step.site), outcome.users(step)) for step in steps}


def filters(outcome: Outcome) -> set[tuple[str, str, str, tuple[str, ...]]]:
    """Which filter, on what, where, and for which queries."""
    steps = [step for step in outcome.running.whole.steps if step.kind != "join"]
    return {(s.kind, s.inputs[0], outcome.ground.network.name(s.site), outcome.users(s)) for s in steps}


def last_join(outcome: Outcome, query: str) -> tuple[str, ...]:
    """What the last join of Q1 reads if Q1 is planned alone."""
    plan: Plan = outcome.alone[query]
    return next(step.inputs for step in plan.steps if step.output.count("⋈") == 2)


@pytest.mark.parametrize("make", SCENARIOS, ids=lambda make: make.__name__)
def test_every_plan_is_as_cheap_as_the_best(make):
    for outcome in outcomes(make):
        assert outcome.cost == pytest.approx(outcome.best, rel=1e-6)
        assert outcome.cost <= outcome.summed * (1 + 1e-9)
        assert {site for _, site, _ in joins(outcome)} <= set(NODES)


def test_the_rates_are_those_that_were_chosen():
    rates = Rates()
    contents = {c.key: c.bytes_per_second for c in scenarios.Q1[0].on(ground(), rates).choices.contents}
    joined = [contents[key] for key in ("A⋈B", "A⋈C", "A⋈B⋈C")]
    assert joined == pytest.approx([rates.ab, rates.ac, rates.abc])
    assert contents["A⋈B"] < contents["A"] + contents["B"]
    assert contents["A⋈C"] < contents["A"] + contents["C"]
    assert contents["A⋈B⋈C"] > contents["A⋈C"] + contents["B"]
    # With respect to intermediate results, (A⋈C)⋈B is the best plan of Q1.
    assert contents["A⋈C"] < contents["A⋈B"] < contents["B⋈C"]


def test_decreasing_operators_are_near_the_sources_and_increasing_ones_near_the_sinks():
    described, last_decreases, first_increase = outcomes(unique_operators)
    assert joins(described) == {
        (("A", "C"), "N1", Q1),
        (FIRST_PLAN, "N3", Q1),
        (("A", "B"), "N5", ("Q2@Sink3",)),
    }
    # The last join leaves the sinks' node for that of its source, B.
    assert (FIRST_PLAN, "N2", Q1) in joins(last_decreases)
    assert (("A", "C"), "N1", Q1) in joins(last_decreases)
    # The first joins leave N1 and N5 for the sinks' nodes.
    assert {site for _, site, users in joins(first_increase) if users == Q1} == {"N3"}
    assert (("A", "B"), "N4", ("Q2@Sink3",)) in joins(first_increase)


def test_a_worse_plan_is_taken_where_it_shares():
    outcome, far = outcomes(operator_reuse)
    shared = (*Q1, "Q2@Sink2")
    assert joins(outcome) == {(("A", "B"), "N2", shared), (SECOND_PLAN, "N3", Q1)}
    assert [last_join(outcome, query) for query in Q1] == [FIRST_PLAN, FIRST_PLAN]
    assert (FIRST_PLAN, "N3", Q1) in joins(far)
    assert (("A", "B"), "N5", ("Q2@Sink3",)) in joins(far)


def test_an_operator_is_duplicated_where_its_output_would_go_far():
    apart, nearby, small = map(joins, outcomes(operator_duplication))
    assert apart == {(("A", "C"), "N1", Q1), (("A", "C"), "N4", ("Q3@Sink4",)), (FIRST_PLAN, "N3", Q1)}
    assert nearby == {(("A", "C"), "N1", (*Q1, "Q3@Sink1")), (FIRST_PLAN, "N3", Q1)}
    assert small == {(("A", "C"), "N1", (*Q1, "Q3@Sink4")), (FIRST_PLAN, "N3", Q1)}


def test_filters_wait_until_after_a_join_that_is_shared():
    outcome = outcomes(delayed_filtering)[0]
    both = ("Q1@Sink1", "Q2@Sink2")
    assert (("A", "B"), "N2", both) in joins(outcome)
    assert {kind for kind, *_ in filters(outcome)} == {"filter f1", "filter f2", "filter g1", "filter g2"}
    assert all("⋈" in on and site == "N2" and len(users) == 1 for _, on, site, users in filters(outcome))
    # Each query alone would filter at the sources.
    alone = [step for plan in outcome.alone.values() for step in plan.steps if step.kind != "join"]
    assert all(outcome.ground.network.name(step.site) == step.inputs[0] for step in alone)


def test_filters_that_keep_little_or_are_the_same_run_at_the_sources():
    _, little, same = outcomes(delayed_filtering)
    both = ("Q1@Sink1", "Q2@Sink2")
    assert all(on == site for _, on, site, _ in filters(little) | filters(same))
    assert all(len(users) == 1 for _, _, users in joins(little))
    assert filters(same) == {("filter f1", "A", "A", both), ("filter g1", "B", "B", both)}
    assert (("A[f1]", "B[g1]"), "N2", both) in joins(same)


def test_all_cases_of_a_scenario_are_told(monkeypatch, tmp_path):
    monkeypatch.setattr(scenarios, "SCENARIOS", (operator_duplication,))
    found = scenarios.run(1, tmp_path)
    assert len(found.rows) == 3
    told = json.loads(json.dumps(found.json()))["cases"]
    assert [case["as_described"] for case in told] == [True, False, False]
    assert "A ⋈ C at N4 for Q3@Sink4" in told[0]["operators"]
    assert told[0]["cost"] == pytest.approx(told[0]["optimum"])
