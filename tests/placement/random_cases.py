"""Small random cases for planners: networks, joins with filters, prices, residency, and queries that run already."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from random import Random

import numpy as np

from tradewind.cost.prices import Prices
from tradewind.errors import InputError
from tradewind.network.network import Network, Place, Wire
from tradewind.placement import exhaustive
from tradewind.placement.choices import Choices, Content, Recipe
from tradewind.placement.exact import exact
from tradewind.placement.ground import Ground
from tradewind.placement.joins import Input, JoinQuery, join_choices
from tradewind.placement.plan import Goal
from tradewind.placement.running import Running


@dataclass(frozen=True)
class Case:
    """One planning problem."""

    ground: Ground
    choices: Choices
    goal: Goal
    running: Running | None


def random_network(random: Random, sites: int) -> Network:
    """A random tree with some more links; the two directions of a link, and two links side by side, may differ."""
    pairs = [(random.randrange(site), site) for site in range(1, sites)]
    pairs += [(a, b) for a, b in combinations(range(sites), 2) if random.random() < 1.5 / sites]
    wires = []
    for a, b in pairs:
        for start, end in ((a, b), (b, a)):
            ms, price = random.uniform(1, 50), random.uniform(0.1, 3.0)
            wires.append(Wire(f"s{start}", f"s{end}", 100.0, ms, price))
    return Network.of([Place(f"s{site}", cores=4.0) for site in range(sites)], wires)


def random_ground(random: Random, sites: int) -> Ground:
    """A random network with prices for bytes and, often, for operators and cores."""
    network = random_network(random, sites)
    fixed, busy = random.choice([0.0, 1.0, 20.0]), random.choice([0.0, 1.0, 20.0])
    per_core = np.array([random.uniform(0, busy) for _ in range(sites)])
    per_operator = np.array([random.uniform(0, fixed) for _ in range(sites)])
    return Ground(network, Prices(network.usd_per_gb, per_core, per_operator))


class World:
    """Streams with rates, filters and selectivities that all queries of a case agree on."""

    def __init__(self, random: Random, sites: int, streams: int, filters: int) -> None:
        self.random, self.sites = random, sites
        names = [f"S{number}" for number in range(streams)]
        behind = set(random.sample(names, min(filters, streams)))
        self.inputs = tuple(self._input(name, name in behind) for name in names)
        self.selectivity = {frozenset(pair): 10 ** random.uniform(-2.5, -0.5) for pair in combinations(names, 2)}
        self.cores = random.choice([0.0, 0.5])
        self.strict = random.random() < 0.2
        self._within: dict[str, frozenset[int] | None] = {}

    def _input(self, name: str, filtered: bool) -> Input:
        origins = tuple(self.random.sample(range(self.sites), self.random.choice([1, 1, 1, 2])))
        rate = self.random.uniform(1, 100)
        return Input(name, origins, rate, self.random.uniform(0.05, 0.9), f"f{name}" if filtered else None)

    @property
    def origins(self) -> dict[str, tuple[int, ...]]:
        return {one.name: one.origins for one in self.inputs}

    def query(self, size: int, filters: int = 9) -> tuple[Choices, str]:
        """A join of some of the streams, at most so many of them behind their filters."""
        chosen = self.random.sample(self.inputs, size)
        filtered = [one.name for one in chosen if one.filter_name][:filters]
        inputs = tuple(one if one.name in filtered else replace(one, filter_name=None, kept=1.0) for one in chosen)
        choices, key = join_choices(JoinQuery(inputs, self.selectivity, self.cores))
        if not self.strict:
            return choices, key
        contents, recipes = tuple(map(self._housed, choices.contents)), tuple(map(self._pinned, choices.recipes))
        return Choices(contents, recipes), key

    def _some_sites(self) -> frozenset[int]:
        return frozenset(site for site in range(self.sites) if self.random.random() < 0.8)

    def _housed(self, content: Content) -> Content:
        if content.key not in self._within:
            self._within[content.key] = self._some_sites() | {*content.origins} if self.random.random() < 0.3 else None
        return replace(content, within=self._within[content.key])

    def _pinned(self, recipe: Recipe) -> Recipe:
        return replace(recipe, at=self._some_sites()) if self.random.random() < 0.3 else recipe


def random_case(
    seed: int,
    sites: int | None = None,
    streams: int | None = None,
    most: int | None = 1_000_000,
    before: int | None = None,
) -> Case:
    """The case of a seed: of the sizes that are given, or small enough for `most` combinations, if that is not None."""
    random = Random(seed)
    sites = sites or random.randint(3, 8)
    streams = streams or random.randint(2, 5)
    world = World(random, sites, max(streams, random.randint(2, 5)), random.choice([0, 1, 2]))
    ground = random_ground(random, sites)
    running = None
    if before or (before is None and random.random() < 0.6):
        running = Running(ground.network)
        for number in range(before or random.randint(1, 3)):
            choices, key = world.query(random.randint(2, min(4, len(world.inputs))))
            goal = Goal(f"before{number}", key, random.randrange(sites))
            try:
                running.add(goal.query, exact(ground, choices, goal, running), world.origins)
            except InputError:
                continue
    site = random.randrange(sites)
    choices, key = world.query(streams)
    goal = Goal("new", key, site)
    for filters in (1, 0):
        if most is not None and exhaustive.combinations(ground, choices, goal, running) > most:
            choices, key = world.query(streams, filters)
            goal = Goal("new", key, site)
    return Case(ground, choices, goal, running)
