"""Grouped rows: what expressions of a SELECT mean over keys, window and aggregates."""

from __future__ import annotations

from dataclasses import dataclass

from tradewind.algebra.aggregates import AggregateCall, aggregate_call
from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import Column, Expression, Field, children, columns_of, walk, with_children
from tradewind.algebra.expressions.typing import resolve
from tradewind.algebra.operators.aggregation import WINDOW, Aggregate, Functions
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.schema import Schema
from tradewind.algebra.windows import SessionWindow, Window
from tradewind.errors import QueryError
from tradewind.frontends.build import group
from tradewind.frontends.sql.environment import Environment, is_window_call
from tradewind.frontends.sql.items import Item, Output
from tradewind.frontends.sql.refusals import unsupported
from tradewind.frontends.sql.rows import natural_name
from tradewind.frontends.sql.scope import Path, Scope, path_of, with_fields
from tradewind.frontends.sql.windowing import read_window

Keys = tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class Groups:
    """Grouped rows: keys by name with the untyped expressions they stand for, the window, the functions by name."""

    scope: Scope
    schema: Schema
    environment: Environment
    keys: Keys
    window: Window | None
    functions: Functions = ()
    rank: str | None = None

    def node(self, rows: Operator) -> Aggregate:
        """The operator that makes the groups."""
        keys = [(name, resolve(expression, rows.schema)[0]) for name, expression in self.keys]
        return group(rows, keys, self.functions, self.window)

    def expression(self, raw: Expression) -> Expression:
        """The untyped expression over keys, window and answers; other columns are refused."""
        if self.rank is not None and raw == Column(self.rank):
            return raw
        if self.environment.is_aggregate(raw):
            call = self.call(raw)
            return Column(next(name for name, known in self.functions if known == call))
        if is_window_call(raw):
            self._check_window(raw)
            return Column(WINDOW)
        path = path_of(raw)
        if path is not None:
            return self._named(raw, path)
        key = self._key_of(raw)
        if key is not None:
            return Column(key)
        return with_children(raw, tuple(self.expression(part) for part in children(raw)))

    def call(self, raw: Expression) -> AggregateCall:
        """An aggregate over the rows that are grouped."""
        for part in children(raw):
            if not self.environment.aggregates_in(part):
                self.environment.plain(part, "an aggregate")
        bound = with_children(raw, tuple(self.scope.bind(part) for part in children(raw)))
        return aggregate_call(bound, self.schema, self.environment.users)

    def outputs(self, item: Item) -> list[Output]:
        """An item is one column; it is called as the aggregate it is when it has no name."""
        if item.star:
            raise unsupported("SELECT * with GROUP BY", "name the columns.")
        found = self.expression(item.raw)
        if item.name is not None:
            return [Output(item.name, found)]
        if self.environment.is_aggregate(item.raw):
            return [
                Output(readable_name(self.call(item.raw)), found, found.name if isinstance(found, Column) else None)
            ]
        path = path_of(item.raw)
        bound = item.raw if path is None or self.is_window_name(path) else self.scope.named(path)
        return [Output(natural_name(item.raw, bound, self.scope), found)]

    def is_window_name(self, path: Path) -> bool:
        """Whether a dotted name starts with the window of these groups."""
        names = (WINDOW, "session_window") if isinstance(self.window, SessionWindow) else (WINDOW,)
        return self.window is not None and path[0].lower() in names

    def _check_window(self, raw: Expression) -> None:
        if read_window(raw, self.scope) != self.window:
            raise QueryError(
                f"{print_expression(raw)!r} is not the window that is grouped by.",
                hint=f"GROUP BY {print_expression(raw)}.",
            )

    def _named(self, raw: Expression, path: Path) -> Expression:
        if self.is_window_name(path):
            return with_fields(Column(WINDOW), path[1:])
        bound, after = self.scope.named(path), list[str]()
        while True:
            key = next((name for name, expression in self.keys if expression == bound), None)
            if key is not None:
                return with_fields(Column(key), tuple(after))
            if not isinstance(bound, Field):
                break
            after = [bound.name, *after]
            bound = bound.of
        shown = print_expression(raw)
        raise QueryError(
            f"{shown!r} is neither grouped by nor inside an aggregate.",
            hint=f"add it to GROUP BY, or aggregate it: max({shown}).",
            candidates=[name for name, _ in self.keys],
        )

    def bound(self, raw: Expression) -> Expression | None:
        """The expression over the rows that are grouped, or None when it speaks of the groups."""
        for part in walk(raw):
            path = path_of(part)
            if self.environment.is_aggregate(part) or is_window_call(part) or (path and self.is_window_name(path)):
                return None
        return self.scope.bind(raw)

    def _key_of(self, raw: Expression) -> str | None:
        bound = self.bound(raw)
        return next((name for name, expression in self.keys if expression == bound), None)


def readable_name(call: AggregateCall) -> str:
    """A plain name for an aggregate: `count`, `sum_bytes`, `max_a_b`."""
    columns = [part.name for argument in call.arguments for part in walk(argument) if isinstance(part, Column)]
    return "_".join((call.function, *dict.fromkeys(columns)))


def unused(name: str, taken: set[str]) -> str:
    """The name, or the name with the first number that makes it new; it is then taken."""
    found, number = name, 1
    while found.lower() in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(found.lower())
    return found


def columns_read(functions: Functions, window: Window | None) -> set[str]:
    """The columns that functions and window read, in lower case."""
    read = {name.lower() for _, call in functions for argument in call.arguments for name in columns_of(argument)}
    column = getattr(window, "column", None)
    return read | ({column.lower()} if column else set())
