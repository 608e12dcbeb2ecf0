"""Cheapest routes: over all distances, by graph search and by trial they are the same."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.network.random_networks import bases, bellman, networks
from tradewind.errors import InternalError
from tradewind.network.network import Network, Numbers, Place, Wire, both_ways
from tradewind.network.routes import DENSE, Routes, Swept
from tradewind.network.transit_stub import transit_stub

RATE = st.sampled_from([0.0, 1e-9, 0.5, 1.0, 1e4])


@st.composite
def cases(draw: st.DrawFn) -> tuple[Routes, Numbers, float]:
    network = draw(networks())
    size = len(network)
    within = draw(st.none() | st.frozensets(st.integers(0, size - 1)))
    return Routes(network, network.usd_per_gb, within), draw(bases(size)), draw(RATE)


def only_inside(routes: Routes, base: Numbers) -> Numbers:
    """What `sweep` gives to either way of sweeping."""
    if routes.within is None:
        return base
    return np.array([cost if site in routes.within else np.inf for site, cost in enumerate(base)])


def is_sound(routes: Routes, base: Numbers, rate: float, swept: Swept) -> None:
    """Each cost is that of the route behind it, which begins where the thing is had and follows links."""
    network = routes.network
    for site in np.flatnonzero(np.isfinite(swept.cost)).tolist():
        route = swept.route(site)
        links = routes.hops(route)
        assert route[-1] == site
        assert len(set(route)) == len(route)
        assert [(network.start[link], network.end[link]) for link in links] == list(pairwise(route))
        paid = base[route[0]] + rate * routes.price[links].sum()
        assert paid == pytest.approx(swept.cost[site], rel=1e-9, abs=1e-12)
        if routes.within is not None:
            assert routes.within.issuperset(route)


@settings(max_examples=300, deadline=None)
@given(cases())
def test_both_sweeps_are_what_trial_finds(case: tuple[Routes, Numbers, float]) -> None:
    routes, base, rate = case
    expected = pytest.approx(bellman(routes.network, base, rate, routes.within), rel=1e-9, abs=1e-12)
    own = only_inside(routes, base)
    for swept in (routes.sweep(base, rate), routes._sweep_matrix(own, rate), routes._sweep_graph(own, rate)):
        assert swept.cost.tolist() == expected
        is_sound(routes, own, rate, swept)


@settings(max_examples=100, deadline=None)
@given(networks(), st.integers(0, 7))
def test_from_and_to_a_site_are_rows_and_columns_of_the_distances(network: Network, number: int) -> None:
    routes = Routes(network, network.usd_per_gb)
    site = number % len(network)
    base = np.full(len(network), np.inf)
    base[site] = 0.0
    assert routes.from_site(site).tolist() == pytest.approx(bellman(network, base, 1.0))
    assert routes.distances()[:, site].tolist() == routes.to_site(site).tolist()


def test_large_networks_are_searched_and_agree_with_all_distances() -> None:
    network = transit_stub(DENSE + 44, 3)
    routes = Routes(network, network.usd_per_gb)
    assert not routes.dense
    rng = np.random.default_rng(3)
    base = np.where(rng.random(len(network)) < 0.02, rng.random(len(network)), np.inf)
    for rate in (0.0, 2.5):
        by_search, by_matrix = routes.sweep(base, rate), routes._sweep_matrix(base, rate)
        assert by_search.cost == pytest.approx(by_matrix.cost)
        is_sound(routes, base, rate, by_search)
    distances = routes.distances()
    assert routes.from_site(7) == pytest.approx(distances[7])
    assert routes.to_site(7) == pytest.approx(distances[:, 7])


def test_nothing_moves_where_nothing_is_gained() -> None:
    network = Network.of([Place("a"), Place("b")], both_ways([Wire("a", "b", 1.0)]))
    routes = Routes(network, network.usd_per_gb)
    base = np.array([4.0, 4.0])
    for swept in (routes._sweep_matrix(base, 0.0), routes._sweep_graph(base, 0.0)):
        assert swept.come_from.tolist() == [0, 1]


def test_a_thing_that_is_nowhere_stays_nowhere() -> None:
    network = Network.of([Place("a"), Place("b")], both_ways([Wire("a", "b", 1.0)]))
    routes = Routes(network, network.usd_per_gb)
    base = np.full(2, np.inf)
    for swept in (routes._sweep_matrix(base, 1.0), routes._sweep_graph(base, 1.0)):
        assert np.isinf(swept.cost).all()
        assert swept.route(1) == [1]


def test_of_parallel_links_the_cheapest_is_taken() -> None:
    wires = [Wire("a", "b", 1.0, usd_per_gb=price) for price in (3.0, 1.0, 2.0)]
    network = Network.of([Place("a"), Place("b")], wires)
    routes = Routes(network, network.usd_per_gb)
    assert routes.hops([0, 1]) == [1]
    assert routes.from_site(0).tolist() == [0.0, 1.0]
    # The price of the objective decides, not that of the network.
    assert Routes(network, np.array([1.0, 2.0, 0.5])).hops([0, 1]) == [2]


def test_a_detour_may_be_cheaper_and_may_be_forbidden() -> None:
    places = [Place(name) for name in "abc"]
    wires = [
        Wire("a", "c", 1.0, usd_per_gb=5.0),
        Wire("a", "b", 1.0, usd_per_gb=1.0),
        Wire("b", "c", 1.0, usd_per_gb=1.0),
    ]
    network = Network.of(places, wires)
    assert Routes(network, network.usd_per_gb).path(0, 2) == [0, 1, 2]
    assert Routes(network, network.usd_per_gb, frozenset({0, 2})).path(0, 2) == [0, 2]
    assert Routes(network, network.usd_per_gb).path(2, 0) is None
    assert Routes(network, network.usd_per_gb, frozenset({0, 1})).path(0, 2) is None


def test_misuse_is_refused() -> None:
    network = Network.of([Place("a"), Place("b")], [Wire("a", "b", 1.0)])
    with pytest.raises(ValueError, match="one price per link"):
        Routes(network, np.ones(2))
    with pytest.raises(InternalError, match="no link leads from 'b' to 'a'"):
        Routes(network, np.ones(1)).hops([1, 0])
