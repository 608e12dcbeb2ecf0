"""A derived operator is what it stands for.

>>> from tradewind.algebra.operators.core import Source
>>> from tradewind.algebra.operators.derived import Distinct
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> ticks = Source("ticks", parse_schema("ts TIMESTAMP, price INT", time="ts"))
>>> print(before_and_after(expand_derived, Distinct(ticks)))
distinct
└─ stream ticks
⇒
aggregate by ts, price
└─ stream ticks
"""

from __future__ import annotations

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.derived import Derived
from tradewind.rewrites.rule import Context, node_rule


@node_rule(
    law="A derived operator gives what the core operators give that it stands for.",
    helps="Rules and engines need to know only the core.",
)
def expand_derived(node: Operator, context: Context) -> Operator | None:
    return node.expand() if isinstance(node, Derived) else None
