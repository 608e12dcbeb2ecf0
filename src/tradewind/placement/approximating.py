"""The choice between exact answers and answers within the error that a query allows.

An approximate answer is another content, made of other contents, so nothing that is exact is ever made of it by chance;
what makes it is planned like anything else. All queries that allow an error are planned as approximate first; then each
becomes exact again unless the whole is dearer for it, or impossible.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tradewind.algebra.graph import Graph
from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.placement.planners import JOINT, Chosen, choose
from tradewind.placement.planning import RULES_FOR_PLANS, SUMS_OF_PRICES
from tradewind.rewrites.approximate import Approximated, approximate
from tradewind.rewrites.engine import rewrite

_LEAST = 0.8
"""An error that saves less than a fifth of what everything costs is not worth it."""


def choose_within_errors(deployment: Deployment, planner: str = "exact") -> Chosen:
    """Plan all queries of a deployment; answers are exact where little is gained by less."""
    others = _approximations(deployment) if planner in JOINT and deployment.objective in SUMS_OF_PRICES else {}
    best = _planned(deployment, others, planner) if others else None
    if best is None:
        return choose(deployment, planner)
    for name in list(others):
        fewer = {one: other for one, other in others.items() if one != name}
        found = _planned(deployment, fewer, planner)
        if found is not None and best.cost >= found.cost * _LEAST:
            best, others = found, fewer
    return best


def _approximations(deployment: Deployment) -> dict[str, Approximated]:
    """The queries that may be answered within an error."""
    found: dict[str, Approximated] = {}
    for name, query in deployment.queries.items():
        if query.error > 0:
            graph = rewrite(Graph(((name, query.operator),)), RULES_FOR_PLANS).graph
            other = approximate(graph, query.error)
            if other is not None:
                found[name] = other
    return found


def _planned(deployment: Deployment, others: Mapping[str, Approximated], planner: str) -> Chosen | None:
    queries = {
        name: replace(query, operator=others[name].graph[name]) if name in others else query
        for name, query in deployment.queries.items()
    }
    try:
        found = choose(replace(deployment, queries=queries), planner)
    except InputError:
        return None
    return replace(found, approximated={name: "; ".join(other.words) for name, other in others.items()})
