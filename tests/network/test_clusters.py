"""Clusters: every site in one, none too large, what is near together, and the same every time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tradewind.errors import InputError
from tradewind.network.clusters import Cluster, clusters
from tradewind.network.network import Network, Place, Wire
from tradewind.network.routes import Routes
from tradewind.network.transit_stub import transit_stub


def routes(sites: int, links: list[tuple[int, int, float]]) -> Routes:
    """Links in both directions at a price."""
    wires = [
        Wire(f"s{a}", f"s{b}", 1.0, 1.0, price) for one, other, price in links for a, b in [(one, other), (other, one)]
    ]
    network = Network.of([Place(f"s{site}") for site in range(sites)], wires)
    return Routes(network, network.usd_per_gb)


def below(cluster: Cluster) -> list[Cluster]:
    """A cluster and all clusters in it."""
    return [cluster, *(one for child in cluster.children for one in below(child))]


def lowest(cluster: Cluster) -> list[Cluster]:
    return [one for one in below(cluster) if not one.children]


def check(top: Cluster, ways: Routes, max_size: int) -> None:
    sites = [site for cluster in lowest(top) for site in cluster.members]
    assert sorted(sites) == list(range(len(ways.network)))
    for cluster in below(top):
        assert len(cluster.members) <= max_size
        assert cluster.coordinator in cluster.members
        assert np.allclose(cluster.distances, ways.between(cluster.members))
        sums = cluster.distances.sum(axis=0) + cluster.distances.sum(axis=1)
        assert sums[cluster.members.index(cluster.coordinator)] == sums.min()
        if cluster.children:
            assert cluster.members == tuple(child.coordinator for child in cluster.children)
            assert cluster.sites == frozenset().union(*(child.sites for child in cluster.children))


@pytest.mark.parametrize(("nodes", "max_size"), [(1, 2), (2, 2), (64, 2), (64, 5), (128, 16), (64, 64), (700, 16)])
def test_every_site_has_one_home_and_distances_are_true(nodes, max_size):
    network = (
        transit_stub(nodes, 3, domains=1, transit_per_domain=1, stubs_per_transit=min(1, nodes - 1))
        if nodes < 8
        else transit_stub(nodes, 3)
    )
    ways = Routes(network, network.usd_per_gb)
    top = clusters(ways, max_size)
    check(top, ways, max_size)
    for site in range(0, nodes, 7):
        homes = top.homes(site)
        assert homes[-1] is top
        assert site in homes[0].members
        assert all(low in high.children for low, high in pairwise(homes))


def test_two_villages_are_two_clusters_whose_middles_coordinate():
    ways = routes(6, [(0, 1, 1), (1, 2, 1), (2, 3, 50), (3, 4, 1), (4, 5, 1)])
    top = clusters(ways, 3)
    assert sorted((cluster.members, cluster.coordinator) for cluster in lowest(top)) == [((0, 1, 2), 1), ((3, 4, 5), 4)]
    assert sorted(top.members) == [1, 4]
    assert top.distances.max() == 52
    assert top.places(frozenset({5})) == (top.members.index(4),)


def test_the_leaves_of_a_star_need_few_levels():
    ways = routes(400, [(0, leaf, 1.0) for leaf in range(1, 400)])
    top = clusters(ways, 20)
    check(top, ways, 20)
    assert len(top.homes(399)) <= 3


def test_one_cluster_where_all_fit_and_equal_input_gives_equal_clusters():
    network = transit_stub(64, 5)
    ways = Routes(network, network.usd_per_gb)
    whole = clusters(ways, 64)
    assert (whole.children, len(whole.members)) == ((), 64)
    twice = [[(c.members, c.coordinator) for c in below(clusters(ways, 8))] for _ in range(2)]
    assert twice[0] == twice[1]


def test_parts_without_a_way_between_them_still_end_in_one_cluster():
    top = clusters(routes(7, [(0, 1, 1), (1, 2, 1), (3, 4, 1)]), 3)
    assert top.sites == frozenset(range(7))
    assert max(len(cluster.members) for cluster in below(top)) <= 3


def test_prices_may_differ_by_direction():
    network = Network.of(
        [Place(name) for name in "abc"],
        [Wire(a, b, 1, 1, price) for a, b, price in [("a", "b", 1), ("b", "a", 9), ("b", "c", 1), ("c", "b", 9)]],
    )
    ways = Routes(network, network.usd_per_gb)
    check(clusters(ways, 2), ways, 2)


def test_a_cluster_of_one_is_refused():
    with pytest.raises(InputError, match="clusters of 1"):
        clusters(routes(2, [(0, 1, 1)]), 1)
