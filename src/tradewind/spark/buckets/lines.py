"""Values on straight lines between two points, as exact arithmetic rounded once to a double would give them.

Twice the precision of a double, with a bound on the error, decides nearly all of them; where the bound leaves two
answers, fractions decide.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as kinds

from tradewind.spark.buckets.arrays import Array, Flags, Ints, integers, known, numbers, unscaled

_Doubles = npt.NDArray[np.float64]
_WHOLE = 2**53
"""Doubles hold all whole numbers up to this."""
_SMALL, _LARGE = 1e-200, 1e200
"""Between these neither products nor their rounding errors leave the range of doubles."""
_ERROR = 2.0**-100
_SPLITTER = 2.0**27 + 1
_BLOCK = 2**14
"""So many values are worked on at once: what they need stays near the processor."""
_POWERS = 22
"""Powers of ten up to this one are doubles."""


class Stretch(NamedTuple):
    """Pairs of rows, the times of both, and a moment between them; the same row twice at its own time."""

    before: Ints
    after: Ints
    start: Ints
    end: Ints
    moment: Ints


class _Numbers(NamedTuple):
    """Numbers as doubles that are to be divided."""

    doubles: _Doubles
    divisor: int
    there: Flags
    """Which are not NULL,"""
    final: Flags
    """which need only be divided to be rounded right,"""
    fit: Flags
    """and which can be reckoned with."""
    finite: bool
    """Whether all are."""


def on_line(values: Array, at: Stretch) -> Array:
    """The value at each moment; NULL where a value that is needed is."""
    figures = _numbers(values)
    blocks = range(0, max(len(at.moment), 1), _BLOCK)
    parts = (Stretch(*(part[low : low + _BLOCK] for part in at)) for low in blocks)
    return pa.concat_arrays([_on_line(values, figures, part) for part in parts])


def _on_line(values: Array, figures: _Numbers, at: Stretch) -> Array:
    end = np.where(at.moment == at.start, at.before, at.after)
    result = figures.doubles.take(end) / float(figures.divisor)
    given, slow = figures.there.take(end), ~figures.final.take(end)
    places = np.flatnonzero((at.moment != at.start) & (at.moment != at.end))
    if len(places):
        inner = Stretch(*(part.take(places) for part in at))
        given[places] = figures.there.take(inner.before) & figures.there.take(inner.after)
        result[places], slow[places] = _between(figures, inner)
    rest = np.flatnonzero(slow & given)
    if len(rest):
        result[rest] = _by_fractions(values, Stretch(*(part.take(rest) for part in at)))
    result += 0.0
    result[np.isnan(result)] = np.nan
    return pa.array(result, mask=~given)


def _numbers(values: Array) -> _Numbers:
    there, divisor = known(values), 1
    exact = final = np.ones(len(there), dtype=np.bool_)
    if kinds.is_floating(values.type):
        doubles = numbers(values)
    elif kinds.is_integer(values.type):
        whole = integers(values)
        doubles, exact = whole.astype(np.float64), (whole >= -_WHOLE) & (whole <= _WHOLE)
    else:
        high, whole = unscaled(values)
        divisor = 10**values.type.scale
        doubles = whole.astype(np.float64)
        exact = (high == whole >> 63) & (whole >= -_WHOLE) & (whole <= _WHOLE)
        final = exact & (divisor <= 10**_POWERS)
    return _Numbers(doubles, divisor, there, final, exact & _moderate(doubles), bool(np.isfinite(doubles).all()))


def _between(figures: _Numbers, at: Stretch) -> tuple[_Doubles, Flags]:
    """The values strictly between two points, and where they are not certain."""
    old, new = figures.doubles.take(at.before), figures.doubles.take(at.after)
    with np.errstate(all="ignore"):
        value, certain = _interpolated(old, new, at, float(figures.divisor))
    certain &= figures.fit.take(at.before) & figures.fit.take(at.after)
    certain &= at.end - at.start <= _WHOLE // figures.divisor
    if figures.finite:
        return value, ~certain
    # With an infinity or NaN there is nothing exact to say.
    finite = np.isfinite(old) & np.isfinite(new)
    with np.errstate(all="ignore"):
        plain = old + (new - old) * ((at.moment - at.start) / (at.end - at.start))
    return np.where(finite, value, plain), finite & ~certain


def _moderate(values: _Doubles) -> Flags:
    size = np.abs(values)
    return np.asarray((size == 0) | ((size > _SMALL) & (size < _LARGE)))


def _interpolated(old: _Doubles, new: _Doubles, at: Stretch, divisor: float) -> tuple[_Doubles, Flags]:
    """(old * (end - moment) + new * (moment - start)) / (end - start), and where that is surely rounded right."""
    whole = (at.end - at.start).astype(np.float64) * divisor
    left, left_rest = _product(old, (at.end - at.moment).astype(np.float64))
    right, right_rest = _product(new, (at.moment - at.start).astype(np.float64))
    total, rest = _sum(left, right)
    rest = rest + (left_rest + right_rest)
    quotient = total / whole
    back, back_rest = _product(quotient, whole)
    value, tail = _sum(quotient, ((total - back) - back_rest + rest) / whole)
    error = (np.abs(left) + np.abs(right)) / whole * _ERROR
    nothing = (left == -right) & (left_rest == -right_rest)
    certain = (value + (tail - error) == value) & (value + (tail + error) == value)
    return np.where(nothing, 0.0, value), certain | nothing


def _sum(one: _Doubles, two: _Doubles) -> tuple[_Doubles, _Doubles]:
    """A sum and what rounding took from it (Knuth)."""
    found = one + two
    part = found - one
    return found, (one - (found - part)) + (two - part)


def _product(one: _Doubles, two: _Doubles) -> tuple[_Doubles, _Doubles]:
    """A product and what rounding took from it (Dekker)."""
    found = one * two
    one_high, one_low = _halves(one)
    two_high, two_low = _halves(two)
    return found, one_low * two_low - (((found - one_high * two_high) - one_low * two_high) - one_high * two_low)


def _halves(value: _Doubles) -> tuple[_Doubles, _Doubles]:
    wide = value * _SPLITTER
    high = wide - (wide - value)
    return high, value - high


def _by_fractions(values: Array, at: Stretch) -> list[float]:
    pairs = zip(values.take(pa.array(at.before)).to_pylist(), values.take(pa.array(at.after)).to_pylist(), strict=True)
    times = zip(at.start.tolist(), at.end.tolist(), at.moment.tolist(), strict=True)
    found = []
    for (old, new), (start, end, moment) in zip(pairs, times, strict=True):
        if moment in (start, end):
            found.append(float(old if moment == start else new))
        else:
            found.append(float(Fraction(old) + (Fraction(new) - Fraction(old)) * (moment - start) / (end - start)))
    return found
