"""In which order the operators of a graph are worked out, and under which names they remember things."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from graphlib import TopologicalSorter

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.stored import Read, Update


def in_order(graph: Graph, given: Collection[Operator]) -> tuple[Operator, ...]:
    """All operators that are given or not below what is given, inputs first, and a table's updates before its reads."""
    nodes: dict[Operator, None] = {}
    waiting = [node for _, node in graph.results]
    while waiting:
        node = waiting.pop()
        if node not in nodes:
            nodes[node] = None
            waiting.extend(() if node in given else node.inputs)
    known = [node for node in graph if node in nodes]
    before = {node: () if node in given else (*node.inputs, *writers(node, known)) for node in known}
    return tuple(TopologicalSorter(before).static_order())


def writers(node: Operator, nodes: Iterable[Operator]) -> tuple[Operator, ...]:
    """The boxes whose updates a read box can see."""
    if not isinstance(node, Read):
        return ()
    return tuple(n for n in nodes if isinstance(n, Update) and n.table.name == node.table.name)


def names_of(order: Iterable[Operator]) -> dict[Operator, str]:
    """What operators are called where they remember things: by place, not by content, so that a changed parameter finds
    the state that is there.
    """
    return {node: f"{node.kind}-{number}" for number, node in enumerate(order)}
