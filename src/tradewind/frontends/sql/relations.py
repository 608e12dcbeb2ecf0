"""FROM: the relations that a query names, and how they are to be joined."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.operators.base import Operator
from tradewind.errors import ForbiddenError, QueryError, unknown
from tradewind.frontends.build import project
from tradewind.frontends.sql.environment import Environment
from tradewind.frontends.sql.ranking import conjuncts_of, rank_limit, ranked_as
from tradewind.frontends.sql.refusals import line_of, only, place, unsupported

_FORMATS = frozenset(
    (
        "parquet",
        "csv",
        "json",
        "orc",
        "avro",
        "text",
        "binaryfile",
        "delta",
        "iceberg",
        "hudi",
        "jdbc",
        "xml",
        "kafka",
        "file",
    )
)
_PATH = re.compile(r"[/\\:*]|\.\.|^~")
MAX_COLUMNS = 1_024


@dataclass(frozen=True, slots=True)
class Relation:
    """One member of FROM: its name, its rows, and how it is joined with the members before it."""

    name: str | None
    node: Operator
    join: exp.Join | None
    declared: str | None = None
    """What it is called outside FROM, if it is not a sub-select."""

    @property
    def label(self) -> str:
        """The relation in a message."""
        return self.name or "the sub-select"


def relations(select: exp.Select, environment: Environment) -> tuple[list[Relation], list[exp.Expr]]:
    """The members of FROM, and WHERE's conditions without those that say how many ranked rows are wanted."""
    source = select.args.get("from_")
    if source is None:
        raise unsupported("SELECT without FROM", "name a declared stream: SELECT … FROM stream.")
    joins: list[exp.Join] = list(select.args.get("joins") or ())
    where = select.args.get("where")
    conditions = conjuncts_of(where.this) if where is not None else []
    found: list[Relation] = []
    for member, join in [(source.this, None), *((join.this, join) for join in joins)]:
        with place(f"FROM{line_of(member)}"):
            limit = _limit(member, environment, conditions, joins)
        name, node = _relation(member, environment, limit)
        if name is not None and any(other.name is not None and other.name.lower() == name.lower() for other in found):
            raise QueryError(f"two relations are named {name!r}.", hint="give one of them another name: … AS other.")
        declared = member.name if isinstance(member, exp.Table) else None
        found.append(Relation(name, node, join, declared))
    if sum(len(relation.node.schema.columns) for relation in found) > MAX_COLUMNS:
        raise QueryError(f"the join has more than {MAX_COLUMNS} columns.", hint="select fewer columns in sub-selects.")
    return found, conditions


def _limit(
    member: exp.Expr, environment: Environment, conditions: list[exp.Expr], joins: Sequence[exp.Join]
) -> int | None:
    """How many rows of its row_number() a sub-select is asked for; that condition is taken out of the list."""
    rank = ranked_as(_query_behind(member, environment))
    if rank is None:
        return None
    alias = member.alias_or_name.lower()

    def is_rank(node: exp.Expr) -> bool:
        return isinstance(node, exp.Column) and [p.name.lower() for p in node.parts] in ([rank], [alias, rank])

    found = [(limit, one) for one in conditions if (limit := rank_limit(one, is_rank)) is not None]
    if not found or any(join.args.get("side") for join in joins):
        raise QueryError(
            f"row_number() AS {rank} is used without a limit on it.",
            hint=f"the enclosing SELECT must say WHERE {rank} <= k, without outer joins; or use QUALIFY {rank} <= k.",
        )
    for _, one in found:
        conditions.remove(one)
    return min(limit for limit, _ in found)


def _query_behind(member: exp.Expr, environment: Environment) -> exp.Expr:
    if isinstance(member, exp.Table) and not member.args.get("db") and member.name.lower() in environment.named:
        return environment.named[member.name.lower()].query
    return member


def _relation(member: exp.Expr, environment: Environment, limit: int | None) -> tuple[str | None, Operator]:
    alias = member.args.get("alias")
    name = alias.name or None if isinstance(alias, exp.TableAlias) else None
    columns = tuple(column.name for column in alias.columns) if isinstance(alias, exp.TableAlias) else ()
    match member:
        case exp.Subquery(this=exp.Table()):
            raise unsupported("a relation in parentheses", "leave them out, or write a sub-select: (SELECT …) AS name.")
        case exp.Subquery(this=exp.Query()):
            with place(f"sub-select {name}" if name else "sub-select"):
                inner = member.copy()
                inner.set("alias", None)
                return name, relabelled(environment.build(inner, environment, limit), columns)
        case exp.Table():
            with place(f"FROM{line_of(member)}"):
                node = _declared(member, environment, limit)
                return name or _spelling(member.name, environment), relabelled(node, columns)
        case exp.Values():
            raise unsupported("VALUES", "name a declared stream; a table of constants can be read with a read box.")
        case exp.Lateral() | exp.Unnest():
            raise unsupported("LATERAL", "a row cannot become several; join, or read a declared table with a read box.")
    raise unsupported(
        f"{type(member).__name__.upper()} in FROM", "name a declared stream, or a sub-select with an alias."
    )


def _spelling(name: str, environment: Environment) -> str:
    """A stream's name as it was declared, so that columns in a join do not depend on how it is written."""
    if name.lower() in environment.named:
        return name
    return next((known for known in environment.catalog.streams if known.lower() == name.lower()), name)


def relabelled(node: Operator, names: Sequence[str]) -> Operator:
    """The same columns under the names in a column list, if there is one."""
    if not names:
        return node
    if len(names) != len(node.schema.names):
        raise QueryError(f"{len(names)} names for {len(node.schema.names)} columns.", hint="name all columns, or none.")
    return project(node, [(new, Column(old)) for new, old in zip(names, node.schema.names, strict=True)])


def _declared(table: exp.Table, environment: Environment, limit: int | None) -> Operator:
    parts = [part.name for part in table.parts]
    if not all(isinstance(part, exp.Identifier) for part in table.parts):
        raise ForbiddenError(
            f"{table.sql('spark')[:60]!r} is not a declared stream: functions that make rows may not be called.",
            hint="FROM names declared streams, WITH names and sub-selects.",
        )
    _refuse_files(parts)
    only(table, "this", "alias")
    name = parts[0]
    query = environment.named.get(name.lower())
    if query is not None:
        return named_query(name, environment, limit)
    found = environment.catalog.stream(name)
    if found is not None:
        return found
    if environment.catalog.table(name) is not None:
        raise unsupported(f"SELECT from the table {name!r}", "a stream's rows are completed from it by a read box.")
    raise unknown("stream", name, [*environment.catalog.streams, *environment.named])


def _refuse_files(parts: list[str]) -> None:
    written = ".".join(parts)[:60]
    if any(_PATH.search(part) for part in parts) or (len(parts) > 1 and parts[0].lower() in _FORMATS):
        raise ForbiddenError(
            f"{written!r} is a file, not a declared stream.", hint="declare it under `streams:` and name it."
        )
    if len(parts) > 1:
        raise ForbiddenError(f"{written!r} has a schema or catalog in its name.", hint="streams are named plainly.")


def named_query(name: str, environment: Environment, limit: int | None) -> Operator:
    """The node of a query named by WITH, the same each time."""
    query = environment.named[name.lower()]
    if limit not in query.built:
        with place(f"WITH {name}"):
            query.built[limit] = relabelled(environment.build(query.query, query.environment, limit), query.columns)
    return query.built[limit]
