"""Counted windows over a bucket: so many rows of a group in order, and what silence closes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.windows import CountedWindow
from tradewind.spark.buckets.arrays import FOREVER, Array, Flags, Ints, column, joined, stretches
from tradewind.spark.buckets.gathering import Gathering, Opened, Order, changed_from, names_of, plain
from tradewind.spark.buckets.operator import Moment, State
from tradewind.spark.buckets.panes import Panes, differing, listed
from tradewind.spark.buckets.slack import Slack


class _Runs(NamedTuple):
    """Copies of rows in order, cut where a group ends or a silence begins."""

    member: Ints
    """The merged row of each copy."""
    begin: Ints
    """Where the run of each copy begins,"""
    end: Ints
    """and where the next one does."""


class _Windows(NamedTuple):
    """Windows that lie on runs."""

    panes: Panes
    last: Ints
    """The merged row that is each window's last member."""
    full: Flags
    due: Ints

    def and_(self, other: _Windows) -> _Windows:
        """These windows and others on the same runs."""
        panes = self.panes._replace(
            first=joined([self.panes.first, other.panes.first]),
            length=joined([self.panes.length, other.panes.length]),
            place=joined([self.panes.place, other.panes.place]),
        )
        parts = zip(self[1:], other[1:], strict=True)
        return _Windows(panes, *(joined(part) for part in parts))

    def only(self, chosen: Flags) -> _Windows:
        """Some of the windows."""
        if chosen.all():
            return self
        return _Windows(self.panes.only(chosen), self.last[chosen], self.full[chosen], self.due[chosen])


