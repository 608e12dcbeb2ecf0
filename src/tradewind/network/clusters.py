"""Sites in clusters, clusters in larger clusters: who decides about which part of a network.

At the lowest level the members of a cluster are sites; one of them, the medoid, is its coordinator. The coordinators
are clustered in turn, level by level, until one cluster is left. A cluster has at most `max_size` members and knows
what a way between any two of them costs, and nothing about other clusters.

Clusters are pieces of a minimum spanning tree, so what near links hold together stays together. From the leaves of the
tree to its root, each node collects the pieces that hang on it, the nearest first, as long as they fit; of those that
do not fit, clusters are made at once. One level up, the distance between two neighbouring clusters is that of their
coordinators over the best link between the clusters. Equal distances go by number, so the same network always gives the
same clusters.

Complexity: a spanning tree for each level, and for each site a shortest-path search no wider than its cluster.

Reference: Seshadri, Kumar, Cooper: Multi-query optimization in distributed stream systems, section 4.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import minimum_spanning_tree

from tradewind.errors import InputError
from tradewind.network.network import Indices, Numbers
from tradewind.network.routes import Routes

MAX_SIZE = 16
"""The usual number of members in a cluster, at most."""

_ABOVE = -1
"""What the roots of a spanning tree hang on."""


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """Sites, or the coordinators of smaller clusters, with what a way between them costs."""

    coordinator: int
    """The site that decides here and stands for the cluster one level up; one of the members."""
    members: tuple[int, ...]
    distances: Numbers
    """From each member (row) to each member (column)."""
    sites: frozenset[int]
    """All sites below."""
    children: tuple[Cluster, ...] = ()
    """The clusters that the members coordinate, in their order; none at the lowest level."""

    def below(self, place: int) -> frozenset[int]:
        """The sites that the member at a place of the list stands for."""
        return self.children[place].sites if self.children else frozenset((self.members[place],))

    def places(self, sites: frozenset[int]) -> tuple[int, ...]:
        """The places of the members that stand for at least one of the given sites."""
        return tuple(place for place in range(len(self.members)) if not sites.isdisjoint(self.below(place)))

    def homes(self, site: int) -> list[Cluster]:
        """The clusters that a site belongs to, from the lowest up to this one."""
        found = [self]
        while found[-1].children:
            found.append(next(child for child in found[-1].children if site in child.sites))
        return found[::-1]


def clusters(routes: Routes, max_size: int) -> Cluster:
    """The cluster above all others, over all sites of the network."""
    if max_size < 2:
        raise InputError(f"clusters of {max_size} are not possible.", hint="at least 2 members in a cluster.")
    size = len(routes.network)
    # Of each site, the node that stands for it at the level being clustered, and what a way there costs at most.
    belongs, to_node = np.arange(size), np.zeros(size)
    nodes, level = list(range(size)), list[Cluster]()
    while len(level) != 1:
        pieces = _pieces(_linked(routes, belongs, to_node, len(nodes)), max_size)
        level = [
            _cluster(routes, [nodes[i] for i in piece], radius, [level[i] for i in piece if level])
            for piece, radius in pieces
        ]
        upper = np.empty(len(nodes), dtype=np.int64)
        farther = np.empty(len(nodes))
        for number, (piece, _) in enumerate(pieces):
            upper[piece] = number
            farther[piece] = level[number].distances[:, level[number].members.index(level[number].coordinator)]
        to_node, belongs = to_node + farther[belongs], upper[belongs]
        nodes = [cluster.coordinator for cluster in level]
    return level[0]


def _linked(routes: Routes, belongs: Indices, to_node: Numbers, count: int) -> csr_matrix:
    """The distances between neighbouring nodes, each over the best link between any of their sites."""
    start, end = routes.network.start, routes.network.end
    ends = np.sort(np.stack([belongs[start], belongs[end]]), axis=0)
    weight = to_node[start] + routes.price + to_node[end]
    between = np.flatnonzero(ends[0] != ends[1])
    order = between[np.lexsort((weight[between], ends[1][between], ends[0][between]))]
    ends, weight = ends[:, order], weight[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = np.any(np.diff(ends, axis=1) != 0, axis=0)
    return csr_matrix((weight[first], (ends[0][first], ends[1][first])), shape=(count, count))


def _pieces(linked: csr_matrix, max_size: int) -> list[tuple[list[int], float]]:
    """The nodes in pieces of the spanning tree, each with what a way to its farthest node costs from where it hangs."""
    order, before, depth = _spanning(linked)
    hanging: dict[int, list[list[int]]] = {node: [] for node in (*order, _ABOVE)}
    found = []
    for node in [*reversed(order), _ABOVE]:
        parts = sorted(hanging[node], key=lambda part: (depth[part[0]], part[0]))
        packed = _packed([[node], *parts] if node != _ABOVE else parts, max_size)
        if node != _ABOVE:
            # The first of a piece is the node that it hangs by.
            hanging[before[node]].append(packed.pop(0))
        found += [
            (piece, max(depth[one] for one in piece) - (depth[node] if node != _ABOVE else 0.0)) for piece in packed
        ]
    return [(sorted(piece), radius) for piece, radius in found]


def _packed(parts: list[list[int]], max_size: int) -> list[list[int]]:
    """Parts put together in their order, as many as fit."""
    found: list[list[int]] = []
    for part in parts:
        if found and len(found[-1]) + len(part) <= max_size:
            found[-1] = found[-1] + part
        else:
            found.append(part)
    return found


def _spanning(linked: csr_matrix) -> tuple[list[int], dict[int, int], dict[int, float]]:
    """The nodes of the spanning tree from its root on, the one before each, and what the way from the root costs.

    The root is the node with the most neighbours; in a network of several parts each part has one.
    """
    tree = minimum_spanning_tree(linked)
    tree = (tree + tree.T).tocsr()
    degree = np.diff(tree.indptr)
    order: list[int] = []
    before: dict[int, int] = {}
    depth: dict[int, float] = {}
    for root in sorted(range(len(degree)), key=lambda node: (-degree[node], node)):
        if root in before:
            continue
        before[root], depth[root] = _ABOVE, 0.0
        waiting = [root]
        while waiting:
            node = waiting.pop()
            order.append(node)
            for place in range(tree.indptr[node], tree.indptr[node + 1]):
                other = int(tree.indices[place])
                if other not in before:
                    before[other], depth[other] = node, depth[node] + float(tree.data[place])
                    waiting.append(other)
    return order, before, depth


def _cluster(routes: Routes, members: list[int], radius: float, children: list[Cluster]) -> Cluster:
    # Where a way costs as much in both directions, any two members are within twice the radius.
    distances = routes.between(members, 2 * radius * (1 + 1e-9))
    if not np.isfinite(distances).all():
        distances = routes.between(members)
    sums = distances.sum(axis=0) + distances.sum(axis=1)
    sites = frozenset(members).union(*(child.sites for child in children))
    return Cluster(members[int(sums.argmin())], tuple(members), distances, sites, tuple(children))
