"""A union of unions is one union, and a union of one input is that input.

>>> from tradewind.algebra.operators.core import Source, Union
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> a, b, c = (Source(name, parse_schema("price INT")) for name in "abc")
>>> print(before_and_after(flatten_unions, Union((Union((a, b)), c))))
union of 2
├─ union of 2
│  ├─ stream a
│  └─ stream b
└─ stream c
⇒
union of 3
├─ stream a
├─ stream b
└─ stream c
"""

from __future__ import annotations

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Union
from tradewind.rewrites.invariants import broken
from tradewind.rewrites.rule import Context, node_rule


@node_rule(
    law="Bringing rows together is associative.",
    helps="Every input is in view at once for rules that open unions.",
)
def flatten_unions(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Union):
        return None
    members: list[Operator] = []
    for member in node.members:
        opened = isinstance(member, Union) and not context.shared(member)
        members.extend(member.inputs if opened else (member,))
    flat = members[0] if len(members) == 1 else Union(tuple(members))
    return flat if flat != node and broken(node.schema, flat.schema) is None else None
