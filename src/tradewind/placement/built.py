"""A plan as a graph again: the operators that its steps stand for, over one another as the plan wires them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.errors import InternalError
from tradewind.network.network import Network
from tradewind.placement.choices import Content
from tradewind.placement.plan import Hop, Plan, Step, providers
from tradewind.rewrites.split_by_key import exchanged


def built(plan: Plan, network: Network, contents: Iterable[Content]) -> Graph:
    """The graph that a plan runs: its answers must be those of the queries."""
    known = {content.key: content for content in contents}
    found = providers(plan, network, {key: content.origins for key, content in known.items() if content.origins})
    made: dict[tuple[str, int], Operator] = {}
    for key, site in found:  # inputs come before what is made of them
        provider = found[key, site]
        if provider is None:
            made[key, site] = _source(known, key)
        elif isinstance(provider, Hop):
            made[key, site] = made[key, int(network.start[provider.link])]
        else:
            made[key, site] = _over(provider, made)
    return Graph(tuple((goal.query, made[goal.content, goal.site]) for goal in plan.goals))


def _source(known: Mapping[str, Content], key: str) -> Operator:
    node = known[key].operator
    if node is None:
        raise InternalError("a plan of made-up streams has no graph.")
    return node


def _over(step: Step, made: Mapping[tuple[str, int], Operator]) -> Operator:
    if step.operator is None:
        raise InternalError("a plan of made-up streams has no graph.")
    news = {old: made[key, step.site] for old, key in zip(step.over, step.inputs, strict=True)}
    return news[step.operator] if step.operator in news else exchanged(step.operator, news)
