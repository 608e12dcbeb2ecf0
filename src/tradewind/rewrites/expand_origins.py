"""A stream of several origins is the union of its origins' streams.

Done where all who read the stream can begin on parts of it. A result, a barrier or a join that reads the stream as it
is gains nothing, and an operator that minds the order of arrival must see the origins mixed as they came.

>>> from tradewind.algebra.expressions.typing import parse_condition
>>> from tradewind.algebra.operators.core import Filter, Source
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> ticks = Source("ticks", parse_schema("ts TIMESTAMP, price INT", time="ts"), origins=("ams", "nyc"))
>>> print(before_and_after(expand_origins, Filter(ticks, parse_condition("price > 5", ticks.schema))))
filter price > 5
└─ stream ticks at ams, nyc
⇒
filter price > 5
└─ union of 2
   ├─ stream ticks at ams
   └─ stream ticks at nyc
"""

from __future__ import annotations

from dataclasses import replace

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Source, Union
from tradewind.rewrites.rule import Context, node_rule


@node_rule(
    law="A stream that arises at several origins is the union of what arises at each.",
    helps="Filters, maps, partial aggregates and tops can then be done at each origin.",
)
def expand_origins(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Source) or len(set(node.origins)) < 2 or not context.opens(node):
        return None
    return Union(tuple(replace(node, origins=(origin,)) for origin in dict.fromkeys(node.origins)))
