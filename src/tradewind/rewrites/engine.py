"""Applies rules until none fires, and checks after each that nothing was lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tradewind.algebra.drawing.labels import label
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.schema import Schema
from tradewind.errors import InputError, RuleError
from tradewind.rewrites.invariants import broken
from tradewind.rewrites.rule import Context, Rule, names
from tradewind.rewrites.rules import RULES

Observer = Callable[[Rule, Graph], None]
MAX_PASSES = 100
"""More passes over all rules than any graph has needed: rules that still fire then undo one another."""

_DEEP = 50
"""So far down a rule follows what it moves before it starts again from the streams."""

_SHOWN = 3
"""So many operators of a changed graph are named in the trace."""


@dataclass(frozen=True, slots=True)
class Fired:
    """One application of a rule: what was there, what is there now, and why."""

    rule: str
    before: str
    after: str
    reason: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.before} → {self.after}"


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A graph with the same answers, and how it came about."""

    graph: Graph
    trace: tuple[Fired, ...]


def rewrite(graph: Graph, rules: Sequence[Rule] = RULES, observer: Observer | None = None) -> Rewritten:
    """Apply the rules in order, over and over until none fires; then those that come last, once; then tidy after them.

    `observer` is called with the rule and the graph after each rule that changed something.
    """
    work = _Work(graph, observer)
    first = [rule for rule in rules if not rule.last]
    work.settle(first)
    if sum(work.apply(rule) for rule in rules if rule.last):
        work.settle(first)
    return Rewritten(work.graph, tuple(work.trace))


class _Work:
    """A graph on its way, and what has been done to it."""

    def __init__(self, graph: Graph, observer: Observer | None) -> None:
        self.trace: list[Fired] = []
        self.observer = observer
        self._at_rest: dict[Rule, Graph] = {}
        self._take(graph)

    def _take(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes = tuple(graph)
        self.context = Context(graph)

    def settle(self, rules: Sequence[Rule]) -> None:
        """Apply the rules until none fires."""
        seen = {self._signature()}
        fired: list[Rule] = []
        for _ in range(MAX_PASSES):
            fired = [rule for rule in rules if self._exhaust(rule)]
            if not fired:
                return
            if self._signature() in seen:
                raise RuleError(f"the rules undo one another: {names(fired)}.", hint="one of them must not fire twice.")
            seen.add(self._signature())
        raise RuleError(f"the rules do not come to rest: {names(fired)} still fire.")

    def _signature(self) -> tuple[str, ...]:
        return tuple(node.fingerprint for _, node in self.graph.results)

    def _exhaust(self, rule: Rule) -> bool:
        """Apply one rule until it fires no more; whether it did at all."""
        if self._at_rest.get(rule) is self.graph:
            return False  # no other rule has changed anything since
        for turn in range(MAX_PASSES + 2 * len(self.nodes)):
            if not self.apply(rule):
                self._at_rest[rule] = self.graph
                return turn > 0
        raise RuleError("it does not come to rest: it fires on what it made.", where=f"rule {rule.name}")

    def apply(self, rule: Rule) -> bool:
        """Ask the rule once for every node, or once for the graph; whether something changed."""
        before = self.graph
        try:
            after = self._on_nodes(rule) if rule.on_node else self._on_graph(rule)
        except InputError as error:
            raise RuleError(f"it builds a wrong graph: {error}", where=f"rule {rule.name}") from error
        if after is None or after == before:
            return False
        if after.names != before.names:
            raise RuleError(f"the results {before.names} have become {after.names}.", where=f"rule {rule.name}")
        for (name, old), (_, new) in zip(before.results, after.results, strict=True):
            _check(rule, old.schema, new.schema, f"result {name!r}")
        self._take(after)
        if self.observer is not None:
            self.observer(rule, after)
        return True

    def _on_nodes(self, rule: Rule) -> Graph | None:
        changed: dict[Operator, Operator] = {}
        settled: set[Operator] = set()
        for node in self.nodes:
            found = node
            if changed and any(child in changed for child in node.inputs):
                found = node.with_inputs(tuple([changed.get(child, child) for child in node.inputs]))
                self.context.carry(node, found)
            settled.add(found)
            new = self._fired(rule, found, settled, _DEEP)
            if new is not node:
                changed[node] = new
                self.context.carry(node, new)
                settled.add(new)
        if not changed:
            return None
        return Graph(tuple((name, changed.get(node, node)) for name, node in self.graph.results))

    def _fired(self, rule: Rule, node: Operator, settled: set[Operator], deep: int) -> Operator:
        """What the rule makes of the node; and, for a while, of the nodes that it made just below."""
        new = rule.on_node(node, self.context) if rule.on_node else None
        if new is None or new == node:
            return node
        _check(rule, node.schema, new.schema, label(node), keep_time=True)
        self.trace.append(Fired(rule.name, label(node), label(new), rule.helps))
        if deep == 0:
            return new
        return new.with_inputs(
            tuple(c if c in settled else self._fired(rule, c, settled, deep - 1) for c in new.inputs)
        )

    def _on_graph(self, rule: Rule) -> Graph | None:
        after = rule.on_graph(self.graph, self.context) if rule.on_graph else None
        if after is not None and after != self.graph:
            self.trace.append(Fired(rule.name, _only(self.graph, after), _only(after, self.graph), rule.helps))
        return after


def _only(one: Graph, other: Graph) -> str:
    """The operators that only one of the graphs has."""
    there = set(other)
    own = [label(node) for node in one if node not in there]
    more = f" and {len(own) - _SHOWN} more" if len(own) > _SHOWN else ""
    return ("; ".join(own[:_SHOWN]) or "nothing") + more


def _check(rule: Rule, old: Schema, new: Schema, where: str, *, keep_time: bool = False) -> None:
    problem = broken(old, new, keep_time=keep_time)
    if problem is not None:
        raise RuleError(f"{where}: {problem}", where=f"rule {rule.name}")
