"""An input of a union that can hold no row is left out.

Not when something with effects, or that others may attach to, lies below it; and not when someone above waits for its
marks.

>>> from tradewind.algebra.expressions.tree import FALSE
>>> from tradewind.algebra.operators.core import Filter, Source, Union
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> a, b = (Source(name, parse_schema("price INT")) for name in "ab")
>>> print(before_and_after(drop_empty_inputs, Union((a, Filter(b, FALSE)))))
union of 2
├─ stream a
└─ filter FALSE
   └─ stream b
⇒
stream a
"""

from __future__ import annotations

from tradewind.algebra.expressions.tree import FALSE
from tradewind.algebra.facts import facts
from tradewind.algebra.operators.base import Operator, walk
from tradewind.algebra.operators.core import Union
from tradewind.algebra.properties import barrier
from tradewind.rewrites.invariants import broken
from tradewind.rewrites.rule import Context, node_rule


@node_rule(
    law="A union with nothing is the same without it.",
    helps="Streams that cannot contribute are not read, and nobody waits for their marks.",
)
def drop_empty_inputs(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Union) or len(node.members) < 2 or context.awaited(node):
        return None
    kept = [member for member in node.members if not _empty(member)] or list(node.members[:1])
    less = kept[0] if len(kept) == 1 else Union(tuple(kept))
    return less if less != node and broken(node.schema, less.schema) is None else None


def _empty(member: Operator) -> bool:
    return FALSE in facts(member) and not any(barrier(below) for below in walk(member))
