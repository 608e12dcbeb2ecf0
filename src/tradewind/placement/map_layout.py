"""Where the sites of a network stand on a map.

Idea: a link is as long as its latency says, and the distance of two sites is that of the shortest way. Classical
multidimensional scaling gives the plane that keeps these distances best, stress majorization then corrects what the
plane could not hold, and at last sites that are too close push each other away. Parts that no link joins are laid out
apart and stand side by side.

Guarantee: any two sites are at least 1 apart in x or in y, so boxes of one size never overlap on a grid of that size.
Equal networks give equal maps.

Complexity: for n sites, the eigenvectors of an n by n matrix, and a fixed number of rounds over all pairs.

References: Torgerson 1952 for the scaling; Gansner, Koren and North 2004 for the majorization.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import cdist

from tradewind.network.network import Indices, Network, Numbers
from tradewind.network.routes import Routes

_ABROAD = 1.25
"""How much longer a link between two regions is, so that the sites of a region stay together."""
_UNEVEN = 1e-3
"""Distances are changed by so little, each by its own, so that no two directions are equally good."""
_DENSE = 0.9
"""How far the nearest neighbour of a usual site is away before sites push each other."""
_GOLDEN = (5**0.5 - 1) / 2
_STRESS_ROUNDS = 120
_PUSH_ROUNDS = 400
_ENOUGH = 1.01
"""How far two sites push each other: a little further than they must."""
_LANDSCAPE = 1.6
"""How much wider than high a map of several parts should be."""


def layout(network: Network) -> Numbers:
    """A point for each site, in the order of their numbers; the least x and the least y are 0."""
    distances = _distances(network)
    first_reached = np.isfinite(distances).argmax(axis=1)
    parts = [np.flatnonzero(first_reached == first) for first in np.unique(first_reached)]
    found = np.zeros((len(network), 2))
    drawn = [_pushed_apart(_drawn(distances[np.ix_(part, part)])) for part in parts]
    for part, points in zip(parts, _side_by_side(drawn), strict=True):
        found[part] = points
    return np.asarray(found - found.min(axis=0, initial=np.inf))


def _distances(network: Network) -> Numbers:
    """The length of the shortest way between any two sites, whichever way its links lead."""
    lengths, own = _lengths(network), network
    start, end = np.concatenate([own.start, own.end]), np.concatenate([own.end, own.start])
    both = Network(own.places, start, end, np.tile(own.mbps, 2), np.tile(own.ms, 2), np.tile(own.usd_per_gb, 2))
    return Routes(both, np.tile(lengths, 2)).distances()


def _lengths(network: Network) -> Numbers:
    """1 for the least latency and one more for each tenfold; plain latencies would leave an ocean and two specks."""
    known = network.ms > 0
    least = network.ms[known].min(initial=np.inf)
    lengths = np.ones(len(network.ms))
    lengths[known] += np.log10(network.ms[known] / least)
    regions = [place.region for place in network.places]
    pairs = zip(network.start, network.end, strict=True)
    abroad = np.array([regions[start] != regions[end] for start, end in pairs], dtype=bool)
    lengths[abroad] *= _ABROAD
    return lengths


def _drawn(distances: Numbers) -> Numbers:
    """Points whose distances are about the given ones, which must be finite."""
    size = len(distances)
    if size == 1:
        return np.zeros((1, 2))
    turns = np.arange(size) * _GOLDEN
    uneven = distances * (1 + _UNEVEN * ((turns[:, None] + turns) % 1.0))
    points = _upright(_majorized(_scaled(uneven), uneven))
    nearest = (cdist(points, points) + np.diag(np.full(size, np.inf))).min(axis=1)
    # Rounded, so that the last bits, which the machine's libraries decide, do not decide who pushes whom where.
    return np.asarray(np.round(points * (_DENSE / max(float(np.median(nearest)), 1e-9)), 6))


def _scaled(distances: Numbers) -> Numbers:
    """Classical multidimensional scaling to the plane."""
    size = len(distances)
    centring = np.eye(size) - 1 / size
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    return np.asarray(vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0.0)))


def _majorized(points: Numbers, distances: Numbers) -> Numbers:
    """Points of less stress: the sum of squared errors of all distances, near ones counting most."""
    apart = distances + np.eye(len(distances))
    weights = apart**-2.0
    np.fill_diagonal(weights, 0.0)
    # A constant added everywhere makes the matrix regular and changes nothing for points around zero.
    inverse = np.linalg.inv(np.diag(weights.sum(axis=1)) - weights + 1.0)
    for _ in range(_STRESS_ROUNDS):
        now = cdist(points, points)
        pull = -weights * distances / np.where(now > 0, now, np.inf)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        points = inverse @ (pull @ points)
    return points


def _upright(points: Numbers) -> Numbers:
    """The same drawing, its longest direction across the page and the sites declared last rather right and below."""
    centred = points - points.mean(axis=0)
    turned = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    later = np.arange(len(points)) ** 2.0 @ turned
    return np.asarray(turned * np.where(later < 0, -1.0, 1.0))


def _spacing(points: Numbers) -> Numbers:
    """How far any two points are apart in x or in y, whichever is more; a point is far from itself."""
    found = cdist(points, points, "chebyshev")
    np.fill_diagonal(found, np.inf)
    return np.asarray(found)


def _pushed_apart(points: Numbers) -> Numbers:
    """The points moved until any two of them are at least 1 apart in x or in y."""
    for _ in range(_PUSH_ROUNDS):
        one, other = np.nonzero(np.triu(_spacing(points) < 1.0))
        if len(one) == 0:
            return points
        gaps = points[one] - points[other]
        lacking = _ENOUGH - np.abs(gaps)
        # The shorter way out is taken, by both to one half; in each other's place, the later site goes on.
        lacking[np.arange(len(one)), lacking.argmax(axis=1)] = 0.0
        moves = np.where(gaps > 0, lacking, -lacking) / 2
        pushes = np.zeros((len(points), 3))
        np.add.at(pushes, one, np.column_stack([moves, np.ones(len(one))]))
        np.add.at(pushes, other, np.column_stack([-moves, np.ones(len(one))]))
        points = points + pushes[:, :2] / np.sqrt(np.maximum(1.0, pushes[:, 2:]))
    return points / min(1.0, float(_spacing(points).min()))


def _side_by_side(parts: Sequence[Numbers]) -> list[Numbers]:
    """Parts in rows from the largest to the smallest; a row ends where the map would get too wide."""
    sizes = [np.ptp(points, axis=0) + 1.0 for points in parts]
    widest = max((float(size[0]) for size in sizes), default=0.0)
    room = max(widest, float(np.sqrt(_LANDSCAPE * sum(float(size.prod()) for size in sizes))))
    found: list[Numbers] = list(parts)
    across, down, row = 0.0, 0.0, 0.0
    for number in _largest_first(sizes):
        width, height = map(float, sizes[number])
        if across > 0 and across + width > room:
            across, down, row = 0.0, down + row, 0.0
        found[number] = parts[number] - parts[number].min(axis=0) + (across, down)
        across, row = across + width, max(row, height)
    return found


def _largest_first(sizes: Sequence[Numbers]) -> Indices:
    return np.argsort([-float(size.prod()) for size in sizes], kind="stable")
