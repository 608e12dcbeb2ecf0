"""A condition on one side's key holds for the other side's key too.

A bound on one side of a band, moved by the band's width, holds for its other side. Rows of the other side that fail it
have no match, so they may go unless that side's rows are kept without one.

>>> from tradewind.algebra.expressions.typing import parse_condition
>>> from tradewind.algebra.operators.core import Filter, Join, Source
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> orders = Source("orders", parse_schema("item INT"))
>>> stock = Source("stock", parse_schema("id INT, name STRING"))
>>> few = Filter(orders, parse_condition("item < 5", orders.schema))
>>> print(before_and_after(derive_filters_through_join, Join(few, stock, "inner", (("item", "id"),))))
join on item = id
├─ filter item < 5
│  └─ stream orders
└─ stream stock
⇒
join on item = id
├─ filter item < 5
│  └─ stream orders
└─ filter id < 5
   └─ stream stock
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tradewind.algebra.expressions.bounds import bound_of, literal_of
from tradewind.algebra.expressions.implication import implies, respects_equality
from tradewind.algebra.expressions.tree import Call, Column, Expression, columns_of, conjunction, substitute
from tradewind.algebra.facts import facts, holds
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Band, Join
from tradewind.algebra.types import TIMESTAMP, is_integer
from tradewind.rewrites.bounding import comparisons
from tradewind.rewrites.moving import filtered
from tradewind.rewrites.rule import Context, node_rule


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a join as seen from the other: the pairs of equal columns, and the band as `other - own`."""

    own: Operator
    other: Operator
    keys: tuple[tuple[str, str], ...]
    band: Band | None


@node_rule(
    law="Rows that match agree on the keys, so a condition that all rows of one side satisfy is met by every match.",
    helps="Rows that can find no match are dropped before the join.",
)
def derive_filters_through_join(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Join):
        return None
    left, right = node.left, node.right
    if node.how in ("inner", "left"):
        right = filtered(right, _new(_Side(left, right, node.keys, node.band)))
    if node.how in ("inner", "right"):
        left = filtered(left, _new(_Side(node.right, left, tuple((b, a) for a, b in node.keys), _turned(node.band))))
    return node.with_inputs((left, right)) if (left, right) != node.inputs else None


def _turned(band: Band | None) -> Band | None:
    if band is None:
        return None
    low, high = (None if bound is None else -bound for bound in (band.high, band.low))
    return Band(band.right, band.left, low, high)


def _new(side: _Side) -> list[Expression]:
    """What must hold on the other side and is not known to hold yet."""
    found: list[Expression] = []
    for condition in (*_equal(side), *_within(side)):
        if not holds(side.other, condition) and not implies(conjunction(found), condition):
            found.append(condition)
    return found


def _equal(side: _Side) -> Iterator[Expression]:
    own, other = side.own.schema, side.other.schema
    for here, there in side.keys:
        # Between types, equal keys need not satisfy the same conditions: conversion rounds.
        if own.type_of(here) != other.type_of(there):
            continue
        for fact in facts(side.own):
            if columns_of(fact) == {here} and respects_equality(fact, own):
                yield substitute(fact, {here: Column(there)})


def _within(side: _Side) -> Iterator[Expression]:
    band = side.band
    if band is None:
        return
    type_ = side.other.schema.type_of(band.right)
    if type_ != TIMESTAMP and not (is_integer(type_) and is_integer(side.own.schema.type_of(band.left))):
        return
    for fact in facts(side.own):
        for of, op, constant in comparisons(fact):
            bound = bound_of(op, constant) if of == Column(band.left) else None
            reach = band.high if bound is not None and bound.high else band.low
            if bound is None or reach is None:
                continue
            said = literal_of(bound.moved(bound.at + Fraction(reach)), type_)
            if said is not None:
                yield Call(said[0], (Column(band.right), said[1]))
