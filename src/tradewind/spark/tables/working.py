"""The rows of one table while a batch is at work: those of the keys that it has touched, in memory.

Keys are loaded and written many at a time, so that a statement costs no visit to the database. Within a batch only we
see the table; others see it when the batch is committed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tradewind.errors import InputError
from tradewind.interpreter.rows import Values
from tradewind.spark.tables.access import Bound
from tradewind.spark.tables.database import Stored

_Rows = Sequence[Values]


class Working:
    """A table as it is in the middle of a batch. `number` is given to the next row of a table without a key."""

    def __init__(self, table: Stored, number: int) -> None:
        self.number = number
        self._table = table
        self._places = [table.table.schema.index(name) for name in table.table.key]
        self._held: dict[Values, _Rows] = {}
        self._stored: dict[Values, _Rows] = {}
        """What the database holds of the keys that have changed since it was last written to."""
        self._before: dict[Values, _Rows] = {}
        """What there was of the keys that have changed since `start`."""

    def key_of(self, row: Values) -> Values:
        """The key of a row of the table."""
        return tuple([row[place] for place in self._places])

    def load(self, keys: Iterable[Values]) -> None:
        """Fetch the rows of all these keys at once."""
        missing = {key for key in keys if key not in self._held}
        found: dict[Values, list[Values]] = {key: [] for key in missing}
        for row in self._table.fetch(missing):
            found[self.key_of(row)].append(row)
        self._held.update(found)

    def get(self, key: Values) -> _Rows:
        """The rows of a key."""
        if key not in self._held:
            self.load([key])
        return self._held[key]

    def put(self, key: Values, rows: _Rows) -> None:
        """Other rows in the place of all rows of a key."""
        old = self._held[key] if key in self._held else self.get(key)
        self._stored.setdefault(key, old)
        self._before.setdefault(key, old)
        self._held[key] = rows

    def put_new(self, row: Values) -> None:
        """A row under a key that was never used."""
        self._held[self.key_of(row)] = []
        self.put(self.key_of(row), [row])

    def change(self, gone: Sequence[Values], come: Sequence[Values]) -> None:
        """Rows taken out, and rows put in, whatever their keys."""
        self.load(self.key_of(row) for row in (*gone, *come))
        for row in gone:
            key = self.key_of(row)
            left = list(self.get(key))
            if row not in left:
                raise InputError(
                    f"a row of table {self._table.table.name!r} is not there any more: {row!r:.80}.",
                    where=self._table.database.place,
                    hint="only update boxes may write to the table; begin with an empty database.",
                )
            left.remove(row)
            self.put(key, left)
        for row in come:
            key = self.key_of(row)
            self.put(key, [*self.get(key), row])

    def add(self, delta: Counter[Values]) -> None:
        """So many more of some rows, and fewer of others."""
        fewer, more = (Counter({row: sign * n for row, n in delta.items() if sign * n > 0}) for sign in (-1, 1))
        self.change(list(fewer.elements()), list(more.elements()))

    def search(self, bounds: Sequence[Bound]) -> list[Values]:
        """The rows within bounds."""
        self.write()
        return self._table.search(bounds)

    def start(self) -> None:
        """Begin to note what changes."""
        self._before.clear()

    def delta(self) -> Counter[Values]:
        """What has changed since `start`."""
        total: dict[Values, int] = {}
        for key, old in self._before.items():
            for rows, weight in ((old, -1), (self._held[key], 1)):
                for row in rows:
                    total[row] = total.get(row, 0) + weight
        return Counter({row: weight for row, weight in total.items() if weight})

    def write(self) -> None:
        """Let the database have what has changed."""
        cleared, replaced, added = [], [], list[Values]()
        for key, old in self._stored.items():
            new = self._held[key]
            if old == new:
                continue
            if len(old) == len(new) == 1:
                replaced.append((key, new[0]))
                continue
            if old:
                cleared.append(key)
            added.extend(new)
        self._table.write(cleared, replaced, added)
        self._stored.clear()
