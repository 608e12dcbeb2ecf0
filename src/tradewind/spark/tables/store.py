"""The named tables of a run: each micro-batch's updates are done and its reads answered, exactly once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module

import pyarrow as pa

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.tables import Table
from tradewind.errors import GraphError, InputError, InternalError, unknown
from tradewind.spark.tables.address import Address
from tradewind.spark.tables.arrow import bag_table
from tradewind.spark.tables.books import open_books
from tradewind.spark.tables.calls import Calls
from tradewind.spark.tables.database import Database
from tradewind.spark.tables.sqlite import SQLite
from tradewind.spark.tables.steps import Box
from tradewind.spark.tables.timeline import Timeline


class Tables:
    """The named tables of one run, in one database.

    `url` is the path of a SQLite file, `sqlite:///path`, or `postgresql://user:password@host/database`, or one of them
    with what messages call it. `boxes` are all read and update boxes that work on the tables.
    """

    def __init__(self, url: str | Address, boxes: Sequence[Read | Update]) -> None:
        self._boxes = {node: node for node in boxes}
        tables = _tables(list(self._boxes))
        self._names = sorted(tables)
        self._address = Address.of(url)
        self._address.allowed()
        self._database = _database(self._address)
        try:
            with self._database.transaction():
                open_books(self._database)
                self._timelines = {name: Timeline(self._database, *tables[name]) for name in self._names}
        except BaseException:
            self._database.close()
            raise
        self._calls = Calls(self._database, list(self._boxes))
        self._frozen: dict[Box, int] = {}
        self._supposing = False

    def advance(self, batch: int, news: Mapping[Operator, pa.Table], frozen: int | None) -> dict[Operator, pa.Table]:
        """Do the updates and answer the reads of one batch, in one transaction.

        `news` holds for each box the deltas of its input: its columns, `_due` (microseconds, NULL for FOREVER) and
        `_weight`. A batch may come in several calls, each with other boxes. After this one, no row that is settled
        before `frozen` will come to the boxes that it names; once all boxes of a table were told, what only such rows
        could need is forgotten. Given are the deltas of each read box's output. A call that was committed already
        changes nothing, and gives what it gave.
        """
        given = {self._box(node): rows for node, rows in news.items()}
        told = self._frozen if frozen is None else {**self._frozen, **dict.fromkeys(given, frozen)}
        self._address.allowed()
        with nullcontext() if self._supposing else self._database.transaction(self._names):
            answers = self._calls.again(batch, given)
            if answers is None:
                found = {
                    node: bag_table(rows, node.schema)
                    for one in self._timelines.values()
                    for node, rows in one.advance(given, told).items()
                }
                self._calls.record(batch, given, found)
                answers = {node: [rows] for node, rows in found.items()}
        self._frozen = self._frozen if self._supposing else told
        return {
            node: pa.concat_tables([bag_table(Counter(), node.schema), *answers.get(node, [])])
            for node in self._boxes
            if isinstance(node, Read)
        }

    @contextmanager
    def supposing(self) -> Iterator[None]:
        """What is done meanwhile is only supposed, and undone at the end."""
        self._address.allowed()
        self._database.begin(self._names)
        self._supposing = True
        try:
            yield
        finally:
            self._supposing = False
            self._database.rollback()

    def rows(self, table: str) -> pa.Table:
        """A table as it is now."""
        if table not in self._timelines:
            raise unknown("table", table, self._timelines)
        return self._timelines[table].rows()

    def close(self) -> None:
        """Let the database go."""
        self._database.close()

    def _box(self, node: Operator) -> Box:
        if isinstance(node, Read | Update) and node in self._boxes:
            return node
        raise InternalError(f"rows come for {node!r}, which is none of the tables' boxes.")


def _tables(boxes: Sequence[Box]) -> dict[str, tuple[Table, list[Box]]]:
    """The tables by name, each with its boxes."""
    if not boxes:
        raise InternalError("tables are opened for no box at all.")
    found: dict[str, tuple[Table, list[Box]]] = {}
    for node in boxes:
        table, mine = found.setdefault(node.table.name, (node.table, []))
        if table != node.table:
            raise GraphError(
                f"table {table.name!r} is ({table.schema}) in one box and ({node.table.schema}) in another.",
                hint="declare it once.",
            )
        mine.append(node)
    return found


def _database(address: Address) -> Database:
    scheme, separator, rest = address.url.partition("://")
    if not separator:
        return SQLite(address.url, address)
    if scheme == "sqlite":
        return SQLite(rest.removeprefix("/"), address)
    if scheme not in ("postgresql", "postgres"):
        shown = address.shown if address.hidden else scheme
        raise InputError(
            f"tables cannot be kept in {shown!r}.", hint="name a file, or postgresql://user@host/database."
        )
    try:
        # psycopg need not be there when nobody asks for it.
        module = import_module("tradewind.spark.tables.postgres")
    except ModuleNotFoundError as error:
        raise InputError("PostgreSQL needs a package more.", hint="pip install 'tradewind[postgres]'.") from error
    database: Database = module.Postgres(address)
    return database
