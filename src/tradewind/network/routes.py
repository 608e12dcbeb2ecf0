"""Cheapest routes for one price on every link, and costs spread along them.

A sweep answers, for all sites at once: having something costs `base[u]` at site u, and moving it costs `rate` times
the price of the way; what is the least that having it at v costs? That is one shortest-path problem with many starts,
so a graph search from one more site that is linked to all others at these costs, or, where all distances are known, one
minimum over a matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from tradewind.network.network import Indices, Network, Numbers

DENSE = 256
"""Up to so many sites all distances are kept: a sweep is then a minimum over a matrix."""

_NOWHERE = -9999


@dataclass(frozen=True, slots=True)
class Swept:
    """The least cost at every site, and the neighbour that it comes from: the site itself where it comes from none."""

    cost: Numbers
    come_from: Indices

    def route(self, site: int) -> list[int]:
        """The sites that it passes on its way to `site`, from where it was had first."""
        found = [site]
        while (before := int(self.come_from[found[-1]])) != found[-1]:
            found.append(before)
        return found[::-1]


@dataclass(frozen=True, eq=False)
class Routes:
    """The cheapest routes of a network at a price per link; over some of the sites only, where `within` is given."""

    network: Network
    price: Numbers
    within: frozenset[int] | None = None

    def __post_init__(self) -> None:
        if len(self.price) != len(self.network.start):
            raise ValueError("one price per link is needed")

    @cached_property
    def _matrix(self) -> csr_matrix:
        """Links by ends; of several between the same sites the cheapest. One more site, the last, is for sweeps."""
        size = len(self.network)
        start, end, price = self.network.start, self.network.end, self.price
        if self.within is not None:
            inside = np.zeros(size, dtype=bool)
            inside[list(self.within)] = True
            kept = inside[start] & inside[end]
            start, end, price = start[kept], end[kept], price[kept]
        order = np.lexsort((price, end, start))
        start, end, price = start[order], end[order], price[order]
        first = np.ones(len(start), dtype=bool)
        first[1:] = (start[1:] != start[:-1]) | (end[1:] != end[:-1])
        rows = np.concatenate([start[first], np.full(size, size)])
        columns = np.concatenate([end[first], np.arange(size)])
        values = np.concatenate([price[first], np.ones(size)])
        return csr_matrix((values, (rows, columns)), shape=(size + 1, size + 1))

    @cached_property
    def links(self) -> dict[tuple[int, int], int]:
        """The number of the cheapest link between two neighbours, in its direction."""
        order = np.argsort(-self.price, kind="stable")
        ends = zip(self.network.start[order].tolist(), self.network.end[order].tolist(), strict=True)
        return dict(zip(ends, order.tolist(), strict=True))

    def hops(self, route: list[int]) -> list[int]:
        """The links of a route over neighbouring sites."""
        return [self.links[pair] for pair in pairwise(route)]

    @cached_property
    def _all(self) -> tuple[Numbers, Indices]:
        size = len(self.network)
        cost, before = dijkstra(self._matrix[:size, :size], return_predecessors=True)
        return cost, before

    @property
    def dense(self) -> bool:
        """Whether all distances are kept."""
        return len(self.network) <= DENSE

    def distances(self) -> Numbers:
        """From each site (row) to each site (column), infinite where no way leads; for networks that are not large."""
        return self._all[0]

    def from_site(self, site: int) -> Numbers:
        """What a way from a site to every site costs."""
        if self.dense:
            found: Numbers = self._all[0][site]
            return found
        size = len(self.network)
        return np.asarray(dijkstra(self._matrix[:size, :size], indices=site))

    def to_site(self, site: int) -> Numbers:
        """What a way from every site to the given one costs."""
        if self.dense:
            found: Numbers = self._all[0][:, site]
            return found
        size = len(self.network)
        return np.asarray(dijkstra(self._matrix[:size, :size].T.tocsr(), indices=site))

    def path(self, start: int, end: int) -> list[int] | None:
        """The sites on the cheapest way, both ends included; None where no way leads."""
        base = np.full(len(self.network), np.inf)
        base[start] = 0.0
        swept = self.sweep(base, 1.0)
        return swept.route(end) if np.isfinite(swept.cost[end]) else None

    def sweep(self, base: Numbers, rate: float) -> Swept:
        """The least cost at every site of what costs `base` where it is and `rate` times the price of its way."""
        if self.within is not None:
            inside = np.full(len(base), np.inf)
            kept = list(self.within)
            inside[kept] = base[kept]
            base = inside
        return self._sweep_matrix(base, rate) if self.dense else self._sweep_graph(base, rate)

    def _sweep_matrix(self, base: Numbers, rate: float) -> Swept:
        cost, before = self._all
        starts = np.flatnonzero(np.isfinite(base))
        sites = np.arange(len(base))
        if len(starts) == 0:
            return Swept(base.copy(), sites)
        ways = base[starts, None] + (rate * cost[starts] if rate > 0 else np.where(np.isfinite(cost[starts]), 0.0, np.inf))
        best = ways.argmin(axis=0)
        least = ways[best, sites]
        come_from = before[starts[best], sites].astype(np.int64)
        # Where nothing is gained by moving, nothing moves.
        stays = (come_from < 0) | (least >= base)
        least = np.where(stays, base, least)
        return Swept(least, np.where(stays, sites, come_from))

    def _sweep_graph(self, base: Numbers, rate: float) -> Swept:
        size = len(base)
        sites = np.arange(size)
        finite = np.isfinite(base)
        if not finite.any():
            return Swept(base.copy(), sites)
        scale = rate if rate > 0 else 1e-300
        matrix = self._matrix
        first = matrix.indptr[size]
        lowest = base[finite].min()
        # A weight of zero would mean that there is no link, so all starts are moved by the price of one.
        moved = self.price.mean() if len(self.price) else 1.0
        matrix.data[first:] = np.where(finite, (base - lowest) / scale, np.inf)[matrix.indices[first:]] + moved
        cost, before = dijkstra(matrix, indices=size, return_predecessors=True)
        cost, before = (cost[:size] - moved) * scale + lowest, before[:size].astype(np.int64)
        stays = (before == size) | (before == _NOWHERE)
        return Swept(np.where(stays, base, cost), np.where(stays, sites, before))
