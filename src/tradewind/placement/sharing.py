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
    weigh = _Weights(figures)
    gains = {pair: weigh.gain(*pair) for pair in combinations(clusters, 2)}
    made: list[Partials] = []
    while gains:
        pair = max(gains, key=lambda one: gains[one])
        common = wider(*pair) if gains[pair] > 0 else None
        if common is None:
            break
        made.append(common)
        clusters = [cluster for cluster in clusters if cluster not in pair]
        gains = {other: gain for other, gain in gains.items() if other[0] not in pair and other[1] not in pair}
        if common not in clusters:
            gains.update({(one, common): weigh.gain(one, common) for one in clusters})
            clusters.append(common)
    return [one for one in dict.fromkeys(made) if _serves(one, met) > 1]


class _Weights:
    """Bytes per second that partials send, and what two of them would save as one."""

    def __init__(self, figures: Figures) -> None:
        self.figures = figures
        self._known: dict[Partials, float] = {}

    def gain(self, one: Partials, other: Partials) -> float:
        """What common partials of two would save; nothing where there are none.

        Inputs are alike but for their rates, so the first stands for all.
        """
        common = wider(one.first, other.first) if len(one.parts) == len(other.parts) else None
        return self._of(one.first) + self._of(other.first) - self._of(common) if common is not None else 0.0

    def _of(self, one: Partials) -> float:
        if one not in self._known:
            self._known[one] = self.figures.flow(one.states(one.everything)).bytes_per_second
        return self._known[one]


def _serves(fine: Partials, met: Sequence[Partials]) -> int:
    return sum(one == fine or from_finer(one, fine, frozenset([0])) is not None for one in met)
