"""What the coordinator of a cluster knows, and how it plans with that alone.

A coordinator sees its cluster as a small network: the members, each standing for all sites below it, and what a way
between any two of them costs. Of the streams below it knows which member has them. It plans a part of a query over this
small network with the dynamic programme of `exact`; where its members coordinate clusters themselves, each of them then
plans again, inside, what was given to it, with streams from elsewhere coming in, and results going out, at itself.

What the coordinators decided, together, is a site for each operator and a place from where each stream is taken. Only
then are the contents led over the real network, on the cheapest routes between these places.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tradewind.cost.prices import Prices
from tradewind.network.clusters import Cluster
from tradewind.network.network import Network
from tradewind.placement.choices import Choices, Recipe, Sites
from tradewind.placement.exact import exact
from tradewind.placement.ground import Ground
from tradewind.placement.plan import Goal, Hop, Plan, Step
from tradewind.placement.running import Running
from tradewind.placement.tables import collect, tabulate

Places = Mapping[int, Sites]
"""For contents, by number: sites where they are to be had."""


class Noticed(Running):
    """What runs, as far as somebody takes notice of it: of each content only the given sites."""

    def __init__(self, running: Running, noticed: Mapping[str, Sites]) -> None:
        super().__init__(running.network)
        self._whole = running
        self._noticed = noticed

    def sites(self, key: str) -> Sites:
        """Where a content is to be had, among the sites that are noticed."""
        return self._whole.sites(key) & self._noticed.get(key, frozenset())

    def support(self, key: str, site: int) -> tuple[set[Step], set[Hop]]:
        """The operators and hops that a content at a site rests on."""
        return self._whole.support(key, site)


@dataclass(frozen=True, eq=False)
class Rough:
    """A plan over the members of a cluster, in which sites are places in the list of members."""

    cluster: Cluster
    network: Network
    plan: Plan

    def used(self) -> set[tuple[str, int]]:
        """The contents that are read, sent or delivered, with the places where."""
        read = {(key, step.site) for step in self.plan.steps for key in step.inputs}
        sent = {(hop.content, int(self.network.start[hop.link])) for hop in self.plan.hops}
        return read | sent | {(goal.content, goal.site) for goal in self.plan.goals}

    def leaving(self, place: int) -> set[str]:
        """The contents that a member sends to others."""
        return {hop.content for hop in self.plan.hops if self.network.start[hop.link] == place}

    def coming(self, place: int) -> set[str]:
        """The contents that a member gets from others."""
        return {hop.content for hop in self.plan.hops if self.network.end[hop.link] == place}


@dataclass(eq=False)
class Decisions:
    """One query's plan while coordinators work on it."""

    ground: Ground
    choices: Choices
    goal: Goal
    running: Running | None = None
    at: dict[Recipe, set[int]] = field(default_factory=lambda: defaultdict(set))
    """The sites where operators were put."""
    taken: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """For contents that are there already: the sites from which they may be taken."""

    def known(self, cluster: Cluster) -> dict[int, Sites]:
        """The contents to be had below a cluster: what arises there, what others run there, what was put there now."""
        put: dict[int, set[int]] = defaultdict(set)
        for recipe, sites in self.at.items():
            put[recipe.output] |= sites
        found: dict[int, Sites] = {}
        for number, content in enumerate(self.choices.contents):
            runs: Sites = frozenset() if self.running is None else self.running.sites(content.key)
            if here := runs.union(put.get(number, ()), content.origins) & cluster.sites:
                found[number] = here
        return found

    def decide(self, cluster: Cluster, wanted: int, site: int, arriving: Collection[int] = (), *, refine: bool) -> bool:
        """Plan a content for a site inside a cluster; say whether that is possible with what the cluster knows.

        Contents in `arriving` come from elsewhere and are at the coordinator. With `refine`, members that coordinate
        clusters plan their parts again inside; without, operators run at the members themselves.
        """
        places = self.known(cluster)
        for number in arriving:
            places[number] = places.get(number, frozenset()) | {cluster.coordinator}
        rough = _over_members(
            self.ground, self.choices, cluster, places, self._goal(cluster, wanted, site), refine=refine
        )
        if rough is None:
            return False
        for key, place in rough.used():
            number = self.choices.numbers[key]
            self.taken[number] |= places.get(number, frozenset()) & cluster.below(place)
        if not (refine and cluster.children):
            for step in rough.plan.steps:
                self.at[self._recipe(step)].add(cluster.members[step.site])
            return True
        busy = sorted({step.site for step in rough.plan.steps})
        return all(self._delegate(rough, place, site, arriving) for place in busy)

    def plan(self) -> Plan:
        """All operators where they were put, and the contents led between them on the cheapest routes."""
        taken = {self.choices.contents[number].key: frozenset(sites) for number, sites in self.taken.items()}
        contents = tuple(
            replace(content, origins=tuple(site for site in content.origins if site in taken.get(content.key, ())))
            for content in self.choices.contents
        )
        recipes = tuple(replace(recipe, at=frozenset(sites)) for recipe, sites in self.at.items())
        running = None if self.running is None else Noticed(self.running, taken)
        return exact(self.ground, Choices(contents, recipes), self.goal, running)

    def _recipe(self, step: Step) -> Recipe:
        contents = self.choices.contents
        for way in self.choices.ways[self.choices.numbers[step.output]]:
            recipe = self.choices.recipes[way]
            if recipe.kind == step.kind and tuple(contents[i].key for i in recipe.inputs) == step.inputs:
                return recipe
        raise LookupError(step.output)

    def _goal(self, cluster: Cluster, wanted: int, site: int) -> Goal:
        return Goal(self.goal.query, self.choices.contents[wanted].key, cluster.places(frozenset((site,)))[0])

    def _delegate(self, rough: Rough, place: int, site: int, arriving: Collection[int]) -> bool:
        """Let the member at a place plan, inside its own cluster, the operators that were given to it."""
        child, numbers = rough.cluster.children[place], self.choices.numbers
        mine = [step for step in rough.plan.steps if step.site == place]
        made = {step.output for step in mine}
        coming = {numbers[key] for key in rough.coming(place) - made}
        # What arrives at the coordinator arrives at the member that it is.
        if child.coordinator == rough.cluster.coordinator:
            coming.update(arriving)
        wanted = dict.fromkeys(made & rough.leaving(place), child.coordinator)
        wanted |= {goal.content: site for goal in rough.plan.goals if goal.content in made and goal.site == place}
        return all(self.decide(child, numbers[key], wanted[key], coming, refine=True) for key in sorted(wanted))


