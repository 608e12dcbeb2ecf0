"""Small random cases with loads, latencies and prices, for planners under other objectives than a sum of prices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from random import Random

from tradewind.cost.prices import Prices
from tradewind.network.network import Network, Place, Wire
from tradewind.placement.choices import Choices, merged
from tradewind.placement.derivations import Deriver
from tradewind.placement.ground import Ground
from tradewind.placement.joins import Input, JoinQuery, join_choices
from tradewind.placement.plan import Goal


@dataclass(frozen=True)
class ObjectiveCase:
    """Some queries to be planned together."""

    ground: Ground
    choices: Choices
    goals: tuple[Goal, ...]

    @property
    def deriver(self) -> Deriver:
        return Deriver(self.ground, self.choices, self.goals)


def objective_case(seed: int, sites: int = 3, sizes: tuple[int, ...] = (3, 3), streams: int = 4) -> ObjectiveCase:
    """Joins of so many streams each, which they may share; operators keep between a quarter of a core and two busy."""
    random = Random(seed)
    places = [Place(f"s{i}", random.choice([1.0, 2.0, 4.0]), None, random.uniform(0, 1)) for i in range(sites)]
    ring = [*pairwise(range(sites)), (sites - 1, 0)]
    pairs = ring + [(b, a) for a, b in ring if random.random() < 0.9]
    wires = [Wire(f"s{a}", f"s{b}", 100.0, random.uniform(1, 50), random.uniform(0.01, 0.2)) for a, b in pairs]
    network = Network.of(places, wires)
    names = [f"S{i}" for i in range(streams)]
    inputs = [Input(name, (random.randrange(sites),), random.uniform(1e3, 1e5)) for name in names]
    selectivity = {frozenset(pair): 10 ** random.uniform(-6, -4) for pair in combinations(names, 2)}
    parts, goals = [], []
    for number, size in enumerate(sizes):
        choices, key = join_choices(JoinQuery(tuple(random.sample(inputs, size)), selectivity))
        parts.append(choices)
        goals.append(Goal(f"q{number}", key, random.randrange(sites)))
    whole = merged(parts)
    recipes = tuple(replace(recipe, cores=random.choice([0.25, 0.5, 1.0, 2.0])) for recipe in whole.recipes)
    return ObjectiveCase(Ground(network, Prices.of_dollars(network)), Choices(whole.contents, recipes), tuple(goals))
