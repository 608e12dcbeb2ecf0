"""How an operator with one ordered input begins and ends a batch: its rows gathered, merged, and put away again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tradewind.algebra.schema import Schema
from tradewind.spark.buckets.arrays import FOREVER, NEVER, Array, Flags, Ints, column, integers, known, ranks
from tradewind.spark.buckets.groups import Groups
from tradewind.spark.buckets.operator import WEIGHT, Moment, State
from tradewind.spark.buckets.slack import TOPS, Slack
from tradewind.spark.buckets.store import Clock, Merged, Shelf, clock_of, merged, written

_DAY = 86_400_000_000
_ROWS = "rows"


@dataclass(frozen=True)
class Ordering:
    """The column by which rows are ordered, and how it tells when they are settled."""

    column: str
    kind: str
    lag: int | None

    @classmethod
    def of(cls, schema: Schema, name: str) -> Ordering:
        """A column of a schema."""
        found = schema.find(name)
        return cls(found, schema.type_of(found).name, schema.lag(found))

    @property
    def in_time(self) -> bool:
        """Whether what settles later also comes later in the order, so that settled rows can be put away."""
        return self.lag is not None and self.kind in ("TIMESTAMP", "DATE")

    def settle(self, table: Array) -> Ints:
        """By when rows with such a value are settled."""
        array = column(table, self.column)
        if self.lag is None:
            return np.full(len(array), FOREVER)
        if self.kind == "STRUCT":
            array = array.flatten()[1]
        values = integers(array) * (_DAY if self.kind == "DATE" else 1) + (self.lag - (self.kind == "STRUCT"))
        return np.where(known(array), values, FOREVER) if array.null_count else values

    def settled(self, found: Merged) -> Ints:
        """By when merged rows are settled."""
        if self.kind == "TIMESTAMP" and self.lag is not None and not found.table.column(self.column).null_count:
            return found.rank + self.lag
        return self.settle(found.table).take(found.rows)


def plain(table: Array, *required: str) -> Array:
    """The news in one piece, without what is told beside the columns, and without rows that lack a required value."""
    wanted = np.ones(table.num_rows, dtype=np.bool_)
    for name in required:
        if table.column(name).null_count:
            wanted &= known(column(table, name))
    if not wanted.all():
        table = table.filter(pa.array(wanted))
    return pa.table({name: column(table, name) for name in table.column_names})


class Late(NamedTuple):
    """Which groups got rows that come behind the mark, and from when on these count."""

    groups: Flags
    threshold: int

    def both(self, other: Late) -> Late:
        """The late groups of two inputs."""
        return Late(self.groups | other.groups, min(self.threshold, other.threshold))


def late_in(groups: Groups, own: Ints, settle: Ints, clock: Clock) -> Late:
    """The groups that cold rows must be read for."""
    behind = settle < clock.before
    if not behind.any():
        return Late(np.zeros(groups.count, dtype=np.bool_), FOREVER)
    return Late(groups.flags(own[behind]), int(settle[behind].min()))


@dataclass(frozen=True)
class Opened:
    """A batch at work: the rows of all groups that it touches."""

    merged: Merged
    groups: Groups
    clock: Clock
    shelf: Shelf
    tops: Array | None
    settle: Ints
    """By when each merged row is settled by its order."""

    def closed(self, until: Ints, wakes: Flags) -> State:
        """What to remember."""
        found = {**written(self.clock), **self.shelf.kept(self.merged, until, wakes)}
        return found if self.tops is None else {**found, TOPS: self.tops}


@dataclass(frozen=True)
class Gathering:
    """One input in order, by group; with slack, only rows that come in time."""

    keys: tuple[str, ...]
    order: Ordering
    slack: Slack | None = None

    def opened(self, state: State, news: Array, moment: Moment) -> Opened:
        """The rows that a batch touches."""
        clock = clock_of(state, moment)
        shelf = Shelf(_ROWS, self.keys, state, news, clock)
        groups = Groups(shelf.touching())
        own = groups.codes[: news.num_rows]
        late = late_in(groups, own, self.order.settle(news), clock)
        taken_back = integers(column(news, WEIGHT)) < 0
        if self.slack is not None and taken_back.any():
            # What is greatest when rows have gone may be anywhere.
            late = late.both(Late(groups.flags(own[taken_back]), NEVER))
        given = shelf.gathered(groups, own, late.groups, late.threshold)
        tops = None
        if self.slack is not None:
            given, tops = self.slack.admitted(state, given, groups)
            tops = self._unsettled(tops, clock)
        found = merged(given, ranks(column(given.table, self.order.column)), (*self.keys, self.order.column))
        return Opened(found, groups, clock, shelf, tops, self.order.settled(found))

    def _unsettled(self, tops: Array, clock: Clock) -> Array:
        """The greatest rows that can still be greater than one that comes."""
        if self.slack is None or self.slack.order != self.order.column or not self.order.in_time:
            return tops
        needed = self.order.settle(tops) >= clock.frozen
        return tops if needed.all() else tops.filter(pa.array(needed))


def names_of(schema: Schema, names: Sequence[str]) -> tuple[str, ...]:
    """Columns as the schema spells them."""
    return tuple(schema.find(name) for name in names)
