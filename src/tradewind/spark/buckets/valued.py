"""Value windows that silence closes, or whose rows must come in time, over a bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.types import is_fraction
from tradewind.algebra.windows import ValueWindow
from tradewind.spark.buckets.arrays import FOREVER, Array, Flags, Ints, column, differs, known, stretches
from tradewind.spark.buckets.cells import Cells, cells, home
from tradewind.spark.buckets.gathering import Gathering, Opened, Ordering, names_of, plain
from tradewind.spark.buckets.operator import Moment, State
from tradewind.spark.buckets.panes import Panes, differing, listed
from tradewind.spark.buckets.slack import Slack
from tradewind.spark.buckets.sorting import packed, stable_order
from tradewind.spark.buckets.store import DONE

_HOME = "_home"
"""The number of a row's window, where it can only lie in one: only rows of the same window need be looked at."""


class _Board(NamedTuple):
    """Merged rows in the windows that they lie in, those of one window of one group side by side."""

    row: Ints
    window: Ints
    """The window of each, numbered along the board."""
    cell: Ints
    """Where each is among the cells."""


class _Closed(NamedTuple):
    """Panes, and by when each is settled."""

    panes: Panes
    cell: Ints
    """A cell of each pane."""
    due: Ints

    def only(self, chosen: Flags) -> _Closed:
        places = np.flatnonzero(chosen)
        return _Closed(self.panes.only(chosen), self.cell.take(places), self.due.take(places))


@dataclass(frozen=True)
class ValuePanes:
    """The panes of an aggregate over a value window that has a timeout or slack."""

    window: ValueWindow
    rows: Gathering
    column: str
    names: tuple[str, ...]
    """The columns of the rows."""
    recalls: bool
    """Whether all rows must be kept, because those that go may let others be the greatest again."""

    @classmethod
    def of(cls, node: Aggregate, window: ValueWindow) -> ValuePanes:
        """The panes that an aggregate asks for."""
        schema, keys = node.input.schema, names_of(node.input.schema, node.keys)
        value = schema.find(window.column)
        order = Ordering.of(schema, str(schema.time)) if window.timeout is not None else Ordering(value, "", None)
        slack = None if window.slack is None else Slack(keys, value, window.slack)
        recalls = slack is not None and not node.input.append_only
        apart = slack is None and window.size == window.step and not is_fraction(schema.type_of(value))
        keys = (_HOME, *keys) if apart else keys
        return cls(window, Gathering(keys, order, slack), value, schema.names, recalls)

    def advance(self, state: State, news: Sequence[Array], moment: Moment) -> tuple[Array, State]:
        """The panes that appear or are taken back, and what to remember."""
        # Rows without a time are in no pane, but count among those that overtake others.
        required = (self.column,) if self.rows.slack is not None else (self.column, self.rows.order.column)
        arrived = plain(news[0], *required)
        if _HOME in self.rows.keys:
            arrived = arrived.append_column(_HOME, pa.array(home(column(arrived, self.column), self.window)))
        given = self.rows.opened(state, arrived, moment)
        merged = given.merged
        values = column(merged.table, self.column).take(pa.array(merged.rows))
        found = cells(values, self.window)
        board = self._board(given, found)
        new = self._panes(given, board, merged.new)
        until = self._until(given, new)
        old, new = self._changed(given, board, new)
        bounds = found.bounds(np.concatenate([old.cell, new.cell]), values.type)
        table = listed(merged, self.names, (old.panes, new.panes), bounds, np.concatenate([old.due, new.due]))
        return table, given.closed(until, np.zeros(len(until), dtype=np.bool_))

    def _changed(self, given: Opened, board: _Board, new: _Closed) -> tuple[_Closed, _Closed]:
        """The panes that are taken back, and those that appear: only windows with changed rows can have any."""
        merged = given.merged
        changed = _windows_with(board, (merged.old != merged.new).take(board.row))
        inside = np.flatnonzero(changed.take(board.window))
        old = self._panes(given, _Board(*(part.take(inside) for part in board)), merged.old)
        new = new.only(changed.take(new.panes.place))
        gone, come = differing(old.panes, new.panes)
        return old.only(gone), new.only(come)

    def _board(self, given: Opened, found: Cells) -> _Board:
        row, cell = found.row, np.arange(len(found.row))
        if self.window.timeout is not None:
            timed = known(column(given.merged.table, self.rows.order.column))[given.merged.rows]
            cell = cell if timed.all() else cell[timed[row]]
        if (row[cell][1:] <= row[cell][:-1]).any():
            cell = cell[stable_order(row[cell])]
        window = packed(given.merged.group[row[cell]], found.number[cell])
        order = stable_order(window)
        cell = cell[order]
        return _Board(row[cell], np.cumsum(differs([window[order]])) - 1, cell)

    def _panes(self, given: Opened, board: _Board, weight: Ints) -> _Closed:
        """The panes of the rows that are there."""
        there = np.flatnonzero(weight.take(board.row) > 0)
        row, window = board.row.take(there), board.window.take(there)
        time, cut = given.settle.take(row), differs([window])
        if self.window.timeout is not None:
            cut[1:] |= time[1:] - time[:-1] >= self.window.timeout
        first, length = stretches(cut)
        due = time.take(first + length - 1)
        if self.window.timeout is not None:
            due += self.window.timeout - 1
        panes = Panes(row, weight.take(row), first, length, window.take(first))
        return _Closed(panes, board.cell.take(there.take(first)), due)

    def _until(self, given: Opened, new: _Closed) -> Ints:
        """Until when each row may be needed: as long as a pane that it is in may change."""
        if self.recalls:
            return np.full(len(given.settle), FOREVER)
        # A row that is owed, or in no pane, may still be taken back; one without a time can be forgotten at once.
        untimed = given.settle == FOREVER
        until = np.where(untimed, DONE, given.settle) if self.window.timeout is not None else given.settle.copy()
        np.maximum.at(until, new.panes.member, np.repeat(new.due, new.panes.length))
        return until


def _windows_with(board: _Board, marked: Flags) -> Flags:
    """Which windows of the board hold a marked row."""
    found = np.zeros(int(board.window[-1]) + 1 if len(board.window) else 0, dtype=np.bool_)
    found[board.window[marked]] = True
    return found
