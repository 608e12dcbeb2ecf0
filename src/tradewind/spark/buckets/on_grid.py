"""Resample on a grid: a group's values at every multiple of a length of time, from its first row to its last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tradewind.algebra.operators.ordered import Resample
from tradewind.spark.buckets.arrays import FOREVER, Array, Ints, column
from tradewind.spark.buckets.gathering import Gathering, Opened, Ordering, names_of, plain
from tradewind.spark.buckets.lines import Stretch
from tradewind.spark.buckets.operator import DUE, WEIGHT, Moment, State
from tradewind.spark.buckets.samples import consolidated, followers, samples, spread, values_at

_ABSENT = -2


@dataclass(frozen=True)
class GridResampler:
    """The values on the grid. Two neighbouring samples decide the points from the first up to the second."""

    rows: Gathering
    values: tuple[str, ...]
    method: str
    every: int
    max_gap: int | None

    @classmethod
    def of(cls, node: Resample) -> GridResampler:
        """The resampler of a node that has a grid."""
        schema = node.input.schema
        rows = Gathering(names_of(schema, node.keys), Ordering.of(schema, str(schema.time)))
        return cls(rows, names_of(schema, node.values), node.method, node.every or 1, node.max_gap)

    def advance(self, state: State, news: Sequence[Array], moment: Moment) -> tuple[Array, State]:
        """The points that come and go, and what to remember."""
        given = self.rows.opened(state, plain(news[0], self.rows.order.column), moment)
        merged = given.merged
        before, after = samples(merged, merged.old), samples(merged, merged.new)
        ends = np.full((2, len(merged.rows)), _ABSENT)
        ends[0, before] = self._linked(given, before)
        ends[1, after] = self._linked(given, after)
        changed = ends[0] != ends[1]
        old = np.flatnonzero(changed & (ends[0] != _ABSENT))
        new = np.flatnonzero(changed & (ends[1] != _ABSENT))
        table = self._points(given, np.concatenate([old, new]), np.concatenate([ends[0, old], ends[1, new]]), len(old))
        until = spread(merged, after, self._until(given, after), given.settle)
        return table, given.closed(until, np.zeros(len(until), dtype=np.bool_))

    def _linked(self, given: Opened, chosen: Ints) -> Ints:
        """The next sample that a line leads to; -1 where there is none."""
        following = followers(given.merged, chosen)
        if self.max_gap is None:
            return following
        time = np.append(given.merged.rank, 0)
        return np.where(time[following] - time[chosen] > self.max_gap, -1, following)

    def _points(self, given: Opened, first: Ints, second: Ints, old: int) -> Array:
        """The points of lines, and of single samples where none begins; those of the first `old` are taken back."""
        merged, every, lag = given.merged, self.every, self.rows.order.lag or 0
        single = second < 0
        second = np.where(single, first, second)
        start, end = merged.rank[first], merged.rank[second]
        lowest = -(-start // every) * every
        many = np.where(single, lowest == start, -(-(end - lowest) // every))
        many = np.maximum(many, 0)
        line = np.repeat(np.arange(len(first)), many)
        nth = np.arange(len(line)) - np.repeat(np.cumsum(many) - many, many)
        moment = lowest.take(line) + nth * every
        before, after = merged.rows.take(first), merged.rows.take(second)
        at = Stretch(before.take(line), after.take(line), start.take(line), end.take(line), moment)
        columns = {name: column(merged.table, name).take(pa.array(at.before)) for name in self.rows.keys}
        time = column(merged.table, self.rows.order.column).type
        columns[self.rows.order.column] = pa.array(moment).cast(time)
        columns |= zip(self.values, values_at(merged.table, self.values, self.method, at), strict=True)
        columns[DUE] = pa.array(np.where(moment == at.start, at.start, at.end) + lag)
        columns[WEIGHT] = pa.array(np.where(line < old, -1, 1))
        return consolidated(pa.table(columns), merged.group.take(first).take(line))

    def _until(self, given: Opened, chosen: Ints) -> Ints:
        """Until when each sample may be needed: as long as another one may come before the next."""
        following = followers(given.merged, chosen)
        last = FOREVER if self.max_gap is None else given.settle[chosen] + self.max_gap
        return np.where(following >= 0, np.append(given.settle, 0)[following], last)
