"""What a rule is, and what it may know about the graph around the node it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.properties import awaits_marks, order_sensitive, splittable


class Context:
    """Who reads a node, and whether the order of its rows matters to anyone above.

    A rule that moves something past a node that others read too would do that node's work twice: it asks `shared`.
    """

    def __init__(self, graph: Graph) -> None:
        self._readers: dict[Operator, tuple[Operator | None, ...]] = {}
        self._ordered: set[Operator] = set()
        self._awaited: set[Operator] = set()
        for node in graph:
            for child in node.inputs:
                self._readers[child] = (*self._readers.get(child, ()), node)
        for _, root in graph.results:
            self._readers[root] = (*self._readers.get(root, ()), None)
        self._before = dict(self._readers)
        for node in reversed(tuple(graph)):
            if order_sensitive(node) or node in self._ordered:
                self._ordered.update(node.inputs)
            if awaits_marks(node) or node in self._awaited:
                self._awaited.update(node.inputs)

    def shared(self, node: Operator) -> bool:
        """Whether more than one operator or result reads the node."""
        return len(self._readers.get(node, ())) > 1

    def opens(self, node: Operator) -> bool:
        """Whether everyone who reads the node could as well begin on parts of it, and nobody minds its rows' order.

        A union does no work of its own: when this holds, what is done above it may be done in its inputs, shared or
        not.
        """
        readers = self._readers.get(node, ())
        return not self.ordered(node) and all(reader is not None and splittable(reader) for reader in readers)

    def ordered(self, node: Operator) -> bool:
        """Whether an operator above answers differently when the node's rows come in another order."""
        return node in self._ordered

    def awaited(self, node: Operator) -> bool:
        """Whether an operator above gives rows only when the node's mark has come far enough."""
        return node in self._awaited

    def carry(self, old: Operator, new: Operator) -> None:
        """The new node stands where the old one, which was in the graph, stood."""
        if old != new:
            self._readers[new] = (*self._readers.get(new, ()), *self._before.get(old, ()))
            for known in (self._ordered, self._awaited):
                if old in known:
                    known.add(new)


NodeRule = Callable[[Operator, Context], Operator | None]
GraphRule = Callable[[Graph, Context], Graph | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A law by which one graph may stand for another. Exactly one of `on_node` and `on_graph` is there."""

    name: str
    law: str
    helps: str
    on_node: NodeRule | None = None
    on_graph: GraphRule | None = None
    last: bool = False
    """Applied once, after all others have come to rest."""

    def __repr__(self) -> str:
        return f"<rule {self.name}: {self.law}>"


def node_rule(law: str, helps: str) -> Callable[[NodeRule], Rule]:
    """Make a rule of a function that is asked for every node, inputs first, and gives another node or None."""
    return lambda function: Rule(_name(function), law, helps, on_node=function)


def graph_rule(law: str, helps: str, *, last: bool = False) -> Callable[[GraphRule], Rule]:
    """Make a rule of a function that is asked for the whole graph, and gives another one or None."""
    return lambda function: Rule(_name(function), law, helps, on_graph=function, last=last)


def _name(function: Callable[..., object]) -> str:
    return getattr(function, "__name__", "rule")


def names(rules: Iterable[Rule]) -> str:
    """The rules' names, for messages."""
    return ", ".join(dict.fromkeys(rule.name for rule in rules))
