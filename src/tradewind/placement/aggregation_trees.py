"""Aggregation trees over many sites: which sets of sites are worth bringing together on their way to a sink.

Idea
----
All sets of hundreds of sites cannot be weighed. Two trees give candidates: the cheapest routes to the sink, where the
ways of several sites meet; and a tree that grows from the sink, always by the site that is nearest to what it reaches
already, so that ways are shared even where they are not the shortest. Each place where branches meet gives the set of
sites behind it. The dynamic programme of `exact` then weighs these sets like all others: whether to merge there,
further on, or not at all.

Guarantee
---------
Optimal among the merges of both trees' sets, so never dearer than merging wherever cheapest routes meet, nor than the
grown tree, which is at most twice the cheapest tree where all rates are equal and merging does not grow them (Takahashi
and Matsuyama). Rates that add up make it a tree of cheapest routes, which is then the best.

Complexity
----------
One search from the sink, and one per site for the grown tree: O(m · n log n) for m sites among n.

References
----------
Takahashi, Matsuyama: An approximate solution for the Steiner problem in graphs, 1980. Madden et al.: TAG, 2002.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tradewind.network.routes import Routes

Members = frozenset[int]
Cover = tuple[Members, tuple[Members, ...]]
"""A set, and the sets that it is put together from."""


def covers(routes: Routes, origins: Sequence[int], sink: int) -> list[Cover]:
    """The sets of members (numbers into `origins`, their sites) that meet on the way to the sink, in both trees."""
    found: dict[Cover, None] = {}
    for parents in (_cheapest(routes, sink), _grown(routes, origins, sink)):
        found.update(dict.fromkeys(_meetings(parents, origins, sink)))
    return list(found)


def _cheapest(routes: Routes, sink: int) -> Mapping[int, int]:
    """For each site the next one on its cheapest way to the sink."""
    towards = routes.towards(sink)
    return {site: int(step) for site, step in enumerate(towards.come_from) if step != site}


def _grown(routes: Routes, origins: Sequence[int], sink: int) -> Mapping[int, int]:
    """The same in a tree that grows from the sink by the nearest origin, one after the other."""
    parents: dict[int, int] = {}
    reached = {sink}
    left = set(origins) - reached
    size = len(routes.network)
    while left:
        base = np.full(size, np.inf)
        base[list(reached)] = 0.0
        spread = routes.spread_back(base)
        nearest = min(left, key=lambda site: (spread.cost[site], site))
        if not np.isfinite(spread.cost[nearest]):
            break
        way = spread.route(nearest)
        for before, after in zip(way[1:], way[:-1], strict=True):
            parents.setdefault(before, after)
            reached.add(before)
        left -= reached
    return parents


def _meetings(parents: Mapping[int, int], origins: Sequence[int], sink: int) -> list[Cover]:
    """Each site where members come together, inner ones first: the set, and what arrives from each side."""
    at: dict[int, list[Members]] = {}
    for number, site in enumerate(origins):
        at.setdefault(site, []).append(frozenset([number]))
    children: dict[int, list[int]] = {}
    for child, parent in parents.items():
        children.setdefault(parent, []).append(child)
    found: list[Cover] = []
    below: dict[int, Members] = {}
    stack = [(sink, False)]
    while stack:
        site, ready = stack.pop()
        if not ready:
            stack.append((site, True))
            stack.extend((child, False) for child in children.get(site, ()))
            continue
        parts = [*at.get(site, ()), *(below[child] for child in children.get(site, ()) if below[child])]
        whole = frozenset().union(*parts)
        below[site] = whole
        if len(parts) > 1:
            found.append((whole, tuple(sorted(parts, key=min))))
    return found
