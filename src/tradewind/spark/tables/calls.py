"""What was handed in and answered for the last batch, so that a batch which is done twice counts once.

A batch may come in several calls, each with the rows of other boxes: what a read box answers may be on its way to an
update of another table. The boxes that are named in a call tell which of them it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa

from tradewind.algebra.operators.stored import Read
from tradewind.errors import InputError, InternalError
from tradewind.spark.tables.arrow import packed, unpacked
from tradewind.spark.tables.database import Database
from tradewind.spark.tables.steps import Box


class Calls:
    """The calls of the last batch. `boxes` are all of the run's, on the tables that are named."""

    def __init__(self, database: Database, boxes: Sequence[Box]) -> None:
        self._database = database
        self._boxes = {node.fingerprint: node for node in boxes}
        self._names = sorted({node.table.name for node in boxes})
        self._mine = f"name IN ({', '.join('?' * len(self._names))})"

    def again(self, batch: int, news: Mapping[Box, pa.Table]) -> dict[Read, list[pa.Table]] | None:
        """What a call gave that was committed already; None for one that was not."""
        last = self._last()
        if last is None or batch > last:
            return None
        if batch < last:
            raise InputError(
                f"batch {batch} comes, but batch {last} has been committed already.",
                where=self._database.place,
                hint="the database is newer than the checkpoint of the query; keep both or begin both anew.",
            )
        asked = f"SELECT call, box, handed, content FROM tradewind_calls WHERE {self._mine} ORDER BY call"
        kept = self._database.note(asked, self._names)
        taken = {box: call for call, box, handed, _ in kept if handed}
        new = [node for node in news if node.fingerprint not in taken]
        if len(new) == len(news) > 0:
            return None
        if any(news[node].num_rows for node in new):
            raise InternalError(f"batch {batch} is repeated with rows of boxes that it did not have.")
        meant = {taken[node.fingerprint] for node in news if node not in new} or set(taken.values())
        answers: dict[Read, list[pa.Table]] = {}
        for call, box, _, content in kept:
            node = self._boxes.get(box)
            if call in meant and content is not None and isinstance(node, Read):
                answers.setdefault(node, []).append(unpacked(bytes(content)))
        return answers

    def record(self, batch: int, handed: Collection[Box], answers: Mapping[Read, pa.Table]) -> None:
        """Note a call that is about to be committed."""
        if self._last() != batch:
            self._database.note(f"DELETE FROM tradewind_calls WHERE {self._mine}", self._names)
            self._database.note(f"UPDATE tradewind_tables SET batch = ? WHERE {self._mine}", (batch, *self._names))
        asked = f"SELECT coalesce(max(call), 0) + 1 FROM tradewind_calls WHERE {self._mine}"
        call = self._database.note(asked, self._names)[0][0]
        for node in {*handed, *answers}:
            content = packed(answers[node]) if isinstance(node, Read) and node in answers else None
            row = (node.table.name, call, node.fingerprint, int(node in handed), content)
            self._database.note("INSERT INTO tradewind_calls VALUES (?, ?, ?, ?, ?)", row)

    def _last(self) -> int | None:
        """The last batch that was committed."""
        found = self._database.note(f"SELECT max(batch) FROM tradewind_tables WHERE {self._mine}", self._names)
        last: int | None = found[0][0]
        return last
