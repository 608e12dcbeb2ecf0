"""How an operator with two inputs begins a batch: the rows of the groups that either of them touches."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tradewind.spark.buckets.arrays import Array, Ints, column, integers, known
from tradewind.spark.buckets.gathering import Ordering, late_in
from tradewind.spark.buckets.groups import Groups
from tradewind.spark.buckets.store import Clock, Merged, Shelf, merged


def both_merged(shelves: tuple[Shelf, Shelf], orders: tuple[Ordering, Ordering], clock: Clock) -> tuple[Merged, Merged]:
    """The rows of both inputs in the order of group and time; groups have the same numbers in both."""
    touching = [shelf.touching() for shelf in shelves]
    groups = Groups(pa.concat_tables(touching))
    codes = np.split(groups.codes, [touching[0].num_rows])
    codes = [code[: shelf.news.num_rows] for code, shelf in zip(codes, shelves, strict=True)]
    parts = zip(shelves, codes, orders, strict=True)
    one, two = (late_in(groups, code, order.settle(shelf.news), clock) for shelf, code, order in parts)
    late = one.both(two)
    found = []
    for shelf, code, order in zip(shelves, codes, orders, strict=True):
        given = shelf.gathered(groups, code, late.groups, late.threshold)
        found.append(merged(given, _times(column(given.table, order.column)), (*shelf.keys, order.column)))
    return found[0], found[1]


def _times(array: Array) -> Ints:
    """Times as integers; where there is none, one after all others."""
    timed, found = known(array), integers(array)
    return found if timed.all() else np.where(timed, found, np.max(found[timed], initial=0) + 1)
