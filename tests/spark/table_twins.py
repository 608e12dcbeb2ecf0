"""The same boxes in the interpreter and on a database: whether both say the same at every moment."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from functools import cache

import pyarrow as pa
import pytest

from tests.shorthand import stream
from tests.spark.random_tables import ROWS, Asked, random_boxes
from tradewind.algebra.expressions.printing import print_name
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Source
from tradewind.algebra.operators.stored import Read
from tradewind.algebra.schema import Schema
from tradewind.algebra.statements import parse_change
from tradewind.algebra.tables import Table
from tradewind.algebra.times import HIGHEST
from tradewind.interpreter import storing
from tradewind.interpreter.checking import canonical
from tradewind.interpreter.rows import Bag, bag, clock, tidy
from tradewind.interpreter.run import Run, Weighted
from tradewind.spark.tables import turn
from tradewind.spark.tables.arrow import delta_table, deltas_in, rows_in
from tradewind.spark.tables.store import Tables


def deltas(schema: Schema, rows: Iterable[tuple | Weighted]) -> pa.Table:
    """Rows as Spark hands them over."""
    weighted = [row if isinstance(row, Weighted) else Weighted(row, 1) for row in rows]
    values = [canonical(row.values, schema) for row in weighted]
    return delta_table(values, map(clock(schema), values), [row.weight for row in weighted], schema)


def answer(table: pa.Table, node: Operator) -> Bag:
    return tidy(Counter(dict(deltas_in(table, node.schema))))


def contents(tables: Tables, table: Table) -> Counter[tuple]:
    return Counter(rows_in(tables.rows(table.name), table.schema))


class Twins:
    """The same boxes in the interpreter and on a database, fed with the same batches."""

    def __init__(self, url: str, asked: Asked, chance: random.Random) -> None:
        self.url, self.asked, self.chance = url, asked, chance
        probe = stream("probe", "at TIMESTAMP", "at")
        shown = ", ".join(f"{print_name(c)} AS shown_{n}" for n, c in enumerate(asked.table.schema.names))
        whole = Read(probe, asked.table, f"SELECT {shown} FROM {print_name(asked.table.name)}")
        graph = Graph.of(whole=whole, **{f"box_{n}": box for n, box in enumerate(asked.boxes)})
        self.run = Run(graph, {name: [""] for name in graph.sources()})
        self.run.feed({"probe": {"": [(HIGHEST,)]}})
        self.tables = Tables(url, asked.boxes)
        self.revised = 0
        self.total: dict[Operator, Bag] = {box: Counter() for box in asked.boxes if isinstance(box, Read)}

    def feed(self, number: int) -> None:
        """One batch, in one call or two; sometimes one is repeated, or everything is started again."""
        batch = self.asked.batches[number]
        self.run.feed({name: {"": rows} for name, rows in batch.items()})
        first = [box for box in self.asked.boxes if self.chance.random() < 0.8]
        frozen = self._frozen(number) if self.chance.random() < 0.5 else None
        for boxes in filter(None, (first, [box for box in self.asked.boxes if box not in first])):
            news: dict[Operator, pa.Table] = {box: deltas(ROWS, batch[stream_of(box)]) for box in boxes}
            found = self.tables.advance(number, news, frozen)
            for box in self.total:
                self.total[box].update(answer(found[box], box))
                self.revised += sum(weight < 0 for weight in answer(found[box], box).values())
            if self.chance.random() < 0.3:
                self.reopen()
            if self.chance.random() < 0.3:
                again = self.tables.advance(number, news, frozen)
                assert all(answer(again[box], box) == answer(found[box], box) for box in self.total)

    def _frozen(self, number: int) -> int | None:
        """The earliest time that is still to come."""
        later = [
            row.values[0]
            for batch in self.asked.batches[number + 1 :]
            for rows in batch.values()
            for row in rows
            if row.values[0] is not None
        ]
        return min(later, default=None)

    def close(self) -> None:
        self.tables.close()

    def reopen(self) -> None:
        self.close()
        self.tables = Tables(self.url, self.asked.boxes)

    def compare(self, about: str) -> None:
        """Fail when an answer or the table differs."""
        for box, found in self.total.items():
            assert tidy(found) == bag(self.run.log(box)), f"{about}: the answers of {box!r} differ"
        wanted = {row[1:]: weight for row, weight in self.run.answer("whole").items()}
        assert contents(self.tables, self.asked.table) == wanted, f"{about}: the table differs"


def stream_of(box: Operator) -> str:
    (source,) = box.inputs
    assert isinstance(source, Source)
    return source.stream


def agrees(url: str, seed: int) -> tuple[int, int]:
    """Try random boxes and rows; gives how many answers there were at the end, and how many were taken back before."""
    chance = random.Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(turn, "SIZE", chance.choice((1, 3, 8, 4096)))
        # The interpreter reads a statement anew for each row, in which most of the time would go.
        patch.setattr(storing, "parse_change", cache(parse_change))
        twins = Twins(url, random_boxes(chance), chance)
        with closing(twins):
            for number in range(len(twins.asked.batches)):
                twins.feed(number)
                twins.compare(f"seed {seed}, batch {number}")
    return sum(found.total() for found in twins.total.values()), twins.revised
