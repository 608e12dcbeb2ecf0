"""Resample at another stream's times: each of its rows with the values that the input has then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.ordered import Resample
from tradewind.spark.buckets.arrays import FOREVER, Array, Flags, Ints, column, integers, known
from tradewind.spark.buckets.gathering import Ordering, names_of, plain
from tradewind.spark.buckets.lines import Stretch
from tradewind.spark.buckets.operator import DUE, WEIGHT, Moment, State
from tradewind.spark.buckets.panes import moments
from tradewind.spark.buckets.samples import consolidated, followers, highest_so_far, samples, spread, values_at
from tradewind.spark.buckets.sorting import packed
from tradewind.spark.buckets.store import DONE, Merged, Shelf, clock_of, written
from tradewind.spark.buckets.two_inputs import both_merged


class _Found(NamedTuple):
    """What is known at each of the other stream's rows."""

    before: Ints
    """The sample whose value counts, or that a line begins at; -1 where there is no value."""
    after: Ints
    due: Ints
    shown: Flags
    nearest: Ints
    """The sample at or before the row, whether it counts or not; -1 where there is none."""


class _Both(NamedTuple):
    """The rows of both inputs, and where those of the other stream lie among those of this one."""

    own: Merged
    other: Merged
    own_key: Ints
    other_key: Ints
    due: Ints
    """By when each row of the other stream is settled by itself,"""
    timed: Flags
    """and whether it has a time."""

    @classmethod
    def of(cls, own: Merged, other: Merged, time: str) -> _Both:
        """The rows of both, those of the other stream at times of that name."""
        key = packed(np.concatenate([own.group, other.group]), np.concatenate([own.rank, other.rank]))
        due = integers(column(other.table, DUE), missing=FOREVER)[other.rows]
        timed = known(column(other.table, time))[other.rows]
        return cls(own, other, key[: len(own.rows)], key[len(own.rows) :], due, timed)


