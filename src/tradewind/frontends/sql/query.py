"""From the text of a query to its graph: WITH, UNION ALL, and the SELECTs they are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from tradewind.algebra.aggregates import aggregate_names
from tradewind.algebra.expressions.functions import ALIASES, FUNCTIONS
from tradewind.algebra.expressions.parse import forbidden_function
from tradewind.algebra.expressions.tree import Column, Expression
from tradewind.algebra.expressions.typing import coerce, resolve
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Union
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DataType, common
from tradewind.errors import ExpressionError, ForbiddenError, GraphError, InputError, QueryError
from tradewind.frontends.build import project
from tradewind.frontends.catalog import Catalog
from tradewind.frontends.sql.environment import Environment, Named
from tradewind.frontends.sql.items import Item, by_position
from tradewind.frontends.sql.ranking import limited, ranked_as
from tradewind.frontends.sql.reading import read_statement
from tradewind.frontends.sql.refusals import only, place, unsupported
from tradewind.frontends.sql.relations import named_query
from tradewind.frontends.sql.scope import scope_of
from tradewind.frontends.sql.select import build_select
from tradewind.frontends.sql.tops import below, ordered

_IN_QUERIES = frozenset(("window", "session_window", "row_number", "named_struct"))
"""Functions that have a meaning of their own in a query, beside the scalar ones and the aggregates."""


def parse_query(text: str, catalog: Catalog) -> Operator:
    """The last operator of the graph that answers a query.

    >>> from tradewind.algebra.operators.core import Source
    >>> from tradewind.algebra.schema import parse_schema
    >>> ticks = Source("ticks", parse_schema("ts TIMESTAMP, price DOUBLE", "ts"))
    >>> parse_query("SELECT max(price) AS best FROM ticks", Catalog({"ticks": ticks})).schema.names
    ('best',)
    """
    try:
        statement = read_statement(text, catalog.aggregates)
        if not isinstance(statement, exp.Query):
            raise _no_query(statement)
        return _build(statement, Environment(catalog, _build), None)
    except RecursionError:
        raise ExpressionError(
            "the query is nested too deeply.", hint="split it over several boxes of `flow:`."
        ) from None


def refused_words(text: str, declared: Iterable[str]) -> InputError | None:
    """What is wrong with a query whatever its streams are: it cannot be read, or it calls what may not be called.

    `declared` names the user's own aggregates.
    """
    try:
        statement = read_statement(text, declared)
        if not isinstance(statement, exp.Query):
            return _no_query(statement)
    except InputError as error:
        return error
    allowed = aggregate_names() | _IN_QUERIES | {name.lower() for name in declared}
    for call in statement.find_all(exp.Anonymous):
        name = str(call.this).lower()
        if ALIASES.get(name, name) not in FUNCTIONS and name not in allowed:
            return forbidden_function(str(call.this), allowed)
    return None


def names_used(text: str, declared: Iterable[str]) -> set[str]:
    """What a query reads or calls, in small letters; nothing if it cannot be read. `declared` is as above.

    >>> sorted(names_used("SELECT mine(a.x) AS b FROM flow.good AS a JOIN c ON a.x = c.x", ["mine"]))
    ['c', 'flow', 'flow.good', 'mine']
    """
    try:
        statement = read_statement(text, declared)
    except InputError:
        return set()
    found = {str(call.this).lower() for call in statement.find_all(exp.Anonymous)}
    for table in statement.find_all(exp.Table):
        parts = [part.name.lower() for part in table.parts]
        found |= {parts[0], ".".join(parts)}
    return found


def _no_query(statement: exp.Expr) -> QueryError | ForbiddenError:
    if isinstance(statement, exp.Values):
        return unsupported("VALUES", "name a declared stream: SELECT … FROM stream.")
    word = str(statement.this) if isinstance(statement, exp.Command) else type(statement).__name__
    if isinstance(statement, exp.Command | exp.DDL | exp.DML) or type(statement) in _STATEMENTS:
        return ForbiddenError(f"{word.upper()[:40]} is not a query.", hint="only one SELECT may be given.")
    return QueryError("this is not a query.", hint="write SELECT … FROM stream.")


_STATEMENTS = (
    exp.Set, exp.Use, exp.Drop, exp.Describe, exp.Cache, exp.Uncache, exp.Refresh, exp.Alter, exp.Show, exp.Pragma,
    exp.Transaction, exp.Commit, exp.Rollback, exp.Kill, exp.LoadData, exp.Analyze, exp.TruncateTable, exp.Comment,
)  # fmt: skip


def _build(query: exp.Expr, environment: Environment, limit: int | None) -> Operator:
    inner = _with_names(query.args.get("with_"), environment)
    match query:
        case exp.Select():
            found = build_select(query, inner, limit)
        case exp.Subquery():
            only(query, "this", "with_", "order", "limit")
            found = _first(query, _build(query.this, inner, limit))
        case exp.Union():
            found = _first(query, _union(query, inner))
        case exp.SetOperation():
            name = type(query).__name__.upper()
            hint = "JOIN on all columns." if name == "INTERSECT" else "LEFT JOIN … WHERE right.key IS NULL."
            raise unsupported(name, hint)
        case exp.Table():
            raise unsupported("a relation in parentheses", "write SELECT * FROM it.")
        case _:
            raise unsupported(type(query).__name__.upper(), "write SELECT … FROM stream.")
    for name in inner.named:  # also those that are not used must be right
        if not inner.named[name].built:
            named_query(name, inner, 1 if ranked_as(inner.named[name].query) else None)
    return found


def _with_names(clause: exp.Expr | None, environment: Environment) -> Environment:
    if clause is None:
        return environment
    with place("WITH"):
        only(clause, "expressions")
        seen: set[str] = set()
        for one in clause.expressions:
            only(one, "this", "alias")
            name = one.alias.lower()
            if name in seen:
                raise QueryError(f"two queries are named {one.alias!r}.", hint="give one of them another name.")
            seen.add(name)
            columns = tuple(column.name for column in one.args["alias"].columns)
            named = Named(one.this, columns, environment)
            environment = replace(environment, named={**environment.named, name: named})
    return environment


def _union(query: exp.Expr, environment: Environment) -> Operator:
    """UNION ALL of any number of queries: columns by position, named as the first query's, of their common type."""
    parts: list[exp.Expr] = []
    node = query
    while isinstance(node, exp.Union) and (node is query or not _is_closed(node)):
        if node.args.get("distinct"):
            raise unsupported("UNION without ALL", "SELECT DISTINCT * FROM (… UNION ALL …).")
        only(node, "this", "expression", "order", "limit", "with_")
        parts.append(node.expression)
        node = node.this
    members = []
    for number, part in enumerate([node, *reversed(parts)], start=1):
        with place(f"UNION ALL, query {number}"):
            members.append(_build(part, environment, None))
    with place("UNION ALL"):
        types = _common_types([member.schema for member in members])
        return Union(tuple(_aligned(member, members[0].schema.names, types) for member in members))


