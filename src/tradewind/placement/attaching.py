"""One more query while others run: it is planned against what is to be had, and what runs stays as it is.

Idea
----
What runs costs nothing more, but only what is on a channel can be read by somebody new: contents that are made and used
inside a fragment are not to be had. The new query's plan is what `exact` finds against these, without what they rest
on: that part exists.

Guarantee
---------
The cheapest way to add the query, as for any single query, given what runs. All queries planned together might be
cheaper; that is what a fresh start would find.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tradewind.frontends.deployment.deployment import Deployment
from tradewind.network.network import Network
from tradewind.placement.choices import Content
from tradewind.placement.constrained import constrained
from tradewind.placement.fusing import fused
from tradewind.placement.ground import Ground
from tradewind.placement.limits import Limits
from tradewind.placement.many import Asked
from tradewind.placement.plan import Plan, providers, support
from tradewind.placement.planners import limits, prices_of
from tradewind.placement.planning import problem
from tradewind.placement.running import Origins, Running

Had = Collection[tuple[str, int]]
"""Contents, and sites where they are to be had."""


@dataclass(frozen=True, eq=False)
class Attached:
    """What is to be made and moved besides, for queries that came later; and their whole plans, by name."""

    plan: Plan
    plans: Mapping[str, Plan]
    network: Network
    contents: Mapping[str, Content]
    warnings: tuple[str, ...]


def attach(deployment: Deployment, plans: Mapping[str, Plan], had: Collection[tuple[str, str]]) -> Attached:
    """Plan the queries of a deployment that have no plan yet, beside those that have one and run."""
    task = problem(deployment, prices_of(deployment))
    there = {(key, task.network.number(site)) for key, site in had}
    more = [one for one in task.asked if one.goal.query not in plans]
    origins = {key: content.origins for key, content in task.contents.items() if content.origins}
    running = attachable(task.network, plans, there, origins)
    new = besides(task.ground, running, more, limits(task))
    plan = beyond(Plan.of(new.values()), task.network, task.contents, there)
    return Attached(plan, new, task.network, task.contents, task.warnings)


class Attachable(Running):
    """What runs, of which only some contents can be read by others, at some sites."""

    def __init__(self, network: Network, had: Had) -> None:
        super().__init__(network)
        self._had = had

    def sites(self, key: str) -> frozenset[int]:
        """Where a content is to be had without making or moving anything more."""
        return frozenset(site for site in super().sites(key) if (key, site) in self._had)


def attachable(network: Network, plans: Mapping[str, Plan], had: Had, origins: Origins) -> Attachable:
    """Plans at work of which others can use what is to be had."""
    found = Attachable(network, had)
    for name, plan in plans.items():
        found.add(name, plan, origins)
    return found


def besides(ground: Ground, running: Attachable, more: Sequence[Asked], within: Limits) -> dict[str, Plan]:
    """The plans of more queries, each given what runs by then; what an earlier one of them makes is not to be had."""
    for one in more:
        found = constrained(ground, one.choices, one.goal, within, running)
        running.add(one.goal.query, found.plan, one.origins)
    return {one.goal.query: running.plans[one.goal.query] for one in more}


def beyond(plan: Plan, network: Network, contents: Mapping[str, Content], had: Had) -> Plan:
    """What a plan needs besides what is to be had."""
    there = {key: list(content.origins) for key, content in contents.items() if content.origins}
    for key, site in had:
        there.setdefault(key, []).append(site)
    found = providers(plan, network, there)
    rests = [support(goal.content, goal.site, found, network) for goal in plan.goals]
    steps = frozenset(step for some, _ in rests for step in some)
    hops = frozenset(hop for _, some in rests for hop in some)
    return fused(Plan(steps, hops, plan.goals), network, contents)
