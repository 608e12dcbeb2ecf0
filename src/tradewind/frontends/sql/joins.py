"""Joins the relations of FROM, left to right, by their ON, USING or WHERE conditions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from sqlglot import exp

from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import (
    Call,
    Column,
    Expression,
    columns_of,
    conjunction,
    conjuncts,
    transform,
    walk,
)  # fmt: skip
from tradewind.algebra.expressions.typing import require_boolean, resolve
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Band, Filter, Kind
from tradewind.algebra.schema import Schema
from tradewind.errors import QueryError
from tradewind.frontends.build import extend, join, project, renamed_apart
from tradewind.frontends.sql.conditions import Terms, sort_out
from tradewind.frontends.sql.environment import Environment
from tradewind.frontends.sql.grouping import unused
from tradewind.frontends.sql.refusals import only, place, unsupported
from tradewind.frontends.sql.relations import Relation
from tradewind.frontends.sql.scope import Scope, joined, scope_of

_NO_CONDITION = (
    "a join needs an equality of something of each side, or a bound on their distance: "
    "ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 5 MINUTES."
)


@dataclass(frozen=True, slots=True)
class _Step:
    """One relation about to be joined with those before it, and the names that all columns will have."""

    relation: Relation
    how: Kind
    left: Schema
    right: Schema
    suffix: str
    renamed: dict[str, str]
    scope: Scope
    using: tuple[tuple[Column, Column], ...]

    def own_name(self, column: str) -> str:
        """What the relation itself calls one of its columns."""
        return next((old for old, new in self.renamed.items() if new == column), column)

    def own(self, expression: Expression) -> Expression:
        """An expression over the relation's own columns."""
        return transform(expression, lambda one: Column(self.own_name(one.name)) if isinstance(one, Column) else one)


def join_all(
    relations: list[Relation], where: list[Expression], environment: Environment
) -> tuple[Operator, Scope, list[Expression]]:
    """The joined rows, what names mean over them, and the conditions of WHERE that no join took, names resolved."""
    first = relations[0]
    scope, schema = scope_of(first.node.schema, first.name, first.declared), first.node.schema
    steps: list[_Step] = []
    for number, relation in enumerate(relations[1:], start=2):
        with place(f"JOIN {relation.label}"):
            step = _step(relation, scope, schema, f"{number}")
        steps.append(step)
        scope, schema = step.scope, Schema(step.left.columns + step.right.columns)
    with place("WHERE"):
        rest = [_checked(scope.bind(condition), schema) for condition in where]
    node = first.node
    for step in steps:
        with place(f"JOIN {step.relation.label}"):
            node, rest = _joined(node, step, rest, steps, environment)
    return node, scope, rest


def _step(relation: Relation, scope: Scope, left: Schema, number: str) -> _Step:
    clause = relation.join or exp.Join()
    how = _kind(clause)
    suffix = relation.name or number
    apart, renamed = renamed_apart(left, relation.node, suffix)
    both = joined(scope, scope_of(relation.node.schema, relation.name, relation.declared), renamed)
    pairs = []
    for identifier in clause.args.get("using") or ():
        pair = scope.named((identifier.name,)), apart.schema.find(_own(relation, identifier.name, renamed))
        if not isinstance(pair[0], Column):
            raise unsupported("USING after a FULL JOIN on the same column", "join with ON, or in a sub-select.")
        pairs.append((pair[0], Column(pair[1])))
        both = _merge(both, identifier.name, how, pair[0], Column(pair[1]))
    return _Step(relation, how, left, apart.schema, suffix, renamed, both, tuple(pairs))


def _own(relation: Relation, name: str, renamed: dict[str, str]) -> str:
    found = relation.node.schema.find(name)
    return renamed.get(found, found)


def _merge(scope: Scope, name: str, how: Kind, left: Column, right: Column) -> Scope:
    """USING makes one column of two: the side that is always there, or whichever is there in a full join."""
    one: Expression = right if how == "right" else left
    if how == "full":
        one = Call("coalesce", (left, right))
    kept = tuple((known, e) for known, e in scope.merged if known.lower() != name.lower())
    return replace(
        scope, merged=(*kept, (scope.name_of(left.name), one)), unshown=scope.unshown | {left.name, right.name}
    )


def _kind(node: exp.Join) -> Kind:
    side, kind = (str(node.args.get(part) or "").upper() for part in ("side", "kind"))
    if kind in ("SEMI", "ANTI"):
        hint = "JOIN a SELECT DISTINCT of the keys." if kind == "SEMI" else "LEFT JOIN … WHERE right.key IS NULL."
        raise unsupported(f"{side} {kind} JOIN".strip(), hint)
    only(node, "this", "on", "using", "side", "kind")
    if kind not in ("", "INNER", "OUTER", "CROSS") or side not in ("", "LEFT", "RIGHT", "FULL"):
        raise unsupported(f"{side} {kind} JOIN".strip(), "INNER, LEFT, RIGHT and FULL joins are.")
    return cast(Kind, side.lower() or ("full" if kind == "OUTER" else "inner"))


