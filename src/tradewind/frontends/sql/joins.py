"""Joins the relations of FROM, left to right, by their ON, USING or WHERE conditions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from sqlglot import exp

from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import Call, Column, Expression, conjunction, conjuncts
from tradewind.algebra.expressions.typing import require_boolean
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Band, Filter, Kind
from tradewind.algebra.schema import Schema
from tradewind.errors import QueryError
from tradewind.frontends.build import join, renamed_apart
from tradewind.frontends.sql.conditions import Terms, sort_out
from tradewind.frontends.sql.environment import Environment
from tradewind.frontends.sql.refusals import only, place, unsupported
from tradewind.frontends.sql.relations import Relation
from tradewind.frontends.sql.scope import Scope, joined, scope_of

_NO_CONDITION = (
    "a join needs an equality of a column of each side, or a bound on their distance: "
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
    using: tuple[tuple[str, str], ...]


def join_all(
    relations: list[Relation], where: list[Expression], environment: Environment
) -> tuple[Operator, Scope, list[Expression]]:
    """The joined rows, what names mean over them, and the conditions of WHERE that no join took, names resolved."""
    first = relations[0]
    scope, schema = scope_of(first.node.schema, first.name), first.node.schema
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
    both = joined(scope, scope_of(relation.node.schema, relation.name), renamed)
    pairs = []
    for identifier in clause.args.get("using") or ():
        pair = scope.named((identifier.name,)), apart.schema.find(_own(relation, identifier.name, renamed))
        if not isinstance(pair[0], Column):
            raise unsupported("USING after a FULL JOIN on the same column", "join with ON, or in a sub-select.")
        pairs.append((pair[0].name, pair[1]))
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
        return _build(node, step, sort_out(conjuncts(_checked(bound, both)), step.left, step.right)), where
    if any(other.how in ("right", "full") for other in steps):
        raise QueryError("a join without ON beside a RIGHT or FULL join.", hint="write its condition in ON.")
    if step.how != "inner":
        raise QueryError(f"a {step.how.upper()} JOIN without a condition.", hint=_NO_CONDITION)
    pieces = [piece for condition in where for piece in conjuncts(condition)]
    terms = sort_out(pieces, step.left, step.right)
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
    if terms.rest and step.how != "inner":
        raise QueryError(
            f"{print_expression(terms.rest[0])!r} cannot be asked in a {step.how.upper()} JOIN.",
            hint="equalities and one pair of time bounds can; filter one side before the join in a sub-select, "
            "or both after it in WHERE.",
        )
    own = {new: old for old, new in step.renamed.items()}
    keys = [(a, own.get(b, b)) for a, b in terms.keys]
    band = terms.band
    if band is not None:
        band = Band(band.left, own.get(band.right, band.right), band.low, band.high)
    built = join(node, step.relation.node, step.how, keys, band, suffix=step.suffix)
    if not terms.rest:
        return built
    return Filter(built, require_boolean(conjunction(terms.rest), built.schema))
