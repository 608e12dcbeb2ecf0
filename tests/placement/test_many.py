"""Several queries: against the mixed-integer optimum, with what each gains and gives back."""

import random
from dataclasses import replace

import pytest

from tests.placement.query_sets import random_set
from tradewind.placement import exact as planner
from tradewind.placement.choices import merged
from tradewind.placement.exact import exact
from tradewind.placement.ground import Ground
from tradewind.placement.many import improved, one_by_one, together
from tradewind.placement.mip import mip
from tradewind.placement.plan import providers
from tradewind.placement.running import Running
from tradewind.placement.tables import tabulate

CHUNK = 10


def optimum(ground, asked):
    found = mip(ground, merged([one.choices for one in asked]), [one.goal for one in asked])
    assert found.bound == pytest.approx(found.cost)
    return found.cost


@pytest.mark.sampled(2)
@pytest.mark.parametrize("chunk", range(5))
def test_four_queries_cost_no_more_than_a_twentieth_above_the_optimum(chunk):
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        ground, asked = random_set(seed)
        cost = together(ground, asked).whole.cost(ground.prices)
        best = optimum(ground, asked)
        assert best * (1 - 1e-9) <= cost <= 1.05 * best, f"seed {seed}"


@pytest.mark.parametrize("seed", range(6))
def test_more_effort_never_costs_more(seed):
    ground, asked = random_set(seed, queries=6)
    alone = sum(exact(ground, one.choices, one.goal).cost(ground.prices) for one in asked)
    in_turn = one_by_one(ground, asked).whole.cost(ground.prices)
    better = improved(ground, asked, one_by_one(ground, asked)).whole.cost(ground.prices)
    assert together(ground, asked).whole.cost(ground.prices) <= better * (1 + 1e-9)
    assert better <= in_turn * (1 + 1e-9)
    assert in_turn <= alone * (1 + 1e-9)


@pytest.mark.parametrize("room", [4_000_000, 50])
@pytest.mark.parametrize("seed", range(3))
def test_what_was_worked_out_before_changes_no_plan(seed, room, monkeypatch):
    monkeypatch.setattr(planner, "_ROOM", room)
    ground, asked = random_set(seed, queries=5)
    chance, running = random.Random(seed), Running(ground.network)
    for _ in range(60):
        one = chance.choice(asked)
        if one.goal.query in running.plans:
            running.remove(one.goal.query)
        anew = exact(Ground(ground.network, ground.prices), one.choices, one.goal, running)
        found = exact(ground, one.choices, one.goal, running)
        assert found == anew
        if chance.random() < 0.6:
            running.add(one.goal.query, found, one.origins)
    assert len(planner._lately[ground]._kept) >= (1 if room == 50 else 5)
    assert planner._lately[ground]._size <= max(room, 7 * max(len(one.choices.contents) for one in asked))


def test_tables_are_worked_out_again_only_if_something_has_changed_for_the_query(monkeypatch):
    worked_out: list[tuple[int, ...]] = []

    def counted(ground, choices, wanted, running):
        worked_out.append(wanted)
        return tabulate(ground, choices, wanted, running)

    monkeypatch.setattr(planner, "tabulate", counted)
    ground, (one, *_) = random_set(0)
    running = Running(ground.network)
    plans = [exact(ground, one.choices, one.goal, running) for _ in range(3)]
    assert len(worked_out) == 1
    running.add(one.goal.query, plans[0], one.origins)
    again = exact(ground, one.choices, one.goal, running)
    assert len(worked_out) == 2
    assert again.cost(ground.prices) == pytest.approx(plans[0].cost(ground.prices))
    running.remove(one.goal.query)
    assert exact(ground, one.choices, one.goal, running) == plans[0]
    assert len(worked_out) == 2


@pytest.mark.parametrize("seed", range(6))
def test_every_plan_holds_all_that_its_answer_rests_on(seed):
    ground, asked = random_set(seed, queries=6)
    running = together(ground, asked)
    for one in asked:
        plan = running.plans[one.goal.query]
        found = providers(plan, ground.network, one.origins)
        assert (one.goal.content, one.goal.site) in found


@pytest.mark.parametrize("seed", range(6))
def test_a_query_that_goes_gives_back_what_only_it_used(seed):
    ground, asked = random_set(seed, queries=5)
    running = one_by_one(ground, asked)
    before = running.whole
    gone = asked[seed % len(asked)].goal.query
    plan = running.remove(gone)
    rest = running.whole
    others = [one for name, one in running.plans.items() if name != gone]
    kept = {step for one in others for step in one.steps}
    assert rest.steps == kept
    assert before.steps - rest.steps == {step for step in plan.steps if step not in kept}
    for one in asked:
        if one.goal.query != gone:
            found = providers(rest, ground.network, one.origins)
            assert (one.goal.content, one.goal.site) in found


def test_the_same_query_twice_costs_nothing_more():
    ground, asked = random_set(3, queries=1)
    twin = replace(asked[0], goal=replace(asked[0].goal, query="again"))
    once = one_by_one(ground, asked).whole.cost(ground.prices)
    assert one_by_one(ground, [*asked, twin]).whole.cost(ground.prices) == pytest.approx(once)
