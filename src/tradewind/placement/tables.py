"""The least cost of every content at every site: the tables of the dynamic programme, and plans read back from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tradewind.network.network import Indices, Numbers
from tradewind.network.routes import Swept
from tradewind.placement.choices import Choices
from tradewind.placement.ground import Ground
from tradewind.placement.plan import Goal, Hop, Plan, Step, step_of
from tradewind.placement.running import Running

_ARISES, _RUNS = -1, -2

Shares = Mapping[str, float]


class Reused(Protocol):
    """Tells where a content is to be had already."""

    def sites(self, key: str) -> frozenset[int]:
        """Where a content is to be had without making or moving anything more."""


@dataclass(frozen=True, slots=True)
class Table:
    """For one content: its least cost at every site, and how it is had where it does not come from elsewhere."""

    swept: Swept
    chosen: Indices
    """The recipe that makes it at each site; or that it arises, or runs, there."""


@dataclass(frozen=True, eq=False, slots=True)
class Reach:
    """How far contents are worth following: a whole plan costs no more than `bound`, and from where a content is, what
    is made of it still has to get to the goal.
    """

    bound: float
    known: Mapping[int, Table]
    """Tables that were worked out on the way."""
    after: Mapping[int, float]
    """For each content, bytes per second of the least content that is made of it."""
    towards: Numbers
    """What the way to the goal costs from each site."""

    def worth(self, number: int, sites: Indices, cost: Numbers) -> NDArray[np.bool_]:
        """At which of some sites a plan within the bound can use a content that costs so much there."""
        return cost + self.after[number] * self.towards[sites] <= self.bound


def tabulate(
    ground: Ground,
    choices: Choices,
    wanted: tuple[int, ...],
    running: Reused | None = None,
    *,
    shares: Shares | None = None,
    reach: Reach | None = None,
) -> dict[int, Table]:
    """The least cost of each wanted content at each site, as far as they are worth following."""
    tables: dict[int, Table] = {}
    costs = _Costs(wanted, len(choices.contents), len(ground.network) if ground.routes(None).dense else 0, reach)
    for number in wanted:
        table = reach.known.get(number) if reach is not None else None
        if table is None:
            table = _table(ground, choices, number, costs, running=running, reach=reach)
        cost = table.swept.cost
        if shares:
            cost = cost * shares.get(choices.contents[number].key, 1.0)
        costs[number] = cost
        tables[number] = table
    return tables


def _table(
    ground: Ground, choices: Choices, number: int, costs: _Costs, *, running: Reused | None, reach: Reach | None
) -> Table:
    """The table of a content, given the costs of all that it can be made of."""
    content, routes = choices.contents[number], ground.routes_of(choices.contents[number])
    there = list(running.sites(content.key)) if running is not None else []
    if ground.routes(None).dense:
        base, chosen = _base(ground, choices, number, costs)
    else:
        somewhere = _base_where_possible(ground, choices, number, costs, reach)
        if somewhere is None and not content.origins and not there:
            return Table(routes.nowhere, routes.nowhere.come_from)
        base, chosen = _nothing(len(ground.network)) if somewhere is None else somewhere
    base[list(content.origins)] = 0.0
    chosen[list(content.origins)] = _ARISES
    if there:
        again = ground.again(content, there)
        chosen[there] = np.where(base[there] > again, _RUNS, chosen[there])
        base[there] = np.minimum(base[there], again)
    limit = np.inf if reach is None else reach.bound
    return Table(routes.sweep(base, content.bytes_per_second, limit), chosen)


class _Costs:
    """The least cost of the contents so far; where all sites are weighed at once, as the rows of one array."""

    def __init__(self, wanted: tuple[int, ...], contents: int, sites: int, reach: Reach | None) -> None:
        self._reach = reach
        self._single: dict[int, Numbers] = {}
        self._rows = np.empty((len(wanted), sites))
        self._places = np.zeros(contents, dtype=np.int64)
        self._places[list(wanted)] = np.arange(len(wanted))
        self._finite: dict[int, Indices] = {}

    def __getitem__(self, number: int) -> Numbers:
        return self._single[number]

    def __setitem__(self, number: int, cost: Numbers) -> None:
        self._single[number] = cost
        if self._rows.size:
            self._rows[self._places[number]] = cost

    def together(self, inputs: tuple[int, ...]) -> tuple[Indices, Numbers]:
        """The sites where several contents are all to be had, and worth it, and what they cost there together."""
        first, *others = sorted(inputs, key=lambda one: len(self._to_be_had(one)))
        sites = self._to_be_had(first)
        total = self[first][sites]
        for one in others:
            total = total + self[one][sites]
        finite = np.isfinite(total)
        return sites[finite], total[finite]

    def _to_be_had(self, number: int) -> Indices:
        found = self._finite.get(number)
        if found is None:
            found = np.flatnonzero(np.isfinite(self[number]))
            if self._reach is not None:
                found = found[self._reach.worth(number, found, self[number][found])]
            self._finite[number] = found
        return found

    def of(self, inputs: Indices) -> Numbers:
        """The costs of several contents together (a row of numbers each), for many such rows."""
        found: Numbers = self._rows[self._places[inputs]].sum(axis=1)
        return found


def _base(ground: Ground, choices: Choices, number: int, costs: _Costs) -> tuple[Numbers, Indices]:
    """The least cost of making a content at each site, and the recipe that it is made by."""
    size = len(ground.network)
    ways = choices.ways[number]
    if not ways:
        return _nothing(size)
    recipes = choices.weighed(number)
    totals = ground.works(recipes)
    for rows, inputs in recipes.inputs:
        totals[rows] += costs.of(inputs)
    best = totals.argmin(axis=0)
    return totals[best, np.arange(size)], np.asarray(ways, dtype=np.int64)[best]


def _nothing(size: int) -> tuple[Numbers, Indices]:
    return np.full(size, np.inf), np.full(size, _ARISES, dtype=np.int64)


def _base_where_possible(
    ground: Ground, choices: Choices, number: int, costs: _Costs, reach: Reach | None
) -> tuple[Numbers, Indices] | None:
    """The same for large networks, looking only at sites where all inputs of a recipe are to be had; None for nowhere.

    What is as long as a large network takes its time to be made, and many contents are worth it nowhere.
    """
    size = len(ground.network)
    found = None
    for way in choices.ways[number]:
        recipe = choices.recipes[way]
        some, total = costs.together(recipe.inputs) if recipe.inputs else (np.arange(size), np.zeros(size))
        total = total + ground.work(recipe, some)
        worth = np.isfinite(total) if reach is None else reach.worth(number, some, total)
        some, total = some[worth], total[worth]
        if not len(some):
            continue
        if found is None:
            found = _nothing(size)
        least, chosen = found
        better = total < least[some]
        least[some[better]] = total[better]
        chosen[some[better]] = way
    return found


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
        links = ground.routes_of(content).hops(route)
        hops.update(Hop(content.key, link, content.bytes_per_second) for link in links)
        way = int(table.chosen[route[0]])
        if way == _RUNS and running is not None:
            more_steps, more_hops = running.support(content.key, route[0])
            steps |= more_steps
            hops |= more_hops
        elif way >= 0:
            recipe = choices.recipes[way]
            steps.add(step_of(choices, recipe, route[0]))
            waiting.extend((i, route[0]) for i in recipe.inputs)
    return Plan(frozenset(steps), frozenset(hops), (goal,))
