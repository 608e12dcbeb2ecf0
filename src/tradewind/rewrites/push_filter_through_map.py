"""A filter above a map is asked below it, with the map's expressions in the place of its columns.

A condition on a computed column from which a bound on a plain column can be had stays: `push_back_monotone` asks that
bound below, which is cheaper than computing the column twice.

>>> from tradewind.algebra.expressions.tree import Column
>>> from tradewind.algebra.expressions.typing import parse_condition
>>> from tradewind.algebra.operators.core import Filter, Map, Source
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> ticks = Source("ticks", parse_schema("price INT, size INT"))
>>> renamed = Map(ticks, (("cost", Column("price")),))
>>> print(before_and_after(push_filter_through_map, Filter(renamed, parse_condition("cost > 5", renamed.schema))))
filter cost > 5
└─ map cost = price
   └─ stream ticks
⇒
map cost = price
└─ filter price > 5
   └─ stream ticks
"""

from __future__ import annotations

from tradewind.algebra.expressions.tree import Expression, columns_of, conjuncts
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Map
from tradewind.rewrites.bounding import bounds_below
from tradewind.rewrites.moving import filtered, plain, said_below, size, with_input
from tradewind.rewrites.rule import Context, node_rule

_LARGE = 40
"""Conditions of more parts than this are not worth asking twice."""


@node_rule(
    law="A row is kept after it is mapped exactly if what it is mapped from satisfies the condition on it.",
    helps="Rows that are not wanted are not computed, and the filter comes nearer to the stream.",
)
def push_filter_through_map(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Filter) or not isinstance(node.input, Map) or context.shared(node.input):
        return None
    moved, stay = [], []
    for condition in conjuncts(node.predicate):
        below = _below(condition, node.input)
        if below is None:
            stay.append(condition)
        else:
            moved.append(below)
    if not moved:
        return None
    return filtered(with_input(node.input, 0, filtered(node.input.input, moved)), stay)


def _below(condition: Expression, node: Map) -> Expression | None:
    columns = dict(node.columns)
    found = said_below(condition, columns, node.schema, node.input.schema)
    if found is None or all(plain(columns[name]) for name in columns_of(condition)):
        return found
    return None if size(found) > _LARGE or bounds_below(condition, node) else found
