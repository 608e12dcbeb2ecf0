"""Counted windows over a bucket: so many rows of a group in order, and what silence closes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.windows import CountedWindow
from tradewind.spark.buckets.arrays import FOREVER, Array, Flags, Ints, column, differs, joined, stretches
from tradewind.spark.buckets.gathering import Gathering, Opened, Ordering, names_of, plain
from tradewind.spark.buckets.operator import Moment, State
from tradewind.spark.buckets.panes import Panes, differing, listed
from tradewind.spark.buckets.slack import Slack
from tradewind.spark.buckets.store import Merged


class _Runs(NamedTuple):
    """Copies of rows in order, cut where a group ends or a silence begins."""

    member: Ints
    """The merged row of each copy."""
    begin: Ints
    """Where the run of each copy begins,"""
    end: Ints
    """and where the next one does."""
    plain: bool
    """Whether each merged row is there once, so that it is its own copy."""

    def rows(self, places: Ints) -> Ints:
        """The merged rows at some places."""
        return places if self.plain else self.member.take(places)


class _Changes(NamedTuple):
    """Where there are more or fewer of a row than before."""

    latest: Ints
    """The last changed row up to each; -1 where there is none,"""
    follows: Flags
    """and whether it is of the same group."""

    @classmethod
    def of(cls, merged: Merged) -> _Changes:
        """The changes of a batch."""
        changed = merged.old != merged.new
        latest = np.maximum.accumulate(np.where(changed, np.arange(len(changed)), -1))
        return cls(latest, (latest >= 0) & (merged.group.take(latest) == merged.group))


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
        places = np.flatnonzero(chosen)
        last, full, due = self.last.take(places), self.full.take(places), self.due.take(places)
        return _Windows(self.panes.only(chosen), last, full, due)


@dataclass(frozen=True)
class CountedPanes:
    """The panes of an aggregate over a counted window."""

    window: CountedWindow
    rows: Gathering
    names: tuple[str, ...]
    """The columns of the rows."""

    @classmethod
    def of(cls, node: Aggregate, window: CountedWindow) -> CountedPanes:
        """The panes that an aggregate asks for."""
        schema, keys = node.input.schema, names_of(node.input.schema, node.keys)
        order = Ordering.of(schema, window.order)
        slack = None if window.slack is None else Slack(keys, order.column, window.slack)
        return cls(window, Gathering(keys, order, slack), schema.names)

    def advance(self, state: State, news: Sequence[Array], moment: Moment) -> tuple[Array, State]:
        """The panes that appear or are taken back, and what to remember."""
        given = self.rows.opened(state, plain(news[0], self.rows.order.column), moment)
        now = self._runs(given, given.merged.new)
        old, new = self._changed(given, now)
        until, wakes = self._until(given, now)
        return self._listed(given, old, new), given.closed(until, wakes)

    def _runs(self, given: Opened, weight: Ints) -> _Runs:
        group, time = given.merged.group, given.merged.rank
        member = np.arange(len(weight))
        plain = bool((weight == 1).all())
        if not plain:
            member = np.repeat(member, np.maximum(weight, 0))
            group, time = group.take(member), time.take(member)
        cut = differs([group])
        if self.window.timeout is not None:
            cut[1:] |= time[1:] - time[:-1] >= self.window.timeout
        starts, lengths = stretches(cut)
        return _Runs(member, np.repeat(starts, lengths), np.repeat(starts + lengths, lengths), plain)

    def _windows(self, given: Opened, runs: _Runs, mark: int, changes: _Changes) -> _Windows:
        """The full windows that may have changed, and those that silence has closed."""
        size = self.window.size
        first, end = np.arange(len(runs.member)), runs.end
        if self.window.step > 1:
            first = np.flatnonzero((first - runs.begin) % self.window.step == 0)
            end = end.take(first)
        full = first + size <= end
        closed = self._closed(given, runs, first.take(np.flatnonzero(~full)), mark)
        first = first.take(np.flatnonzero(full))
        last = runs.rows(first + (size - 1))
        # With a step of one, any so many rows in a row are a window: it is as it was if none of them has changed.
        alone = self.window.step == 1
        recent = changes.latest.take(last) >= runs.rows(first) if alone else changes.follows.take(last)
        chosen = np.flatnonzero(recent)
        first, last = first.take(chosen), last.take(chosen)
        panes = Panes(runs.member, None, first, np.full(len(first), size), np.zeros(len(first), dtype=np.int64))
        found = _Windows(panes, last, np.ones(len(first), dtype=np.bool_), given.settle.take(last))
        return found.and_(closed)

    def _closed(self, given: Opened, runs: _Runs, first: Ints, mark: int) -> _Windows:
        """Of windows that are not full, those that silence has closed."""
        if self.window.timeout is None:
            first = first[:0]
        end = runs.end.take(first)
        last = runs.rows(end - 1)
        due = given.settle.take(last) + ((self.window.timeout or 0) - 1)
        # That nothing came is only known once the mark has passed the deadline.
        shown = np.flatnonzero((due < mark) | (mark == FOREVER))
        first, end, last, due = (part.take(shown) for part in (first, end, last, due))
        none = np.zeros(len(first), dtype=np.int64)
        return _Windows(Panes(runs.member, None, first, end - first, none), last, none != 0, due)

    def _changed(self, given: Opened, now: _Runs) -> tuple[_Windows, _Windows]:
        """The windows that are taken back, and those that appear.

        Full windows that end before the first change in their group are as they were. A window that silence closed
        leaves with the mark that showed it, so it can only have been there before if cold rows were read.
        """
        merged, changes = given.merged, _Changes.of(given.merged)
        new = self._windows(given, now, given.clock.now, changes)
        behind = changes.follows & (merged.old > 0)
        disturbed = given.groups.flags(merged.group.take(np.flatnonzero(behind | (merged.cold != 0))))
        if not disturbed.any():
            return new.only(np.zeros(len(new.last), dtype=np.bool_)), new
        before = self._runs(given, merged.old * disturbed.take(merged.group))
        old = self._windows(given, before, given.clock.before, changes)
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
        if self.window.timeout is None:
            end = order.take(pa.array(merged.rows.take(last)))
        else:
            end = pa.array(merged.rank.take(last) + ~full * self.window.timeout).cast(order.type)
        start = order.take(pa.array(merged.rows.take(first)))
        windows = pa.StructArray.from_arrays([start, end, pa.array(~full)], ["start", "end", "timed_out"])
        due = joined([side.due for side in sides])
        return listed(merged, self.names, [side.panes for side in sides], windows, due)

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
        settled = given.settle.take(runs.rows(np.minimum(decisive, runs.end - 1)))
        if self.window.timeout is None:
            settled, pending = np.where(open_, FOREVER, settled), np.zeros(len(place), dtype=np.bool_)
        else:
            settled, pending = settled + open_ * (self.window.timeout - 1), block + size > runs.end
        if runs.plain:
            return settled, pending
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
