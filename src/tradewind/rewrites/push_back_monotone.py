"""A bound on a column that grows or falls with one input column is a bound on that column too, asked below the map.

The original condition stays above, so the bound below needs only to be safe: exact for whole numbers and times, a
little wide for floating point.

>>> from tradewind.algebra.expressions.typing import parse_condition, parse_expression
>>> from tradewind.algebra.operators.core import Filter, Map, Source
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> ticks = Source("ticks", parse_schema("price INT"))
>>> dearer = Map(ticks, (("gross", parse_expression("price + 10", ticks.schema)),))
>>> print(before_and_after(push_back_monotone, Filter(dearer, parse_condition("gross < 15", dearer.schema))))
filter gross < 15
└─ map gross = price + 10
   └─ stream ticks
⇒
filter gross < 15
└─ map gross = price + 10
   └─ filter price < 5
      └─ stream ticks
"""

from __future__ import annotations

from tradewind.algebra.expressions.implication import implies
from tradewind.algebra.expressions.tree import Expression, conjunction, conjuncts
from tradewind.algebra.facts import holds
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Map
from tradewind.rewrites.bounding import bounds_below
from tradewind.rewrites.moving import filtered, with_input
from tradewind.rewrites.rule import Context, node_rule


@node_rule(
    law="Where f grows, f(x) < t only for x below some bound; where it falls, only for x above one.",
    helps="Rows that cannot pass are dropped before they are computed, and the bound can go on to the stream.",
)
def push_back_monotone(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Filter) or not isinstance(node.input, Map) or context.shared(node.input):
        return None
    below = node.input.input
    found: list[Expression] = []
    for condition in conjuncts(node.predicate):
        for bound in bounds_below(condition, node.input):
            if not holds(below, bound) and not implies(conjunction(found), bound):
                found.append(bound)
    if not found:
        return None
    return Filter(with_input(node.input, 0, filtered(below, found)), node.predicate)
