"""How many groups each round of a threshold top sends (see `rewrites.rounds`), from the number and skew of its keys.

Rows draw their keys at random: of a key of probability p an input with n rows has Poisson's number, n·p in the mean. A
sum is taken for a count, as only what groups have beside one another matters. The k-th greatest sum of round 1 is that
of the k-th key, as far as inputs have it among their own first k, and no less than what some input's own k-th has by
chance. Inputs then send the keys that reach the threshold, be it by luck.

Where a few keys have most rows and inputs are alike, all inputs have the same first keys, and hardly more than k reach
the threshold. Where keys are alike, or inputs have few rows of each, the threshold is one row or two, and nearly all is
sent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import mul

import numpy as np
from scipy.special import gammainc, ndtr

from tradewind.cost.groups import Numbers, Spectrum, spectrum

ENDLESS = 1e12
"""A column in which every row has its own value counts as one with so many."""
_HALVINGS = 16
"""So often the interval in which the k-th greatest value lies is halved."""


@dataclass(frozen=True, slots=True)
class Expected:
    """How many groups of a window are sent because of its newest rows."""

    sent: tuple[float, ...]
    """Round 2, by each input: those that reach the threshold."""
    seen: float
    """The different ones among them."""
    candidates: float
    """All candidates, whether there are new rows of them or not."""
    exact: tuple[float, ...]
    """Round 3, by each input: the candidates that it has."""
    rows: tuple[float, ...]
    """All rows of the candidates at each input."""


@lru_cache(maxsize=1024)
def expected_rounds(
    rows: tuple[float, ...], keys: tuple[tuple[float, float], ...], k: int, news: float = 1.0
) -> Expected:
    """The groups of a window with so many rows at each input, a share of them new, by keys of (values, skew).

    >>> found = expected_rounds((60_000.0, 60_000.0), ((1e6, 1.1),), 10)
    >>> round(found.sent[0]), round(found.candidates)
    (10, 11)
    >>> round(expected_rounds((60_000.0, 60_000.0), ((1e9, 0.0),), 10).sent[0])  # hardly a key comes twice
    59998
    """
    spread = _ordered(reduce(mul, (spectrum(min(values, ENDLESS), skew) for values, skew in keys)))
    kinds = sorted(set(rows))
    inputs = _Inputs(spread, np.array(kinds), np.array([rows.count(n) for n in kinds], dtype=float), k)
    threshold = inputs.threshold()
    found = inputs.second(threshold, news)
    place = {n: number for number, n in enumerate(kinds)}

    def each(numbers: Numbers) -> tuple[float, ...]:
        return tuple(float(numbers[place[n]]) for n in rows)

    return Expected(each(found.sent), found.seen, found.candidates, each(found.exact), each(found.rows))


def _ordered(whole: Spectrum) -> Spectrum:
    """The likeliest values first."""
    order = np.argsort(-whole.chances, kind="stable")
    return Spectrum(whole.chances[order], whole.counts[order])


def _at_least(least: float, mean: Numbers) -> Numbers:
    """The probability that Poisson's number of the mean is so great."""
    found: Numbers = gammainc(least, mean) if least > 0 else np.ones_like(mean)
    return found


def _kth(k: int, high: float, number: Callable[[float], float]) -> float:
    """The greatest value that k reach, of which `number` says how many reach it; zero where fewer reach one."""
    if number(1.0) < k:
        return 0.0
    low = 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if number(middle) >= k else (low, middle)
    return low


@dataclass(frozen=True, slots=True)
class _Second:
    """What comes of a threshold: by each kind of input, and by all."""

    sent: Numbers
    seen: float
    candidates: float
    exact: Numbers
    rows: Numbers


@dataclass(frozen=True, eq=False, slots=True)
class _Sum:
    """For each key, the sum of what all inputs have: nearly normal."""

    mean: Numbers
    spread: Numbers

    def reaches(self, value: float) -> Numbers:
        """The probability that it is so great."""
        found: Numbers = ndtr((self.mean - value + 0.5) / self.spread)
        return found


@dataclass(frozen=True, eq=False, slots=True)
class _Inputs:
    """Kinds of inputs by the number of their rows, how many there are of each kind, and their keys."""

    keys: Spectrum
    rows: Numbers
    many: Numbers
    k: int

    @property
    def means(self) -> Numbers:
        """How many rows of each key (column) each kind (row) has in the mean."""
        return np.multiply.outer(self.rows, self.keys.chances)

    def threshold(self) -> float:
        """What an input must have of a group to send it in round 2."""
        means, counts = self.means, self.keys.counts
        own = np.array([self._own_kth(mean) for mean in means])
        given = self.many @ np.array([m * _at_least(t - 1, m) for m, t in zip(means, own, strict=True)])
        place = int(np.searchsorted(np.cumsum(counts), self.k - 1e-9))
        if place >= len(given):
            return 0.0
        return math.ceil(max(float(given[place]), float(own.max())) / float(self.many.sum()))

    def _own_kth(self, means: Numbers) -> float:
        """What an input has of its own k-th group, in which luck has its part."""
        likeliest = float(means[0])
        high = likeliest + 8 * math.sqrt(likeliest) + 12
        return math.floor(_kth(self.k, high, lambda least: float(self.keys.counts @ _at_least(least, means))))

    def _sum(self, means: Numbers, squares: Numbers) -> _Sum:
        """The sum over all inputs of something with such means and mean squares."""
        return _Sum(self.many @ means, np.sqrt(np.maximum(self.many @ (squares - means**2), 1e-9)))

    def second(self, threshold: float, news: float) -> _Second:
        """What reaches the threshold, and who is a candidate then."""
        means, counts, least = self.means, self.keys.counts, max(1.0, threshold)
        sends, misses = _at_least(least, means), least - 1
        # Mean and mean square of what is given of a key; and of that with what may be missing.
        given = means * _at_least(least - 1, means)
        squares = given + means**2 * _at_least(least - 2, means)
        most, most_squares = given + misses * (1 - sends), squares + misses**2 * (1 - sends)
        sent_at_all = -np.expm1(self.many @ np.log1p(-np.minimum(sends, 1 - 1e-12)))
        sure, most_sure = self._sum(given, squares), self._sum(most, most_squares)
        high = float((sure.mean + 8 * sure.spread).max()) + 1.0
        enough = _kth(self.k, high, lambda value: float((counts * sent_at_all) @ sure.reaches(value)))
        chosen = sent_at_all * (most_sure.reaches(enough) if enough > 0 else 1.0)
        seen = float(counts @ sent_at_all)
        chosen *= max(1.0, min(seen, float(self.k)) / max(float(counts @ chosen), 1e-9))
        fresh = -np.expm1(-means * news)
        return _Second(
            np.minimum(sends, fresh) @ counts,
            seen,
            float(counts @ chosen),
            np.minimum(chosen, fresh) @ counts,
            (chosen * means) @ counts,
        )