def _over_members(
    ground: Ground, choices: Choices, cluster: Cluster, places: Places, goal: Goal, *, refine: bool
) -> Rough | None:
    """The best plan among the members of a cluster; None where there is none.

    A member may visit or run what a site below it may; without refinement, it runs only what it may itself.
    """

    def allowed(sites: Sites | None, by_members: bool = False) -> Sites | None:
        if sites is None:
            return None
        return frozenset(place for place in cluster.places(sites) if not by_members or cluster.members[place] in sites)

    members = _as_ground(ground, cluster)
    number = choices.numbers[goal.content]
    contents = tuple(
        replace(content, origins=cluster.places(places.get(n, frozenset())), within=allowed(content.within))
        for n, content in enumerate(choices.contents)
    )
    recipes = tuple(
        recipe if recipe.at is None else replace(recipe, at=allowed(recipe.at, not refine))
        for recipe in choices.recipes
    )
    seen = Choices(contents, recipes)
    tables = tabulate(members, seen, seen.needed(number))
    if not np.isfinite(tables[number].swept.cost[goal.site]):
        return None
    return Rough(cluster, members.network, collect(members, seen, goal, tables))


def _as_ground(ground: Ground, cluster: Cluster) -> Ground:
    """The members of a cluster as a network of their own: a link between any two, as dear as the way between them."""
    start, end = np.nonzero(np.isfinite(cluster.distances) & ~np.eye(len(cluster.members), dtype=bool))
    ones = np.ones(len(start))
    members, prices = list(cluster.members), ground.prices
    network = Network(tuple(ground.network.places[member] for member in members), start, end, ones, ones, ones)
    per_byte = cluster.distances[start, end]
    return Ground(network, Prices(per_byte, prices.per_core[members], prices.per_operator[members]))
