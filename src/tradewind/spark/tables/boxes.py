"""What read and update boxes do with one row, worked out once: the same as `interpreter.storing`, one key at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from tradewind.algebra.expressions.tree import Expression
from tradewind.algebra.expressions.typing import type_of
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.schema import Schema
from tradewind.algebra.statements import Change, Delete, Insert, parse_change, parse_read, scope
from tradewind.algebra.tables import Table
from tradewind.algebra.types import BIGINT
from tradewind.interpreter.comparison import order_key
from tradewind.interpreter.evaluate import evaluator
from tradewind.interpreter.rows import Values
from tradewind.interpreter.values import Value
from tradewind.spark.tables.access import Access, running
from tradewind.spark.tables.working import Working


class Does:
    """What one box does."""

    access: Access | None = None
    """How it finds the rows that it is about; None for those that are only put in."""

    def key(self, row: Values) -> Values | None:
        """The key that the row will ask for, or None when it may ask for any."""
        return self.access.key(row) if self.access else None

    def found(self, row: Values, key: Values | None, rows: Working) -> list[Values]:
        """The stored rows for which the statement's WHERE is true."""
        if self.access is None:
            return []
        if key is None:
            bounds = self.access.bounds(row)
            candidates: Sequence[Values] = [] if bounds is None else rows.search(bounds)
        else:
            candidates = [] if None in key else rows.get(key)
        holds = self.access.holds
        return [stored for stored in candidates if holds(stored + row)] if holds else list(candidates)


class Changes(Does, ABC):
    """What an update box does."""

    @abstractmethod
    def apply(self, row: Values, key: Values | None, rows: Working) -> None:
        """Do the row's statement; `key` is what `key` gave for the row."""


def keyed(table: Table) -> Table:
    """The table as it is stored. One without a key gets one more column, in which its rows are numbered."""
    if table.key:
        return Table(table.name, table.schema, tuple(table.schema.find(name) for name in table.key))
    name = "_row"
    while name in (column.lower() for column in table.schema.names):
        name = f"_{name}"
    return Table(table.name, Schema((*table.schema.columns, (name, BIGINT))), (name,))


class Inserts(Changes):
    """Puts one row in, in the place of those with the same key."""

    def __init__(self, statement: Insert, node: Update) -> None:
        mine = running(node.input.schema)
        given = {name: evaluator(expression, mine) for name, expression in statement.values}
        self._values = [given.get(name, _null) for name in node.table.schema.names]
        self._key = [given.get(node.table.schema.find(name), _null) for name in node.table.key]

    def key(self, row: Values) -> Values | None:
        """The key of the new row; None in a table without one."""
        return tuple([value(row) for value in self._key]) if self._key else None

    def apply(self, row: Values, key: Values | None, rows: Working) -> None:
        """Put the row in."""
        new = tuple([value(row) for value in self._values])
        if key is not None:
            rows.put(key, [new])
            return
        rows.put_new((*new, rows.number))
        rows.number += 1


class Sets(Changes):
    """Gives the found rows new values."""

    def __init__(self, statement: Change, node: Update) -> None:
        table, row = keyed(node.table), node.input.schema
        self.access = Access(statement.where, table, row)
        given = {name: evaluator(expression, scope(table, row)) for name, expression in statement.values}
        self._values = [given.get(name) for name in table.schema.names]
        self.moves = any(table.schema.find(name) in given for name in table.key)

    def apply(self, row: Values, key: Values | None, rows: Working) -> None:
        """Set the values."""
        found = self.found(row, key, rows)
        changed = [self._changed(stored, row) for stored in found]
        if len(found) == 1 and key is not None and not self.moves and len(rows.get(key)) == 1:
            rows.put(key, changed)
        else:
            rows.change(found, changed)

    def _changed(self, stored: Values, row: Values) -> Values:
        both = stored + row
        return tuple([old if value is None else value(both) for value, old in zip(self._values, stored, strict=True)])


class Removes(Changes):
    """Takes the found rows out."""

    def __init__(self, statement: Delete, node: Update) -> None:
        self.access = Access(statement.where, keyed(node.table), node.input.schema)

    def apply(self, row: Values, key: Values | None, rows: Working) -> None:
        """Take them out."""
        rows.change(self.found(row, key, rows), [])


class Answers(Does):
    """What a read box does: it selects from the found rows."""

    def __init__(self, node: Read) -> None:
        table, row = keyed(node.table), node.input.schema
        statement = parse_read(node.statement, node.table, row)
        both = scope(table, row)
        self.access = Access(statement.where, table, row)
        self._columns = [evaluator(expression, both) for _, expression, _ in statement.columns]
        self._limit = statement.limit
        self._orders = [(_sorter(expression, both), descending) for expression, descending in statement.order]
        self._types = [type_ for _, type_ in table.schema.columns]
        self._nothing = [(None,) * len(self._columns)] if node.keep else []

    def answer(self, row: Values, key: Values | None, rows: Working) -> list[Values]:
        """What is selected for a row, with NULLs when nothing is and the row is kept."""
        found = [stored + row for stored in self.found(row, key, rows)]
        if self._limit is not None:
            # Without a limit all are taken, and an answer is a bag.
            found.sort(key=self._content)
            for sorter, descending in reversed(self._orders):
                found.sort(key=sorter, reverse=descending)
            del found[self._limit :]
        return [tuple([column(values) for column in self._columns]) for values in found] or self._nothing

    def _content(self, values: Values) -> Value:
        return tuple(order_key(value, type_) for value, type_ in zip(values, self._types, strict=False))


def changes_or_answers(node: Read | Update) -> Changes | Answers:
    """What a box does."""
    if isinstance(node, Read):
        return Answers(node)
    statement = parse_change(node.statement, node.table, node.input.schema)
    match statement:
        case Insert():
            return Inserts(statement, node)
        case Change():
            return Sets(statement, node)
        case Delete():
            return Removes(statement, node)


def _sorter(expression: Expression, schema: Schema) -> Callable[[Values], Value]:
    value, type_ = evaluator(expression, schema), type_of(expression, schema)
    return lambda values: order_key(value(values), type_)


def _null(row: Sequence[Value]) -> Value:
    return None
