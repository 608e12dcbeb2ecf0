"""The steps of one table: what its boxes do for each of their rows, in the order that they are done in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import pyarrow as pa

from tradewind.algebra.operators.stored import Read, Update
from tradewind.interpreter.rows import Row, Time, Values, content_order
from tradewind.interpreter.values import Value
from tradewind.spark.tables.arrow import delta_table, dues_in, rows_in, weights_in

Box = Read | Update


class Step(NamedTuple):
    """A box at work on one row. `rank` puts updates before reads and orders both by their statements; a weight below
    one is of rows that are owed: they do nothing until they have come.
    """

    time: int
    rank: int
    box: int
    values: Values
    due: Time
    weight: int


class Order:
    """The boxes of one table, and the order in which their steps are done: by time, updates before reads, statement
    and content, as `interpreter.storing` has it.
    """

    def __init__(self, boxes: Sequence[Box]) -> None:
        self.boxes = boxes
        done = [(isinstance(node, Read), node.statement) for node in boxes]
        ranks = sorted(set(done))
        self._ranks = [ranks.index(one) for one in done]
        self._contents = [content_order(node.input.schema) for node in boxes]

    def steps(self, box: int, deltas: pa.Table) -> Iterator[Step]:
        """The steps of one box for an Arrow table of deltas. A row without a time does nothing."""
        schema, rank = self.boxes[box].input.schema, self._ranks[box]
        time = schema.index(str(schema.soonest))
        for values, due, weight in zip(rows_in(deltas, schema), dues_in(deltas), weights_in(deltas), strict=True):
            if (moment := values[time]) is not None:
                yield Step(moment, rank, box, values, due, weight)

    def deltas(self, steps: Iterable[Step]) -> dict[int, pa.Table]:
        """The steps' rows by box, as an Arrow table of deltas for each."""
        found: dict[int, list[Step]] = {}
        for step in steps:
            found.setdefault(step.box, []).append(step)
        return {box: self._table(box, mine) for box, mine in found.items()}

    def sort(self, steps: Iterable[Step]) -> list[Step]:
        """The steps in order."""
        found: list[Step] = []
        # Contents are compared only where they decide, because that takes long.
        for _, same in groupby(sorted(steps, key=_moment), key=_moment):
            equal = list(same)
            found.extend(sorted(equal, key=self._content) if len(equal) > 1 else equal)
        return found

    def _content(self, step: Step) -> Value:
        return self._contents[step.box](Row(step.values, step.due))

    def _table(self, box: int, steps: Sequence[Step]) -> pa.Table:
        rows, dues = [step.values for step in steps], [step.due for step in steps]
        return delta_table(rows, dues, [step.weight for step in steps], self.boxes[box].input.schema)


_moment = itemgetter(0, 1)


def added_up(steps: Iterable[Step]) -> list[Step]:
    """Steps of equal sum, in which no row is both put in and taken back."""
    given = list(steps)
    if all(step.weight > 0 for step in given):
        return given
    total: dict[tuple[int, Values, Time], Step] = {}
    for step in given:
        same = (step.box, step.values, step.due)
        known = total.get(same)
        total[same] = step if known is None else step._replace(weight=step.weight + known.weight)
    return [step for step in total.values() if step.weight]


def pieces(steps: Sequence[Step], size: int) -> Iterator[Sequence[Step]]:
    """Ordered steps in pieces of about a size. Steps of one time are never parted."""
    start = 0
    while start < len(steps):
        end = min(start + size, len(steps))
        while end < len(steps) and steps[end].time == steps[end - 1].time:
            end += 1
        yield steps[start:end]
        start = end
