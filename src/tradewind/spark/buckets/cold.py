"""Rows that only late rows can touch, in tables that are written once.

A cold table is a log: rows with weights, in the order of `_until`, the moment after which nothing in time can touch
them. What is no longer so is taken back by a row with a negative weight. Small tables are merged into larger ones, so
there are few, and a row is copied seldom.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tradewind.spark.buckets.arrays import Array, Ints, column, integers
from tradewind.spark.buckets.operator import WEIGHT, State
from tradewind.spark.buckets.sorting import order_of

UNTIL = "_until"
_MARK = "-cold-"
_GROWTH = 2
"""An older table is at least so many times as long as the next one."""


def since(state: State, name: str, threshold: int) -> Array | None:
    """The cold rows that can be touched by what comes from the threshold on; None when there are none."""
    found = [table.slice(int(np.searchsorted(_until(table), threshold))) for table in _tables(state, name).values()]
    found = [table for table in found if table.num_rows]
    return netted(pa.concat_tables(found).combine_chunks()) if found else None


def with_added(state: State, name: str, added: Array, frozen: int) -> State:
    """The cold tables after more rows have become cold, without those that nothing will touch any more."""
    tables = _tables(state, name)
    kept = {key: table for key, table in tables.items() if table.num_rows and _until(table)[-1] >= frozen}
    number = max((int(key.rpartition("-")[2]) for key in tables), default=-1) + 1
    merged = [added] if added.num_rows else []
    rows = added.num_rows
    for key in reversed(list(kept)):
        table = kept[key]
        stale = int(np.searchsorted(_until(table), frozen))
        if table.num_rows < _GROWTH * rows or stale > table.num_rows // 2:
            merged.append(table.slice(stale))
            rows += table.num_rows - stale
            del kept[key]
    if merged:
        kept[f"{name}{_MARK}{number}"] = _sorted(netted(pa.concat_tables(merged).combine_chunks()))
    return kept


def netted(table: Array) -> Array:
    """The rows with what was taken back gone."""
    weight = integers(column(table, WEIGHT))
    if not (weight < 0).any():
        return table
    until = integers(column(table, UNTIL))
    others = [column(table, name) for name in table.column_names if name not in (WEIGHT, UNTIL)]
    order, new = order_of(np.zeros(len(until), dtype=np.int64), until, others)
    starts = np.flatnonzero(new)
    total = np.add.reduceat(weight[order], starts)
    left = total != 0
    kept = table.take(pa.array(order[starts][left]))
    return kept.set_column(kept.column_names.index(WEIGHT), WEIGHT, pa.array(total[left]))


def _sorted(table: Array) -> Array:
    until = _until(table)
    return table if (until[1:] >= until[:-1]).all() else table.take(pa.array(np.argsort(until, kind="stable")))


def _tables(state: State, name: str) -> State:
    prefix = f"{name}{_MARK}"
    names = sorted((key for key in state if key.startswith(prefix)), key=lambda key: int(key[len(prefix) :]))
    return {key: state[key] for key in names}


def _until(table: Array) -> Ints:
    return integers(column(table, UNTIL))
