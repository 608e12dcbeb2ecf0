"""Rates that change: what follows from them, when, and how operators answer."""

import numpy as np
import pytest

from tests.simulation.plans import line, random_join, random_network, shipping, with_room
from tradewind.errors import InputError
from tradewind.network.network import Network
from tradewind.placement.plan import Goal, Hop, Plan, Step
from tradewind.simulation import responses, watch
from tradewind.simulation.rates import Rates, Source
from tradewind.simulation.schedule import Cut, Schedule
from tradewind.simulation.simulate import simulate


def test_a_change_within_a_tick_counts_by_its_part() -> None:
    rates = Rates((Source("a", 0, 1000.0, Schedule(((3.03, 2.0), (5.555, 0.0)))),))
    history = simulate(shipping(1, 1000.0), line((10, 0)), rates, 20.0)
    assert history.total_bytes[0] == pytest.approx(1000 * (3.03 + 2 * (5.555 - 3.03)), rel=0.05)
    # But for the tick that was on its way at the start, to the last byte.
    assert history.total_bytes[0] - 100 == pytest.approx(1000 * (3.03 + 2 * (5.555 - 3.03)), rel=1e-9)


def test_a_change_arrives_after_as_many_ticks_as_there_are_hops() -> None:
    rates = Rates((Source("a", 0, 1000.0, Schedule(((2.0, 3.0),))),))
    history = simulate(shipping(8, 1000.0), line(*[(10, 5)] * 8), rates, 4.0, every=0.1)
    first = [history.times[np.flatnonzero(history.bytes_per_second[:, link] > 1000.5)[0]] for link in range(8)]
    np.testing.assert_allclose(first, 2.2 + 0.1 * np.arange(8))
    np.testing.assert_allclose(history.latency, 0.04)


def two_inputs(kind: str) -> tuple[Plan, Network]:
    """Contents a (900 B/s) and b (100 B/s) meet at site 0; what is made of them goes on to site 1."""
    steps = frozenset({Step("c", ("a", "b"), kind, 0, 0.5)})
    return Plan(steps, frozenset({Hop("c", 0, 400.0)}), (Goal("q", "c", 1),)), line((10, 1))


@pytest.mark.parametrize(
    ("kind", "factor"), [("join", 3.0 * 0.5), ("union", 0.9 * 3.0 + 0.1 * 0.5), ("merge x", 1.0), ("merge y", 3.0)]
)
def test_operators_answer_to_their_inputs(kind: str, factor: float) -> None:
    plan, network = two_inputs(kind)
    sources = (Source("a", 0, 900.0, Schedule(((1.0, 3.0),))), Source("b", 0, 100.0, Schedule(((1.0, 0.5),))))
    chosen = {
        **responses.RESPONSES,
        "merge": responses.constant,
        "merge y": lambda factors, shares: factors.max(axis=0),
    }
    rates = Rates(sources, {}, {"c": 10.0})
    history = simulate(plan, network, rates, 10.0, responses=chosen)
    assert history.bytes_per_second[-1, 0] == pytest.approx(400.0 * factor)
    assert history.busy_cores[-1, 0] == pytest.approx(0.5 * factor)
    assert history.rows_per_second[-1, 0] == pytest.approx(10.0 * factor)


def test_sources_of_one_content_change_each_for_itself() -> None:
    network = line((10, 1), (10, 1))
    hops = frozenset({Hop("a", 0, 100.0), Hop("b", 1, 50.0)})
    plan = Plan(frozenset({Step("b", ("a",), "filter f", 1)}), hops, (Goal("q", "b", 2),))
    sources = (Source("a", 0, 100.0, Schedule(((0.0, 4.0),))), Source("a", 1, 200.0))
    seen = simulate(plan, network, Rates(sources), 5.0).averages()
    # Site 1 has its own source of twice what the plan counts on, so the filter there does not read the hop.
    np.testing.assert_allclose(seen.bytes_per_second, [400.0, 100.0])


def test_time_in_which_nothing_changes_may_be_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    network = random_network(rng, 15, 5)
    plan, contents = random_join(rng, network, 4)
    network = with_room(network, plan, 2.0)
    changes = {one.key: Schedule(((20.0, 4.0), (33.33, 0.3), (60.0, 1.2))) for one in contents if one.origins}
    busiest = int(plan.on_links(network).argmax())
    arguments = (plan, network, Rates.of(contents, changes), 100.0)
    cuts = [Cut(busiest, 70.0, 75.0)]
    skipped = simulate(*arguments, cuts=cuts)
    monkeypatch.setattr(watch.Moment, "same", lambda self, other: False)
    whole = simulate(*arguments, cuts=cuts)
    assert whole.backlog.max() > 0
    for name in ("times", "bytes_per_second", "backlog", "arrived", "busy_cores", "latency", "rows_per_second"):
        np.testing.assert_allclose(getattr(skipped, name), getattr(whole, name), rtol=1e-9, atol=1e-6, err_msg=name)


