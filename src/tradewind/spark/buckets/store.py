"""What a bucket remembers of one input: hot rows, which news in time may touch, and cold ones, which only late news
can.

Each remembered row has an `_until`, the moment after which nothing in time can touch it any more. Once the mark has
passed that, it leaves the hot rows; once nothing late can come either, it is forgotten. Where `_wakes` is set, its
group has to be looked at when the mark passes, because an absence is proven then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tradewind.spark.buckets import cold
from tradewind.spark.buckets.arrays import FOREVER, NEVER, Array, Flags, Ints, column, integers, joined, ticks
from tradewind.spark.buckets.cold import UNTIL
from tradewind.spark.buckets.groups import Groups, keys_of
from tradewind.spark.buckets.operator import DUE, WEIGHT, Moment, State
from tradewind.spark.buckets.sorting import order_of

WAKES = "_wakes"
_PIECES = 8
"""Rows that stay untouched are not copied until they lie in more pieces than this."""
DONE = NEVER
"""Until when a row is needed that nothing will ever touch."""
_CLOCK, _MARK = "clock", "mark"


class Clock(NamedTuple):
    """Times as integers: the mark before and after this batch, and before which everything is frozen."""

    before: int
    now: int
    frozen: int


def clock_of(state: State, moment: Moment) -> Clock:
    """The times of this batch."""
    before = state[_CLOCK].column(_MARK)[0].as_py() if _CLOCK in state else NEVER
    return Clock(before, ticks(moment.mark), ticks(moment.frozen))


def written(clock: Clock) -> State:
    """The clock, for the next batch."""
    return {_CLOCK: pa.table({_MARK: pa.array([clock.now], pa.int64())})}


class Gathered(NamedTuple):
    """The rows of the groups that a batch touches, those remembered first, then the news as they came."""

    table: Array
    group: Ints
    weight: Ints
    remembered: int
    """How many of the rows were remembered."""
    cooled: Ints | None
    """For rows that were cold, until when nothing could touch them; NEVER for all others, and None if none was."""


class Merged(NamedTuple):
    """Different rows in the order of group, rank and content, with how many there were and are of each."""

    table: Array
    rows: Ints
    """Where in the table each of them is."""
    group: Ints
    rank: Ints
    old: Ints
    new: Ints
    cold: Ints
    """How many of a row were in the cold tables,"""
    cooled: Ints
    """and until when nothing could touch these."""


class Shelf:
    """The remembered rows of one input during one batch."""

    def __init__(self, name: str, keys: Sequence[str], state: State, news: Array, clock: Clock) -> None:
        self.name = name
        self.keys = keys
        self.news = news
        self.clock = clock
        self._state = state
        self._hot = state.get(name)
        self._until = integers(column(self._hot, UNTIL)) if self._hot is not None else np.zeros(0, dtype=np.int64)
        self._leaving = self._until < clock.now
        self._touched = np.zeros(len(self._until), dtype=np.bool_)

    def touching(self) -> Array:
        """The keys of the groups that must be looked at: those of the news, then those that the mark wakes."""
        own = keys_of(self.news, self.keys)
        passed = self._leaving | (self.clock.now == FOREVER)
        if self._hot is None or not passed.any():
            return own
        waking = passed & _is_true(column(self._hot, WAKES))
        return pa.concat_tables([own, keys_of(self._hot, self.keys).filter(pa.array(waking))])

    def gathered(self, groups: Groups, own: Ints, late: Flags, threshold: int) -> Gathered:
        """All rows of the groups. `own` are the groups of the news; cold rows from the threshold on are read for the
        `late` ones.
        """
        names = [name for name in self.news.column_names if name != WEIGHT]
        tables, codes, cooled = [], [], None
        if self._hot is not None:
            found = groups.find(keys_of(self._hot, self.keys))
            self._touched = found >= 0
            places, own_hot = np.flatnonzero(self._touched), self._hot.select([*names, WEIGHT])
            tables.append(own_hot if len(places) == len(found) else own_hot.take(pa.array(places)))
            codes.append(found.take(places))
        slept = cold.since(self._state, self.name, threshold) if late.any() else None
        if slept is not None:
            found = groups.find(keys_of(slept, self.keys))
            wanted = (found >= 0) & late[found]
            tables.append(slept.filter(pa.array(wanted)))
            hot, codes = sum(len(one) for one in codes), [*codes, found[wanted]]
            cooled = np.full(hot + len(codes[-1]) + self.news.num_rows, NEVER)
            cooled[hot : hot + len(codes[-1])] = integers(column(tables[-1], UNTIL))
        tables.append(self.news)
        return Gathered(
            pa.concat_tables(
                [table.select(names) for table in tables if table.num_rows] or [self.news.select(names)]
            ).combine_chunks(),
            joined([*codes, own]),
            joined([integers(column(table, WEIGHT)) for table in tables]),
            sum(len(one) for one in codes),
            cooled,
        )

    def kept(self, merged: Merged, until: Ints, wakes: Flags) -> State:
        """What to remember: the rows of the groups that were looked at, as they are now, and all others as before."""
        if self.clock.frozen == FOREVER:
            return {}
        alive = (merged.new != 0) & (until != DONE)
        stays = alive & (until >= self.clock.now)
        cools = alive & ~stays & (until >= self.clock.frozen)
        hot = [_tabled(merged, stays, merged.new, until, wakes)]
        was = merged.cold != 0
        same = was & cools & (until == merged.cooled) & (merged.new == merged.cold)
        cooling = [
            _tabled(merged, was & ~same, -merged.cold, merged.cooled, wakes),
            _tabled(merged, cools & ~same, merged.new, until, wakes),
        ]
        if self._hot is not None and not self._touched.all():
            hot.append(self._hot.filter(pa.array(~self._touched & ~self._leaving)))
            rests = ~self._touched & self._leaving & (self._until >= self.clock.frozen)
            if rests.any():
                cooling.append(self._hot.filter(pa.array(rests)))
        found = pa.concat_tables(hot)
        if found.column(UNTIL).num_chunks > _PIECES:
            found = found.combine_chunks()
        added = pa.concat_tables(cooling).drop_columns([WAKES])
        return {
            **({self.name: found} if found.num_rows else {}),
            **cold.with_added(self._state, self.name, added, self.clock.frozen),
        }


def _tabled(merged: Merged, chosen: Flags, weight: Ints, until: Ints, wakes: Flags) -> Array:
    places = np.flatnonzero(chosen)
    table = merged.table.take(pa.array(merged.rows.take(places)))
    for name, values in ((WEIGHT, weight), (UNTIL, until), (WAKES, wakes)):
        table = table.append_column(name, pa.array(values.take(places)))
    return table


def merged(given: Gathered, rank: Ints, skip: Sequence[str]) -> Merged:
    """The rows in order, equal ones made one. The columns to skip are told by group and rank."""
    order, new = order_of(given.group, rank, contents(given.table, skip))
    weight = given.weight if (given.weight == 1).all() else given.weight.take(order)
    old = weight * (order < given.remembered)
    was = cooled = np.zeros(len(order), dtype=np.int64)
    if given.cooled is not None:
        cooled = given.cooled.take(order)
        was = weight * (cooled != NEVER)
    rows = order
    if not new.all():
        starts = np.flatnonzero(new)
        rows = order.take(starts)
        weight, old, was = (np.add.reduceat(part, starts) for part in (weight, old, was))
        cooled = np.maximum.reduceat(cooled, starts)
    return Merged(given.table, rows, given.group.take(rows), rank.take(rows), old, weight, was, cooled)


def contents(table: Array, skip: Sequence[str] = ()) -> Iterator[Array]:
    """The columns by which rows are told apart; FOREVER, which is NULL in a table, comes last."""
    yield from (column(table, name) for name in table.column_names if name not in (*skip, DUE))
    yield column(table, DUE).fill_null(FOREVER)


def _is_true(array: Array) -> Flags:
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.bool_)
