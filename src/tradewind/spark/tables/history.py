"""What is kept of one table's steps, so that a row which comes late can still be done in its turn.

Steps are kept in segments that follow one another in time: the rows of each box, what they changed in the table, and
what the read boxes were answered. To go back, what the later segments changed is taken back; to go on, their steps are
done again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tradewind.algebra.tables import Table
from tradewind.errors import GraphError
from tradewind.interpreter.rows import Bag, Values
from tradewind.spark.tables.arrow import bag_table, counted_in, counted_table, deltas_in, packed, unpacked
from tradewind.spark.tables.database import Database
from tradewind.spark.tables.steps import Order, Step

_STEPS, _CHANGED, _ANSWERED = "steps", "changed", "answered"


class Segment(NamedTuple):
    """Steps that are kept together: all those between two times, both included."""

    id: int
    earliest: int
    latest: int
    steps: int
    number: int


class History:
    """The segments of one table."""

    def __init__(self, database: Database, table: Table, order: Order) -> None:
        self._database = database
        self._table = table
        self._order = order
        self._places = {node.fingerprint: place for place, node in enumerate(order.boxes)}
        asked = "SELECT DISTINCT box FROM tradewind_parts WHERE name = ? AND box <> ''"
        strange = [box for (box,) in database.note(asked, (table.name,)) if box not in self._places]
        if strange:
            raise GraphError(
                f"table {table.name!r} holds rows of {len(strange)} boxes that are not there any more.",
                where=database.place,
                hint="keep the boxes as they were, or begin with an empty database.",
            )

    def since(self, time: int) -> list[Segment]:
        """The segments that reach to a time or lie after it, in order."""
        asked = "SELECT id, earliest, latest, steps, number FROM tradewind_segments WHERE name = ? AND latest >= ?"
        return [Segment(*row) for row in self._database.note(f"{asked} ORDER BY latest", (self._table.name, time))]

    def steps(self, segment: Segment) -> Iterator[Step]:
        """What was done."""
        for box, content in self._parts(segment, _STEPS):
            yield from self._order.steps(self._places[box], unpacked(content))

    def changed(self, segment: Segment) -> Counter[Values]:
        """What that changed in the table."""
        total: Counter[Values] = Counter()
        for _, content in self._parts(segment, _CHANGED):
            total = counted_in(unpacked(content), self._table.schema)
        return total

    def answered(self, segment: Segment) -> Iterator[tuple[int, Bag]]:
        """What the read boxes were answered, by box."""
        for box, content in self._parts(segment, _ANSWERED):
            place = self._places[box]
            yield place, Counter(dict(deltas_in(unpacked(content), self._order.boxes[place].schema)))

    def save(self, steps: Sequence[Step], number: int, changed: Counter[Values], answered: Mapping[int, Bag]) -> None:
        """Keep another segment."""
        name, boxes = self._table.name, self._order.boxes
        highest = self._database.note("SELECT coalesce(max(id), 0) FROM tradewind_segments WHERE name = ?", (name,))
        made = Segment(highest[0][0] + 1, steps[0].time, steps[-1].time, len(steps), number)
        self._database.note("INSERT INTO tradewind_segments VALUES (?, ?, ?, ?, ?, ?)", (name, *made))
        parts = [(_STEPS, boxes[box].fingerprint, table) for box, table in self._order.deltas(steps).items()]
        if changed:
            parts.append((_CHANGED, "", counted_table(changed, self._table.schema)))
        for box, found in answered.items():
            parts.append((_ANSWERED, boxes[box].fingerprint, bag_table(found, boxes[box].schema)))
        for kind, owner, table in parts:
            row = (name, made.id, kind, owner, packed(table))
            self._database.note("INSERT INTO tradewind_parts VALUES (?, ?, ?, ?, ?)", row)

    def drop(self, segment: Segment) -> None:
        """Keep a segment no longer."""
        which = (self._table.name, segment.id)
        self._database.note("DELETE FROM tradewind_parts WHERE name = ? AND segment = ?", which)
        self._database.note("DELETE FROM tradewind_segments WHERE name = ? AND id = ?", which)

    def forget(self, time: int) -> int | None:
        """Drop all segments that lie before a time; gives the latest time that they reached to, None without any."""
        asked = "SELECT id, earliest, latest, steps, number FROM tradewind_segments WHERE name = ? AND latest < ?"
        old = [Segment(*row) for row in self._database.note(asked, (self._table.name, time))]
        for segment in old:
            self.drop(segment)
        return max((segment.latest for segment in old), default=None)

    def _parts(self, segment: Segment, kind: str) -> list[tuple[str, bytes]]:
        asked = "SELECT box, content FROM tradewind_parts WHERE name = ? AND segment = ? AND kind = ? ORDER BY box"
        found = self._database.note(asked, (self._table.name, segment.id, kind))
        return [(box, bytes(content)) for box, content in found]
