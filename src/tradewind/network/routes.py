"""Cheapest routes for one price on every link, and costs spread along them.

A sweep answers, for all sites at once: having something costs `base[u]` at site u, and moving it costs `rate` times
the price of the way; what is the least that having it at v costs? That is one shortest-path problem with many starts,
so a graph search from one more site that is linked to all others at these costs, or, where all distances are known, one
minimum over a matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from tradewind.errors import InternalError
from tradewind.network.network import Indices, Network, Numbers

DENSE = 256
"""Up to so many sites all distances are kept: a sweep is then a minimum over a matrix."""

_NOWHERE = -9999
_FURTHEST = float(np.finfo(np.float64).max)


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
    def _kept(self) -> Indices:
        """The links by start and end; of several between the same sites the cheapest."""
        start, end = self.network.start, self.network.end
        order = np.lexsort((self.price, end, start))
        if self.within is not None:
            inside = np.zeros(len(self.network), dtype=bool)
            inside[list(self.within)] = True
            order = order[inside[start[order]] & inside[end[order]]]
        first = np.ones(len(order), dtype=bool)
        first[1:] = (np.diff(start[order]) != 0) | (np.diff(end[order]) != 0)
        return order[first]

    @cached_property
    def _matrix(self) -> csr_matrix:
        """The prices of the kept links, in their order, by ends; one more site, the last, is for sweeps."""
        size, kept = len(self.network), self._kept
        rows = np.concatenate([self.network.start[kept], np.full(size, size)])
        columns = np.concatenate([self.network.end[kept], np.arange(size)])
        values = np.concatenate([self.price[kept], np.ones(size)])
        return csr_matrix((values, (rows, columns)), shape=(size + 1, size + 1))

    def hops(self, route: list[int]) -> list[int]:
        """The links of a route over neighbouring sites, the cheapest of each pair."""
        rows, columns = self._matrix.indptr, self._matrix.indices
        found = []
        for start, end in pairwise(route):
            first, last = rows[start], rows[start + 1]
            place = first + int(np.searchsorted(columns[first:last], end))
            if place == last or columns[place] != end:
                raise InternalError(f"no link leads from {self.network.name(start)!r} to {self.network.name(end)!r}.")
            found.append(int(self._kept[place]))
        return found

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

    def between(self, sites: Sequence[int], limit: float = np.inf) -> Numbers:
        """From each of some sites (row) to each of them (column); infinite, too, where a way costs above the limit.

        A limit makes the search of a large network stop early.
        """
        chosen = np.asarray(sites, dtype=np.int64)
        if self.dense:
            found: Numbers = self._all[0][np.ix_(chosen, chosen)]
            return found
        size = len(self.network)
        return np.asarray(dijkstra(self._matrix[:size, :size], indices=chosen, limit=limit))[:, chosen]

    @cached_property
    def _backwards(self) -> Routes:
        """The routes of the network with all links turned round."""
        own = self.network
        turned = Network(own.places, own.end, own.start, own.mbps, own.ms, own.usd_per_gb)
        return Routes(turned, self.price, self.within)

    def spread_back(self, base: Numbers) -> Swept:
        """What reaching the cheapest of many sites costs from everywhere; a route then leads from there to here."""
        return self._backwards.sweep(base, 1.0)

    def towards(self, site: int) -> Swept:
        """The cheapest ways from everywhere to one site: `come_from` is the next site on the way."""
        base = np.full(len(self.network), np.inf)
        base[site] = 0.0
        return self.spread_back(base)

    def path(self, start: int, end: int) -> list[int] | None:
        """The sites on the cheapest way, both ends included; None where no way leads."""
        base = np.full(len(self.network), np.inf)
        base[start] = 0.0
        swept = self.sweep(base, 1.0)
        return swept.route(end) if np.isfinite(swept.cost[end]) else None

    def sweep(self, base: Numbers, rate: float, limit: float = np.inf) -> Swept:
        """The least cost at every site of what costs `base` where it is and `rate` times the price of its way.

        Sites where it would cost more than the limit may be left out: a search of a large network then ends early.
        """
        if self.within is not None:
            inside = np.full(len(base), np.inf)
            kept = list(self.within)
            inside[kept] = base[kept]
            base = inside
        return self._sweep_matrix(base, rate) if self.dense else self._sweep_graph(base, rate, limit)

    def _sweep_matrix(self, base: Numbers, rate: float) -> Swept:
        sites = np.arange(len(base))
        starts = np.flatnonzero(np.isfinite(base))
        if len(starts) == 0:
            return Swept(base.copy(), sites)
        # Each row holds the ways to one site, so that its least is found in a run through memory.
        ways = self._ways_to if 2 * len(starts) > len(base) else self._ways_to[:, starts]
        if ways is self._ways_to:
            starts = sites
        ways = rate * ways if rate > 0 else np.where(np.isfinite(ways), 0.0, np.inf)
        ways += base[starts]
        best = ways.argmin(axis=1)
        least = ways[sites, best]
        come_from = self._all[1][starts[best], sites].astype(np.int64)
        # Where nothing is gained by moving, nothing moves.
        stays = (come_from < 0) | (least >= base)
        return Swept(np.where(stays, base, least), np.where(stays, sites, come_from))

    @cached_property
    def _ways_to(self) -> Numbers:
        return np.ascontiguousarray(self._all[0].T)

    @cached_property
    def _sites(self) -> Indices:
        return np.arange(len(self.network))

    @cached_property
    def nowhere(self) -> Swept:
        """The sweep of what is to be had nowhere."""
        return Swept(np.full(len(self.network), np.inf), self._sites)

    @cached_property
    def _searched(self) -> csr_matrix:
        """The matrix that sweeps write their weights into: making a new one takes as long as a search of 500 sites."""
        return self._matrix.copy()

    def _sweep_graph(self, base: Numbers, rate: float, limit: float = np.inf) -> Swept:
        size = len(base)
        lowest = float(base.min(initial=np.inf))
        if not lowest <= limit or np.isinf(lowest):
            return Swept(base.copy(), self._sites)
        # One more site, the last, has a link to every other one that costs what it costs to have it there. All is moved
        # so that no weight is below zero; one of zero is still a link, an infinite one is above every limit.
        lowest = min(0.0, lowest)
        links, graph = len(self._kept), self._searched
        np.multiply(self._matrix.data[:links], rate, out=graph.data[:links])
        np.subtract(base, lowest, out=graph.data[links:])
        furthest = min(limit - lowest, _FURTHEST)
        cost, before = dijkstra(graph, indices=size, return_predecessors=True, limit=furthest)
        cost, before = cost[:size], before[:size]
        cost += lowest
        stays = (before == size) | (before == _NOWHERE)
        np.copyto(cost, base, where=stays)
        return Swept(cost, np.where(stays, self._sites, before))
