"""Small random networks with prices, and the plainest way to spread costs over them."""

import numpy as np
from hypothesis import strategies as st

from tradewind.network.network import Network, Numbers, Place

PRICE = st.sampled_from([0.001, 0.5, 1.0, 2.0, 3.0, 7.25, 1e6])


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Up to eight sites and any links, parallel ones too; often in several parts."""
    size = draw(st.integers(1, 8))
    site = st.integers(0, size - 1)
    links = draw(st.lists(st.tuples(site, site, PRICE), max_size=24))
    start, end, price = (np.array([link[i] for link in links], dtype=float) for i in range(3))
    places = tuple(Place(f"s{number}") for number in range(size))
    ones = np.ones(len(links))
    return Network(places, start.astype(np.int64), end.astype(np.int64), ones, ones, price)


def bases(size: int) -> st.SearchStrategy[Numbers]:
    """What having something costs at each site; infinite where it is not to be had."""
    cost = st.sampled_from([np.inf, np.inf, 0.0, 1.0, 2.5, 1e3, 1e9])
    return st.lists(cost, min_size=size, max_size=size).map(np.array)


def bellman(network: Network, base: Numbers, rate: float, within: frozenset[int] | None = None) -> list[float]:
    """The least cost at every site, by trying every link as often as there are sites."""
    inside = range(len(network)) if within is None else within
    cost = [float(base[site]) if site in inside else np.inf for site in range(len(network))]
    links = list(zip(network.start.tolist(), network.end.tolist(), network.usd_per_gb.tolist(), strict=True))
    for _ in range(len(network)):
        for start, end, price in links:
            if start in inside and end in inside:
                cost[end] = min(cost[end], cost[start] + rate * price)
    return cost
