"""Where one query's rows are some of another's, it reads them from there and puts its own condition back.

Applied once, after all other rules: filters stand as low as they can, so that two parts that differ only in filters can
be compared node by node. The filters that it puts above a shared part stay there, because filters do not move past what
others read.

>>> from tradewind.algebra.expressions.typing import parse_condition
>>> from tradewind.algebra.graph import Graph
>>> from tradewind.algebra.operators.core import Filter, Source
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> hits = Source("hits", parse_schema("url STRING, status INT"))
>>> wide = Filter(hits, parse_condition("status >= 400", hits.schema))
>>> narrow = Filter(hits, parse_condition("status >= 500 AND url LIKE 'a%'", hits.schema))
>>> print(before_and_after(share_contained, Graph.of(bad=wide, worse=narrow)))
bad
└─ filter status >= 400
   └─ stream hits
worse
└─ filter status >= 500 AND url LIKE 'a%'
   └─ ↑ hits
⇒
bad
└─ filter status >= 400
   └─ stream hits
worse
└─ filter status >= 500 AND url LIKE 'a%'
   └─ ↑ bad
"""

from __future__ import annotations

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator, walk
from tradewind.algebra.operators.core import Filter, Source
from tradewind.rewrites.containment import residual, skeletons
from tradewind.rewrites.invariants import broken
from tradewind.rewrites.moving import filtered
from tradewind.rewrites.rule import Context, graph_rule


@graph_rule(
    law="If every row of one part is a row of another, the one is the other filtered.",
    helps="The wider part is done, kept and sent once for both.",
    last=True,
)
def share_contained(graph: Graph, context: Context) -> Graph | None:
    start = graph
    for _ in range(len(tuple(graph))):
        found = _pair(graph)
        if found is None:
            break
        narrow, instead = found
        graph = _exchanged(graph, narrow, instead)
    return graph if graph != start else None


def _pair(graph: Graph) -> tuple[Operator, Operator] | None:
    """The highest node that can read from another one, and what it then is."""
    alike: dict[str, list[Operator]] = {}
    for node, skeleton in skeletons(graph).items():
        alike.setdefault(skeleton, []).append(node)
    groups = {node: group for group in alike.values() if len(group) > 1 for node in group}
    for narrow in reversed(tuple(graph)):
        if narrow in groups and not _served(narrow):
            instead = _narrowest(narrow, groups[narrow])
            if instead is not None:
                return narrow, instead
    return None


def _served(node: Operator) -> bool:
    """Whether it reads from a filter for several already: filters for one alone have been merged."""
    return isinstance(node, Source) or (isinstance(node, Filter) and isinstance(node.input, Filter))


def _narrowest(narrow: Operator, group: list[Operator]) -> Operator | None:
    """The node in terms of the member of its group that has the fewest rows too many."""
    chosen: Operator | None = None
    for wide in group:
        fits = wide != narrow and broken(narrow.schema, wide.schema) is None and not _linked(narrow, wide)
        rest = residual(narrow, wide) if fits else None
        # Two that contain each other are the same: the first stays.
        if rest is None or (rest == () and group.index(wide) > group.index(narrow)):
            continue
        if chosen is None or residual(wide, chosen) is not None:
            chosen = wide
    return None if chosen is None else filtered(chosen, residual(narrow, chosen) or ())


def _linked(one: Operator, other: Operator) -> bool:
    return any(node == other for node in walk(one)) or any(node == one for node in walk(other))


def _exchanged(graph: Graph, old: Operator, new: Operator) -> Graph:
    done: dict[Operator, Operator] = {}
    for node in graph:
        done[node] = new if node == old else node.with_inputs(tuple(done[child] for child in node.inputs))
    return Graph(tuple((name, done[node]) for name, node in graph.results))
