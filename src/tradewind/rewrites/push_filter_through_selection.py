"""A filter is asked below an operator that gives each row unchanged, or dropped, or with something added.

These are finish, waitfor (on the side that waits) and a resampling at the times of another stream (on that stream).
Not an order with slack: which rows it drops depends on which others arrive.

>>> from tradewind.algebra.expressions.typing import parse_condition
>>> from tradewind.algebra.operators.core import Filter, Source
>>> from tradewind.algebra.operators.ordered import WaitFor, pair_schema
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> calls = Source("calls", parse_schema("ts TIMESTAMP, who STRING", time="ts"))
>>> replies = Source("replies", parse_schema("at TIMESTAMP, name STRING", time="at"))
>>> answered = WaitFor(
...     calls, replies, parse_condition("who = name", pair_schema(calls.schema, replies.schema)), 60_000_000
... )
>>> print(
...     before_and_after(push_filter_through_selection, Filter(answered, parse_condition("who = 'x'", answered.schema)))
... )
filter who = 'x'
└─ wait up to 1 minute for who = name
   ├─ stream calls
   └─ stream replies
⇒
wait up to 1 minute for who = name
├─ filter who = 'x'
│  └─ stream calls
└─ stream replies
"""

from __future__ import annotations

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Union
from tradewind.algebra.properties import groups_by
from tradewind.rewrites.moving import push_passing
from tradewind.rewrites.rule import Context, node_rule


@node_rule(
    law="Each row goes its own way, whichever others there are, and takes the asked columns with it.",
    helps="Rows that are not wanted do not wait, and the filter comes nearer to the stream.",
)
def push_filter_through_selection(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Filter) or isinstance(node.input, Filter | Union) or context.shared(node.input):
        return None
    return push_passing(node) if groups_by(node.input) is None else None
