"""Waitfor where keys are equal: each row that a signal of its group follows in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tradewind.algebra.expressions.tree import Call, Column, conjuncts
from tradewind.algebra.operators.ordered import WaitFor
from tradewind.spark.buckets.arrays import FOREVER, Array, Flags, Ints, column, integers
from tradewind.spark.buckets.gathering import Ordering, plain
from tradewind.spark.buckets.operator import DUE, WEIGHT, Moment, State
from tradewind.spark.buckets.panes import moments
from tradewind.spark.buckets.samples import consolidated
from tradewind.spark.buckets.sorting import packed
from tradewind.spark.buckets.store import Merged, Shelf, clock_of, written
from tradewind.spark.buckets.two_inputs import both_merged

_PARTED = ("ARRAY", "STRUCT")
Keys = tuple[tuple[str, ...], tuple[str, ...]]


def equal_keys(node: WaitFor) -> Keys | None:
    """The columns of both inputs that the predicate wants to be equal, if that is all that it wants."""
    pairs = []
    for part in conjuncts(node.predicate):
        match part:
            case Call("=", (Column(one), Column(two))) if (pair := _pair(node, one, two)) is not None:
                pairs.append(pair)
            case _:
                return None
    return tuple(one for one, _ in pairs), tuple(two for _, two in pairs)


def _pair(node: WaitFor, one: str, two: str) -> tuple[str, str] | None:
    own, other = node.input.schema, node.signal.schema
    if two in own.names:
        one, two = two, one
    if one not in own.names or two not in other.names:
        return None
    # Parts of arrays and structs that are NULL are equal in another way.
    same = own.type_of(one) == other.type_of(two) and own.type_of(one).name not in _PARTED
    return (one, two) if same else None


class _Met(NamedTuple):
    """What each row waited for."""

    found: Flags
    due: Ints
    """By when the row and its first signal are settled."""


@dataclass(frozen=True)
class Waiter:
    """The rows that have their signal, settled when the first one is."""

    rows: Ordering
    signals: Ordering
    keys: Keys
    timeout: int
    names: tuple[str, ...]

    @classmethod
    def of(cls, node: WaitFor, keys: Keys) -> Waiter:
        """The waiter of a node whose predicate wants some keys to be equal."""
        own, other = node.input.schema, node.signal.schema
        orders = Ordering.of(own, str(own.time)), Ordering.of(other, str(other.time))
        return cls(*orders, keys, node.timeout, own.names)

    def advance(self, state: State, news: Sequence[Array], moment: Moment) -> tuple[Array, State]:
        """The rows that come and go, and what to remember."""
        clock = clock_of(state, moment)
        orders = (self.rows, self.signals)
        # Without a time, or with a key that is NULL, nothing is ever met.
        given = [plain(one, order.column, *own) for one, order, own in zip(news, orders, self.keys, strict=True)]
        shelves = (
            Shelf("rows", self.keys[0], state, given[0], clock),
            Shelf("signals", self.keys[1], state, given[1], clock),
        )
        rows, signals = both_merged(shelves, orders, clock)
        keys = self._keyed(rows, signals)
        old = self._met(rows, signals, signals.old, keys)
        new = self._met(rows, signals, signals.new, keys)
        kept: State = {}
        for shelf, found in zip(shelves, (rows, signals), strict=True):
            kept |= shelf.kept(found, self._until(found), np.zeros(len(found.rows), dtype=np.bool_))
        return self._deltas(rows, old, new), {**written(clock), **kept}

    def _keyed(self, rows: Merged, signals: Merged) -> list[Ints]:
        """Numbers in the order of group and time: for signals, for where rows begin to wait, and for where they end."""
        ends = np.minimum(rows.rank, FOREVER - self.timeout) + self.timeout
        parts = [(signals.group, signals.rank), (rows.group, rows.rank), (rows.group, ends)]
        both = packed(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        return np.split(both, [len(signals.rows), len(signals.rows) + len(rows.rows)])

    def _met(self, rows: Merged, signals: Merged, weight: Ints, keys: list[Ints]) -> _Met:
        chosen = np.flatnonzero(weight > 0)
        there = keys[0].take(chosen)
        first, end = (np.searchsorted(there, key, side="left") for key in keys[1:])
        due = np.append(integers(column(signals.table, DUE), missing=FOREVER).take(signals.rows.take(chosen)), FOREVER)
        earliest = least_between(due, first, end)
        own = integers(column(rows.table, DUE), missing=FOREVER).take(rows.rows)
        return _Met(first < end, np.maximum(own, earliest))

    def _until(self, found: Merged) -> Ints:
        """A signal comes no earlier than its row, so it is kept as long as the row is."""
        longest = max(self.rows.lag or 0, self.timeout + (self.signals.lag or 0))
        return np.minimum(found.rank, FOREVER - 1 - longest) + longest

    def _deltas(self, rows: Merged, old: _Met, new: _Met) -> Array:
        # Rows that are owed are passed over.
        was, is_ = np.where(old.found, np.maximum(rows.old, 0), 0), np.where(new.found, np.maximum(rows.new, 0), 0)
        same = old.due == new.due
        gone = np.flatnonzero(~same & (was != 0))
        come = np.flatnonzero(np.where(same, is_ != was, is_ != 0))
        row = np.concatenate([gone, come])
        weight = np.concatenate([-was[gone], np.where(same, is_ - was, is_)[come]])
        due = np.concatenate([old.due[gone], new.due[come]])
        table = rows.table.take(pa.array(rows.rows[row])).select(list(self.names))
        table = table.append_column(DUE, moments(due)).append_column(WEIGHT, pa.array(weight))
        return consolidated(table, rows.group[row])


def least_between(values: Ints, first: Ints, end: Ints) -> Ints:
    """The least of the values in each stretch; where it is empty, any. The last value belongs to no stretch."""
    found = values.take(first)
    falls = np.cumsum(np.append(False, values[1:] < values[:-1]))
    doubtful = np.flatnonzero(falls.take(np.maximum(end - 1, first)) > falls.take(first))
    if len(doubtful):
        bounds = np.column_stack([first.take(doubtful), end.take(doubtful)])
        found[doubtful] = np.minimum.reduceat(values, np.ravel(bounds))[::2]
    return found
