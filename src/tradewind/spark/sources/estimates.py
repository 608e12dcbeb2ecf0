"""How many values a column has and how skewed they are, estimated from some of its rows.

A sample of n rows shows d values, but not those that it missed. What it does show is how quickly new values turn up: of
m of its rows, how many values are expected (`_thinned`), for m from a few up to n. Two ways lead from there to the
values of all rows:

- Zipf's law is all that planning knows of skew, so the law whose own curve (`cost.groups`) lies closest is looked for.
  Where it lies close it tells both figures, and hits the number of values within a few percent.
- Where it does not, its guess at what was not seen is worth nothing. Then Chao's estimator for rows drawn without
  replacement (Chao and Lin, 2012) is taken: it asks for no law, it only counts the values that were seen once and
  twice, it is a bound from below, and it is exact at both ends: when all rows were seen, and when no value repeats. The
  skew is the one whose curve comes closest with so many values.

A sample consists of runs: rows that follow one another. Where a run repeats values more than rows picked from all over
its origin do, keys come and go; then the skew is the one that gives as many values in a run as were found there,
because what is planned is batches, and those are runs too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from tradewind.cost.groups import spectrum

Numbers = NDArray[np.float64]
Codes = NDArray[np.int64]
"""Values as numbers: equal ones for equal values."""

_STEP = 4
"""A curve has a point at the whole sample, at a quarter of it, and so on,"""
_FEWEST = 16
"""down to so many rows."""
_ENOUGH = 100
"""Fewer rows tell nothing of a skew."""
_STEEPEST = 8.0
_EVEN = 0.1
"""What is less skewed is even: a sample does not tell the two apart."""
_CLOSE = 0.02
"""A law fits whose curve is no farther off, as a share: 119 of 120 samples that were drawn by laws were closer."""
_LOCAL = 0.9
"""Runs that have a smaller share of the values of as many rows from all over are repetitive."""


class Spread(NamedTuple):
    """How many values a column has, and the exponent of Zipf's law that they follow; 0 is even."""

    values: float
    skew: float


class _Curve(NamedTuple):
    """How many values are expected among how many rows."""

    rows: Numbers
    values: Numbers


def spread(origins: Sequence[Sequence[pa.ChunkedArray]], rows: float, known: float | None = None) -> Spread | None:
    """The spread of a column that has so many rows in all, by runs of it from each origin; NULLs are no values.

    The number of its values may be known. None for a column of which no value was seen.
    """
    coded = _coded(origins)
    counts = _counts([run for runs in coded for run in runs])
    seen = sum(len(run) for runs in origins for run in runs)
    size = int(counts.sum())
    if not size:
        return None
    total = max(float(size), rows * size / seen)
    least = _chao(counts, total)
    if size < _ENOUGH or len(counts) in (1, size):
        return Spread(least if known is None else known, 0.0)
    curve = _thinned(counts, size)
    values = known
    if values is None:
        values = _lawful(curve, least, total) if (counts == 1).any() else None
    if values is None:
        values = least
    local = _locality(coded)
    if local is not None:
        curve = _Curve(local.rows, local.values * _met(counts, local.rows))
    skew, _ = _skew(values, curve)
    return Spread(values, skew if skew >= _EVEN else 0.0)


def _coded(origins: Sequence[Sequence[pa.ChunkedArray]]) -> list[list[Codes]]:
    chunks = [chunk for runs in origins for run in runs for chunk in run.chunks]
    together = pa.chunked_array(chunks, type=chunks[0].type if chunks else pa.null()).combine_chunks()
    numbers = together.dictionary_encode().indices
    found: list[list[Codes]] = []
    start = 0
    for runs in origins:
        found.append([])
        for run in runs:
            own = numbers.slice(start, len(run)).drop_null()
            found[-1].append(own.to_numpy(zero_copy_only=False).astype(np.int64))
            start += len(run)
    return found


