"""A filter, map or finish of a union is the union of what it makes of each input.

A union does no work, so it may be opened even when several read it, if all of them can begin on parts.

>>> from tradewind.algebra.expressions.typing import parse_condition
>>> from tradewind.algebra.operators.core import Filter, Source, Union
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> a, b = (Source(name, parse_schema("price INT")) for name in "ab")
>>> print(before_and_after(push_row_local_through_union, Filter(Union((a, b)), parse_condition("price > 5", a.schema))))
filter price > 5
└─ union of 2
   ├─ stream a
   └─ stream b
⇒
union of 2
├─ filter price > 5
│  └─ stream a
└─ filter price > 5
   └─ stream b
"""

from __future__ import annotations

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Union
from tradewind.algebra.properties import row_local
from tradewind.rewrites.invariants import broken
from tradewind.rewrites.rule import Context, node_rule


@node_rule(
    law="What looks at each row alone gives the same before and after rows are brought together.",
    helps="It can be done where the rows are, so that fewer and smaller rows travel.",
)
def push_row_local_through_union(node: Operator, context: Context) -> Operator | None:
    if not row_local(node) or not isinstance(node.inputs[0], Union):
        return None
    union = node.inputs[0]
    if context.shared(union) and not context.opens(union):
        return None
    pushed = Union(tuple(node.with_inputs((member,)) for member in union.members))
    return pushed if broken(node.schema, pushed.schema) is None else None
