"""Columns that nobody above reads are left out, by maps above streams and before joins, aggregates and unions.

Some operators read more than they name: a top, an order, a counted window and a resampling decide ties by the whole
row, and what asks for event time needs the column that tells it. Below an operator that minds the order of arrival
nothing is left out, because rows that become equal would come in another order.

>>> from tradewind.algebra.aggregates import parse_aggregate
>>> from tradewind.algebra.operators.aggregation import Aggregate
>>> from tradewind.algebra.operators.core import Source
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> hits = Source("hits", parse_schema("ts TIMESTAMP, url STRING, bytes INT, agent STRING", time="ts"))
>>> print(
...     before_and_after(prune_columns, Aggregate(hits, ("url",), (("n", parse_aggregate("sum(bytes)", hits.schema)),)))
... )
aggregate by url: n = sum(bytes)
└─ stream hits
⇒
aggregate by url: n = sum(bytes)
└─ keep url, bytes
   └─ stream hits
"""

from __future__ import annotations

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Map
from tradewind.algebra.properties import order_sensitive
from tradewind.rewrites.columns import Names, keeps_order, kept, narrowed, reads
from tradewind.rewrites.rule import Context, graph_rule


@graph_rule(
    law="What a column holds does not matter where nothing reads it.",
    helps="Narrower rows travel and are kept.",
)
def prune_columns(graph: Graph, context: Context) -> Graph | None:
    wanted = _wanted(graph, context)
    readers: dict[Operator, list[Operator]] = {}
    for node in graph:
        for child in node.inputs:
            readers.setdefault(child, []).append(node)
    done: dict[Operator, Operator] = {}
    for node in graph:
        found = narrowed(node, wanted[node], tuple(done[child] for child in node.inputs), wanted)
        # A filter is asked before columns are left out, and a map leaves them out itself.
        passed_on = len(readers.get(node, ())) == 1 and isinstance(readers[node][0], Filter | Map)
        done[node] = found if passed_on else kept(found, wanted[node])
    after = Graph(tuple((name, done[node]) for name, node in graph.results))
    return after if after != graph else None


def _wanted(graph: Graph, context: Context) -> dict[Operator, Names]:
    """The columns of each node that someone above reads; at least one."""
    found: dict[Operator, Names] = {node: frozenset() for node in graph}
    for _, node in graph.results:
        found[node] = frozenset(node.schema.names)
    for node in reversed(tuple(graph)):
        if not found[node]:
            found[node] = frozenset([node.schema.time or node.schema.names[0]])
        everything = order_sensitive(node) or context.ordered(node)
        for child, names in reads(node, found[node]):
            more = frozenset(child.schema.names) if everything or not keeps_order(child.schema) else names
            found[child] |= more
    return found
