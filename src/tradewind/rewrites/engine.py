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
    """Apply the rules in order, over and over until none fires; then those that come last, once.

    `observer` is called with the rule and the graph after each rule that changed something.
    """
    trace: list[Fired] = []
    graph = _settled(graph, [rule for rule in rules if not rule.last], trace, observer)
    for rule in rules:
        if rule.last:
            graph = _applied(rule, graph, trace, observer)
    return Rewritten(graph, tuple(trace))


def _settled(graph: Graph, rules: Sequence[Rule], trace: list[Fired], observer: Observer | None) -> Graph:
    seen = {_signature(graph)}
    fired: list[Rule] = []
    for _ in range(MAX_PASSES):
        before = graph
        fired = []
        for rule in rules:
            start = len(trace)
            graph = _exhausted(rule, graph, trace, observer)
            if len(trace) > start:
                fired.append(rule)
        if graph == before:
            return graph
        if _signature(graph) in seen:
            raise RuleError(f"the rules undo one another: {names(fired)}.", hint="one of them must not fire twice.")
        seen.add(_signature(graph))
    raise RuleError(f"the rules do not come to rest: {names(fired)} still fire.")


def _exhausted(rule: Rule, graph: Graph, trace: list[Fired], observer: Observer | None) -> Graph:
    """The graph on which this one rule fires no more."""
    for _ in range(MAX_PASSES + 2 * len(tuple(graph))):
        after = _applied(rule, graph, trace, observer)
        if after == graph:
            return graph
        graph = after
    raise RuleError("it does not come to rest: it fires on what it made.", where=f"rule {rule.name}")


def _signature(graph: Graph) -> tuple[str, ...]:
    return tuple(node.fingerprint for _, node in graph.results)


def _applied(rule: Rule, graph: Graph, trace: list[Fired], observer: Observer | None) -> Graph:
    try:
        after = _on_nodes(rule, graph, trace) if rule.on_node else _on_graph(rule, graph, trace)
    except InputError as error:
        raise RuleError(f"it builds a wrong graph: {error}", where=f"rule {rule.name}") from error
    for (name, old), (other, new) in zip(graph.results, after.results, strict=True):
        if name != other:
            raise RuleError(f"result {name!r} has become {other!r}.", where=f"rule {rule.name}")
        _check(rule, old.schema, new.schema, f"result {name!r}")
    if observer is not None and after != graph:
        observer(rule, after)
    return after


def _on_nodes(rule: Rule, graph: Graph, trace: list[Fired]) -> Graph:
    context = Context(graph)
    done: dict[Operator, Operator] = {}
    for node in graph:
        found = node.with_inputs(tuple(done[child] for child in node.inputs))
        context.carry(node, found)
        new = rule.on_node(found, context) if rule.on_node else None
        if new is not None and new != found:
            _check(rule, found.schema, new.schema, label(found), keep_time=True)
            trace.append(Fired(rule.name, label(found), label(new), rule.helps))
            context.carry(node, new)
            found = new
        done[node] = found
    return Graph(tuple((name, done[node]) for name, node in graph.results))


def _on_graph(rule: Rule, graph: Graph, trace: list[Fired]) -> Graph:
    after = rule.on_graph(graph, Context(graph)) if rule.on_graph else None
    if after is None or after == graph:
        return graph
    trace.append(Fired(rule.name, _only(graph, after), _only(after, graph), rule.helps))
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
