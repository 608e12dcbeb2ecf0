"""One SELECT as a chain of operators, always in the same order, so that equal questions give equal graphs.

FROM with its joins → filter (WHERE) → aggregate (GROUP BY) → filter (HAVING) → top and filter (QUALIFY) → top (ORDER BY
and LIMIT) → map (the SELECT list, unless it is all there is) → distinct. A top that orders by a computed item stands
above the map; one that orders by something computed and not selected gets a column for it, which the map then leaves
out. ORDER BY with LIMIT under DISTINCT stands above the distinct. It is taken per window when its rows have a `window`
column that tells the time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from tradewind.algebra.aggregates import aggregate_names
from tradewind.algebra.expressions.tree import Call, Column, Expression
from tradewind.algebra.expressions.typing import require_boolean, resolve
from tradewind.algebra.operators.aggregation import WINDOW
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter
from tradewind.algebra.operators.derived import Distinct
from tradewind.errors import QueryError, UnknownNameError
from tradewind.frontends.build import project
from tradewind.frontends.sql.environment import Environment
from tradewind.frontends.sql.items import Item, Output, by_position, read_items, settled_names, with_names
from tradewind.frontends.sql.joins import join_all
from tradewind.frontends.sql.keys import read_groups
from tradewind.frontends.sql.ranking import Ranking, is_row_number, limited, qualified
from tradewind.frontends.sql.refusals import only, place
from tradewind.frontends.sql.relations import relations
from tradewind.frontends.sql.rows import PlainRows, Rows
from tradewind.frontends.sql.scope import Scope, path_of
from tradewind.frontends.sql.tops import Columns, Order, above, below, ordered

_PARTS = ("expressions", "from_", "joins", "where", "group", "having", "qualify", "order", "limit", "distinct", "with_")


@dataclass(frozen=True, slots=True)
class _Wishes:
    """What a SELECT asks of the rows of FROM and WHERE."""

    items: list[Item]
    group: exp.Expr | None
    having: exp.Expr | None
    ranking: Ranking | None
    final: Ranking | None
    distinct: bool
    environment: Environment
    scope: Scope

    def read(self, node: exp.Expr, *, ordinals: bool = False) -> Expression:
        """An expression in which the items' names may stand, and a number for an item where that is the custom."""
        raw = self.environment.read(node)
        meant = by_position(raw, self.items) if ordinals else raw
        return with_names(raw, self.items, self._is_closed) if meant is raw else meant

    def _is_closed(self, raw: Expression) -> bool:
        """Aggregates and columns of a relation (`a.k`) speak of the rows of FROM, whatever items are called."""
        path = path_of(raw)
        return self.environment.is_aggregate(raw) or (
            path is not None and len(path) > 1 and self.scope.relates(path[0])
        )


def build_select(select: exp.Select, environment: Environment, limit: int | None) -> Operator:
    """The graph of a SELECT; `limit` is what the enclosing WHERE asks of its row_number()."""
    only(select, *_PARTS)
    if select.args.get("distinct"):
        only(select.args["distinct"])
    node, scope = _source(select, environment)
    wishes = _wishes(select, environment, limit, scope)
    node, rows = _grouped(wishes, node)
    return _answer(wishes, node, rows)


def _wishes(select: exp.Select, environment: Environment, limit: int | None, scope: Scope) -> _Wishes:
    having = select.args.get("having")
    with place("QUALIFY" if select.args.get("qualify") else "SELECT"):
        ranking = qualified(select, limit)
    return _Wishes(
        read_items(select, environment),
        select.args.get("group"),
        having.this if having is not None else None,
        ranking,
        limited(select),
        bool(select.args.get("distinct")),
        environment,
        scope,
    )


def _source(select: exp.Select, environment: Environment) -> tuple[Operator, Scope]:
    """FROM and WHERE."""
    members, conditions = relations(select, environment)
    with place("WHERE"):
        where = [environment.read_plain(condition, "WHERE") for condition in conditions]
    try:
        node, scope, rest = join_all(members, where, environment)
    except UnknownNameError:
        with place("WHERE"):
            _check_seen(select, conditions, {name.lower() for one in members for name in one.node.schema.names})
        raise
    with place("WHERE"):
        return _filtered(node, rest), scope


def _check_seen(select: exp.Select, conditions: list[exp.Expr], known: set[str]) -> None:
    """Refuse the names of SELECT items in WHERE, which comes before them."""
    items = {item.alias.lower(): item.this for item in select.expressions if isinstance(item, exp.Alias)}
    for column in (one for condition in conditions for one in condition.find_all(exp.Column)):
        item = None if column.table else items.get(column.name.lower())
        if item is None or column.name.lower() in known:
            continue
        hint = "write the expression itself, or filter in an enclosing SELECT."
        if is_row_number(item):
            hint = f"use QUALIFY: QUALIFY {column.name} <= k."
        elif any(str(call.this).lower() in aggregate_names() for call in item.find_all(exp.Anonymous)):
            hint = "use HAVING."
        raise QueryError(f"{column.name!r} is computed by SELECT, which comes after WHERE.", hint=hint)


