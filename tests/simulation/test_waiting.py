"""Links and sites that are overfull or cut: what waits, how long, and that nothing is lost."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.plans import MBPS, line, random_join, random_network, shipping, with_room
from tradewind.network.network import Network, Place, Wire
from tradewind.placement.plan import Goal, Hop, Plan, Step
from tradewind.simulation.history import History
from tradewind.simulation.rates import Rates, Source
from tradewind.simulation.schedule import Cut, Schedule
from tradewind.simulation.simulate import simulate

FLOW = 1.0 * MBPS
A = Rates((Source("a", 0, FLOW),))


def nothing_is_lost(history: History) -> None:
    """At every sample: what came to a link is what it took in and what waits."""
    taken = np.cumsum(history.durations[:, None] * history.bytes_per_second, axis=0)
    np.testing.assert_allclose(taken + history.backlog, history.arrived, rtol=1e-9, atol=1e-6)
    assert history.backlog.min() >= 0


def test_at_half_bandwidth_latency_grows_half_a_second_each_second() -> None:
    history = simulate(shipping(1, FLOW), line((0.5, 20)), A, 60.0)
    growth = np.diff(history.latency_of("q")) / np.diff(history.times)
    np.testing.assert_allclose(growth, 0.5, rtol=1e-6)
    np.testing.assert_allclose(history.bytes_per_second[:, 0], FLOW / 2)
    np.testing.assert_allclose(np.diff(history.backlog[:, 0]), FLOW / 2)
    nothing_is_lost(history)


def test_bandwidth_that_halves_on_the_way_and_comes_back_doubled() -> None:
    network = line((10, 5), (1.0, 20), (10, 5))
    bandwidth = {1: Schedule(((10.0, 0.5), (50.0, 2.0)))}
    history = simulate(shipping(3, FLOW), network, A, 100.0, bandwidth=bandwidth)
    latency = history.latency_of("q")
    at = dict(zip(np.round(history.times, 6).tolist(), latency.tolist(), strict=True))
    assert at[9.0] == pytest.approx(0.03)
    assert at[40.0] == pytest.approx(0.03 + 0.5 * 30, abs=0.2)
    assert at[50.0] == pytest.approx(0.03 + 0.5 * 40, abs=0.2)
    # 20 s of flow wait, and each second takes in two: after 20 s all is as before.
    assert at[60.0] == pytest.approx(0.03 + 10, abs=0.3)
    assert at[72.0] == pytest.approx(0.03)
    assert history.backlog[-1].tolist() == [0.0, 0.0, 0.0]
    nothing_is_lost(history)


def test_a_cut_link_holds_everything_and_then_catches_up() -> None:
    history = simulate(shipping(2, FLOW), line((2, 10), (10, 10)), A, 60.0, cuts=[Cut(0, 10.0, 20.0)])
    latency, times = history.latency_of("q"), history.times
    inside = (times > 11) & (times < 20)
    np.testing.assert_allclose(history.bytes_per_second[inside, 0], 0.0)
    np.testing.assert_allclose(np.diff(latency[inside]), 1.0)
    assert history.backlog[:, 0].max() == pytest.approx(10 * FLOW, rel=0.02)
    drain = (times > 20.5) & (times < 29.5)
    np.testing.assert_allclose(history.bytes_per_second[drain, 0], 2 * FLOW)
    np.testing.assert_allclose(np.diff(latency[drain]), -1.0)
    np.testing.assert_allclose(latency[times > 31], 0.02)
    nothing_is_lost(history)


def test_a_link_that_is_cut_for_good_passes_nothing_more() -> None:
    history = simulate(shipping(1, FLOW), line((2, 10)), A, 30.0, cuts=[Cut(0, 5.0, float("inf"))])
    assert history.total_bytes[0] == pytest.approx(5 * FLOW)
    assert history.latency_of("q")[-1] == pytest.approx(25.01)


def test_a_site_with_too_few_cores_makes_work_wait() -> None:
    steps = frozenset({Step("b", ("a",), "map m", 1, 2.0)})
    plan = Plan(steps, frozenset({Hop("a", 0, FLOW), Hop("b", 1, FLOW / 2)}), (Goal("q", "b", 2),))
    history = simulate(plan, line((10, 3), (10, 4), cores=1.0), A, 40.0)
    np.testing.assert_allclose(history.busy_cores[:, 1], 1.0)
    np.testing.assert_allclose(np.diff(history.waiting_work[:, 1]), 1.0)
    np.testing.assert_allclose(np.diff(history.latency_of("q"))[2:], 0.5)
    np.testing.assert_allclose(history.bytes_per_second[-1], [FLOW, FLOW / 4])


def test_a_site_without_cores_passes_what_is_no_work() -> None:
    network = Network.of([Place("x", 0.0)], [])
    free = Plan(frozenset({Step("b", ("a",), "map m", 0, 0.0)}), goals=(Goal("q", "b", 0),))
    dear = Plan(frozenset({Step("b", ("a",), "map m", 0, 0.1)}), goals=(Goal("q", "b", 0),))
    assert simulate(free, network, A, 10.0).latency[-1, 0] == 0.0
    assert simulate(dear, network, A, 10.0).latency[-1, 0] == pytest.approx(10.0)


def fork(mbps: float) -> tuple[Plan, Network]:
    """Contents a and b share the link from x to y; behind it each has a wide link of its own."""
    places = [Place(name) for name in "xyzw"]
    network = Network.of(places, [Wire("x", "y", mbps), Wire("y", "z", 1000), Wire("y", "w", 1000)])
    hops = frozenset({Hop("a", 0, FLOW), Hop("b", 0, FLOW / 4), Hop("a", 1, FLOW), Hop("b", 2, FLOW / 4)})
    return Plan(frozenset(), hops, (Goal("a", "a", 2), Goal("b", "b", 3))), network


def test_an_overfull_link_is_shared_in_proportion() -> None:
    plan, network = fork(0.5)
    history = simulate(plan, network, Rates((Source("a", 0, FLOW), Source("b", 0, FLOW / 4))), 30.0)
    np.testing.assert_allclose(history.bytes_per_second[-1], [FLOW * 0.5, FLOW * 0.4, FLOW * 0.1])
    np.testing.assert_allclose(history.latency_of("a")[-1], history.latency_of("b")[-1])


def packets(schedules: dict[str, tuple[float, Schedule]], capacity: float, seconds: int) -> dict[str, list[float]]:
    """A link that takes small packets in the order in which they come: the bytes of each content in each second."""
    quantum, queue, room = 0.002, deque[tuple[str, float]](), 0.0
    taken: dict[str, list[float]] = {name: [0.0] * seconds for name in schedules}
    for number in range(round(seconds / quantum)):
        for name, (rate, schedule) in schedules.items():
            queue.append((name, rate * schedule.at(number * quantum + 1e-9) * quantum))
        room += capacity * quantum
        while queue and queue[0][1] <= room:
            name, size = queue.popleft()
            taken[name][int(number * quantum + 1e-9)] += size
            room -= size
        room = min(room, capacity * quantum) if not queue else room
    return taken


def test_an_overfull_link_takes_in_what_came_first() -> None:
    """Against packets one by one, with shares that change while much waits."""
    plan, network = fork(0.8)
    changes = {
        "a": (FLOW, Schedule(((5.0, 0.2), (9.0, 1.5), (15.0, 0.1)))),
        "b": (FLOW / 4, Schedule(((4.0, 3.0), (12.0, 0.0)))),
    }
    rates = Rates(tuple(Source(name, 0, rate, schedule) for name, (rate, schedule) in changes.items()))
    history = simulate(plan, network, rates, 25.0, step=0.02)
    expected = packets(changes, 0.8 * FLOW, 25)
    for column, name in ((1, "a"), (2, "b")):
        np.testing.assert_allclose(history.bytes_per_second[:, column], expected[name], atol=0.05 * FLOW)
        assert history.total_bytes[column] == pytest.approx(sum(expected[name]), rel=0.01)
    nothing_is_lost(history)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.floats(0.3, 1.5), st.sampled_from([0.05, 0.1, 0.37]))
def test_nothing_is_lost_and_no_link_takes_more_than_it_can(seed: int, tightness: float, step: float) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng, 10, 4)
    plan, contents = random_join(rng, network, 3)
    network = with_room(network, plan, tightness * rng.uniform(0.5, 2, len(network.start)))
    schedules: dict[str, dict[int, Schedule]] = {one.key: {} for one in contents if one.origins}
    for one in contents:
        for site in one.origins:
            times = np.unique(rng.uniform(0, 40, 3)).tolist()
            schedules[one.key][site] = Schedule(tuple((time, float(rng.uniform(0, 2))) for time in times))
    links = rng.choice(len(network.start), 3)
    cuts = [
        Cut(int(link), start, start + 5.0) for link, start in zip(links, rng.uniform(0, 40, 3).tolist(), strict=True)
    ]
    history = simulate(plan, network, Rates.of(contents, schedules), 50.0, step=step, cuts=cuts)
    nothing_is_lost(history)
    assert np.all(history.bytes_per_second <= network.bytes_per_second * (1 + 1e-9))
    assert np.all(history.busy_cores <= network.cores * (1 + 1e-9))
    assert np.all(np.diff(history.arrived, axis=0) >= -1e-6)
    # Data never gets older faster than time passes.
    assert np.all(np.diff(history.latency, axis=0) <= np.diff(history.times)[:, None] * (1 + 1e-6) + 1e-6)
