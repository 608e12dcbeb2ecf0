"""Shows what one rule alone makes of a graph: for documentation and tests."""

from __future__ import annotations

from tradewind.algebra.drawing.text import draw_text
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.rewrites.rule import Context, Rule


def apply(rule: Rule, graph: Graph) -> Graph:
    """The graph after the rule was asked once for every node (or once for the graph); unchecked."""
    context = Context(graph)
    if rule.on_graph is not None:
        return rule.on_graph(graph, context) or graph
    done: dict[Operator, Operator] = {}
    for node in graph:
        found = node.with_inputs(tuple(done[child] for child in node.inputs))
        context.carry(node, found)
        new = rule.on_node(found, context) if rule.on_node is not None else None
        done[node] = found if new is None else new
    return Graph(tuple((name, done[node]) for name, node in graph.results))


def before_and_after(rule: Rule, drawn: Graph | Operator) -> str:
    """Both graphs as trees, with an arrow between."""
    graph = drawn if isinstance(drawn, Graph) else Graph.of(result=drawn)
    after = apply(rule, graph)
    shown = after if isinstance(drawn, Graph) else after["result"]
    return f"{draw_text(drawn)}\n⇒\n{draw_text(shown)}"
