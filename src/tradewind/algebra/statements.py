"""The SQL that read and update boxes may run on their table: one statement, one table, allow-listed functions, named parameters."""

from __future__ import annotations

from sqlglot import exp

from tradewind.algebra.expressions.parse import Dialect, convert, parse_sql
from tradewind.algebra.expressions.tree import Column, Expression, Field, transform
from tradewind.algebra.expressions.typing import resolve
from tradewind.algebra.schema import Schema
from tradewind.algebra.tables import Table
from tradewind.algebra.types import DataType
from tradewind.errors import ForbiddenError, GraphError, unknown

_PARAMETER = "__row_"
_SELECT_PARTS = ("expressions", "from_", "where", "order", "limit", "kind", "hint")


def check_read(text: str, table: Table, row: Schema) -> tuple[tuple[str, DataType], ...]:
    """Check a SELECT on the table and give the names and types of what it selects."""
    statement = parse_sql(text, "statement")
    if not isinstance(statement, exp.Select):
        raise ForbiddenError(f"a read box runs SELECT, not {_verb(statement)}.")
    extra = [name for name, value in statement.args.items() if value and name not in _SELECT_PARTS]
    if extra:
        raise ForbiddenError(f"{extra[0].rstrip('_').upper()} is not allowed in a read box.", hint="SELECT … FROM … WHERE …")
    source = statement.args.get("from_")
    _require_table(source.this if source else None, table)
    schema = _scope(table, row)
    found = []
    for item in statement.expressions:
        name = item.alias_or_name
        if isinstance(item, exp.Star) or not name:
            raise ForbiddenError("a read box names each column that it selects.", hint="SELECT a, b + 1 AS c FROM …")
        found.append((name, _typed(item.unalias(), table, schema)))
    for part in ("where", "order"):
        for node in _expressions(statement.args.get(part)):
            _typed(node, table, schema)
    limit = statement.args.get("limit")
    if limit is not None and not isinstance(limit.expression, exp.Literal):
        raise ForbiddenError("LIMIT takes a number.")
    return tuple(found)


def check_update(text: str, table: Table, row: Schema) -> None:
    """Check an INSERT, UPDATE or DELETE on the table."""
    statement = parse_sql(text, "statement")
    schema = _scope(table, row)
    match statement:
        case exp.Insert():
            _check_insert(statement, table, schema)
        case exp.Update():
            _require_table(statement.this, table)
            _only(statement, "this", "expressions", "where")
            for assignment in statement.expressions:
                table.schema.find(assignment.this.name)
                _typed(assignment.expression, table, schema)
        case exp.Delete():
            _require_table(statement.this, table)
            _only(statement, "this", "where")
        case _:
            raise ForbiddenError(f"an update box runs INSERT, UPDATE or DELETE, not {_verb(statement)}.")
    for node in _expressions(statement.args.get("where")):
        _typed(node, table, schema)


def _check_insert(statement: exp.Insert, table: Table, schema: Schema) -> None:
    _only(statement, "this", "expression")
    target = statement.this
    columns = [c.name for c in target.expressions] if isinstance(target, exp.Schema) else list(table.schema.names)
    _require_table(target.this if isinstance(target, exp.Schema) else target, table)
    for name in columns:
        table.schema.find(name)
    values = statement.expression
    if not isinstance(values, exp.Values) or len(values.expressions) != 1:
        raise ForbiddenError("an update box inserts one row of VALUES.", hint="INSERT INTO t (a, b) VALUES (:a, :b)")
    given = values.expressions[0].expressions
    if len(given) != len(columns):
        raise GraphError(f"{len(columns)} columns but {len(given)} values.")
    for value in given:
        _typed(value, table, schema)


def parameters(text: str) -> tuple[str, ...]:
    """The row's columns that a statement uses, as `:name`."""
    return tuple(dict.fromkeys(node.name for node in parse_sql(text).find_all(exp.Placeholder)))


def _scope(table: Table, row: Schema) -> Schema:
    """The columns an expression may read: the table's by name, the row's behind a prefix no user can write."""
    return Schema(table.schema.columns + tuple((_PARAMETER + name, type_) for name, type_ in row.columns))


def _typed(node: exp.Expression, table: Table, schema: Schema) -> DataType:
    prepared = node.copy().transform(_placeholder)
    return resolve(transform(convert(prepared), lambda e: _unqualified(e, table)), schema)[1]


def _placeholder(node: exp.Expression) -> exp.Expression:
    return exp.column(_PARAMETER + node.name) if isinstance(node, exp.Placeholder) and node.name else node


def _unqualified(expression: Expression, table: Table) -> Expression:
    if isinstance(expression, Field) and isinstance(expression.of, Column) and expression.of.name == table.name:
        return Column(expression.name)
    return expression


def _expressions(part: exp.Expression | None) -> list[exp.Expression]:
    if part is None:
        return []
    return [item.this for item in part.expressions] if isinstance(part, exp.Order) else [part.this]


def _require_table(node: exp.Expression | None, table: Table) -> None:
    if not isinstance(node, exp.Table) or node.args.get("db") or node.args.get("joins") or node.alias:
        raise ForbiddenError("the statement must name its table, plainly and alone.", hint=f"… {table.name} …")
    if node.name != table.name:
        raise unknown("table", node.name, [table.name])


def _only(statement: exp.Expression, *allowed: str) -> None:
    extra = [name for name, value in statement.args.items() if value and name not in allowed]
    if extra:
        raise ForbiddenError(f"{extra[0].rstrip('_').upper()} is not allowed in an update box.")


def _verb(statement: exp.Expression) -> str:
    return statement.sql(Dialect).split(" ", 1)[0][:30].upper() or "nothing"
