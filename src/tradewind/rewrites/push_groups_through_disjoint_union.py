"""Inputs of a union that share no key are grouped apart.

Conditions on the keys that exclude one another (a hash, a range, a constant) show that inputs are disjoint. Those
that are not stay together.

>>> from tradewind.algebra.expressions.typing import parse_condition
>>> from tradewind.algebra.operators.core import Filter, Source, Top, Union
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> a, b = (Source(name, parse_schema("id INT, price INT")) for name in "ab")
>>> low, high = Filter(a, parse_condition("id < 5", a.schema)), Filter(b, parse_condition("id >= 5", b.schema))
>>> print(
...     before_and_after(
...         push_groups_through_disjoint_union, Top(Union((low, high)), 3, (("price", True),), ("id",), "place")
...     )
... )
top 3 by price DESC per id, place in place
└─ union of 2
   ├─ filter id < 5
   │  └─ stream a
   └─ filter id >= 5
      └─ stream b
⇒
union of 2
├─ top 3 by price DESC per id, place in place
│  └─ filter id < 5
│     └─ stream a
└─ top 3 by price DESC per id, place in place
   └─ filter id >= 5
      └─ stream b
"""

from __future__ import annotations

from tradewind.algebra.facts import apart
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Top, Union
from tradewind.algebra.properties import asks_time, awaits_marks, groups_by
from tradewind.rewrites.invariants import broken
from tradewind.rewrites.moving import with_input
from tradewind.rewrites.rule import Context, node_rule
from tradewind.rewrites.tops import cut


@node_rule(
    law="Groups whose rows all come from one input are the same whether the other inputs are there or not.",
    helps="Groups are finished, and cut to the top, near their rows; only answers travel.",
)
def push_groups_through_disjoint_union(node: Operator, context: Context) -> Operator | None:
    keys = groups_by(node)
    if not keys or not isinstance(node.inputs[0], Union) or awaits_marks(node):
        return None
    union = node.inputs[0]
    if context.ordered(node) or (context.shared(union) and not context.opens(union)):
        return None
    clusters = _clusters(union.members, keys)
    if len(clusters) < 2:
        return None
    parts = [cluster[0] if len(cluster) == 1 else Union(tuple(cluster)) for cluster in clusters]
    if asks_time(node) and any(part.schema.time != union.schema.time for part in parts):
        return None
    pushed = Union(tuple(part if _done(part, node) else with_input(node, 0, part) for part in parts))
    return pushed if broken(node.schema, pushed.schema) is None else None


def _done(part: Operator, node: Operator) -> bool:
    return isinstance(node, Top) and node.rank is None and cut(part, node)


def _clusters(members: tuple[Operator, ...], keys: tuple[str, ...]) -> list[list[Operator]]:
    """The members, those together that may hold rows with equal keys."""
    found: list[list[Operator]] = []
    for member in members:
        near = [cluster for cluster in found if not all(apart(member, other, keys) for other in cluster)]
        found = [cluster for cluster in found if cluster not in near]
        found.append([*(other for cluster in near for other in cluster), member])
    return found
