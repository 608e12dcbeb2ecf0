"""The top of a union is the top of its inputs' tops: rows never move up when lists are merged.

Only the top above gives places: in an input a row may stand higher than in all.

>>> from tradewind.algebra.operators.core import Source, Top, Union
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> a, b = (Source(name, parse_schema("id INT, price INT")) for name in "ab")
>>> print(before_and_after(push_top_through_union, Top(Union((a, b)), 3, (("price", True),), (), "place")))
top 3 by price DESC, place in place
└─ union of 2
   ├─ stream a
   └─ stream b
⇒
top 3 by price DESC, place in place
└─ union of 2
   ├─ top 3 by price DESC
   │  └─ stream a
   └─ top 3 by price DESC
      └─ stream b
"""

from __future__ import annotations

from dataclasses import replace

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Top, Union
from tradewind.rewrites.rule import Context, node_rule
from tradewind.rewrites.tops import cut


@node_rule(
    law="A row that is not among the first k of its input is not among the first k of all.",
    helps="Each input sends at most k rows of a group.",
)
def push_top_through_union(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Top) or not isinstance(node.input, Union) or len(node.input.members) < 2:
        return None
    union = node.input
    if context.ordered(node) or (context.shared(union) and not context.opens(union)):
        return None
    members = tuple(m if cut(m, node) else replace(node, input=m, rank=None) for m in union.members)
    return replace(node, input=Union(members)) if members != union.members else None
