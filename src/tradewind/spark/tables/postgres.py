"""Tables in a PostgreSQL server.

TIMESTAMP is whole microseconds and DATE whole days since 1970, because PostgreSQL's own types do not reach as far as
ours; all other types are PostgreSQL's. Its texts cannot hold the character 0, so that 0 and 1 become 1 1 and 1 2.

Its arithmetic raises where ours gives NULL, and Python cannot be called from it. So, as in SQLite, it only finds rows,
and what a statement computes is computed here; keys are asked for and written thousands at a time, because a visit to
a server takes longer than the statement itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import psycopg

from tradewind.algebra.tables import Table
from tradewind.algebra.types import BINARY, STRING, DataType
from tradewind.errors import InputError
from tradewind.interpreter.evaluate import plain_zero
from tradewind.interpreter.rows import Values
from tradewind.interpreter.values import Value
from tradewind.spark.tables.address import Address
from tradewind.spark.tables.database import Coder, Coders, Database, Stored

_LONGEST_NAME = 63
_MAKING = 0x7472_6164_6577_696E
"""The number of the lock under which tables are made."""


class Postgres(Database):
    """A connection to a PostgreSQL server."""

    mark = "%s"
    blob = "BYTEA"

    def __init__(self, url: str | Address) -> None:
        address = Address.of(url)
        super().__init__(str(address))
        try:
            self.connection = psycopg.connect(address.url, autocommit=True)
        except psycopg.ProgrammingError as error:
            why, hint = f"is no address of a database: {address.reason(error)}.", "postgresql://user@host/database."
        except (psycopg.Error, ValueError) as error:
            why, hint = f"cannot be reached: {address.reason(error)}.", "is the server there?"
        else:
            return
        # Out here, so that the error does not carry the one that quotes the address.
        raise InputError(why, where=self.place, hint=hint)

    def run(self, text: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """Run one statement and give its rows."""
        cursor = self.connection.execute(text.encode(), values)
        return cursor.fetchall() if cursor.description else []

    def begin(self, names: Sequence[str]) -> None:
        """Begin a transaction and lock the tables against other writers."""
        self.run("BEGIN")
        if names:
            self.run("SELECT 1 FROM tradewind_tables WHERE name = ANY(%s) ORDER BY name FOR UPDATE", (list(names),))
        else:
            self.run("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))

    def rollback(self) -> None:
        """Undo the transaction; without a connection the server does it."""
        if not self.connection.closed:
            self.run("ROLLBACK")

    def has(self, name: str) -> bool:
        """Whether there is a table or view of that name."""
        return self.run("SELECT to_regclass(%s) IS NOT NULL", (super().quoted(name),))[0][0] is True

    def quoted(self, name: str) -> str:
        """A name in a statement. PostgreSQL would cut a longer one; psycopg wants signs of percent doubled."""
        if len(name.encode()) > _LONGEST_NAME:
            raise InputError(f"{name!r} is too long a name for PostgreSQL.", where=self.place, hint="rename it.")
        return super().quoted(name).replace("%", "%%")

    def stored(self, table: Table) -> PostgresTable:
        """One table of the database."""
        return PostgresTable(self, table)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def _without_0(_: DataType) -> Coder:
    # Texts keep their order this way.
    return lambda text: text.replace("\1", "\1\2").replace("\0", "\1\1")


def _with_0(_: DataType) -> Coder:
    return lambda text: text.replace("\1\1", "\0").replace("\1\2", "\1")


class PostgresTable(Stored):
    """A table in a PostgreSQL server."""

    database: Postgres
    kinds: ClassVar[Mapping[str, str]] = {
        "BOOLEAN": "BOOLEAN", "TINYINT": "SMALLINT", "SMALLINT": "SMALLINT", "INT": "INTEGER", "BIGINT": "BIGINT",
        "DATE": "INTEGER", "TIMESTAMP": "BIGINT", "FLOAT": "DOUBLE PRECISION", "DOUBLE": "DOUBLE PRECISION",
        "STRING": 'TEXT COLLATE "C"', "DECIMAL": "NUMERIC({},{})", "BINARY": "BYTEA", "VOID": "TEXT",
    }  # fmt: skip
    asked: ClassVar[Mapping[str, str]] = {
        "BOOLEAN": "BOOLEAN", "FLOAT": "FLOAT8", "DOUBLE": "FLOAT8", "STRING": "TEXT", "DECIMAL": "NUMERIC",
        "BINARY": "BYTEA", "VOID": "TEXT",
    }  # fmt: skip
    """The types of keys that are asked for; all others are whole numbers, and may be too large for the column."""
    writing: ClassVar[Coders] = {"STRING": _without_0}
    reading: ClassVar[Coders] = {"STRING": _with_0, "FLOAT": lambda _: plain_zero, "DOUBLE": lambda _: plain_zero}

    def fetch(self, keys: Collection[Values]) -> Iterator[Values]:
        """All rows that have one of these keys."""
        columns = ", ".join(f"kept.{name}" for name in self.columns)
        for asked, where, values in self._among(keys):
            text = f"SELECT {columns} FROM {self.name} AS kept{', ' if asked else ''}{asked} WHERE {where}"
            yield from self.decoded(self.database.run(text, values))

    def write(
        self, cleared: Sequence[Values], replaced: Sequence[tuple[Values, Values]], added: Sequence[Values]
    ) -> None:
        """Delete what goes or is replaced, then copy in what comes."""
        for asked, where, values in self._among([*cleared, *(key for key, _ in replaced)]):
            using = f" USING {asked}" if asked else ""
            self.database.run(f"DELETE FROM {self.name} AS kept{using} WHERE {where}", values)
        rows = self.encoded([*(row for _, row in replaced), *added])
        if rows:
            try:
                self._copy(rows)
            except psycopg.errors.ProgramLimitExceeded as error:
                raise InputError(
                    f"a key of table {self.table.name!r} is too long: {error.diag.message_primary}.",
                    where=self.database.place,
                    hint="use a shorter key, md5() of it for one, or a SQLite file.",
                ) from error

    def _copy(self, rows: Sequence[Values]) -> None:
        # Here psycopg takes signs of percent as they are.
        text = f"COPY {self.name} ({', '.join(self.columns)}) FROM STDIN".replace("%%", "%")
        with self.database.connection.cursor().copy(text.encode()) as copy:
            for row in rows:
                copy.write_row(row)

    def index(self, equal: Sequence[str], ranged: Sequence[str]) -> None:
        """An index on one column. Long texts fit into none that is ordered, so those are only hashed."""
        short = [name for name in ranged if self.table.schema.type_of(name) not in (STRING, BINARY)]
        for kind, name in [*(("hash", name) for name in equal), *(("btree", name) for name in short)][:1]:
            column = self.database.quoted(name)
            index = self.index_name(kind, [column])
            self.database.run(f"CREATE INDEX IF NOT EXISTS {index} ON {self.name} USING {kind} ({column})")

    def _among(self, keys: Collection[Values]) -> Iterator[tuple[str, str, list[list[Value]]]]:
        """For keys that are NULL in the same places: what to join `kept` with, on which condition, and the values."""
        patterns: dict[tuple[bool, ...], list[Values]] = {}
        for key in self.encoded_keys(keys):
            patterns.setdefault(tuple([value is None for value in key]), []).append(key)
        for pattern, same in patterns.items():
            there = [place for place, missing in enumerate(pattern) if not missing]
            where = " AND ".join(
                f"kept.{name} IS NULL" if missing else f"kept.{name} = asked.key_{place}"
                for place, (name, missing) in enumerate(zip(self.key, pattern, strict=True))
            )
            arrays = ", ".join(f"%s::{self.asked.get(self.key_types[place].name, 'BIGINT')}[]" for place in there)
            names = ", ".join(f"key_{place}" for place in there)
            asked = f"unnest({arrays}) AS asked({names})" if there else ""
            yield asked, where, [[key[place] for key in same] for place in there]
