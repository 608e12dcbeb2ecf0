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

    def only(self, chosen: Flags) -> _Windows:
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

    def _windows(self, given: Opened, runs: _Runs, mark: int) -> _Windows:
        first = np.arange(len(runs.member))
        if self.window.step > 1:
            first = np.flatnonzero((first - runs.begin) % self.window.step == 0)
        end = runs.end if self.window.step == 1 else runs.end.take(first)
        full = first + self.window.size <= end
        stop = np.minimum(first + self.window.size, end)
        last = runs.member.take(stop - 1)
        due = given.settle.take(last)
        shown = full
        if self.window.timeout is not None:
            # That nothing came is only known once the mark has passed the deadline.
            due = np.where(full, due, due + (self.window.timeout - 1))
            shown = full | (due < mark) | (mark == FOREVER)
        panes = Panes(runs.member, None, first, stop - first, np.zeros(len(first), dtype=np.int64))
        return _Windows(panes, last, full, due).only(shown)

    def _changed(self, given: Opened, now: _Runs) -> tuple[_Windows, _Windows]:
        """The windows that are taken back, and those that appear.

        Full windows that end before the first change in their group are as they were. A window that silence closed
        leaves with the mark that showed it, so it can only have been there before if cold rows were read.
        """
        merged, first = given.merged, changed_from(given.merged, given.groups)
        new = self._windows(given, now, given.clock.now)
        new = new.only(~new.full | (new.last >= first.take(merged.group.take(new.last))))
        behind = (merged.old > 0) & (np.arange(len(merged.rows)) >= first.take(merged.group))
        disturbed = behind | (merged.cold != 0)
        touched = given.groups.flags(merged.group[disturbed])
        before = self._runs(given, merged.old * touched.take(merged.group))
        old = self._windows(given, before, given.clock.before)
        old = old.only(~old.full | (old.last >= first[merged.group[old.last]]))
        if not len(old.last):
            return old, new
        among = touched[merged.group[new.last]]
        gone, come = differing(old.panes, new.panes.only(among))
        among[among] = come
        return old.only(gone), new.only(among | ~touched[merged.group[new.last]])

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
        ends = decisive < runs.end
        settled = given.settle.take(runs.member.take(np.where(ends, decisive, runs.end - 1)))
        endless = FOREVER if self.window.timeout is None else settled + (self.window.timeout - 1)
        settled = np.where(ends, settled, endless)
        pending = (block + size > runs.end) if self.window.timeout is not None else np.zeros(len(place), dtype=np.bool_)
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
