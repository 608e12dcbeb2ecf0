"""An inner join with a union is the union of the joins with its inputs.

Offered, not applied: it helps where the other side is small and can be brought to where each input arises, and the join
drops most rows. Only rates can tell.

>>> from tradewind.algebra.operators.core import Join, Source, Union
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> ams, nyc = (Source("hits", parse_schema("url STRING, who INT"), origins=(name,)) for name in ("ams", "nyc"))
>>> users = Source("users", parse_schema("id INT"))
>>> print(before_and_after(distribute_join_over_union, Join(Union((ams, nyc)), users, "inner", (("who", "id"),))))
join on who = id
├─ union of 2
│  ├─ stream hits at ams
│  └─ stream hits at nyc
└─ stream users
⇒
union of 2
├─ join on who = id
│  ├─ stream hits at ams
│  └─ stream users
└─ join on who = id
   ├─ stream hits at nyc
   └─ ↑ users
"""

from __future__ import annotations

from dataclasses import replace

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Join, Map, Source, Union
from tradewind.rewrites.moving import with_input
from tradewind.rewrites.rule import Context, node_rule


@node_rule(
    law="An inner join is linear in each side: pairs with rows of a union are pairs with rows of one of its inputs.",
    helps="A small stream goes to where a large one arises, and only pairs travel on.",
)
def distribute_join_over_union(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Join) or node.how != "inner" or context.ordered(node) or context.awaited(node):
        return None
    for place, side in enumerate(node.inputs):
        parts = _parts(side)
        if len(parts) > 1:
            return Union(tuple(with_input(node, place, part) for part in parts))
    return None


def _parts(node: Operator) -> tuple[Operator, ...]:
    """The inputs of a union, or a stream's origins, with the filters and maps above them; none where there are none."""
    if isinstance(node, Union):
        return node.members
    if isinstance(node, Source):
        return tuple(replace(node, origins=(origin,)) for origin in dict.fromkeys(node.origins))
    if isinstance(node, Filter | Map):
        return tuple(with_input(node, 0, part) for part in _parts(node.input))
    return ()
