"""What `tradewind explain` shows: the graph that runs, the rules that led to it, and what the planner chose besides."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tradewind.algebra.drawing.labels import label
from tradewind.algebra.drawing.text import draw_text
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator, walk
from tradewind.cli.aligning import amount
from tradewind.cli.fragments import described, told
from tradewind.cli.placed import Placed
from tradewind.cost.declared import declared_statistics
from tradewind.cost.statistics import Statistics
from tradewind.fragments.cut import cut
from tradewind.fragments.deployed import Deployed, Fragment
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.placement.approximating import choose_within_errors
from tradewind.placement.planning import RULES_FOR_PLANS
from tradewind.placement.report import Report
from tradewind.rewrites.engine import Fired, rewrite
from tradewind.rewrites.rules import AT_ONE_SITE


@dataclass(frozen=True)
class Explained:
    """The graph that runs for some queries, and how it came about."""

    graph: Graph
    trace: tuple[Fired, ...] = ()
    chosen: tuple[str, ...] = ()
    """What the planner put in (+) and took out (-) after the rules, where rates and sites decide."""
    where: tuple[str, ...] = ()
    """Where everything runs, as lines of text."""
    data: dict[str, Any] = field(default_factory=dict)
    """The same as plain data."""


def explained(found: Deployment, names: tuple[str, ...]) -> Explained:
    """What runs for the named queries of a deployment, among all of its queries."""
    site = found.one_site
    return _planned(found, names) if site is None else _at_one_site(found, names, site)


def _at_one_site(found: Deployment, names: tuple[str, ...], site: str) -> Explained:
    """All queries as one graph at their site: there is nothing to place."""
    done = rewrite(found.graph(), AT_ONE_SITE)
    graph = Graph(tuple((name, done.graph[name]) for name in names))
    figures = Statistics(declared_statistics(found))

    def rates(node: Operator) -> str:
        flow = figures.flow(node)
        return f"{amount(flow.rows_per_second)} rows/s, {amount(flow.bytes_per_second)} B/s"

    where = ["", *_heading("Where it runs"), f"everything at {site}", draw_text(graph, rates)]
    fragment = Fragment(site, done.graph, answers=done.graph.names)
    numbers = {node: f"{node.kind}-{number}" for number, node in enumerate(graph, 1)}
    operators = [
        {
            "id": name, "kind": node.kind, "site": site, "inputs": [numbers[one] for one in node.inputs],
            "rows_per_second": figures.flow(node).rows_per_second,
            "bytes_per_second": figures.flow(node).bytes_per_second,
            "queries": [query for query in names if node in set(walk(graph[query]))],
            "label": label(node), "does": [label(node)], "why": "everything is at one site", "residency": "",
        }
        for node, name in numbers.items()
    ]  # fmt: skip
    # How often it works is not planned: `run` says that.
    data = {"operators": operators, "fragments": Deployed((fragment,), {}).to_json()["fragments"]}
    return Explained(graph, done.trace, (), tuple(where), data)


def _planned(found: Deployment, names: tuple[str, ...]) -> Explained:
    """The graphs that the fragments of the chosen plan run."""
    report = Report(choose_within_errors(found))
    deployed = cut(report.plan, report.network, report.contents)
    answers = {name: one.graph[name] for one in deployed.fragments for name in one.answers}
    graph = Graph(tuple((name, answers[name]) for name in names))
    trace: list[Fired] = []
    ruled: list[tuple[str, Operator]] = []
    for name in names:
        if name in report.chosen.approximated:
            # The rules were applied before the query became approximate, and then once more.
            trace += rewrite(found.graph(name), RULES_FOR_PLANS).trace
        trace += report.chosen.problem.fired[name]
        ruled.append((name, rewrite(report.chosen.problem.deployment.graph(name), RULES_FOR_PLANS).graph[name]))
    placed = Placed(report)
    where = [line for name in names for line in ("", *_heading("Where it runs"), *placed.tree(name))]
    fragments = described(deployed, found)
    if len(fragments) > 1:
        where += ["", *_heading("What runs together"), *told(fragments)]
    does = placed.by_id()
    operators = [{**one, "does": does.get(one["id"], [])} for one in report.as_data(0.0)["operators"]]
    data = {"operators": operators, "fragments": fragments}
    return Explained(graph, tuple(trace), _changes(Graph(tuple(ruled)), graph), tuple(where), data)


def _heading(text: str) -> tuple[str, str]:
    return text, "=" * len(text)


def _changes(before: Graph, after: Graph) -> tuple[str, ...]:
    old, new = (Counter(map(label, graph)) for graph in (before, after))
    signed = [("-", old - new), ("+", new - old)]
    return tuple(
        f"{sign} {text}{f' ({times} times)' if times > 1 else ''}"
        for sign, some in signed
        for text, times in some.items()
    )
