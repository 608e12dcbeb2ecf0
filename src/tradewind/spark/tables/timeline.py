"""One table in a database through time: what its boxes do to it, batch by batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from tradewind.algebra.operators.stored import Read
from tradewind.algebra.tables import Table
from tradewind.errors import GraphError, InputError, InternalError
from tradewind.interpreter.rows import Bag
from tradewind.spark.tables.arrow import rows_table
from tradewind.spark.tables.boxes import Sets, changes_or_answers, keyed
from tradewind.spark.tables.database import Database
from tradewind.spark.tables.history import History
from tradewind.spark.tables.steps import Box, Order, added_up
from tradewind.spark.tables.turn import Turn
from tradewind.spark.tables.working import Working


class Timeline:
    """A table in a database, and the boxes that work on it."""

    def __init__(self, database: Database, table: Table, boxes: Sequence[Box]) -> None:
        self.boxes = boxes
        self._name = table.name
        self._table = table
        self._database = database
        self._stored = database.stored(keyed(table))
        self._order = Order(boxes)
        self._does = [changes_or_answers(node) for node in boxes]
        self._open()
        self._history = History(database, self._stored.table, self._order)

    def advance(self, news: Mapping[Box, pa.Table], frozen: Mapping[Box, int]) -> dict[Read, Bag]:
        """Do what new rows ask for, in their turn. Gives what the answers of the read boxes gain and lose.

        `frozen` says for boxes from which settle time on rows may still come to them.
        """
        number, forgotten = self._database.note(
            "SELECT number, forgotten FROM tradewind_tables WHERE name = ?", (self._name,)
        )[0]
        parts = [(place, news[node]) for place, node in enumerate(self.boxes) if node in news and news[node].num_rows]
        steps = self._order.sort(added_up(step for place, rows in parts for step in self._order.steps(place, rows)))
        answers: dict[int, Bag] = {}
        if steps:
            if forgotten is not None and steps[0].time <= forgotten:
                raise InternalError(f"table {self._name!r} is frozen, but a row of an earlier time comes.")
            rows = Working(self._stored, number)
            turn = Turn(self._order, self._does, self._history, rows)
            turn.take(steps)
            rows.write()
            number, answers = rows.number, turn.gained()
        if all(node in frozen for node in self.boxes):
            gone = self._history.forget(min(frozen[node] - _lag(node) for node in self.boxes))
            forgotten = forgotten if gone is None else gone
        changed = "UPDATE tradewind_tables SET number = ?, forgotten = ? WHERE name = ?"
        self._database.note(changed, (number, forgotten, self._name))
        return {
            node: answers[place] for place, node in enumerate(self.boxes) if isinstance(node, Read) and place in answers
        }

    def rows(self) -> pa.Table:
        """The table as it is now."""
        width = len(self._table.schema.columns)
        return rows_table([row[:width] for row in self._stored.everything()], self._table.schema)

    def _open(self) -> None:
        """Find the table, or make it."""
        asked = "SELECT columns FROM tradewind_tables WHERE name = ?"
        known = self._database.note(asked, (self._name,))
        columns = f"{self._stored.table.schema} KEY {', '.join(self._stored.table.key)}"
        if known and known[0][0] != columns:
            raise GraphError(
                f"table {self._name!r} has other columns there: {known[0][0]}, not {columns}.",
                where=self._database.place,
                hint="declare the table as it was, or begin with an empty database.",
            )
        if not known:
            if self._database.has(self._name):
                raise InputError(
                    f"there is a table {self._name!r} already, and it was not made by Tradewind.",
                    where=self._database.place,
                    hint="rename one of them, or use a database of its own.",
                )
            self._stored.create()
            made = "INSERT INTO tradewind_tables VALUES (?, ?, 0, NULL, NULL)"
            self._database.note(made, (self._name, columns))
        moves = any(isinstance(does, Sets) and does.moves for does in self._does)
        if moves or not known:
            self._stored.index_key(unique=not moves)
        for does in self._does:
            if does.access is not None and not does.access.by_key:
                self._stored.index(*does.access.searched)


def _lag(node: Box) -> int:
    """How long after its time a row may be settled, and so may come."""
    schema = node.input.schema
    return max(0, schema.lag(str(schema.soonest)) or 0)
