"""How many different groups are met among a number of rows.

A column's values are drawn at random, each with its own probability. A `Spectrum` says how many values have which
probability: one entry for a uniform column, and for one that follows Zipf's law one entry for each of the first ranks
and one for each geometric bin of the ranks behind them. Columns that are grouped by together are independent: their
spectra multiply. Of n rows, a value of probability p is met with probability 1 - (1 - p)^n, and the sum over all values
is the expected number of groups.

Rows of several sites that draw from the same values are just more rows: their merged groups are those of the rows added
up, which are no more than the sum of each site's groups and no fewer than the most of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tradewind.errors import InputError

EXACT = 2048
"""So many ranks of Zipf's law are taken one by one; those behind are put into bins."""
_GROWTH = 1.02
"""Each bin of ranks is wider than the one before by this factor: within one, probabilities differ by 2 % at most."""
_BINS = 1024
"""A product of spectra has at most so many entries."""
_FACTOR_BINS = 256
"""Spectra of more entries are put into so many before they are multiplied."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Spectrum:
    """How many values have which probability; `counts` times `chances` add up to one."""

    chances: Numbers
    counts: Numbers

    @property
    def values(self) -> float:
        """How many values there are."""
        return float(self.counts.sum())

    def groups(self, rows: float) -> float:
        """How many different values are expected among so many rows: at most the rows, at most the values."""
        if rows <= 0:
            return 0.0
        with np.errstate(divide="ignore"):  # a single value has probability one, and is surely met
            met = -np.expm1(rows * np.log1p(-self.chances))
        return min(float(rows), float(self.counts @ met), self.values)

    def sizes(self, rows: float) -> list[tuple[float, float]]:
        """How groups of so many rows differ: shares of the groups, each with the rows that such a group has."""
        with np.errstate(divide="ignore"):
            met = -np.expm1(rows * np.log1p(-self.chances)) * self.counts
        each = np.divide(rows * self.chances * self.counts, met, out=np.ones_like(met), where=met > 0)
        steps = np.floor(np.log2(np.maximum(each, 1.0)) * 2).astype(np.int64)
        groups, drawn = np.bincount(steps, met), np.bincount(steps, each * met)
        return [(float(n / met.sum()), float(r / n)) for n, r in zip(groups, drawn, strict=True) if n > 0]

    @property
    def bits(self) -> float:
        """The entropy of a value: how many bits it takes at least to say which one was drawn."""
        return max(0.0, -float((self.counts * self.chances) @ np.log2(self.chances)))

    def __mul__(self, other: Spectrum) -> Spectrum:
        """The spectrum of pairs of independent values."""
        few = len(self.chances) == 1 or len(other.chances) == 1
        one, two = (self, other) if few else (_binned(self, _FACTOR_BINS), _binned(other, _FACTOR_BINS))
        chances = np.multiply.outer(one.chances, two.chances).ravel()
        counts = np.multiply.outer(one.counts, two.counts).ravel()
        found = Spectrum(chances, counts)
        return found if few else _binned(found, _BINS)


def _binned(whole: Spectrum, size: int) -> Spectrum:
    """Fewer entries: values of like probability share their mean, so that values and total probability stay."""
    if len(whole.chances) <= size:
        return whole
    scale = np.log(whole.chances)
    low, high = float(scale.min()), float(scale.max())
    bins = np.minimum(((scale - low) * (size / (high - low))).astype(np.int64), size - 1)
    number: Numbers = np.bincount(bins, whole.counts, size).astype(float)
    weight = np.bincount(bins, whole.counts * whole.chances, size)
    some = number > 0
    return Spectrum(weight[some] / number[some], number[some])


@lru_cache(maxsize=512)
def spectrum(values: float, skew: float = 0.0) -> Spectrum:
    """The spectrum of a column: uniform without skew, else Zipf's law: the k-th value is drawn in proportion to
    k^-skew.
    """
    if not values >= 1 or math.isinf(values):
        raise InputError(f"a column has at least one value and finitely many, not {values:g}.")
    if not 0 <= skew < 20:
        raise InputError(f"a skew lies between 0 (uniform) and 20, not {skew:g}.")
    if skew == 0 or values < 2:
        return Spectrum(np.array([1.0 / values]), np.array([float(values)]))
    ranks = np.arange(1, min(int(values), EXACT) + 1, dtype=float)
    weights, counts = ranks**-skew, np.ones(len(ranks))
    if values > EXACT:
        steps = math.ceil(math.log(values / EXACT) / math.log(_GROWTH))
        ends = np.unique(np.floor(EXACT * (values / EXACT) ** (np.arange(steps + 1) / steps)))
        behind = np.diff(ends)
        # The sum over ranks a+1 … b is the integral from a+½ to b+½, but for a share of 1 in EXACT².
        total = np.diff(_integral(ends + 0.5, skew))
        weights, counts = np.concatenate([weights, total / behind]), np.concatenate([counts, behind])
    return Spectrum(weights / float(weights @ counts), counts)


def _integral(at: Numbers, skew: float) -> Numbers:
    found: Numbers = np.log(at) if abs(skew - 1) < 1e-9 else at ** (1 - skew) / (1 - skew)
    return found


@lru_cache(maxsize=512)
def _together(columns: tuple[tuple[float, float], ...]) -> Spectrum:
    # Uniform columns multiply to a uniform one: they cost nothing, whatever their number.
    even = math.prod(values for values, skew in columns if skew == 0)
    whole = spectrum(min(even, 1e300))
    for values, skew in columns:
        if skew > 0:
            whole = whole * spectrum(values, skew)
    return whole


def expected_groups(rows: float, columns: Sequence[tuple[float, float]]) -> float:
    """How many different groups so many rows have, grouped by columns of (number of values, skew).

    Without columns all rows are one group. A column with infinitely many values keeps every row apart.

    >>> round(expected_groups(100, [(100, 0.0)]), 1), expected_groups(100, []), expected_groups(100, [(math.inf, 0.0)])
    (63.4, 1.0, 100.0)
    """
    if any(math.isinf(values) for values, _ in columns):
        return max(0.0, float(rows))
    return _together(tuple(sorted((float(values), float(skew)) for values, skew in columns))).groups(rows)


def group_sizes(rows: float, columns: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Shares of the groups of so many rows, each with the rows that a group of that share has."""
    if rows <= 0 or any(math.isinf(values) for values, _ in columns):
        return [(1.0, min(1.0, max(0.0, rows)))]
    return _together(tuple(sorted((float(values), float(skew)) for values, skew in columns))).sizes(rows)


@lru_cache(maxsize=4096)
def bits_of(values: float, skew: float = 0.0) -> float:
    """The entropy of a column's values in bits."""
    return spectrum(values, skew).bits
