"""Tables in a SQLite file.

TIMESTAMP is whole microseconds and DATE whole days since 1970, BOOLEAN 0 or 1, and DECIMAL a text with all its digits.
SQLite makes NULL of NaN, so NaN is the text 'NaN', which SQLite puts after every number, where it belongs.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

from tradewind.algebra.tables import Table
from tradewind.algebra.types import DataType
from tradewind.errors import InputError
from tradewind.interpreter.rows import Values
from tradewind.interpreter.values import EXACT, Value
from tradewind.spark.tables.address import Address
from tradewind.spark.tables.database import Coder, Coders, Database, Stored

_PATIENCE = 60.0
"""Seconds to wait for another writer."""

_AT_ONCE = 240
"""So many values are asked for in one statement."""


class SQLite(Database):
    """A connection to a SQLite file, which is made when it is not there."""

    mark = "?"
    blob = "BLOB"

    def __init__(self, path: str, address: Address | None = None) -> None:
        address = address or Address.of(path)
        super().__init__(str(address))
        try:
            self._connection = _opened(path)
        except (OSError, sqlite3.Error, ValueError) as error:
            why = address.reason(error)
        else:
            return
        # Out here, so that the error does not carry the one that quotes the path.
        raise InputError(
            f"cannot be used as a database: {why}.",
            where=self.place,
            hint="name a file that is new or was made here.",
        )

    def run(self, text: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """Run one statement and give its rows."""
        return self._connection.execute(text, values).fetchall()

    def many(self, text: str, values: Sequence[Sequence[Value]]) -> None:
        """Run one statement for each row of values."""
        self._connection.executemany(text, values)

    def begin(self, names: Sequence[str]) -> None:
        """Begin a transaction; there is one writer at a time."""
        self.run("BEGIN IMMEDIATE")

    def rollback(self) -> None:
        """Undo the transaction; some failures have ended it already."""
        if self._connection.in_transaction:
            self.run("ROLLBACK")

    def has(self, name: str) -> bool:
        """Whether there is a table or view of that name, whatever its case."""
        asked = "SELECT 1 FROM sqlite_master WHERE type IN ('table', 'view') AND lower(name) = lower(?)"
        return bool(self.run(asked, (name,)))

    def stored(self, table: Table) -> SQLiteTable:
        """One table of the file."""
        return SQLiteTable(self, table)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _opened(path: str) -> sqlite3.Connection:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    # Spark calls back from threads of its own, one at a time.
    connection = sqlite3.connect(path, _PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        # Others can read while we write.
        connection.execute("PRAGMA journal_mode = WAL")
        # A batch that was committed must not be lost when the machine fails: the query relies on it.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -65536")
    except BaseException:
        connection.close()
        raise
    return connection


def _digits(type_: DataType) -> Coder:
    unit = Decimal(1).scaleb(-type_.parameters[1])
    return lambda value: format(value.quantize(unit, context=EXACT), "f")


def _no_nan(_: DataType) -> Coder:
    return lambda value: "NaN" if math.isnan(value) else value


def _nan(_: DataType) -> Coder:
    return lambda value: math.nan if value == "NaN" else value


class SQLiteTable(Stored):
    """A table in a SQLite file."""

    database: SQLite
    kinds: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "DATE", "TIMESTAMP"), "INTEGER"),
        **dict.fromkeys(("FLOAT", "DOUBLE"), "REAL"), **dict.fromkeys(("STRING", "DECIMAL"), "TEXT"),
        **dict.fromkeys(("BINARY", "VOID"), "BLOB"),
    }  # fmt: skip
    writing: ClassVar[Coders] = {"DECIMAL": _digits, "FLOAT": _no_nan, "DOUBLE": _no_nan}
    reading: ClassVar[Coders] = {
        "BOOLEAN": lambda _: bool, "DECIMAL": lambda _: Decimal, "FLOAT": _nan, "DOUBLE": _nan,
    }  # fmt: skip

    def __init__(self, database: SQLite, table: Table) -> None:
        super().__init__(database, table)
        self._of_key = " AND ".join(f"{name} IS ?" for name in self.key)
        rest = [name for name in self.columns if name not in self.key]
        self._set = f"UPDATE {self.name} SET {', '.join(f'{name} = ?' for name in rest)} WHERE {self._of_key}"
        self._rest = [place for place, name in enumerate(self.columns) if name not in self.key]
        self._insert = f"INSERT INTO {self.name} VALUES ({', '.join('?' * len(self.columns))})"

    def fetch(self, keys: Collection[Values]) -> Iterator[Values]:
        """All rows that have one of these keys, many at a time."""
        size = max(1, _AT_ONCE // len(self.key))
        asked = self.encoded_keys(keys)
        for start in range(0, len(asked), size):
            part = asked[start : start + size]
            values = [value for key in part for value in key]
            yield from self.decoded(self.database.run(self.asking(len(part)), values))

    def asking(self, count: int) -> str:
        """A statement that asks for so many keys. `IS` finds NULL, and CROSS JOIN makes SQLite look each key up."""
        one = f"({', '.join('?' * len(self.key))})"
        columns = ", ".join(f"kept.{name}" for name in self.columns)
        same = " AND ".join(f"kept.{name} IS asked.column{number}" for number, name in enumerate(self.key, start=1))
        asked = f"(VALUES {', '.join([one] * count)}) AS asked"
        return f"SELECT {columns} FROM {asked} CROSS JOIN {self.name} AS kept ON {same}"

    def write(
        self, cleared: Sequence[Values], replaced: Sequence[tuple[Values, Values]], added: Sequence[Values]
    ) -> None:
        """Delete, replace, insert."""
        if cleared:
            self.database.many(f"DELETE FROM {self.name} WHERE {self._of_key}", self.encoded_keys(cleared))
        if replaced:
            keys = self.encoded_keys(key for key, _ in replaced)
            rows = self.encoded(row for _, row in replaced)
            changed = [(*(row[i] for i in self._rest), *key) for key, row in zip(keys, rows, strict=True)]
            self.database.many(self._set, changed)
        if added:
            self.database.many(self._insert, self.encoded(added))

    def index(self, equal: Sequence[str], ranged: Sequence[str]) -> None:
        """An index over the columns compared for equality, and over one of those compared for order."""
        columns = [self.database.quoted(name) for name in (*dict.fromkeys(equal), *ranged[:1])]
        if columns and columns != self.key[: len(columns)]:
            name = self.index_name("", columns)
            self.database.run(f"CREATE INDEX IF NOT EXISTS {name} ON {self.name} ({', '.join(columns)})")
