"""What the tables need of a database: one transaction at a time, and for each table rows by key and rows within bounds.

Texts of statements are made from quoted names and from signs alone; values travel beside them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, ClassVar

from tradewind.algebra.tables import Table
from tradewind.algebra.types import DataType
from tradewind.errors import InputError
from tradewind.interpreter.rows import Values
from tradewind.interpreter.values import Value
from tradewind.spark.tables.access import Bound

Coder = Callable[[Value], Value]
Coders = Mapping[str, Callable[[DataType], Coder]]
PREFIX = "tradewind_"
"""How the names of our own tables and indexes begin."""


class Database(ABC):
    """A connection to a database; `place` is what it is called in messages."""

    mark: ClassVar[str]
    """What stands for a value in a statement."""
    blob: ClassVar[str]
    """The type of bytes."""

    def __init__(self, place: str) -> None:
        self.place = place

    @abstractmethod
    def run(self, text: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """Run one statement and give its rows."""

    @abstractmethod
    def begin(self, names: Sequence[str]) -> None:
        """Begin a transaction that writes to these tables (none: makes tables) and that no other such one crosses."""

    @abstractmethod
    def rollback(self) -> None:
        """Undo the transaction, if there still is one."""

    @abstractmethod
    def has(self, name: str) -> bool:
        """Whether there is a table or view of that name."""

    @abstractmethod
    def stored(self, table: Table) -> Stored:
        """One table of the database."""

    @abstractmethod
    def close(self) -> None:
        """Let the database go."""

    def commit(self) -> None:
        """Make the transaction count."""
        self.run("COMMIT")

    @contextmanager
    def transaction(self, names: Sequence[str] = ()) -> Iterator[None]:
        """All of it or nothing."""
        self.begin(names)
        try:
            yield
            self.commit()
        except BaseException:
            self.rollback()
            raise

    def note(self, text: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """Run a statement of our own book-keeping, in which `?` stands for a value."""
        return self.run(text.replace("?", self.mark), values)

    def quoted(self, name: str) -> str:
        """A name in a statement."""
        if "\0" in name:
            raise InputError(f"{name!r} cannot be a name in a database.", where=self.place, hint="rename it.")
        return '"' + name.replace('"', '""') + '"'


class Stored(ABC):
    """One table in a database. It must have a key, which may have been made up for it."""

    kinds: ClassVar[Mapping[str, str]]
    """The database's type for each of ours."""
    writing: ClassVar[Coders]
    """What makes a value fit for the database, by type; all others are stored as they are."""
    reading: ClassVar[Coders]
    """The way back."""

    def __init__(self, database: Database, table: Table) -> None:
        if table.name.lower().startswith((PREFIX, "sqlite_", "pg_")):
            raise InputError(
                f"no table may be named {table.name!r}: such names are the database's own.",
                where=database.place,
                hint="rename it.",
            )
        self.database = database
        self.table = table
        self.name = database.quoted(table.name)
        self.columns = [database.quoted(name) for name in table.schema.names]
        self.key = [database.quoted(table.schema.find(name)) for name in table.key]
        self.types = [type_ for _, type_ in table.schema.columns]
        self.key_types = [table.schema.type_of(name) for name in table.key]
        self._select = f"SELECT {', '.join(self.columns)} FROM {self.name}"
        self._read = coder(self.types, self.reading)
        self._written = coder(self.types, self.writing)
        self._written_key = coder(self.key_types, self.writing)

    @abstractmethod
    def fetch(self, keys: Collection[Values]) -> Iterator[Values]:
        """All rows that have one of these keys. NULL in a key stands for NULL."""

    @abstractmethod
    def write(
        self, cleared: Sequence[Values], replaced: Sequence[tuple[Values, Values]], added: Sequence[Values]
    ) -> None:
        """Delete all rows of some keys, put a row in the place of the only one of others, then put rows in."""

    @abstractmethod
    def index(self, equal: Sequence[str], ranged: Sequence[str]) -> None:
        """Make a search by these columns quick, where that is possible."""

    def create(self) -> None:
        """Make the table, empty."""
        columns = (
            f"{name} {self.kinds[type_.name].format(*type_.parameters)}"
            for name, type_ in zip(self.columns, self.types, strict=True)
        )
        self.database.run(f"CREATE TABLE {self.name} ({', '.join(columns)})")

    def index_key(self, *, unique: bool) -> None:
        """Index the key. A unique index gives way to one that is not, and never the other way."""
        names = [self.index_name(word, self.key) for word in ("UNIQUE", "")]
        if not unique:
            self.database.run(f"DROP INDEX IF EXISTS {names[0]}")
        kind, name = ("UNIQUE ", names[0]) if unique else ("", names[1])
        self.database.run(f"CREATE {kind}INDEX IF NOT EXISTS {name} ON {self.name} ({', '.join(self.key)})")

    def index_name(self, kind: str, columns: Iterable[str]) -> str:
        """A name for an index that is the table's own, however long the names of its columns are."""
        what = "|".join((kind, self.name, *columns))
        return PREFIX + blake2b(what.encode(), digest_size=12).hexdigest()

    def search(self, bounds: Sequence[Bound]) -> list[Values]:
        """The rows for which all comparisons are true."""
        conditions = [f"{self.database.quoted(b.column)} {b.sign} {self.database.mark}" for b in bounds]
        values = [self._encoded(bound) for bound in bounds]
        where = f" WHERE {' AND '.join(conditions)}" if bounds else ""
        return list(self.decoded(self.database.run(self._select + where, values)))

    def everything(self) -> list[Values]:
        """All rows, by key."""
        return list(self.decoded(self.database.run(f"{self._select} ORDER BY {', '.join(self.key)}")))

    def decoded(self, rows: Iterable[Values]) -> Iterable[Values]:
        """Rows as the interpreter has them."""
        return map(self._read, rows) if self._read else rows

    def encoded(self, rows: Iterable[Values]) -> list[Values]:
        """Rows as the database has them."""
        return [self._written(row) for row in rows] if self._written else list(rows)

    def encoded_keys(self, keys: Iterable[Values]) -> list[Values]:
        """Keys as the database has them."""
        return [self._written_key(key) for key in keys] if self._written_key else list(keys)

    def _encoded(self, bound: Bound) -> Value:
        type_ = self.table.schema.type_of(bound.column)
        make = self.writing.get(type_.name)
        return make(type_)(bound.value) if make else bound.value


def coder(types: Sequence[DataType], coders: Coders) -> Callable[[Values], Values] | None:
    """What is done to a row of these types, or None when nothing is. NULL stays NULL."""
    found = [coders[type_.name](type_) if type_.name in coders else None for type_ in types]
    if not any(found):
        return None

    def code(row: Values) -> Values:
        return tuple([v if change is None or v is None else change(v) for change, v in zip(found, row, strict=True)])

    return code
