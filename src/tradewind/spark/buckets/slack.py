"""Which rows came in time: those that at most `slack` greater rows of their group overtook.

Whether rows that came too late are counted among those that overtake makes no difference: what they would overtake, the
rows that overtook them have overtaken as well. So the greatest rows alone decide, as long as nothing is taken back.
"""

from __future__ import annotations

import bisect
import heapq
from collections import Counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tradewind.spark.buckets.arrays import Array, Flags, Ints, column, differs, ranks, stretches
from tradewind.spark.buckets.groups import Groups, keys_of
from tradewind.spark.buckets.operator import State
from tradewind.spark.buckets.sorting import order_of, packed, quick_order, stable_order
from tradewind.spark.buckets.store import Gathered, contents

TOPS = "tops"
"""The name under which the greatest rows of each group are remembered."""


class Slack(NamedTuple):
    """How far out of order rows may come."""

    keys: tuple[str, ...]
    order: str
    slack: int

    def admitted(self, state: State, given: Gathered, groups: Groups) -> tuple[Gathered, Array]:
        """The rows with only those news that count, and the `slack` + 1 greatest rows that each group has seen."""
        columns = list(dict.fromkeys((*self.keys, self.order)))
        own = given.table.select(columns)
        tops = state[TOPS] if TOPS in state else own.slice(0, 0)
        found = groups.find(keys_of(tops, self.keys))
        table = pa.concat_tables([tops, own]).combine_chunks()
        rank = ranks(column(table, self.order))
        group = np.concatenate([found, given.group])
        first = tops.num_rows + given.remembered
        weight = np.concatenate([np.where(found >= 0, 1, 0), given.weight])
        weight[tops.num_rows : first] = 0
        back = groups.flags(group[weight < 0])
        if back.any():
            weight[back[group]] = 0
        copies = np.repeat(np.arange(len(weight)), np.minimum(weight, self.slack + 1))
        kept = copies[in_time(group[copies], rank[copies], self.slack)]
        counts = np.zeros(len(weight), dtype=np.bool_)
        counts[kept] = True
        admitted = np.where(counts, weight, 0)[first:]
        greatest = [np.flatnonzero(found < 0), kept[_greatest(group[kept], rank[kept], self.slack + 1)]]
        if back.any():
            changed, more = self._replayed(given, back, rank[tops.num_rows :])
            admitted += changed
            greatest.append(more + tops.num_rows)
        total = np.concatenate([given.weight[: given.remembered], admitted])
        return given._replace(weight=total), table.take(pa.array(np.concatenate(greatest)))

    def _replayed(self, given: Gathered, groups: Flags, rank: Ints) -> tuple[Ints, Ints]:
        """What counts of the news in groups where rows are taken back, and the greatest rows of these groups."""
        places = np.flatnonzero(groups[given.group])
        parts = (one.take(pa.array(places)) for one in contents(given.table))
        order, new = order_of(given.group[places], rank[places], parts)
        identity = np.empty(len(places), dtype=np.int64)
        identity[order] = np.cumsum(new)
        weight = np.zeros(len(rank) - given.remembered, dtype=np.int64)
        queues: dict[int, _Queue] = {}
        columns = (given.group[places], rank[places], places, identity, given.weight[places])
        arrivals = list(zip(*(part.tolist() for part in columns), strict=True))
        kept = int(np.searchsorted(places, given.remembered))
        for group, *row in sorted(arrivals[:kept]):
            queues.setdefault(group, _Queue(self.slack)).add(*row)
        for group, value, place, row, many in arrivals[kept:]:
            queue = queues.setdefault(group, _Queue(self.slack))
            weight[place - given.remembered] = queue.arrive(value, place, row, many)
        tops = [place for queue in queues.values() for _, place in queue.seen[-self.slack - 1 :]]
        return weight, np.array(tops, dtype=np.int64)


class _Queue:
    """One group's rows that came in time, from the least to the greatest, and how many there are of each."""

    def __init__(self, slack: int) -> None:
        self._slack = slack
        self._kept: Counter[int] = Counter()
        self.seen: list[tuple[int, int]] = []

    def add(self, value: int, place: int, row: int, many: int) -> None:
        for _ in range(many):
            bisect.insort(self.seen, (value, place))
        self._kept[row] += many

    def arrive(self, value: int, place: int, row: int, many: int) -> int:
        """How many copies of a row are put in or, below zero, taken out."""
        if many > 0:
            counts = len(self.seen) - bisect.bisect_left(self.seen, (value + 1, -1)) <= self._slack
            if counts:
                self.add(value, place, row, many)
            return many if counts else 0
        gone = min(-many, max(self._kept[row], 0))
        for _ in range(gone):
            # Any row of this value will do: only values are compared.
            del self.seen[bisect.bisect_left(self.seen, (value, -1))]
        self._kept[row] -= gone
        return -gone


def in_time(group: Ints, rank: Ints, slack: int) -> Flags:
    """Which of the rows, given in the order in which they arrived, at most `slack` greater ones of their group
    overtook.
    """
    found = np.ones(len(group), dtype=np.bool_)
    order = stable_order(group)
    key = packed(group, rank)[order]
    greatest = np.maximum.accumulate(key)
    behind = np.flatnonzero(key < greatest)
    # All that overtook a row came after the first one that did.
    since = np.searchsorted(greatest, key[behind], side="right")
    doubtful = behind[behind - since > slack]
    if len(doubtful):
        asked = np.zeros(int(group.max()) + 1, dtype=np.bool_)
        asked[group[order[doubtful]]] = True
        places = order[asked[group[order]]]
        starts, _ = stretches(differs([group[places]]))
        for members in np.split(places, starts[1:]):
            found[members] = _one_by_one(rank[members].tolist(), slack)
    return found


def _one_by_one(values: list[int], slack: int) -> list[bool]:
    greatest: list[int] = []
    found = []
    for value in values:
        if len(greatest) <= slack:
            heapq.heappush(greatest, value)
        elif value >= greatest[0]:
            heapq.heapreplace(greatest, value)
        else:
            found.append(False)
            continue
        found.append(True)
    return found


def _greatest(group: Ints, rank: Ints, many: int) -> Ints:
    """Where the greatest rows of each group are, at most so many."""
    order = quick_order(packed(group, rank))
    sorted_group = group[order]
    starts, lengths = stretches(differs([sorted_group]))
    behind = np.repeat(starts + lengths, lengths) - np.arange(len(order))
    return order[behind <= many]