def _joined(
    node: Operator, step: _Step, where: list[Expression], steps: list[_Step], environment: Environment
) -> tuple[Operator, list[Expression]]:
    condition = step.relation.join.args.get("on") if step.relation.join else None
    if step.using:
        return _build(node, step, Terms(step.using, None, ())), where
    if condition is not None:
        bound = step.scope.bind(environment.read_plain(condition, "ON"))
        both = Schema(step.left.columns + step.right.columns)
        return _build(node, step, sort_out(conjuncts(_checked(bound, both)), node.schema, step.right)), where
    if any(other.how in ("right", "full") for other in steps):
        raise QueryError("a join without ON beside a RIGHT or FULL join.", hint="write its condition in ON.")
    if step.how != "inner":
        raise QueryError(f"a {step.how.upper()} JOIN without a condition.", hint=_NO_CONDITION)
    pieces = [piece for condition in where for piece in conjuncts(condition)]
    terms = sort_out(pieces, node.schema, step.right)
    rest = [piece for piece in pieces if piece in terms.rest]
    return _build(node, step, Terms(terms.keys, terms.band, ())), rest


def _checked(condition: Expression, schema: Schema) -> Expression:
    """The condition itself; type errors come out here, before bounds are rearranged."""
    require_boolean(condition, schema)
    return condition


def _build(node: Operator, step: _Step, terms: Terms) -> Operator:
    if not terms.keys and terms.band is None:
        raise QueryError(
            f"nothing ties {step.relation.label} to what stands before it in FROM, so this would be a cross join.",
            hint=_NO_CONDITION,
        )
    left, right, rest = _filtered_below(node, step, terms.rest)
    if rest and step.how != "inner":
        raise _left_over(rest[0], step)
    built = _on(left, right, step, terms)
    return _filtered(built, rest)


def _filtered_below(
    left: Operator, step: _Step, conditions: tuple[Expression, ...]
) -> tuple[Operator, Operator, tuple[Expression, ...]]:
    """Both sides of a join and the conditions left over: what an outer join asks of the side that may be missing alone,
    it asks before rows are paired.
    """
    right = step.relation.node
    optional = {"left": step.right, "right": step.left}.get(step.how)
    if optional is None:
        return left, right, conditions
    below = tuple(one for one in conditions if columns_of(one) <= set(optional.names))
    if step.how == "left":
        right = _filtered(right, tuple(step.own(one) for one in below))
    else:
        left = _filtered(left, below)
    return left, right, tuple(one for one in conditions if one not in below)


def _filtered(node: Operator, conditions: tuple[Expression, ...]) -> Operator:
    return Filter(node, require_boolean(conjunction(conditions), node.schema)) if conditions else node


def _left_over(condition: Expression, step: _Step) -> QueryError:
    shown = print_expression(condition)
    hint = "equalities, one pair of time bounds and conditions on the side that may be missing can; or filter in WHERE."
    if any(columns_of(condition) <= set(side.names) for side in (step.left, step.right)):
        hint = (
            "rows for which it is not true stay, without a match: ask it in a key, "
            f"ON CASE WHEN {shown} THEN … END = …; or filter in WHERE, or before the join, which drops them."
        )
    elif any(isinstance(part, Call) and part.function in ("+", "-", "negative") for part in walk(condition)):
        hint += " Sums of numbers may overflow: compute them in a sub-select, and compare plain columns in ON."
    return QueryError(f"{shown!r} cannot be asked in a {step.how.upper()} JOIN.", hint=hint)


def _on(left: Operator, right: Operator, step: _Step, terms: Terms) -> Operator:
    """The join itself. Keys that are not plain columns are computed first, and taken away again after it."""
    taken = {name.lower() for name in (*step.left.names, *step.right.names, *right.schema.names)}
    hidden: tuple[dict[Expression, str], dict[Expression, str]] = ({}, {})
    keys = []
    for a, b in terms.keys:
        pair = (a, step.own(b))
        for expression, names in zip(pair, hidden, strict=True):
            if not isinstance(expression, Column) and expression not in names:
                names[expression] = unused(print_expression(expression), taken)
        keys.append(tuple(e.name if isinstance(e, Column) else names[e] for e, names in zip(pair, hidden, strict=True)))
    left, right = _with_hidden(left, hidden[0]), _with_hidden(right, hidden[1])
    band = terms.band
    if band is not None:
        band = Band(band.left, step.own_name(band.right), band.low, band.high)
    built = join(left, right, step.how, [(a, b) for a, b in keys], band, suffix=step.suffix)
    return project(built, [(name, Column(name)) for name in (*step.left.names, *step.right.names)])


def _with_hidden(node: Operator, names: dict[Expression, str]) -> Operator:
    return extend(node, {name: resolve(expression, node.schema)[0] for expression, name in names.items()})