@dataclass(frozen=True)
class CountedPanes:
    """The panes of an aggregate over a counted window."""

    window: CountedWindow
    rows: Gathering

    @classmethod
    def of(cls, node: Aggregate, window: CountedWindow) -> CountedPanes:
        """The panes that an aggregate asks for."""
        schema, keys = node.input.schema, names_of(node.input.schema, node.keys)
        order = Order.of(schema, window.order)
        slack = None if window.slack is None else Slack(keys, order.column, window.slack)
        return cls(window, Gathering(keys, order, slack))

    def advance(self, state: State, news: Sequence[Array], moment: Moment) -> tuple[Array, State]:
        """The panes that appear or are taken back, and what to remember."""
        given = self.rows.opened(state, plain(news[0], self.rows.order.column), moment)
        now = self._runs(given, given.merged.new)
        old, new = self._changed(given, now)
        until, wakes = self._until(given, now)
        return self._listed(given, old, new), given.closed(until, wakes)

    def _runs(self, given: Opened, weight: Ints) -> _Runs:
        member = np.flatnonzero(weight > 0)
        many = weight[member]
        if (many > 1).any():
            member = np.repeat(member, many)
        group = given.merged.group.take(member)
        cut = np.ones(len(member), dtype=np.bool_)
        cut[1:] = group[1:] != group[:-1]
        if self.window.timeout is not None:
            time = given.merged.rank.take(member)
            cut[1:] |= time[1:] - time[:-1] >= self.window.timeout
        starts, lengths = stretches(cut)
        return _Runs(member, np.repeat(starts, lengths), np.repeat(starts + lengths, lengths))

    def _windows(self, given: Opened, runs: _Runs, mark: int, change: Ints) -> _Windows:
        """The full windows that end at or after the first change of their group, and those that silence has closed."""
        merged, size = given.merged, self.window.size
        first = np.arange(len(runs.member))
        if self.window.step > 1:
            first = np.flatnonzero((first - runs.begin) % self.window.step == 0)
        full = first + size <= runs.end.take(first)
        closed = self._closed(given, runs, first[~full], mark)
        first = first[full]
        last = runs.member.take(first + (size - 1))
        recent = last >= change.take(merged.group.take(last))
        first, last = first[recent], last[recent]
        panes = Panes(runs.member, None, first, np.full(len(first), size), np.zeros(len(first), dtype=np.int64))
        found = _Windows(panes, last, np.ones(len(first), dtype=np.bool_), given.settle.take(last))
        return found.and_(closed)

    def _closed(self, given: Opened, runs: _Runs, first: Ints, mark: int) -> _Windows:
        """Of windows that are not full, those that silence has closed."""
        if self.window.timeout is None:
            first = first[:0]
        end = runs.end.take(first)
        last = runs.member.take(end - 1)
        due = given.settle.take(last) + ((self.window.timeout or 0) - 1)
        # That nothing came is only known once the mark has passed the deadline.
        shown = (due < mark) | (mark == FOREVER)
        first, end, last, due = first[shown], end[shown], last[shown], due[shown]
        none = np.zeros(len(first), dtype=np.int64)
        return _Windows(Panes(runs.member, None, first, end - first, none), last, none != 0, due)

    def _changed(self, given: Opened, now: _Runs) -> tuple[_Windows, _Windows]:
        """The windows that are taken back, and those that appear.

        Full windows that end before the first change in their group are as they were. A window that silence closed
        leaves with the mark that showed it, so it can only have been there before if cold rows were read.
        """
        merged, change = given.merged, changed_from(given.merged, given.groups)
        new = self._windows(given, now, given.clock.now, change)
        behind = (merged.old > 0) & (np.arange(len(merged.rows)) >= change.take(merged.group))
        disturbed = given.groups.flags(merged.group[behind | (merged.cold != 0)])
        before = self._runs(given, merged.old * disturbed.take(merged.group) if disturbed.any() else merged.old[:0])
        old = self._windows(given, before, given.clock.before, change)
        if not len(old.last):
            return old, new
        among = disturbed.take(merged.group.take(new.last))
        gone, come = differing(old.panes, new.panes.only(among))
        kept = ~among
        kept[among] = come
        return old.only(gone), new.only(kept)

    def _listed(self, given: Opened, old: _Windows, new: _Windows) -> Array:
        merged, order = given.merged, column(given.merged.table, self.rows.order.column)
        sides = (old, new)
        first = joined([side.panes.member.take(side.panes.first) for side in sides])
        last = joined([side.last for side in sides])
        full = joined([side.full for side in sides])
        end = order.take(pa.array(merged.rows[last]))
        if self.window.timeout is not None:
            closed = np.where(full, merged.rank[last], merged.rank[last] + self.window.timeout)
            end = pa.array(closed).cast(order.type)
        start = order.take(pa.array(merged.rows[first]))
        windows = pa.StructArray.from_arrays([start, end, pa.array(~full)], ["start", "end", "timed_out"])
        due = joined([side.due for side in sides])
        return listed(merged, [side.panes for side in sides], windows, due)

    def _until(self, given: Opened, runs: _Runs) -> tuple[Ints, Flags]:
        """Until when each row may be needed: as long as the window that begins in its block of `step` rows may change.

        What is put away must end with a block, or else counting would not go on as it began.
        """
        size, step = self.window.size, self.window.step
        # A row that is owed counts for nothing, but may still come.
        until = given.settle.copy()
        wakes = np.zeros(len(until), dtype=np.bool_)
        if not self.rows.order.in_time:
            return np.full(len(until), FOREVER), wakes
        place = np.arange(len(runs.member))
        block = place - (place - runs.begin) % step if step > 1 else place
        decisive = block + (max(size, step) - 1)
        open_ = decisive >= runs.end
        settled = given.settle.take(runs.member.take(np.minimum(decisive, runs.end - 1)))
        pending = block + size > runs.end
        if self.window.timeout is None:
            settled[open_], pending = FOREVER, np.zeros(len(place), dtype=np.bool_)
        else:
            settled[open_] += self.window.timeout - 1
        if (runs.member[1:] == runs.member[:-1]).any():
            last = _last_of_stretch(runs.member, block == place)
            settled, pending = settled[last], pending[last]
        until[runs.member] = settled
        wakes[runs.member] = pending
        return until, wakes


def _last_of_stretch(member: Ints, begins: Flags) -> Ints:
    """For each copy, the last one that must be kept together with it: blocks that share copies of a row are one."""
    begins = begins.copy()
    begins[1:] &= member[1:] != member[:-1]
    starts, lengths = stretches(begins)
    return np.repeat(starts + lengths - 1, lengths)
