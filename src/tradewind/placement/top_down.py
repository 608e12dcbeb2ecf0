"""The coordinator above all others plans roughly, and those below refine what they are given.

Idea
----
Sites are clustered, level by level (`network.clusters`). The top coordinator plans the whole query over the members of
its cluster, each standing for all sites below it, with the distances between them as estimates. That cuts the plan into
parts, one a member; each member plans its part again in its own cluster, and so on until every operator has a site.
Each coordinator takes what runs below it into account.

Guarantee
---------
Optimal where there is one cluster. Otherwise as much above the optimum as the estimates are wrong: a site may be as far
from where it is thought to be as from the coordinator that stands for it. Residency is known only to the grain of
clusters, so a plan may not be found though there is one.

Complexity
----------
O(r·m + c·m²) for each coordinator that has a part, with r recipes, c contents and at most m members, independent of the
size of the network; at most as many coordinators a level as there are operators.

References
----------
Seshadri, Kumar, Cooper: Multi-query optimization in distributed stream systems, section 4.3.
"""

from __future__ import annotations

from tradewind.errors import NoPlanError
from tradewind.network.clusters import MAX_SIZE, Cluster, clusters
from tradewind.placement.choices import Choices
from tradewind.placement.coordinators import Decisions
from tradewind.placement.ground import Ground
from tradewind.placement.plan import Goal, Plan
from tradewind.placement.running import Running


def top_down(
    ground: Ground, choices: Choices, goal: Goal, running: Running | None = None, hierarchy: Cluster | None = None
) -> Plan:
    """The plan that coordinators make from the top down; without a hierarchy, over clusters of the usual size."""
    top = clusters(ground.routes(), MAX_SIZE) if hierarchy is None else hierarchy
    query = Decisions(ground, choices, goal, running)
    if not query.decide(top, choices.numbers[goal.content], goal.site, refine=True):
        raise NoPlanError(
            f"no coordinator finds a way to bring the answer to {ground.network.name(goal.site)!r}.",
            where=f"query {goal.query}",
            hint="the exact planner sees all sites and may find one.",
        )
    return query.plan()
