"""A filter on one side of a join may as well be asked above it.

Offered, not applied: it helps where the join drops more rows, or costs less, than the filter, or where another query
shares the join without the filter. Only rates can tell.

>>> from tradewind.algebra.expressions.typing import parse_condition
>>> from tradewind.algebra.operators.core import Filter, Join, Source
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> hits = Source("hits", parse_schema("url STRING, who INT"))
>>> users = Source("users", parse_schema("id INT"))
>>> slow = Filter(hits, parse_condition("contains(lower(url), 'x')", hits.schema))
>>> print(before_and_after(delay_filter_past_join, Join(slow, users, "inner", (("who", "id"),))))
join on who = id
├─ filter contains(lower(url), 'x')
│  └─ stream hits
└─ stream users
⇒
filter contains(lower(url), 'x')
└─ join on who = id
   ├─ stream hits
   └─ stream users
"""

from __future__ import annotations

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Join
from tradewind.rewrites.moving import filtered
from tradewind.rewrites.push_filter_through_join import KEPT
from tradewind.rewrites.rule import Context, node_rule


@node_rule(
    law="A pair of rows satisfies a condition on one of them exactly if that one does.",
    helps="A costly filter is asked of fewer rows where the join drops many, or the join can be shared without it.",
)
def delay_filter_past_join(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Join) or context.ordered(node):
        return None
    sides = {"left": node.left, "right": node.right}
    delayed = []
    for side in KEPT[node.how]:
        below = sides[side]
        if isinstance(below, Filter) and not context.shared(below):
            delayed.append(below.predicate)
            sides[side] = below.input
    return filtered(node.with_inputs((sides["left"], sides["right"])), delayed) if delayed else None
