"""The best plan of one query: order, placement and re-use chosen together.

Idea
----
C[c][v] is the least that having content c at site v costs. A base stream costs nothing where it arises, and what runs
already costs nothing where it is to be had. Otherwise some recipe makes c at some site u from inputs that are there,
and c travels from u to v on the cheapest route. Contents are taken inputs first; for each, all its recipes are weighed
at all sites at once, and one shortest-path sweep from many starts spreads the result over the network. For a join of k
streams the contents are the sets of streams, so this is the dynamic programme of Dreyfus and Wagner (1971) for Steiner
trees, with a rate for each set; merging partial aggregates is the same step with another rate.

Guarantee
---------
Optimal over all recipes and sites where prices are linear and the answer uses each content once; where a query uses one
content twice, what both uses share is counted once in the plan's cost, which may then be below the bound, and another
plan may share more. Capacities and deadlines are not looked at here (see `constrained`).

Complexity
----------
O(r·n + c·sweep) for r recipes, c contents and n sites; a sweep is O(n²) up to 256 sites and one Dijkstra search above.
A join of k streams has 2^k contents and about 3^k / 2 recipes. In large networks searches end where a content alone
costs more than some whole plan that is known: nothing of the optimum lies there.

References
----------
Seshadri, Kumar, Cooper: Multi-query optimization in distributed stream systems. Dreyfus, Wagner: The Steiner problem in
graphs.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tradewind.errors import InputError
from tradewind.network.network import Indices, Numbers
from tradewind.placement.choices import Choices
from tradewind.placement.ground import Ground
from tradewind.placement.plan import Goal, Plan
from tradewind.placement.running import Running
from tradewind.placement.tables import Reach, Shares, Table, collect, tabulate


def exact(
    ground: Ground,
    choices: Choices,
    goal: Goal,
    running: Running | None = None,
    shares: Shares | None = None,
) -> Plan:
    """The cheapest plan for one goal, given what runs already.

    The plan holds all that the answer rests on, also what it re-uses. A content in `shares` is taken to cost only that
    share, because others are expected to pay the rest.
    """
    return collect(ground, choices, goal, tables_for(ground, choices, goal, running, shares), running)


def tables_for(
    ground: Ground,
    choices: Choices,
    goal: Goal,
    running: Running | None = None,
    shares: Shares | None = None,
) -> dict[int, Table]:
    """The tables behind the cheapest plan for one goal, which has a finite cost at the goal's site."""
    number = choices.numbers[goal.content]
    wanted = choices.needed(number)
    reach = None if shares else _reach(ground, choices, goal, wanted, running)
    tables = tabulate(ground, choices, wanted, running, shares=shares, reach=reach)
    if not np.isfinite(tables[number].swept.cost[goal.site]):
        raise InputError(
            f"nothing can bring the answer to {ground.network.name(goal.site)!r}.",
            where=f"query {goal.query}",
            hint="a stream has no way there, or may not leave its region.",
        )
    return tables


def _reach(
    ground: Ground, choices: Choices, goal: Goal, wanted: tuple[int, ...], running: Running | None
) -> Reach | None:
    """In large networks, how far contents are worth following: no plan is dearer than one that computes at one site.

    That site is one of those on the cheapest ways from the streams to the goal.
    """
    if ground.routes(None).dense:
        return None
    bare = [number for number in wanted if choices.contents[number].origins or not choices.ways[number]]
    tables = tabulate(ground, choices, tuple(bare), running)
    towards = ground.routes(None).towards(goal.site)
    starts = [site for number in bare for site in choices.contents[number].origins]
    some = np.array(sorted({goal.site, *(s for start in starts for s in towards.route(start))}), dtype=np.int64)
    least = {number: tables[number].swept.cost[some] for number in bare}
    for number in wanted:
        if number not in least:
            least[number] = _at_one_site(ground, choices, number, some, least)
    number = choices.numbers[goal.content]
    routes = ground.routes_of(choices.contents[number])
    delivered = towards if routes is ground.routes(None) else routes.towards(goal.site)
    bound = float((least[number] + choices.contents[number].bytes_per_second * delivered.cost[some]).min())
    return Reach(bound * (1 + 1e-9), _after(choices, wanted), towards.cost) if np.isfinite(bound) else None


def _after(choices: Choices, wanted: tuple[int, ...]) -> dict[int, float]:
    """The least rate among a content and all that is made of it."""
    found = {number: choices.contents[number].bytes_per_second for number in wanted}
    for number in reversed(wanted):
        for way in choices.ways[number]:
            for one in choices.recipes[way].inputs:
                found[one] = min(found[one], found[number])
    return found


def _at_one_site(ground: Ground, choices: Choices, number: int, some: Indices, least: Mapping[int, Numbers]) -> Numbers:
    found = np.full(len(some), np.inf)
    for way in choices.ways[number]:
        recipe = choices.recipes[way]
        total = ground.work(recipe)[some]
        for one in recipe.inputs:
            total = total + least[one]
        found = np.minimum(found, total)
    within = choices.contents[number].within
    return found if within is None else np.where(np.isin(some, list(within)), found, np.inf)
