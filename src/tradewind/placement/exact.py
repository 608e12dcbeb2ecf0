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
A join of k streams has 2^k contents and about 3^k / 2 recipes.

References
----------
Seshadri, Kumar, Cooper: Multi-query optimization in distributed stream systems. Dreyfus, Wagner: The Steiner problem in
graphs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tradewind.errors import InputError
from tradewind.network.network import Indices, Numbers
from tradewind.network.routes import Swept
from tradewind.placement.choices import Choices
from tradewind.placement.ground import Ground
from tradewind.placement.plan import Goal, Hop, Plan, Step
from tradewind.placement.running import Running

_ARISES, _RUNS = -1, -2


@dataclass(frozen=True, slots=True)
class Table:
    """For one content: its least cost at every site, and how it is had where it does not come from elsewhere."""

    swept: Swept
    chosen: Indices
    """The recipe that makes it at each site; or that it arises, or runs, there."""


def exact(ground: Ground, choices: Choices, goal: Goal, running: Running | None = None) -> Plan:
    """The cheapest plan for one goal, given what runs already.

    The plan holds all that the answer rests on, also what it re-uses.
    """
    number = choices.numbers[goal.content]
    tables = tabulate(ground, choices, choices.needed(number), running)
    if not np.isfinite(tables[number].swept.cost[goal.site]):
        raise InputError(
            f"nothing can bring the answer to {ground.network.name(goal.site)!r}.",
            where=f"query {goal.query}",
            hint="a stream has no way there, or may not leave its region.",
        )
    return collect(ground, choices, goal, tables, running)


def tabulate(
    ground: Ground, choices: Choices, wanted: tuple[int, ...], running: Running | None = None
) -> Mapping[int, Table]:
    """The least cost of each wanted content at each site."""
    size = len(ground.network)
    tables: dict[int, Table] = {}
    costs = np.empty((len(choices.contents), size))
    for number in wanted:
        content = choices.contents[number]
        base, chosen = _base(ground, choices, number, costs)
        base[list(content.origins)] = 0.0
        chosen[list(content.origins)] = _ARISES
        there = list(running.sites(content.key)) if running is not None else []
        if there:
            chosen[there] = np.where(base[there] > 0, _RUNS, chosen[there])
            base[there] = 0.0
        swept = ground.routes(content.within).sweep(base, content.bytes_per_second)
        costs[number] = swept.cost
        tables[number] = Table(swept, chosen)
    return tables


def _base(ground: Ground, choices: Choices, number: int, costs: Numbers) -> tuple[Numbers, Indices]:
    """The least cost of making a content at each site, and the recipe that it is made by."""
    size = len(ground.network)
    ways = choices.ways[number]
    if not ways:
        return np.full(size, np.inf), np.full(size, _ARISES, dtype=np.int64)
    recipes = [choices.recipes[way] for way in ways]
    totals = np.array([ground.work(recipe) for recipe in recipes])
    widest = max(len(recipe.inputs) for recipe in recipes)
    for place in range(widest):
        rows = [row for row, recipe in enumerate(recipes) if len(recipe.inputs) > place]
        totals[rows] += costs[[recipes[row].inputs[place] for row in rows]]
    best = totals.argmin(axis=0)
    return totals[best, np.arange(size)], np.asarray(ways, dtype=np.int64)[best]


def collect(
    ground: Ground, choices: Choices, goal: Goal, tables: Mapping[int, Table], running: Running | None = None
) -> Plan:
    """The plan behind the least cost at the goal, read back from the tables."""
    steps: set[Step] = set()
    hops: set[Hop] = set()
    waiting = [(choices.numbers[goal.content], goal.site)]
    done: set[tuple[int, int]] = set()
    while waiting:
        number, site = waiting.pop()
        if (number, site) in done:
            continue
        done.add((number, site))
        content, table = choices.contents[number], tables[number]
        route = table.swept.route(site)
        links = ground.routes(content.within).hops(route)
        hops.update(Hop(content.key, link, content.bytes_per_second) for link in links)
        way = int(table.chosen[route[0]])
        if way == _RUNS and running is not None:
            more_steps, more_hops = running.support(content.key, route[0])
            steps |= more_steps
            hops |= more_hops
        elif way >= 0:
            recipe = choices.recipes[way]
            inputs = tuple(choices.contents[i].key for i in recipe.inputs)
            steps.add(Step(content.key, inputs, recipe.kind, route[0], recipe.cores, recipe.operator))
            waiting.extend((i, route[0]) for i in recipe.inputs)
    return Plan(frozenset(steps), frozenset(hops), (goal,))
