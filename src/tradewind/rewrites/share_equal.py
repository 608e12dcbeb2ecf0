"""Parts of several queries that mean the same become one part.

Nodes that are equal are one node already. This finds those that say the same in other words: filters of one input
whose conditions imply each other, and unions of the same inputs in another order.

>>> from tradewind.algebra.expressions.typing import parse_condition
>>> from tradewind.algebra.graph import Graph
>>> from tradewind.algebra.operators.core import Filter, Source
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> ticks = Source("ticks", parse_schema("price INT"))
>>> one, two = (Filter(ticks, parse_condition(text, ticks.schema)) for text in ("price > 5", "5 < price"))
>>> print(before_and_after(share_equal, Graph.of(one=one, two=two)))
one
└─ filter price > 5
   └─ stream ticks
two
└─ filter 5 < price
   └─ ↑ ticks
⇒
one
└─ filter price > 5
   └─ stream ticks
two
└─ ↑ one
"""

from __future__ import annotations

from tradewind.algebra.expressions.implication import implies
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Union
from tradewind.rewrites.rule import Context, graph_rule


@graph_rule(
    law="Operators that give equal rows may stand for one another.",
    helps="What several queries have in common is done, kept and sent once.",
)
def share_equal(graph: Graph, context: Context) -> Graph | None:
    done: dict[Operator, Operator] = {}
    alike: dict[object, list[Operator]] = {}
    for node in graph:
        found = node.with_inputs(tuple(done[child] for child in node.inputs))
        if not context.ordered(node):
            known = alike.setdefault(_likeness(found), [])
            found = next((other for other in known if _same(found, other)), found)
            known.append(found)
        done[node] = found
    return Graph(tuple((name, done[node]) for name, node in graph.results))


def _likeness(node: Operator) -> object:
    """What nodes that may be the same have in common."""
    if isinstance(node, Filter):
        return "filter", node.input
    if isinstance(node, Union):
        return "union", tuple(sorted(member.fingerprint for member in node.members))
    return node


def _same(one: Operator, other: Operator) -> bool:
    if isinstance(one, Filter) and isinstance(other, Filter):
        return implies(one.predicate, other.predicate) and implies(other.predicate, one.predicate)
    return one.schema == other.schema
