"""The query goes up from where its answer is wanted, and each coordinator plans what it can with what it has.

Idea
----
Sites are clustered, level by level (`network.clusters`). A query is given to the coordinator of its sink's cluster, who
knows the streams below: what arises there, and what others derive there. If the answer can be made from these, it is
planned there and then. If not, the coordinator plans what can be made here, the parts that leave the fewest bytes to
pass up, and hands the rest of the query, with those parts as streams, to the coordinator one level up. Operators run
at the members of the cluster that plans them: above the lowest level, at coordinators only. With `refine`, members plan
what they were given again inside their own clusters, as in `top_down`; from the level where the answer can be made,
both then do the same.

Guarantee
---------
Optimal where there is one cluster. Otherwise none: a join made early because its streams are at hand may be wrong for
the whole, and what is near but in another cluster is not seen. Residency is known only to the grain of clusters, so a
plan may not be found though there is one.

Complexity
----------
O(r·m + c·m²) for each coordinator that plans, with r recipes, c contents and at most m members, independent of the size
of the network; most queries end before the top.

References
----------
Seshadri, Kumar, Cooper: Multi-query optimization in distributed stream systems, section 4.2. That parts are made here
only where this leaves fewer bytes to pass up is ours; there, all that can be joined here is. So is `refine`.
"""

from __future__ import annotations

from collections.abc import Collection
from math import inf

from tradewind.errors import NoPlanError
from tradewind.network.clusters import MAX_SIZE, Cluster, clusters
from tradewind.placement.choices import Choices
from tradewind.placement.coordinators import Decisions
from tradewind.placement.ground import Ground
from tradewind.placement.plan import Goal, Plan
from tradewind.placement.running import Running


def bottom_up(
    ground: Ground,
    choices: Choices,
    goal: Goal,
    running: Running | None = None,
    hierarchy: Cluster | None = None,
    *,
    refine: bool = False,
) -> Plan:
    """The plan that coordinators make from the sink up; without a hierarchy, over clusters of the usual size."""
    top = clusters(ground.routes(), MAX_SIZE) if hierarchy is None else hierarchy
    query = Decisions(ground, choices, goal, running)
    number = choices.numbers[goal.content]
    for home in top.homes(goal.site):
        if query.decide(home, number, goal.site, refine=refine):
            return query.plan()
        for part in parts_to_pass_up(choices, number, query.known(home).keys()):
            query.decide(home, part, home.coordinator, refine=refine)
    raise NoPlanError(
        f"no coordinator finds a way to bring the answer to {ground.network.name(goal.site)!r}.",
        where=f"query {goal.query}",
        hint="the exact planner sees all sites and may find one.",
    )


def parts_to_pass_up(choices: Choices, goal: int, known: Collection[int]) -> list[int]:
    """What to make of known contents, when the goal needs others too, so that the fewest bytes have to be passed up."""
    makeable: set[int] = set()
    passed = [inf] * len(choices.contents)
    chosen: dict[int, tuple[int, ...]] = {}
    for number in choices.needed(goal):
        ways = [choices.recipes[way].inputs for way in choices.ways[number]]
        if number in known or any(makeable.issuperset(inputs) for inputs in ways):
            makeable.add(number)
            passed[number] = choices.contents[number].bytes_per_second
        elif not ways:
            passed[number] = 0.0
        for inputs in ways:
            total = sum(passed[i] for i in inputs)
            if total < passed[number]:
                passed[number], chosen[number] = total, inputs
    found, waiting = set(), [goal]
    while waiting:
        number = waiting.pop()
        if number in chosen:
            waiting.extend(chosen[number])
        elif number in makeable and number not in known:
            found.add(number)
    return sorted(found)
