"""A filter on what makes the groups is asked below: it takes or leaves whole groups.

So it goes through the keys of an aggregate (whatever its window, for windows are laid within groups), of a partial,
of a merge and of a resampling, and through the groups of a top.

>>> from tradewind.algebra.expressions.typing import parse_condition
>>> from tradewind.algebra.operators.core import Filter, Source, Top
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> ticks = Source("ticks", parse_schema("name STRING, price INT"))
>>> best = Top(ticks, 3, (("price", True),), per=("name",))
>>> asked = Filter(best, parse_condition("price > 5 AND name = 'x'", best.schema))
>>> print(before_and_after(push_filter_through_groups, asked))
filter price > 5 AND name = 'x'
└─ top 3 by price DESC per name
   └─ stream ticks
⇒
filter price > 5
└─ top 3 by price DESC per name
   └─ filter name = 'x'
      └─ stream ticks
"""

from __future__ import annotations

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter
from tradewind.algebra.properties import groups_by
from tradewind.rewrites.moving import push_passing
from tradewind.rewrites.rule import Context, node_rule


@node_rule(
    law="A group's answer depends on its own rows alone, and a condition on its keys is true for all of them or none.",
    helps="Groups that are not wanted are never gathered.",
)
def push_filter_through_groups(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Filter) or groups_by(node.input) is None or context.shared(node.input):
        return None
    return push_passing(node)
