"""The best plan by trying everything: the oracle that other planners are held against.

Idea
----
A derivation is a tree: a content is had where it arises or runs already, or made by one of its recipes from
derivations of its inputs. Every derivation of the goal is written down, and for each of them the cost of every way to
give its operators sites: one array with an axis per operator. Nothing is cut off on the way, only the whole array is
searched for its least entry. What travels takes the cheapest route.

Guarantee
---------
Optimal where no derivation uses a content twice. Where one does, what both uses share is counted once, but the route of
each is still the cheapest for itself, so a plan that goes out of its way to share more is not seen.

Complexity
----------
The number of derivations times n^k for k operators and n sites: (2k-1)!! · n^k for a join of k + 1 streams.

References
----------
Seshadri, Kumar, Cooper: Multi-query optimization in distributed stream systems, where it is the yardstick of figure 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod

import numpy as np

from tradewind.errors import InputError
from tradewind.network.network import Indices, Numbers
from tradewind.placement.choices import Choices
from tradewind.placement.ground import Ground
from tradewind.placement.plan import Goal, Hop, Plan, step_of
from tradewind.placement.running import Running, added

MOST = 20_000_000
"""So many combinations are tried at most."""


def exhaustive(ground: Ground, choices: Choices, goal: Goal, running: Running | None = None, most: int = MOST) -> Plan:
    """The cheapest plan for one goal, given what runs already, out of at most `most` combinations."""
    count = combinations(ground, choices, goal, running)
    if count > most:
        raise InputError(
            f"{count:,} combinations are too many to try; the limit is {most:,}.",
            where=f"query {goal.query}",
            hint="use the exact planner.",
        )
    trial = _Trial(ground, choices, running)
    best, least = None, np.inf
    for derivation in trial.derivations(choices.numbers[goal.content], np.array([goal.site])):
        costs = trial.shared(derivation, goal) if derivation.repeats else derivation.cost[0]
        index = int(costs.argmin())
        if costs[index] < least:
            best, least = trial.plan(derivation, index, goal), float(costs[index])
    if best is None:
        raise InputError(
            f"nothing can bring the answer to {ground.network.name(goal.site)!r}.",
            where=f"query {goal.query}",
            hint="a stream has no way there, or may not leave its region.",
        )
    return best


def combinations(ground: Ground, choices: Choices, goal: Goal, running: Running | None = None) -> int:
    """How many derivations the goal has, each counted once for every way to place its operators."""
    counts: dict[int, int] = {}
    wanted = choices.needed(choices.numbers[goal.content])
    for number in wanted:
        content = choices.contents[number]
        recipes = [choices.recipes[way] for way in choices.ways[number]]
        had = bool(content.origins) or (running is not None and bool(running.sites(content.key)))
        counts[number] = had + sum(len(ground.network) * prod(counts[i] for i in recipe.inputs) for recipe in recipes)
    return counts[wanted[-1]]


@dataclass(frozen=True, eq=False, slots=True)
class _Derivation:
    """A content, the recipe that makes it (none where it is there already), and how the inputs are derived.

    `cost` has a row for each site where the content may be wanted, and a column for each way to place all operators.
    """

    content: int
    way: int | None
    inputs: tuple[_Derivation, ...]
    cost: Numbers
    uses: frozenset[int]
    repeats: bool
    """Whether it uses a content twice: then its cost is less than the sum of its parts."""


class _Trial:
    def __init__(self, ground: Ground, choices: Choices, running: Running | None) -> None:
        self.ground = ground
        self.choices = choices
        self.running = running
        self._known: dict[int, list[_Derivation]] = {}

    def derivations(self, number: int, ends: Indices) -> Iterator[_Derivation]:
        """All derivations of a content, with their costs at the sites `ends`."""
        moves = self._moves(number)
        sources = self._sources(number)
        if sources:
            yield _Derivation(
                number, None, (), moves[sources][:, ends].min(axis=0)[:, None], frozenset({number}), False
            )
        for way in self.choices.ways[number]:
            recipe = self.choices.recipes[way]
            work = self.ground.work(recipe)[:, None]
            for inputs in product(*map(self._anywhere, recipe.inputs)):
                made = reduce(_side_by_side, (one.cost for one in inputs), work)
                cost = (moves[:, ends].T[:, :, None] + made[None]).reshape(len(ends), -1)
                uses = frozenset({number}).union(*(one.uses for one in inputs))
                repeats = any(one.repeats for one in inputs) or len(uses) <= sum(len(one.uses) for one in inputs)
                yield _Derivation(number, way, inputs, cost, uses, repeats)

    def _anywhere(self, number: int) -> list[_Derivation]:
        if number not in self._known:
            self._known[number] = list(self.derivations(number, np.arange(len(self.ground.network))))
        return self._known[number]

    def _sources(self, number: int) -> list[int]:
        content = self.choices.contents[number]
        runs = self.running.sites(content.key) if self.running is not None else frozenset()
        return sorted(runs.union(content.origins))

    def _moves(self, number: int) -> Numbers:
        """What moving a content from each site to each costs; infinite from and to where it may not be."""
        content = self.choices.contents[number]
        ways = self.ground.routes(content.within).distances()
        found: Numbers = np.where(
            np.isfinite(ways), np.where(np.isfinite(ways), ways, 0.0) * content.bytes_per_second, np.inf
        )
        if content.within is not None:
            outside = [site for site in range(len(found)) if site not in content.within]
            found[outside, :] = np.inf
            found[:, outside] = np.inf
        return found

    def shared(self, derivation: _Derivation, goal: Goal) -> Numbers:
        """The costs of all ways to place a derivation, what it uses twice counted once."""
        costs: Numbers = derivation.cost[0].copy()
        for index in np.flatnonzero(np.isfinite(costs)).tolist():
            costs[index] = added(self.plan(derivation, index, goal), self.running, self.ground.prices)
        return costs

    def plan(self, derivation: _Derivation, index: int, goal: Goal) -> Plan:
        """The plan of a derivation whose operators are placed in the way of that number."""
        found = Plan(goals=(goal,))
        for part in self._parts(derivation, index, goal.site):
            found |= part
        return found

    def _parts(self, derivation: _Derivation, index: int, end: int) -> Iterator[Plan]:
        content = self.choices.contents[derivation.content]
        if derivation.way is None:
            sources = self._sources(derivation.content)
            site = sources[int(self._moves(derivation.content)[sources, end].argmin())]
            if self.running is not None and site not in content.origins:
                steps, hops = self.running.support(content.key, site)
                yield Plan(frozenset(steps), frozenset(hops))
        else:
            recipe = self.choices.recipes[derivation.way]
            shape = (len(self.ground.network), *(one.cost.shape[1] for one in derivation.inputs))
            site, *below = (int(one) for one in np.unravel_index(index, shape))
            yield Plan(frozenset({step_of(self.choices, recipe, site)}))
            for one, place in zip(derivation.inputs, below, strict=True):
                yield from self._parts(one, place, site)
        routes = self.ground.routes(content.within)
        links = routes.hops(routes.path(site, end) or [])
        yield Plan(hops=frozenset(Hop(content.key, link, content.bytes_per_second) for link in links))


def _side_by_side(left: Numbers, right: Numbers) -> Numbers:
    """Two costs at the same site, each with its own ways to be placed: the sums of all pairs."""
    return (left[:, :, None] + right[:, None, :]).reshape(len(left), -1)
