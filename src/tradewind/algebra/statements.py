"""The SQL that read and update boxes may run on their table: one statement, one table, allow-listed functions, named
parameters.

What a statement says is kept as expressions over the table's columns and, behind `ROW`, the columns of the row that
runs it; `:name` in the text stands for the latter.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tradewind.algebra.expressions.dialect import Dialect
from tradewind.algebra.expressions.parse import convert, parse_sql
from tradewind.algebra.expressions.tree import TRUE, Column, Expression, Field, transform
from tradewind.algebra.expressions.typing import coerce, require_boolean, resolve
from tradewind.algebra.schema import Schema
from tradewind.algebra.tables import Table
from tradewind.algebra.types import DataType, common
from tradewind.errors import ForbiddenError, GraphError, unknown

ROW = "__row_"
"""What stands before the names of the running row's columns; users cannot declare such names."""

_SELECT_PARTS = ("expressions", "from_", "where", "order", "limit", "kind", "hint")


@dataclass(frozen=True, slots=True)
class Select:
    """Columns computed from the table's rows for which `where` is true, in an order (True: descending), at most
    `limit`.
    """

    columns: tuple[tuple[str, Expression, DataType], ...]
    where: Expression
    order: tuple[tuple[Expression, bool], ...] = ()
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Insert:
    """One row put in; a row with the same key is replaced. Columns that are not named are NULL."""

    values: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class Change:
    """The rows for which `where` is true get new values."""

    values: tuple[tuple[str, Expression], ...]
    where: Expression


@dataclass(frozen=True, slots=True)
class Delete:
    """The rows for which `where` is true are removed."""

    where: Expression


Statement = Select | Insert | Change | Delete


def scope(table: Table, row: Schema) -> Schema:
    """The columns that a statement's expressions may read: the table's, then the running row's."""
    return Schema(table.schema.columns + tuple((ROW + name, type_) for name, type_ in row.columns))


def parse_read(text: str, table: Table, row: Schema) -> Select:
    """A SELECT on the table."""
    statement = parse_sql(text, "statement")
    if not isinstance(statement, exp.Select):
        raise ForbiddenError(f"a read box runs SELECT, not {_verb(statement)}.")
    extra = [name for name, value in statement.args.items() if value and name not in _SELECT_PARTS]
    if extra:
        what = extra[0].rstrip("_").upper()
        raise ForbiddenError(f"{what} is not allowed in a read box.", hint="SELECT … FROM … WHERE …")
    source = statement.args.get("from_")
    _require_table(source.this if source else None, table)
    columns = tuple(_selected(item, table, row) for item in statement.expressions)
    order = statement.args.get("order")
    ordered = (
        tuple((_typed(o.this, table, row)[0], bool(o.args.get("desc"))) for o in order.expressions) if order else ()
    )
    return Select(columns, _where(statement, table, row), ordered, _limit(statement))


def parse_change(text: str, table: Table, row: Schema) -> Insert | Change | Delete:
    """An INSERT, UPDATE or DELETE on the table."""
    statement = parse_sql(text, "statement")
    match statement:
        case exp.Insert():
            return _insert(statement, table, row)
        case exp.Update():
            _require_table(statement.this, table)
            _only(statement, "this", "expressions", "where")
            values = tuple(_assigned(a.this.name, a.expression, table, row) for a in statement.expressions)
            return Change(values, _where(statement, table, row))
        case exp.Delete():
            _require_table(statement.this, table)
            _only(statement, "this", "where")
            return Delete(_where(statement, table, row))
    raise ForbiddenError(f"an update box runs INSERT, UPDATE or DELETE, not {_verb(statement)}.")


def _selected(item: exp.Expr, table: Table, row: Schema) -> tuple[str, Expression, DataType]:
    name = item.alias_or_name
    if isinstance(item, exp.Star) or not name:
        raise ForbiddenError("a read box names each column that it selects.", hint="SELECT a, b + 1 AS c FROM …")
    expression, type_ = _typed(item.unalias(), table, row)
    return name, expression, type_


def _where(statement: exp.Expr, table: Table, row: Schema) -> Expression:
    where = statement.args.get("where")
    return require_boolean(_typed(where.this, table, row)[0], scope(table, row)) if where else TRUE


def _limit(statement: exp.Expr) -> int | None:
    limit = statement.args.get("limit")
    if limit is None:
        return None
    if not isinstance(limit.expression, exp.Literal) or not str(limit.expression.this).isdigit():
        raise ForbiddenError("LIMIT takes a number.")
    return int(limit.expression.this)


def _insert(statement: exp.Insert, table: Table, row: Schema) -> Insert:
    _only(statement, "this", "expression")
    target = statement.this
    columns = [c.name for c in target.expressions] if isinstance(target, exp.Schema) else list(table.schema.names)
    _require_table(target.this if isinstance(target, exp.Schema) else target, table)
    values = statement.expression
    if not isinstance(values, exp.Values) or len(values.expressions) != 1:
        raise ForbiddenError("an update box inserts one row of VALUES.", hint="INSERT INTO t (a, b) VALUES (:a, :b)")
    given = values.expressions[0].expressions
    if len(given) != len(columns):
        raise GraphError(f"{len(columns)} columns but {len(given)} values.")
    return Insert(tuple(_assigned(name, value, table, row) for name, value in zip(columns, given, strict=True)))


def _assigned(name: str, value: exp.Expr, table: Table, row: Schema) -> tuple[str, Expression]:
    column = table.schema.find(name, f"table {table.name}")
    wanted = table.schema.type_of(column)
    expression, type_ = _typed(value, table, row)
    if common(type_, wanted) != wanted:
        raise GraphError(f"column {column!r} is {wanted}; it cannot be set to {type_}.", hint=f"CAST(… AS {wanted}).")
    return column, coerce(expression, type_, wanted)


def _typed(node: exp.Expr, table: Table, row: Schema) -> tuple[Expression, DataType]:
    prepared = node.copy().transform(_placeholder)
    return resolve(transform(convert(prepared), lambda e: _unqualified(e, table)), scope(table, row))


def _placeholder(node: exp.Expr) -> exp.Expr:
    return exp.column(ROW + node.name) if isinstance(node, exp.Placeholder) and node.name else node


def _unqualified(expression: Expression, table: Table) -> Expression:
    if isinstance(expression, Field) and isinstance(expression.of, Column) and expression.of.name == table.name:
        return Column(expression.name)
    return expression


def _require_table(node: exp.Expr | None, table: Table) -> None:
    if not isinstance(node, exp.Table) or node.args.get("db") or node.args.get("joins") or node.alias:
        raise ForbiddenError("the statement must name its table, plainly and alone.", hint=f"… {table.name} …")
    if node.name != table.name:
        raise unknown("table", node.name, [table.name])


def _only(statement: exp.Expr, *allowed: str) -> None:
    extra = [name for name, value in statement.args.items() if value and name not in allowed]
    if extra:
        raise ForbiddenError(f"{extra[0].rstrip('_').upper()} is not allowed in an update box.")


def _verb(statement: exp.Expr) -> str:
    return statement.sql(Dialect).split(" ", 1)[0][:30].upper() or "nothing"
