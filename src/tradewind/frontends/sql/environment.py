"""What a query is read in: the catalog, the WITH names at hand, and the way to build a query inside the query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from sqlglot import exp

from tradewind.algebra.aggregates import UserAggregate, aggregate_names, is_aggregate
from tradewind.algebra.expressions.parse import convert
from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import Call, Expression, walk
from tradewind.algebra.operators.base import Operator
from tradewind.errors import QueryError
from tradewind.frontends.catalog import Catalog

WINDOW_CALLS = ("window", "session_window")
Build = Callable[[exp.Expr, "Environment", int | None], Operator]
"""Builds a query; the number is how many rows of its row_number() are wanted."""


@dataclass(slots=True)
class Named:
    """A query named by WITH; built when it is first used, once for each number of rows wanted."""

    query: exp.Expr
    columns: tuple[str, ...]
    environment: Environment
    built: dict[int | None, Operator] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Environment:
    """All that a query may refer to."""

    catalog: Catalog
    build: Build
    named: Mapping[str, Named] = field(default_factory=dict)
    """By lower-case name."""

    @property
    def users(self) -> dict[str, UserAggregate]:
        """User-defined aggregates by lower-case name."""
        return {name.lower(): user for name, user in self.catalog.aggregates.items()}

    def read(self, node: exp.Expr) -> Expression:
        """An untyped expression that may call aggregates and window()."""
        return convert(cast(exp.Expression, node), aggregate_names(self.users) | frozenset(WINDOW_CALLS))

    def is_aggregate(self, expression: Expression) -> bool:
        """Whether an expression is itself a call of an aggregate."""
        return is_aggregate(expression, self.users)

    def aggregates_in(self, expression: Expression) -> list[Expression]:
        """The aggregate calls of an expression."""
        return [part for part in walk(expression) if self.is_aggregate(part)]

    def read_plain(self, node: exp.Expr, where: str) -> Expression:
        """An untyped expression over single rows: without aggregates and window()."""
        return self.plain(self.read(node), where)

    def plain(self, expression: Expression, where: str) -> Expression:
        """The same expression, or an error when it calls an aggregate or window()."""
        for part in walk(expression):
            if self.is_aggregate(part):
                raise QueryError(
                    f"the aggregate {print_expression(part)!r} cannot stand in {where}.",
                    hint="use HAVING, which asks about aggregates; or aggregate in a sub-select first.",
                )
            if is_window_call(part):
                raise QueryError(
                    f"{print_expression(part)!r} cannot stand in {where}.",
                    hint="window() stands in GROUP BY; select window.start.",
                )
        return expression


def is_window_call(expression: Expression) -> bool:
    """Whether an expression is a call of window() or session_window()."""
    return isinstance(expression, Call) and expression.function in WINDOW_CALLS
