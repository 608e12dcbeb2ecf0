"""Other graphs for the same answers that are better only for some rates and sites: for a planner to weigh."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tradewind.algebra.drawing.labels import label
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.errors import RuleError
from tradewind.rewrites.delay_filter_past_join import delay_filter_past_join
from tradewind.rewrites.distribute_join_over_union import distribute_join_over_union
from tradewind.rewrites.invariants import broken
from tradewind.rewrites.rule import Context, Rule
from tradewind.rewrites.split_single_aggregate import split_single_aggregate
from tradewind.rewrites.threshold_top import threshold_top

OFFERED: tuple[Rule, ...] = (
    delay_filter_past_join,
    distribute_join_over_union,
    split_single_aggregate,
    threshold_top,
)
"""The rules that are never applied blindly."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One graph that a planner may take instead: the rule that gives it, where it was applied, and when it helps."""

    name: str
    graph: Graph
    node: Operator
    reason: str

    @property
    def place(self) -> str:
        """The node that was exchanged, in words."""
        return label(self.node)


def alternatives(graph: Graph, rules: tuple[Rule, ...] = OFFERED) -> Iterator[Alternative]:
    """Each graph that one application of one rule, at one node, gives."""
    context = Context(graph)
    for rule in rules:
        for node in graph:
            new = rule.on_node(node, context) if rule.on_node else None
            if new is None or new == node:
                continue
            problem = broken(node.schema, new.schema)
            if problem is not None:
                raise RuleError(f"{label(node)}: {problem}", where=f"rule {rule.name}")
            yield Alternative(rule.name, _exchanged(graph, node, new), node, rule.helps)


def _exchanged(graph: Graph, old: Operator, new: Operator) -> Graph:
    done: dict[Operator, Operator] = {}
    for node in graph:
        done[node] = new if node == old else node.with_inputs(tuple(done[child] for child in node.inputs))
    return Graph(tuple((name, done[node]) for name, node in graph.results))