def _counts(runs: Sequence[Codes]) -> Codes:
    """How often each value that was seen was seen."""
    every = np.concatenate(runs) if runs else np.zeros(0, np.int64)
    found: Codes = np.bincount(every)
    return found[found > 0]


def _chao(counts: Codes, rows: float) -> float:
    """The number of values in all rows, at least."""
    size, once, twice = float(counts.sum()), float((counts == 1).sum()), float((counts == 2).sum())
    share = size / rows
    if not once or share >= 1:
        return float(len(counts))
    again = 2 * twice * size / max(1.0, size - 1) + once * share / (1 - share)
    # Of few values that were seen once, and none or one twice, the usual correction for small numbers makes less.
    missed = min(once * once / again, once * (once - 1) / (2 * (twice + 1)))
    return min(rows, len(counts) + missed)


def _thinned(counts: Codes, size: int) -> _Curve:
    sizes = [float(size)]
    while sizes[-1] >= _STEP * _FEWEST:
        sizes.append(math.floor(sizes[-1] / _STEP))
    rows = np.array(sizes)
    return _Curve(rows, _met(counts, rows))


def _met(counts: Codes, rows: Numbers) -> Numbers:
    """How many values are expected among some of the rows that were counted, picked at random."""
    often, values = np.unique(counts, return_counts=True)
    size = float(counts.sum())
    left = size - often[None, :] - rows[:, None]  # of the other values' rows, when some are picked and none is its own
    possible = left >= 0
    ways = gammaln(size - often + 1)[None, :] - gammaln(np.where(possible, left, 0.0) + 1)
    all_ways = gammaln(size + 1) - gammaln(size - rows + 1)
    missed = np.where(possible, np.exp(ways - all_ways[:, None]), 0.0)
    found: Numbers = (values[None, :] * (1 - missed)).sum(axis=1)
    return found


def _lawful(curve: _Curve, least: float, most: float) -> float | None:
    """The number of values of the law whose curve lies closest; None if none with so many at least lies close."""

    def far(scale: float) -> float:
        return _skew(math.exp(scale), curve, 0.01)[1]

    bounds = (math.log(least), math.log(max(most, least + 1.0)))
    found = minimize_scalar(far, bounds=bounds, method="bounded", options={"xatol": 0.03})
    return math.exp(found.x) if found.fun <= _CLOSE else None


def _skew(values: float, curve: _Curve, within: float = 0.001) -> tuple[float, float]:
    """The skew with which so many values come closest to a curve, and how far off that is."""
    wanted = np.log(curve.values)
    # Of a hundred values one may be missing by chance: small numbers count less.
    weights = np.minimum(curve.values, 10_000.0)
    weights /= weights.sum()

    def far(skew: float) -> float:
        law = spectrum(max(1.0, values), skew)
        found = np.log([max(law.groups(rows), 1e-9) for rows in curve.rows])
        return math.sqrt(float(weights @ (found - wanted) ** 2))

    found = minimize_scalar(far, bounds=(0.0, _STEEPEST), method="bounded", options={"xatol": within})
    return float(found.x), float(found.fun)


def _locality(origins: Sequence[Sequence[Codes]]) -> _Curve | None:
    """Which share of the values of rows from all over its origin a run has, for some lengths; None if about all."""
    lengths = [len(run) for runs in origins for run in runs if len(runs) > 1]
    longest = int(np.median(lengths)) if lengths else 0
    if longest < _ENOUGH:
        return None
    rows = np.array([longest, longest // _STEP, longest // _STEP**2], float)
    shares = [_share(runs, rows) for runs in origins if sum(len(run) >= longest for run in runs) > 1]
    if not shares:
        return None
    mean = np.mean(shares, axis=0)
    return _Curve(rows, mean) if mean[0] < _LOCAL else None


def _share(runs: Sequence[Codes], rows: Numbers) -> Numbers:
    long = [run for run in runs if len(run) >= rows[0]]
    own = np.array([[len(np.unique(run[: int(some)])) for some in rows] for run in long]).mean(axis=0)
    found: Numbers = own / _met(_counts(runs), rows)
    return found
