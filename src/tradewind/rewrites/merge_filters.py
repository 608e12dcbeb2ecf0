"""Two filters in a row are one filter that asks both conditions.

>>> from tradewind.algebra.expressions.typing import parse_condition
>>> from tradewind.algebra.operators.core import Filter, Source
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> ticks = Source("ticks", parse_schema("ts TIMESTAMP, price INT, size INT", time="ts"))
>>> dear = Filter(ticks, parse_condition("price > 5", ticks.schema))
>>> print(before_and_after(merge_filters, Filter(dear, parse_condition("size < 3", ticks.schema))))
filter size < 3
└─ filter price > 5
   └─ stream ticks
⇒
filter price > 5 AND size < 3
└─ stream ticks
"""

from __future__ import annotations

from tradewind.algebra.expressions.tree import conjunction
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter
from tradewind.rewrites.rule import Context, node_rule


@node_rule(
    law="A row passes two filters one after the other exactly if it satisfies both conditions.",
    helps="One operator instead of two, and all conditions in one place for other rules to see.",
)
def merge_filters(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Filter) or not isinstance(node.input, Filter) or context.shared(node.input):
        return None
    return Filter(node.input.input, conjunction([node.input.predicate, node.predicate]))
