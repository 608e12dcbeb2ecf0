"""The meaning of read and update: what a table holds at a row's time, and what a row finds there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tradewind.algebra.expressions.tree import Expression
from tradewind.algebra.expressions.typing import type_of
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.schema import Schema
from tradewind.algebra.statements import Change, Delete, Insert, Select, parse_change, parse_read, scope
from tradewind.interpreter.comparison import order_key
from tradewind.interpreter.evaluate import Evaluator, condition, evaluator
from tradewind.interpreter.rows import Bag, Row, Values, content_order, copies
from tradewind.interpreter.values import Value


class _Step(NamedTuple):
    """Something done to the table: sorted by time, updates before reads, then by what is done and the row's content."""

    time: int
    reads: bool
    box: str
    content: Value
    node: Read | Update
    row: Row


def read(node: Read, rows: Bag, updates: Iterable[tuple[Update, Bag]]) -> Bag:
    """Each row with what it finds in the table, after all updates up to its own time have been done."""
    steps = [step for update, done in updates for step in _steps(update, done)]
    steps.extend(_steps(node, rows))
    table: list[Values] = []
    answer: Bag = Bag()
    select = parse_read(node.statement, node.table, node.input.schema)
    for step in sorted(steps, key=lambda s: s[:4]):
        if isinstance(step.node, Update):
            table = _changed(table, step.node, step.row.values)
            continue
        found = list(_selected(select, table, node, step.row.values))
        if not found and node.keep:
            found = [(None,) * len(select.columns)]
        for values in found:
            answer[Row(step.row.values + values, max(step.row.due, step.time))] += 1
    return answer


def _steps(node: Read | Update, rows: Bag) -> Iterator[_Step]:
    schema = node.input.schema
    time, content = schema.index(str(schema.soonest)), content_order(schema)
    for row in copies(rows):
        if row.values[time] is not None:
            yield _Step(row.values[time], isinstance(node, Read), node.statement, content(row), node, row)


def _selected(select: Select, table: list[Values], node: Read, row: Values) -> Iterator[Values]:
    schema = scope(node.table, node.input.schema)
    holds = condition(select.where, schema)
    columns = [evaluator(expression, schema) for _, expression, _ in select.columns]
    found = [stored + row for stored in table if holds(stored + row)]
    found.sort(key=lambda values: _table_key(values, node.table.schema))
    for expression, descending in reversed(select.order):
        found.sort(key=_sorter(expression, schema), reverse=descending)
    for values in found[: select.limit]:
        yield tuple(column(values) for column in columns)


def _changed(table: list[Values], node: Update, row: Values) -> list[Values]:
    """The table after one row's statement."""
    schema = scope(node.table, node.input.schema)
    statement = parse_change(node.statement, node.table, node.input.schema)
    match statement:
        case Insert(values=values):
            return _inserted(table, node, dict(values), schema, row)
        case Delete(where=where):
            holds = condition(where, schema)
            return [stored for stored in table if not holds(stored + row)]
        case Change(values=values, where=where):
            holds = condition(where, schema)
            setters = {node.table.schema.index(name): evaluator(e, schema) for name, e in values}
            return [_set(stored, row, setters) if holds(stored + row) else stored for stored in table]


def _set(stored: Values, row: Values, setters: dict[int, Evaluator]) -> Values:
    return tuple(setters[i](stored + row) if i in setters else value for i, value in enumerate(stored))


def _inserted(
    table: list[Values], node: Update, values: dict[str, Expression], schema: Schema, row: Values
) -> list[Values]:
    columns = node.table.schema
    nothing = (None,) * len(columns.columns)
    new = tuple(evaluator(values[name], schema)(nothing + row) if name in values else None for name in columns.names)
    keys = [(columns.index(name), columns.type_of(name)) for name in node.table.key]
    kept = [s for s in table if not keys or any(order_key(s[i], t) != order_key(new[i], t) for i, t in keys)]
    return [*kept, new]


def _sorter(expression: Expression, schema: Schema) -> Callable[[Values], Value]:
    value, type_ = evaluator(expression, schema), type_of(expression, schema)
    return lambda values: order_key(value(values), type_)


def _table_key(values: Values, schema: Schema) -> Value:
    return tuple(order_key(value, type_) for value, (_, type_) in zip(values, schema.columns, strict=False))
