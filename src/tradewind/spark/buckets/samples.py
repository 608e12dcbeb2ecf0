"""Samples of a resampled stream: one row for each group and time, and until when it may be needed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tradewind.spark.buckets.arrays import Array, Flags, Ints, column, differs, integers
from tradewind.spark.buckets.lines import Stretch, on_line
from tradewind.spark.buckets.operator import DUE, WEIGHT
from tradewind.spark.buckets.sorting import order_of, packed
from tradewind.spark.buckets.store import Merged, contents


def samples(rows: Merged, weight: Ints) -> Ints:
    """Of the rows that are there, the last by content at each time of a group."""
    there = np.flatnonzero(weight > 0)
    new = differs([rows.group.take(there), rows.rank.take(there)])
    return there.take(np.flatnonzero(np.append(new[1:], True))) if len(there) else there


def followers(rows: Merged, chosen: Ints) -> Ints:
    """For each sample, the next one of its group; -1 for the last."""
    group = rows.group.take(chosen)
    following = np.append(chosen[1:], -1)
    following[:-1] = np.where(group[1:] == group[:-1], following[:-1], -1)
    return following


def spread(rows: Merged, chosen: Ints, until: Ints, own: Ints) -> Ints:
    """Until when each row may be needed, from what is known of the samples: those that another one hides, as long as
    that one; those that are owed, until they are settled.
    """
    if len(chosen) == len(own):
        return until
    is_sample = np.zeros(len(own), dtype=np.int64)
    is_sample[chosen] = 1
    found = own.copy()
    there = np.flatnonzero(rows.new > 0)
    found[there] = until.take((np.cumsum(is_sample) - is_sample).take(there))
    return found


def highest_so_far(group: Ints, values: Ints) -> Ints:
    """The greatest value of its group up to each place."""
    key = packed(group, values)
    top = np.maximum.accumulate(key)
    return values[np.maximum.accumulate(np.where(key == top, np.arange(len(key)), 0))]


def values_at(table: Array, names: tuple[str, ...], method: str, at: Stretch) -> list[Array]:
    """The values of some columns at some moments; where there is no row before, NULL."""
    columns = [column(table, name) for name in names]
    nothing = at.before < 0
    if method == "previous":
        before = pa.array(at.before, mask=nothing)
        return [values.take(before) for values in columns]
    if not nothing.any():
        return [on_line(values, at) for values in columns]
    places = np.flatnonzero(~nothing)
    inner = Stretch(*(part.take(places) for part in at))
    slots = np.cumsum(~nothing) - 1
    return [on_line(values, inner).take(pa.array(slots, mask=nothing)) for values in columns]


def consolidated(table: Array, group: Ints) -> Array:
    """Deltas without what is taken back and given again unchanged. Only rows of the same group can be equal."""
    weight = integers(column(table, WEIGHT)).copy()
    back = weight < 0
    if not back.any() or back.all():
        return table
    asked: Flags = np.zeros(int(group.max()) + 1, dtype=np.bool_)
    asked[group[back]] = True
    places = np.flatnonzero(asked[group])
    part = table.take(pa.array(places)).drop_columns([WEIGHT])
    due = integers(column(part, DUE))
    order, new = order_of(group[places], due, contents(part))
    starts = np.flatnonzero(new)
    total = np.add.reduceat(weight[places][order], starts)
    weight[places] = 0
    weight[places[order[starts]]] = total
    kept = np.flatnonzero(weight)
    found = table.set_column(table.column_names.index(WEIGHT), WEIGHT, pa.array(weight))
    return found if len(kept) == len(weight) else found.take(pa.array(kept))