def _is_closed(node: exp.Expr) -> bool:
    return any(node.args.get(part) for part in ("order", "limit", "with_"))


def _common_types(schemas: list[Schema]) -> list[DataType | None]:
    """The type of each column that all its values convert to, or None."""
    first = schemas[0]
    found: list[DataType | None] = [type_ for _, type_ in first.columns]
    for number, schema in enumerate(schemas[1:], start=2):
        if len(schema.columns) != len(first.columns):
            raise GraphError(
                f"query 1 has {len(first.columns)} columns ({first}), "
                f"query {number} has {len(schema.columns)} ({schema}).",
                hint="select as many columns on both sides.",
            )
        pairs = zip(found, schema.columns, strict=True)
        found = [common(before, type_) if before is not None else None for before, (_, type_) in pairs]
    return found


def _aligned(member: Operator, names: tuple[str, ...], types: list[DataType | None]) -> Operator:
    """The member under the union's names and types; where no type fits all, the union will say so."""
    columns = []
    for name, wanted, (own, type_) in zip(names, types, member.schema.columns, strict=True):
        columns.append((name, coerce(Column(own), type_, type_ if wanted is None else wanted)))
    return project(member, columns)


def _first(query: exp.Expr, node: Operator) -> Operator:
    """ORDER BY with LIMIT over a whole UNION ALL or a query in parentheses."""
    wish = limited(query)
    if wish is None:
        return node
    environment = Environment(Catalog(), _build)
    items = [Item(f"column {name}", Column(name), name) for name in node.schema.names]

    def read(one: exp.Expr) -> Expression:
        raw = by_position(environment.read_plain(one, "ORDER BY"), items)
        return scope_of(node.schema, None).bind(raw)

    with place("ORDER BY"):
        placed = below(ordered(wish, node, read), node, [])
        return project(placed or node, _same(node.schema))


def _same(schema: Schema) -> list[tuple[str, Expression]]:
    return [(name, resolve(Column(name), schema)[0]) for name in schema.names]
