"""Partials that serve several queries: finer groups, shorter windows and more functions than any one of them needs.

Two aggregates over the same inputs may both be made of partials by the keys of both. Whether that pays depends on how
many groups there are then: pairs whose common partials are fewer bytes than both apart are put together, the best
first, as long as there are any. Placement then decides which query uses them, and where.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from tradewind.placement.reading import Figures
from tradewind.rewrites.partials import Partials, from_finer, wider


def shared_partials(met: Sequence[Partials], figures: Figures) -> list[Partials]:
    """Partials that would serve two or more of those that were met, and weigh less than these apart."""
    clusters = list(dict.fromkeys(met))
    weight = {one: _weight(one, figures) for one in clusters}
    made: list[Partials] = []
    while True:
        best: tuple[float, Partials, Partials, Partials] | None = None
        for one, other in combinations(clusters, 2):
            common = wider(one, other)
            if common is None:
                continue
            if common not in weight:
                weight[common] = _weight(common, figures)
            gain = weight[one] + weight[other] - weight[common]
            if gain > 0 and (best is None or gain > best[0]):
                best = gain, one, other, common
        if best is None:
            return [one for one in made if one not in met and _serves(one, met) > 1]
        _, one, other, common = best
        clusters = [cluster for cluster in clusters if cluster not in (one, other)]
        if common not in clusters:
            clusters.append(common)
        made.append(common)


def _serves(fine: Partials, met: Sequence[Partials]) -> int:
    return sum(from_finer(one, fine, frozenset([0])) is not None for one in met)


def _weight(one: Partials, figures: Figures) -> float:
    """Bytes per second that leave all inputs."""
    return sum(figures.flow(one.states(frozenset([number]))).bytes_per_second for number in one.everything)
