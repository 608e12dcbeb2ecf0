"""Net utility: what answers are worth, which falls as they come later, minus what they cost.

After Seshadri et al.: benefit and cost are in one unit of value, here dollars in an hour, so that a faster and dearer
plan is chosen exactly where its answers are worth more by at least what it costs more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

import numpy as np

from tradewind.errors import InputError, unknown

WORTHLESS_AFTER = 3.0
"""By default an answer is worth nothing from so many times its wished freshness on."""


@dataclass(frozen=True, slots=True)
class Benefit:
    """What a query's answers are worth in an hour, by their response time: straight lines between points.

    Points are (milliseconds, value), the earliest first; before the first and after the last the value stays.
    """

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        if not self.points:
            raise InputError("a benefit needs a point.", hint="for example [[1000, 5.0], [3000, 0]].")
        if not all(isfinite(number) for point in self.points for number in point):
            raise InputError("the points of a benefit must be finite numbers.")
        for (earlier, more), (later, less) in pairwise(self.points):
            if later <= earlier:
                raise InputError(
                    f"the points of a benefit must come later and later: {later:g} ms after {earlier:g} ms.",
                    hint="give each response time once, the smallest first.",
                )
            if less > more:
                raise InputError(
                    f"an answer after {later:g} ms would be worth more than one after {earlier:g} ms.",
                    hint="values must not rise with the response time.",
                )

    @staticmethod
    def of_wishes(fresh_within_ms: float | None, priority: float = 1.0) -> Benefit:
        """The default: `priority` dollars in an hour up to the wished freshness, nothing from three times that on.

        Without a wish the response time does not matter.
        """
        if fresh_within_ms is None:
            return Benefit(((0.0, priority),))
        return Benefit(((fresh_within_ms, priority), (WORTHLESS_AFTER * fresh_within_ms, 0.0)))

    def after(self, response_ms: float) -> float:
        """What answers are worth that come so late.

        >>> Benefit.of_wishes(100.0, priority=4.0).after(200.0)
        2.0
        """
        times, values = zip(*self.points, strict=True)
        return float(np.interp(response_ms, times, values))


def net_utility(benefits: Mapping[str, Benefit], response_ms: Mapping[str, float], cost: float) -> float:
    """The benefits of all queries at their response times, minus what they cost together."""
    missing = [query for query in response_ms if query not in benefits]
    if missing:
        raise unknown("benefit of query", missing[0], benefits)
    return sum(benefits[query].after(ms) for query, ms in response_ms.items()) - cost
