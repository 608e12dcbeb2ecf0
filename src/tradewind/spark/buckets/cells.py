"""Value windows that values lie in: each value once for each window, and the windows' bounds as values of the type."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as kinds

from tradewind.algebra.windows import ValueWindow
from tradewind.spark.buckets.arrays import Array, Flags, Ints, integers, known, numbers, unscaled

_Values = npt.NDArray[Any]
"""Numbers of machine size, or Python's own where these could overflow: the same operations do for both."""
_WIDE = 2**62
_EXACT = 2**52
_DIGITS = Context(prec=100)


class Cells(NamedTuple):
    """Which windows which rows lie in."""

    row: Ints
    number: Ints
    """Equal for rows of the same window. Far from zero, windows of fractions begin at the same number and are one."""
    start: _Values
    end: _Values

    def bounds(self, chosen: Ints, kind: Array) -> Array:
        """The windows of some cells as a column; a bound that the type cannot hold is NULL."""
        both = [_held(part[chosen], kind) for part in (self.start, self.end)]
        return pa.StructArray.from_arrays(both, ["start", "end"])


def cells(values: Array, window: ValueWindow) -> Cells:
    """The windows that values lie in; NULL, NaN and infinities lie in none."""
    if kinds.is_floating(values.type):
        return _fractions(values, window)
    scale = 10**values.type.scale if kinds.is_decimal(values.type) else 1
    step, size = int(window.step) * scale, int(window.size) * scale
    rows = np.flatnonzero(known(values))
    found = _whole(values, (_many(window) + 2) * step + size)[rows]
    highest = found // step
    return _cells(rows, found, highest, _many(window), (step, size))


def home(values: Array, window: ValueWindow) -> Ints:
    """The number of the only window that each value lies in, where windows are exact and do not overlap.

    Numbers beyond 64 bits are wrapped round, so windows may share one, but a window never has two.
    """
    step = int(window.step) * (10**values.type.scale if kinds.is_decimal(values.type) else 1)
    found = _whole(values, step) // step
    if found.dtype == object:
        found = np.array([(one + 2**63) % 2**64 - 2**63 for one in found], dtype=np.int64)
    return found


def _many(window: ValueWindow) -> int:
    return math.ceil(window.size / window.step)


def _whole(values: Array, reach: int) -> _Values:
    """Whole numbers, decimals without their point; as Python's own if a window could reach beyond 64 bits."""
    if kinds.is_decimal(values.type):
        high, low = unscaled(values)
        if not np.array_equal(high, low >> 63):
            return np.array([int(a) * 2**64 + (int(b) & (2**64 - 1)) for a, b in zip(high, low, strict=True)], object)
        found = low
    else:
        found = integers(values)
    widest = max(abs(int(found.min())), abs(int(found.max()))) if len(found) else 0
    return found if widest + reach < _WIDE else found.astype(object)


def _fractions(values: Array, window: ValueWindow) -> Cells:
    found = numbers(values)
    with np.errstate(over="ignore"):
        ratio = found / window.step
    rows = np.flatnonzero(known(values) & np.isfinite(ratio))
    found, ratio = found[rows], ratio[rows]
    highest: _Values = np.floor(ratio)
    if (np.abs(ratio) > _EXACT).any():
        highest = np.array([math.floor(one) for one in ratio.tolist()], object)
    return _cells(rows, found, highest, _many(window), (window.step, window.size))


def _cells(rows: Ints, values: _Values, highest: _Values, many: int, lengths: tuple[float, float]) -> Cells:
    """The candidates from the highest window down, and those of them that hold the value."""
    step, size = lengths
    found: list[tuple[Ints, _Values, _Values, _Values]] = []
    for number in (highest - lower for lower in range(many + 1)):
        start = number * step if values.dtype != np.float64 else _near(number, step)
        end = start + size
        inside: Flags = ((start <= values) & (values < end)).astype(np.bool_)
        found.append((rows[inside], number[inside], start[inside], end[inside]))
    row, numbered, start, end = (np.concatenate(parts) for parts in zip(*found, strict=True))
    if start.dtype == np.float64:
        numbered = start.view(np.int64)
    elif numbered.dtype == object:
        numbered = np.unique(numbered, return_inverse=True)[1]
    return Cells(row, numbered, start, end)


def _near(number: _Values, step: float) -> npt.NDArray[np.float64]:
    """Multiples of a step as doubles, rounded once."""
    if number.dtype != object:
        return np.asarray(number * step + 0.0)
    found = np.empty(len(number))
    for place, one in enumerate(number):
        try:
            found[place] = one * step + 0.0
        except OverflowError:
            found[place] = math.copysign(math.inf, one)
    return found


def _held(bounds: _Values, kind: Array) -> Array:
    if kinds.is_floating(kind):
        return pa.array(bounds.astype(np.float64)).cast(kind)
    if kinds.is_decimal(kind):
        return _held_decimals(bounds, kind)
    whole = pa.int32() if kinds.is_date32(kind) else kind if kinds.is_integer(kind) else pa.int64()
    half = 2 ** (whole.bit_width - 1)
    fits = ((bounds >= -half) & (bounds < half)).astype(np.bool_)
    return pa.array(np.where(fits, bounds, 0).astype(np.int64), mask=~fits).cast(whole).cast(kind)


def _held_decimals(bounds: _Values, kind: Array) -> Array:
    limit = 10**kind.precision
    if bounds.dtype == object:
        scaled = [_DIGITS.scaleb(Decimal(one), -kind.scale) if abs(one) < limit else None for one in bounds]
        return pa.array(scaled, kind)
    digits = np.stack([bounds, bounds >> 63], axis=1)
    fits = np.packbits(np.abs(bounds) < min(limit, _WIDE), bitorder="little")
    return pa.Array.from_buffers(kind, len(bounds), [pa.py_buffer(fits.tobytes()), pa.py_buffer(digits.tobytes())])