@dataclass(frozen=True)
class TimesResampler:
    """The rows of the other stream with the values beside them."""

    own: Ordering
    other: Ordering
    keys: tuple[tuple[str, ...], tuple[str, ...]]
    values: tuple[str, ...]
    method: str
    max_gap: int | None
    append_only: bool
    """Whether rows of the other stream are never taken back."""

    @classmethod
    def of(cls, node: Resample, at: Operator) -> TimesResampler:
        """The resampler of a node that has another stream."""
        schema, other = node.input.schema, at.schema
        orders = Ordering.of(schema, str(schema.time)), Ordering.of(other, str(other.time))
        keys = names_of(schema, node.keys), names_of(other, node.keys)
        return cls(*orders, keys, names_of(schema, node.values), node.method, node.max_gap, at.append_only)

    def advance(self, state: State, news: Sequence[Array], moment: Moment) -> tuple[Array, State]:
        """The rows that come and go, and what to remember."""
        clock = clock_of(state, moment)
        shelves = (
            Shelf("rows", self.keys[0], state, plain(news[0], self.own.column), clock),
            Shelf("others", self.keys[1], state, plain(news[1]), clock),
        )
        both = _Both.of(*both_merged(shelves, (self.own, self.other), clock), self.other.column)
        old = self._found(both, samples(both.own, both.own.old), clock.before)
        chosen = samples(both.own, both.own.new)
        new = self._found(both, chosen, clock.now)
        others = np.maximum(new.due, self.other.settle(both.other.table)[both.other.rows])
        if self.append_only:
            others[~both.timed] = DONE
        own = self._until(both, chosen, new.nearest, others)
        kept = shelves[0].kept(both.own, own, np.zeros(len(own), dtype=np.bool_))
        kept |= shelves[1].kept(both.other, others, ~new.shown)
        return self._deltas(both, old, new), {**written(clock), **kept}

    def _found(self, both: _Both, chosen: Ints, mark: int) -> _Found:
        """The samples around each row, and what they say there."""
        own, other = both.own, both.other
        place = np.searchsorted(both.own_key[chosen], both.other_key, side="right")
        before = np.where(both.timed, _of_group(np.concatenate([[-1], chosen])[place], own, other), -1)
        if self.method == "previous":
            counts, due = self._previous(both, before)
            after, told = counts, np.ones(len(due), dtype=np.bool_)
        else:
            after = _of_group(np.concatenate([chosen, [-1]])[place], own, other)
            counts, after, due, told = self._drawn(both, before, after)
        due = np.where(both.timed, np.maximum(due, both.due), FOREVER)
        # That no far end of a line came is only known once the mark has passed.
        return _Found(counts, after, due, told | (due < mark) | (mark == FOREVER), before)

    def _previous(self, both: _Both, before: Ints) -> tuple[Ints, Ints]:
        """The samples that are near enough to count, and by when that is settled."""
        moment, time = both.other.rank, np.append(both.own.rank, 0)
        near = before if self.max_gap is None else np.where(moment - time[before] <= self.max_gap, before, -1)
        return near, moment + (self.own.lag or 0)

    def _drawn(self, both: _Both, before: Ints, after: Ints) -> tuple[Ints, Ints, Ints, Flags]:
        """The ends of the lines that can be drawn, by when they are settled, and whether that is told already."""
        moment, time, lag = both.other.rank, np.append(both.own.rank, 0), self.own.lag or 0
        after = np.where((before >= 0) & (time[before] == moment), before, after)
        drawn = (before >= 0) & (after >= 0)
        told = (before < 0) | (after >= 0)
        waits = np.full(len(moment), FOREVER)
        if self.max_gap is not None:
            drawn &= time[after] - time[before] <= self.max_gap
            waits = moment + (self.max_gap + lag)
        due = np.where(before < 0, moment + lag, np.where(drawn, time[after] + lag, waits))
        return np.where(drawn, before, -1), np.where(drawn, after, -1), due, told

    def _until(self, both: _Both, chosen: Ints, nearest: Ints, others: Ints) -> Ints:
        """Until when each row may be needed: as long as another one may come before the next sample, and as long as a
        row that it is nearest to.
        """
        own, lag = both.own, max(self.own.lag or 0, self.other.lag or 0)
        following = followers(own, chosen)
        # Where lines are drawn it matters that there is a sample, however far.
        ends = self.method == "previous" and self.max_gap is not None
        last = own.rank[chosen] + (self.max_gap or 0) + lag if ends else FOREVER
        until = np.where(following >= 0, np.append(own.rank, 0)[following] + lag, last)
        needed = (nearest >= 0) & (both.other.new > 0)
        np.maximum.at(until, np.searchsorted(chosen, nearest[needed]), others[needed])
        return spread(own, chosen, highest_so_far(own.group[chosen], until), self.own.settle(own.table)[own.rows])

    def _deltas(self, both: _Both, old: _Found, new: _Found) -> Array:
        other = both.other
        # Rows that are owed are passed over.
        was = np.where(old.shown, np.maximum(other.old, 0), 0)
        is_ = np.where(new.shown, np.maximum(other.new, 0), 0)
        same = (old.before == new.before) & (old.after == new.after) & (old.due == new.due)
        gone = np.flatnonzero(~same & (was != 0))
        come = np.flatnonzero(np.where(same, is_ != was, is_ != 0))
        weight = np.concatenate([-was[gone], np.where(same, is_ - was, is_)[come]])
        row = np.concatenate([gone, come])
        before, after, due = (np.concatenate([one[gone], two[come]]) for one, two in zip(old[:3], new[:3], strict=True))
        time, where = np.append(both.own.rank, 0), np.append(both.own.rows, -1)
        at = Stretch(where[before], where[after], time[before], time[after], other.rank[row])
        table = other.table.take(pa.array(other.rows[row])).drop_columns([DUE])
        for name, values in zip(self.values, values_at(both.own.table, self.values, self.method, at), strict=True):
            table = table.append_column(name, values)
        table = table.append_column(DUE, moments(due)).append_column(WEIGHT, pa.array(weight))
        return consolidated(table, other.group[row])


def _of_group(sample: Ints, own: Merged, other: Merged) -> Ints:
    """The samples that are of the row's group; -1 for the others."""
    return np.where((sample >= 0) & (np.append(own.group, -1)[sample] == other.group), sample, -1)
