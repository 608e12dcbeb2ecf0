"""Rows that only late rows can touch, in tables that are written once.

A cold table is a log: rows with weights and with an `_until`, the moment after which nothing in time can touch them.
What is no longer so is taken back by a row with a negative weight. Small tables are merged into larger ones, so there
are few, and a row is copied seldom. Each table says beside its columns how far it reaches, so that most need not be
read at all.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tradewind.spark.buckets.arrays import Array, Ints, column, integers
from tradewind.spark.buckets.operator import WEIGHT, State
from tradewind.spark.buckets.sorting import order_of

UNTIL = "_until"
_MARK = "-cold-"
_REACH = b"reach"
_GROWTH = 2
"""A table is at least so many times as long as the next one,"""
_LONGEST = 2**21
"""unless it would be longer than this."""


def since(state: State, name: str, threshold: int) -> Array | None:
    """The cold rows that can be touched by what comes from the threshold on; None when there are none."""
    found = [_from(table, threshold) for table in _tables(state, name).values() if _reach(table) >= threshold]
    found = [table for table in found if table.num_rows]
    return _netted(pa.concat_tables(found).combine_chunks()) if found else None


def with_added(state: State, name: str, added: Array, frozen: int) -> State:
    """The cold tables after more rows have become cold, without those that nothing will touch any more."""
    tables = _tables(state, name)
    number = max((int(key.rpartition("-")[2]) for key in tables), default=-1) + 1
    kept = {key: table for key, table in tables.items() if _reach(table) >= frozen}
    if not added.num_rows:
        return kept
    merged, rows = [added], added.num_rows
    for key in reversed(list(kept)):
        more = kept[key].num_rows
        if more >= _GROWTH * rows or more + rows > _LONGEST:
            break
        merged.append(_from(kept.pop(key), frozen))
        rows += more
    found = _netted(pa.concat_tables(merged).combine_chunks())
    if found.num_rows:
        reach = str(int(_until(found).max())).encode()
        kept[f"{name}{_MARK}{number}"] = found.replace_schema_metadata({_REACH: reach})
    return kept


def _netted(table: Array) -> Array:
    """The rows with what was taken back gone."""
    weight = integers(column(table, WEIGHT))
    if not (weight < 0).any():
        return table
    until = _until(table)
    others = [column(table, name) for name in table.column_names if name not in (WEIGHT, UNTIL)]
    order, new = order_of(np.zeros(len(until), dtype=np.int64), until, others)
    starts = np.flatnonzero(new)
    total = np.add.reduceat(weight.take(order), starts)
    left = np.flatnonzero(total)
    kept = table.take(pa.array(order.take(starts).take(left)))
    return kept.set_column(kept.column_names.index(WEIGHT), WEIGHT, pa.array(total.take(left)))


def _from(table: Array, threshold: int) -> Array:
    """The rows that reach a threshold."""
    places = np.flatnonzero(_until(table) >= threshold)
    return table if len(places) == table.num_rows else table.take(pa.array(places))


def _tables(state: State, name: str) -> State:
    prefix = f"{name}{_MARK}"
    names = sorted((key for key in state if key.startswith(prefix)), key=lambda key: int(key[len(prefix) :]))
    return {key: state[key] for key in names}


def _reach(table: Array) -> int:
    return int(table.schema.metadata[_REACH])


def _until(table: Array) -> Ints:
    return integers(column(table, UNTIL))