def test_a_shorter_step_comes_closer() -> None:
    """Each operator and hop passes a change on a tick late, so the error shrinks with the tick."""
    rng = np.random.default_rng(8)
    network = random_network(rng, 10, 3)
    plan, contents = random_join(rng, network, 3)
    network = with_room(network, plan, 1.5)
    rates = Rates.of(contents, {one.key: Schedule(((20.0, 3.0), (40.0, 0.2))) for one in contents if one.origins})
    coarse, middle, fine = (simulate(plan, network, rates, 80.0, step=step) for step in (0.1, 0.02, 0.01))
    assert fine.backlog.max() > 0
    for history, close in ((coarse, 0.1), (middle, 0.01)):
        np.testing.assert_allclose(history.total_bytes, fine.total_bytes, rtol=close / 10)
        assert np.abs(history.latency - fine.latency).mean() < close * fine.latency.mean()


def test_schedules_are_read_by_time() -> None:
    schedule = Schedule(((10.0, 2.0), (20.0, 0.5)))
    assert [schedule.at(time) for time in (0.0, 9.9, 10.0, 19.9, 20.0, 1e9)] == [1.0, 1.0, 2.0, 2.0, 0.5, 0.5]
    assert schedule.mean(5.0, 25.0) == pytest.approx((5 + 20 + 2.5) / 20)
    assert (schedule * Schedule(((15.0, 3.0),))).points == ((10.0, 2.0), (15.0, 6.0), (20.0, 1.5))


A = Source("a", 0, 1000.0)


@pytest.mark.parametrize(
    ("message", "make"),
    [
        ("-1 bytes per second", lambda: Rates((Source("a", 0, -1.0),))),
        ("-2 rows per second", lambda: Rates((A,), {}, {"a": -2.0})),
        ("nan bytes per second", lambda: Rates((A,), {"b": float("nan")})),
        ("arises twice", lambda: Rates((A, A))),
        ("-0.5 times", lambda: Schedule(((1.0, -0.5),))),
        ("do not follow", lambda: Schedule(((2.0, 1.0), (1.0, 2.0)))),
        ("no moment", lambda: Schedule(((-1.0, 1.0),))),
        ("is none", lambda: Cut(0, 5.0, 5.0)),
    ],
)
def test_rates_that_cannot_be_are_refused(message: str, make) -> None:
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("message", "changes"),
    [
        ("time step is 0 s", {"step": 0.0}),
        ("time step is -1 s", {"step": -1.0}),
        ("longer than", {"step": 100.0}),
        ("time to simulate is 0 s", {"seconds": 0.0}),
        ("time of a sample is nan s", {"every": float("nan")}),
        ("nothing brings 'a' to '0'", {"rates": Rates(())}),
        ("nothing brings 'a' to '0'", {"rates": Rates((Source("b", 0, 1.0),))}),
        ("no link number 7", {"cuts": [Cut(7, 1.0, 2.0)]}),
        ("no link number -1", {"bandwidth": {-1: Schedule()}}),
        ("no site number 9", {"rates": Rates((A, Source("a", 9, 1.0)))}),
        ("link number 3", {"plan": Plan(frozenset(), frozenset({Hop("a", 3, 1.0)}))}),
        ("query q: nothing brings 'z'", {"plan": Plan(goals=(Goal("q", "z", 1),))}),
        ("rate of -5 bytes", {"plan": Plan(frozenset(), frozenset({Hop("a", 0, -5.0)}))}),
        ("keeps -1 cores", {"plan": Plan(frozenset({Step("b", ("a",), "filter", 0, -1.0)}))}),
        ("of nothing", {"plan": Plan(frozenset({Step("b", (), "filter", 0)}))}),
        (
            "how many bytes 'b'",
            {"plan": Plan(frozenset({Step("b", ("a",), "map", 0), Step("c", ("a", "b"), "union", 0)}))},
        ),
        (
            "below zero",
            {
                "plan": Plan(frozenset({Step("b", ("a",), "map", 0)})),
                "responses": {"map": lambda factors, shares: -factors[0]},
            },
        ),
    ],
)
def test_what_cannot_be_simulated_is_refused(message: str, changes: dict) -> None:
    given = {"plan": shipping(1, 1000.0), "network": line((10, 1)), "rates": Rates((A,)), "seconds": 10.0} | changes
    with pytest.raises(InputError, match=message):
        simulate(**given)


def test_a_schedule_of_nothing_known_is_refused() -> None:
    rng = np.random.default_rng(1)
    _, contents = random_join(rng, random_network(rng, 5, 1), 2)
    with pytest.raises(InputError, match=r"unknown base content 'q\.x'"):
        Rates.of(contents, {"q.x": Schedule()})
    with pytest.raises(InputError, match="does not arise at site number 77"):
        Rates.of(contents, {"q.a": {77: Schedule()}})


def test_a_plan_without_anything_is_simulated_too() -> None:
    history = simulate(Plan(goals=(Goal("q", "a", 0),)), line((10, 1)), Rates((A,), {}, {"a": 5.0}), 3.0)
    assert history.latency_of("q").tolist() == [0.0, 0.0, 0.0]
    assert history.rows_per_second[:, 0].tolist() == [5.0, 5.0, 5.0]
    with pytest.raises(InputError, match="unknown query"):
        history.latency_of("r")
    with pytest.raises(InputError, match="nothing was seen"):
        history.averages(start=50.0)
