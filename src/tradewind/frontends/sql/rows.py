"""What expressions of a SELECT mean over its rows, when these are not grouped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import Column, Expression, Field, children, walk, with_children
from tradewind.frontends.sql.environment import Environment, is_window_call
from tradewind.frontends.sql.items import Item, Output
from tradewind.frontends.sql.scope import Scope, path_of


class Rows(Protocol):
    """Rows that a SELECT list, HAVING, QUALIFY and ORDER BY can ask about."""

    @property
    def rank(self) -> str | None:
        """The column that a top will give to them."""

    def expression(self, raw: Expression) -> Expression:
        """The untyped expression over the columns of these rows."""

    def outputs(self, item: Item) -> list[Output]:
        """The columns that a SELECT item stands for."""


@dataclass(frozen=True, slots=True)
class PlainRows:
    """The rows of FROM and WHERE as they are."""

    scope: Scope
    environment: Environment
    rank: str | None = None
    """The column that a top gives to them."""

    def expression(self, raw: Expression) -> Expression:
        """Names are resolved; aggregates are refused."""
        return self._bound(self.environment.plain(raw, "a SELECT without GROUP BY"))

    def _bound(self, raw: Expression) -> Expression:
        if self.rank is None or Column(self.rank) not in walk(raw):
            return self.scope.bind(raw)
        return with_children(raw, tuple(self._bound(part) for part in children(raw)))

    def outputs(self, item: Item) -> list[Output]:
        """An item is one column, a star is several."""
        if item.star:
            return [Output(name, e, spare) for name, e, spare in self.scope.star(item.relation)]
        found = self.expression(item.raw)
        return [Output(item.name or natural_name(item.raw, found, self.scope), found)]


def natural_name(raw: Expression, found: Expression, scope: Scope) -> str:
    """The name of a column without AS: its own, its field's, or its text."""
    path = path_of(raw)
    if is_window_call(raw):
        return print_expression(raw).split("(")[0]
    if isinstance(raw, Field):
        return scope.name_of(found.name) if isinstance(found, Column) else raw.name
    if path is None:
        return print_expression(raw)
    return scope.name_of(found.name) if isinstance(found, Column) else path[-1]
