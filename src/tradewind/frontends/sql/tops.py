"""Puts a top where it belongs: below the SELECT list where it can be, above it where it asks for computed columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import Column, Expression, Field, Literal, columns_of
from tradewind.algebra.expressions.typing import resolve
from tradewind.algebra.operators.aggregation import WINDOW
from tradewind.algebra.operators.base import Operator
from tradewind.errors import QueryError
from tradewind.frontends.build import extend, top
from tradewind.frontends.sql.grouping import unused
from tradewind.frontends.sql.ranking import Ranking

Columns = list[tuple[str, Expression]]
Read = Callable[[exp.Expr], Expression]


@dataclass(frozen=True, slots=True)
class Order:
    """A ranking over the columns of one node: typed expressions instead of text."""

    k: int
    by: tuple[tuple[Expression, bool], ...]
    per: tuple[Expression, ...]
    rank: str | None

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All that it asks about."""
        return (*(expression for expression, _ in self.by), *self.per)


def ordered(ranking: Ranking, node: Operator, read: Read) -> Order:
    """The ranking over a node's columns. Per window when the rows have one and no groups were named.

    What is the same in all rows of a group (`ORDER BY window.start, hits`) does not decide there and is left out.
    """
    schema = node.schema
    by = tuple((resolve(read(one), schema)[0], descending) for one, descending in ranking.by)
    for one, _ in by:
        _check_order(one)
    per: tuple[Expression, ...] = (Column(WINDOW),) if schema.lag(WINDOW) is not None else ()
    if ranking.per is not None:
        per = tuple(dict.fromkeys(resolve(read(one), schema)[0] for one in ranking.per))
    same = {one.name for one in per if isinstance(one, Column)}
    deciding = tuple((one, descending) for one, descending in by if not columns_of(one) <= same)
    return Order(ranking.k, deciding or by, per, ranking.rank)


def _check_order(expression: Expression) -> None:
    if not columns_of(expression):
        quoted = isinstance(expression, Literal) and isinstance(expression.value, str)
        raise QueryError(
            f"{print_expression(expression)} is the same in all rows, so it is no order.",
            hint="write the column without quotes." if quoted else "name a column.",
        )


def below(order: Order, node: Operator, outputs: Columns) -> Operator | None:
    """The top over a node, with columns computed for it; None when it had better stand above the SELECT list."""
    hidden = [e for e in dict.fromkeys(order.expressions) if not isinstance(e, Column)]
    if hidden and order.rank is None and all(any(e == known for _, known in outputs) for e in order.expressions):
        return None
    taken = {name.lower() for name in node.schema.names}
    names: dict[Expression, str] = {}
    for e in hidden:
        plain = e.name if isinstance(e, Field) else print_expression(e)
        wished = next((name for name, known in outputs if known == e), plain)
        names[e] = unused(wished, taken)
    node = extend(node, {name: e for e, name in names.items()}) if hidden else node
    return _top(order, node, names)


def above(order: Order, node: Operator, outputs: Columns) -> Operator:
    """The top over the SELECT list's columns."""
    names = {expression: name for name, expression in reversed(outputs)}
    missing = next((e for e in order.expressions if e not in names), None)
    if missing is not None:
        raise QueryError(
            f"{print_expression(missing)!r} is not selected, but orders a SELECT DISTINCT.", hint="select it as well."
        )
    return _top(order, node, names)


def _top(order: Order, node: Operator, names: dict[Expression, str]) -> Operator:
    def name(e: Expression) -> str:
        return names[e] if e in names else e.name if isinstance(e, Column) else print_expression(e)

    return top(
        node, order.k, [(name(e), descending) for e, descending in order.by], [name(e) for e in order.per], order.rank
    )
