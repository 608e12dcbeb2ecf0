"""Numbers for the groups that a batch touches, by the exact values of their key columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from tradewind.spark.buckets.arrays import Array, Flags, Ints, column, integers, known, numbers, plain_zero

_SPARSE = 4
"""Whole numbers are their own codes as long as their range is at most so many times as wide as there are rows."""


class _Coded:
    """Codes of one column's values."""

    def __init__(self, leaf: Array) -> None:
        encoded = leaf.dictionary_encode(null_encoding="encode")
        self.codes = integers(encoded.indices)
        self._values = encoded.dictionary
        self.count = len(self._values)

    def find(self, leaf: Array) -> Ints:
        """The codes of other values; -1 for those that are not among these."""
        return integers(pc.index_in(leaf, value_set=self._values), missing=-1)


class _Ranged:
    """Whole numbers in a narrow range, where the number itself is the code; 0 is for NULL."""

    def __init__(self, low: int, high: int, leaf: Array) -> None:
        self._low, self._high = low, high
        self.count = high - low + 2
        self._present = np.zeros(self.count, dtype=np.bool_)
        self.codes = self._coded(leaf, integers(leaf))
        self._present[self.codes] = True

    def _coded(self, leaf: Array, values: Ints) -> Ints:
        codes = values - (self._low - 1)
        return np.where(known(leaf), codes, 0) if leaf.null_count else codes

    def find(self, leaf: Array) -> Ints:
        """As above."""
        values = integers(leaf)
        inside = (values >= self._low) & (values <= self._high)
        codes = self._coded(leaf, np.where(inside, values, self._low))
        return np.where((inside | ~known(leaf)) & self._present[codes], codes, -1)


def _coded(leaf: Array) -> _Coded | _Ranged:
    if kinds.is_integer(leaf.type) and len(leaf) > leaf.null_count:
        bounds = pc.min_max(leaf)
        low, high = bounds["min"].as_py(), bounds["max"].as_py()
        if high - low < _SPARSE * len(leaf) and low > -(2**62) and high < 2**62:
            return _Ranged(low, high, leaf)
    return _Coded(leaf)


class Groups:
    """The groups of some rows, told by all columns of a table, each with a number below `count`."""

    def __init__(self, touching: Array) -> None:
        self._steps: list[tuple[_Coded | _Ranged, _Coded | _Ranged | None]] = []
        codes, self.count = np.zeros(0, dtype=np.int64), 0
        for leaf in _leaves(touching):
            one = _coded(leaf)
            if not self._steps:
                codes, self.count = one.codes, one.count
                self._steps.append((one, None))
                continue
            both = _coded(pa.array(codes * one.count + one.codes))
            codes, self.count = both.codes, both.count
            self._steps.append((one, both))
        self.codes = codes
        """The groups of the rows that the numbers were made for."""

    def find(self, table: Array) -> Ints:
        """The groups of other rows; -1 for groups that are not among these."""
        places, codes = np.arange(table.num_rows), np.zeros(table.num_rows, dtype=np.int64)
        for (one, both), leaf in zip(self._steps, _leaves(table), strict=True):
            # Most rows of other groups are known by their first key: only the rest is looked at further.
            found = one.find(leaf if len(places) == len(leaf) else leaf.take(pa.array(places)))
            if both is not None:
                found = both.find(pa.array(np.where(found < 0, -1, codes * one.count + found)))
            kept = np.flatnonzero(found >= 0)
            places, codes = places.take(kept), found.take(kept)
        result = np.full(table.num_rows, -1)
        result[places] = codes
        return result

    def flags(self, codes: Ints) -> Flags:
        """Which groups are among the given ones."""
        found = np.zeros(self.count, dtype=np.bool_)
        found[codes] = True
        return found


def keys_of(table: Array, keys: Sequence[str]) -> Array:
    """The key columns alone, under names that two inputs share. Without keys all rows are one group."""
    columns = [column(table, key) for key in keys] or [pa.nulls(table.num_rows)]
    return pa.table(dict(zip(map(str, range(len(columns))), columns, strict=True)))


def _leaves(table: Array) -> list[Array]:
    return [leaf for name in table.column_names for leaf in _parts(column(table, name))]


def _parts(array: Array) -> list[Array]:
    """Arrays without parts that are equal exactly where the given one is."""
    kind = array.type
    if kinds.is_floating(kind):
        return [pa.array(numbers(array).view(np.int64), mask=~known(array))]
    if kinds.is_struct(kind):
        return [array.is_valid(), *(part for inner in array.flatten() for part in _parts(inner))]
    if kinds.is_list(kind) or kinds.is_large_list(kind):
        # Rare, so plain: a text for each list tells it from all others.
        return [pa.array([None if one is None else repr(one) for one in plain_zero(array).to_pylist()], pa.string())]
    return [array]
