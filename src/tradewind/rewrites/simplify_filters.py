"""Conditions that always hold, never hold, or follow from others are not asked.

What follows is known from the filter's other conditions and from the filters below it (`facts`). A condition that is
NULL, or two that exclude one another, let no row through. A filter that asks nothing is dropped.

>>> from tradewind.algebra.expressions.typing import parse_condition
>>> from tradewind.algebra.operators.core import Filter, Source
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> ticks = Source("ticks", parse_schema("ts TIMESTAMP, price INT", time="ts"))
>>> print(before_and_after(simplify_filters, Filter(ticks, parse_condition("price > 5 AND price > 3", ticks.schema))))
filter price > 5 AND price > 3
└─ stream ticks
⇒
filter price > 5
└─ stream ticks
"""

from __future__ import annotations

from collections.abc import Sequence

from tradewind.algebra.expressions.implication import contradicts, implies
from tradewind.algebra.expressions.tree import FALSE, Call, Expression, Literal, conjunction, conjuncts, walk
from tradewind.algebra.facts import facts, holds
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter
from tradewind.rewrites.moving import filtered
from tradewind.rewrites.rule import Context, node_rule

MOST = 150
"""Conditions are compared each with each; filters of more comparisons than these are left as they are."""


@node_rule(
    law="A condition that follows from others changes nothing, and two that exclude one another let no row through.",
    helps="Fewer conditions to ask, and filters that mean the same come to look the same.",
)
def simplify_filters(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Filter):
        return None
    asked = _asked(conjuncts(node.predicate), node.input)
    return None if asked and conjunction(asked) == node.predicate else filtered(node.input, asked)


def _asked(conditions: Sequence[Expression], below: Operator) -> list[Expression]:
    if any(isinstance(condition, Literal) for condition in conditions):
        return [FALSE]  # TRUE is no conjunct, so it is FALSE or NULL
    if sum(isinstance(part, Call) for condition in conditions for part in walk(condition)) > MOST:
        return list(conditions)
    kept = [condition for condition in conditions if not holds(below, condition)]
    everything = (*kept, *facts(below))
    if any(contradicts(one, two) for place, one in enumerate(kept) for two in everything[place + 1 :]):
        return [FALSE]
    place = 0
    while place < len(kept):
        others = [*kept[:place], *kept[place + 1 :]]
        if implies(conjunction(others), kept[place]):
            kept = others
        else:
            place += 1
    return kept