def _filtered(node: Operator, conditions: list[Expression]) -> Operator:
    if not conditions:
        return node
    parts: list[Expression] = []
    for one in conditions:
        parts += one.arguments if isinstance(one, Call) and one.function == "and" else (one,)
    whole = conditions[0] if len(conditions) == 1 else Call("and", tuple(parts))
    return Filter(node, require_boolean(whole, node.schema))


def _grouped(wishes: _Wishes, node: Operator) -> tuple[Operator, Rows]:
    """GROUP BY and HAVING, when there are groups or aggregates at all."""
    environment = wishes.environment
    others = _others(wishes)
    asked = any(environment.aggregates_in(raw) for raw in (*(item.raw for item in wishes.items), *others))
    rank = wishes.ranking.rank if wishes.ranking else None
    if not asked and wishes.having is None and wishes.group is None:
        return node, PlainRows(wishes.scope, environment, rank)
    groups = read_groups(
        wishes.group, wishes.items, others, scope=wishes.scope, schema=node.schema, environment=environment
    )
    with place("GROUP BY"):
        node = groups.node(node)
    if wishes.having is not None:
        with place("HAVING"):
            node = _filtered(node, [groups.expression(wishes.read(wishes.having))])
    return node, replace(groups, rank=rank)


def _others(wishes: _Wishes) -> list[Expression]:
    """What HAVING, QUALIFY and ORDER BY ask, as written."""
    clauses = [("HAVING", wishes.having)] if wishes.having is not None else []
    clauses += [("QUALIFY", one) for one in (wishes.ranking.nodes if wishes.ranking else ())]
    clauses += [("ORDER BY", one) for one in (wishes.final.nodes if wishes.final else ())]
    found = []
    for where, clause in clauses:
        with place(where):
            found.append(wishes.environment.read(clause))
    return found


def _answer(wishes: _Wishes, node: Operator, rows: Rows) -> Operator:
    """QUALIFY, ORDER BY with LIMIT, the SELECT list, DISTINCT."""
    outputs: list[Output] = []
    for item in wishes.items:
        with place(item.where):
            outputs += (found := rows.outputs(item))
            _typed([(output.name, output.expression) for output in found], node, rows.rank)
    with place("SELECT"):
        columns = settled_names(outputs)
    early: Order | None = None
    late: Order | None = None
    if wishes.ranking is not None:
        with place("QUALIFY"):
            order = _order(wishes.ranking, wishes, node, rows)
            late_enough = not wishes.final and not wishes.ranking.also
            placed = below(order, node, _typed(columns, node, order.rank) if late_enough else [])
            early, node = (order if placed is None else None), placed or node
            node = _filtered(node, [rows.expression(wishes.read(one)) for one in wishes.ranking.also])
    if wishes.final is not None:
        with place("ORDER BY"):
            if wishes.distinct:
                late = _order(_visible(wishes.final, columns), wishes, node, rows)
            else:
                order = _order(wishes.final, wishes, node, rows)
                placed = below(order, node, [] if wishes.ranking else _typed(columns, node, None))
                early, node = (order if placed is None else None), placed or node
    return _listed(node, columns, early, late, distinct=wishes.distinct)


def _listed(node: Operator, columns: Columns, early: Order | None, late: Order | None, *, distinct: bool) -> Operator:
    with place("SELECT"):
        typed = _typed(columns, node, None)
        node = project(node, typed)
        if early is not None:
            node = above(early, node, typed)
        if distinct:
            node = Distinct(node)
    if late is None:
        return node
    with place("ORDER BY"):
        return above(late, node, typed)


def _order(wish: Ranking, wishes: _Wishes, node: Operator, rows: Rows) -> Order:
    return ordered(wish, node, lambda one: rows.expression(wishes.read(one, ordinals=wish.ordinals)))


def _visible(wish: Ranking, columns: Columns) -> Ranking:
    """After DISTINCT, the top is per window only when the window was selected."""
    return wish if any(one == Column(WINDOW) for _, one in columns) else replace(wish, per=())


def _typed(columns: Columns, node: Operator, missing: str | None) -> Columns:
    """The SELECT list's columns with their types; all but the rank, while there is none yet."""
    return [(name, resolve(one, node.schema)[0]) for name, one in columns if missing is None or one != Column(missing)]
