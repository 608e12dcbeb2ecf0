"""GROUP BY: which keys, which window, and which aggregates under which names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from tradewind.algebra.aggregates import AggregateCall
from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import Column, Expression
from tradewind.algebra.operators.aggregation import WINDOW, Functions
from tradewind.algebra.schema import Schema
from tradewind.algebra.windows import Window
from tradewind.errors import QueryError
from tradewind.frontends.sql.environment import Environment, is_window_call
from tradewind.frontends.sql.grouping import Groups, columns_read, readable_name, unused
from tradewind.frontends.sql.items import Item, by_position
from tradewind.frontends.sql.refusals import line_of, only, place, unsupported
from tradewind.frontends.sql.rows import natural_name
from tradewind.frontends.sql.scope import Scope, path_of
from tradewind.frontends.sql.windowing import read_window

_SETS: dict[type[exp.Expr], str] = {exp.GroupingSets: "GROUPING SETS", exp.Rollup: "ROLLUP", exp.Cube: "CUBE"}


def read_groups(
    clause: exp.Expr | None,
    items: list[Item],
    others: Iterable[Expression],
    *,
    scope: Scope,
    schema: Schema,
    environment: Environment,
) -> Groups:
    """The groups that a SELECT asks for. Aggregates come from its items and from the `others`: HAVING and orders."""
    keys: dict[Expression, Expression] = {}
    window: Window | None = None
    for number, node in enumerate(_members(clause), start=1):
        with place(f"GROUP BY item {number}{line_of(node)}"):
            raw = _meant(environment.read(node), items, scope)
            if is_window_call(raw):
                window = _one_window(window, read_window(raw, scope))
            else:
                raw = environment.plain(raw, "GROUP BY")
                keys.setdefault(scope.bind(raw), raw)
    first = Groups(scope, schema, environment, (), window)
    calls = _calls(first, items, others)
    used = columns_read(tuple((name, call) for call, name in calls.items()), window)
    named = _named_keys(keys, first, items, used)
    return replace(first, keys=named, functions=_functions(calls, items, first, [name for name, _ in named]))


def _members(clause: exp.Expr | None) -> list[exp.Expr]:
    if clause is None:
        return []
    with place("GROUP BY"):
        for node in clause.expressions:
            if type(node) in _SETS:
                raise unsupported(_SETS[type(node)], "write one query per grouping and UNION ALL them.")
            if isinstance(node, exp.Tuple):
                raise unsupported("GROUP BY of a list in parentheses", "leave the parentheses out.")
        only(clause, "expressions")
        return list(clause.expressions)


def _meant(raw: Expression, items: list[Item], scope: Scope) -> Expression:
    """A column of FROM, an item's name, an item's position, or an expression."""
    path = path_of(raw)
    if path is None or scope.has(path[0]) or len(path) > 1:
        return by_position(raw, items)
    named = next((item for item in items if item.name is not None and item.name.lower() == path[0].lower()), None)
    return raw if named is None else named.raw


def _one_window(before: Window | None, window: Window) -> Window:
    if before is not None and before != window:
        raise unsupported("a second window in GROUP BY", "aggregate in two steps, one sub-select inside the other.")
    return window


def _calls(groups: Groups, items: list[Item], others: Iterable[Expression]) -> dict[AggregateCall, str]:
    """All different aggregates, in the order in which they are written, with readable names."""
    found: dict[AggregateCall, str] = {}
    for item in items:
        with place(item.where):
            for raw in groups.environment.aggregates_in(item.raw):
                call = groups.call(raw)
                found.setdefault(call, readable_name(call))
    for other in others:
        for raw in groups.environment.aggregates_in(other):
            call = groups.call(raw)
            found.setdefault(call, readable_name(call))
    return found


def _functions(calls: dict[AggregateCall, str], items: list[Item], groups: Groups, keys: list[str]) -> Functions:
    """An item that is just an aggregate names it; the others get readable names."""
    taken = {name.lower() for name in keys} | ({WINDOW} if groups.window is not None else set())
    chosen: dict[AggregateCall, str] = {}
    for item in items:
        if item.name is None or not groups.environment.is_aggregate(item.raw):
            continue
        call = groups.call(item.raw)
        if call not in chosen and item.name.lower() not in taken:
            chosen[call] = unused(item.name, taken)
    return tuple((chosen[call] if call in chosen else unused(name, taken), call) for call, name in calls.items())


def _named_keys(
    keys: dict[Expression, Expression], groups: Groups, items: list[Item], used: set[str]
) -> tuple[tuple[str, Expression], ...]:
    """Columns keep their names. Other keys are called as the equal item, unless an aggregate reads such a column."""
    taken = {bound.name.lower() for bound in keys if isinstance(bound, Column)}
    taken |= {WINDOW} if groups.window is not None else set()
    found: list[tuple[str, Expression]] = []
    for bound, raw in keys.items():
        if isinstance(bound, Column):
            found.append((bound.name, bound))
            continue
        wished = _item_name(bound, groups, items) or natural_name(raw, bound, groups.scope)
        if wished.lower() in used | taken:
            wished = print_expression(raw)
        found.append((unused(wished, taken | used), bound))
        taken.add(found[-1][0].lower())
    if len({name.lower() for name, _ in found}) < len(found):
        raise QueryError("two columns of GROUP BY have the same name.", hint="name one of them in a sub-select.")
    return tuple(found)


def _item_name(bound: Expression, groups: Groups, items: list[Item]) -> str | None:
    """The name of the item that is the same expression."""
    for item in items:
        if item.name is None or item.star:
            continue
        with place(item.where):
            if groups.bound(item.raw) == bound:
                return item.name
    return None
