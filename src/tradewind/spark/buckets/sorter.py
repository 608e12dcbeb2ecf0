"""Bounded sort: the rows in the order of a column, as far as a buffer of `slack` rows can sort them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tradewind.algebra.operators.ordered import Order
from tradewind.spark.buckets.arrays import FOREVER, Array, Ints, column, integers, ranks
from tradewind.spark.buckets.gathering import Ordering, plain
from tradewind.spark.buckets.groups import Groups, keys_of
from tradewind.spark.buckets.operator import DUE, WEIGHT, Moment, State
from tradewind.spark.buckets.panes import moments
from tradewind.spark.buckets.slack import TOPS, Slack
from tradewind.spark.buckets.sorting import order_of
from tradewind.spark.buckets.store import Gathered, Merged, clock_of, contents, merged, written

_ROWS = "rows"


@dataclass(frozen=True)
class Sorter:
    """The rows that the buffer lets go: all but the `slack` greatest, unless the mark has passed them.

    Where rows are never taken back, the greatest are all that must be remembered.
    """

    order: Ordering
    slack: int
    append_only: bool

    @classmethod
    def of(cls, node: Order) -> Sorter:
        """The sorter of an order."""
        return cls(Ordering.of(node.schema, node.by), node.slack, node.input.append_only)

    def advance(self, state: State, news: Sequence[Array], moment: Moment) -> tuple[Array, State]:
        """The rows that go out, in order, and what to remember."""
        clock = clock_of(state, moment)
        given, tops = self._arrived(state, plain(news[0], self.order.column))
        rows = merged(given, ranks(column(given.table, self.order.column)), (self.order.column,))
        settle = self.order.settle(rows.table)[rows.rows]
        out = self._free(rows.new, settle, clock.now) - self._free(rows.old, settle, clock.before)
        if clock.frozen == FOREVER:
            return self._deltas(rows, out), {}
        kept = np.clip(self.slack - _behind(rows.new), 0, rows.new) if self.append_only else rows.new
        places = np.flatnonzero(kept)
        buffer = rows.table.take(pa.array(rows.rows[places])).append_column(WEIGHT, pa.array(kept[places]))
        return self._deltas(rows, out), {**written(clock), _ROWS: buffer, TOPS: tops}

    def _arrived(self, state: State, news: Array) -> tuple[Gathered, Array]:
        """What was kept and, after it, what came in time."""
        tables = [state[_ROWS], news] if _ROWS in state else [news]
        weight = np.concatenate([integers(column(table, WEIGHT)) for table in tables])
        table = pa.concat_tables([one.drop_columns([WEIGHT]) for one in tables]).combine_chunks()
        none = np.zeros(len(weight), dtype=np.int64)
        given = Gathered(table, none, weight, len(weight) - news.num_rows, None)
        return Slack((), self.order.column, self.slack).admitted(state, given, Groups(keys_of(news, ())))

    def _free(self, weight: Ints, settle: Ints, mark: int) -> Ints:
        """How many copies of each row are let go."""
        beyond = np.clip(_behind(weight) + weight - self.slack, 0, weight)
        return np.where((settle < mark) | (mark == FOREVER), weight, beyond)

    def _deltas(self, rows: Merged, out: Ints) -> Array:
        """First what goes back, then what goes out."""
        places = np.flatnonzero(out)
        weight = out[places]
        table = rows.table.take(pa.array(rows.rows[places]))
        due = column(table, DUE)
        if not self.append_only:
            # Nothing is settled before the end, so rows that only differ in that are one.
            due = moments(np.full(len(weight), FOREVER))
            table, weight = _netted(
                table.set_column(table.column_names.index(DUE), DUE, due), rows.rank[places], weight
            )
        sides = np.concatenate([np.flatnonzero(weight < 0), np.flatnonzero(weight > 0)])
        return table.append_column(WEIGHT, pa.array(weight)).take(pa.array(sides))


def _netted(table: Array, rank: Ints, weight: Ints) -> tuple[Array, Ints]:
    order, new = order_of(np.zeros(len(weight), dtype=np.int64), rank, contents(table))
    if new.all():
        return table, weight
    starts = np.flatnonzero(new)
    return table.take(pa.array(order[starts])), np.add.reduceat(weight[order], starts)


def _behind(weight: Ints) -> Ints:
    """How many copies come after each row."""
    return np.sum(weight) - np.cumsum(weight)
