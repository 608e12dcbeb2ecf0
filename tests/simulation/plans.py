"""Small plans, and random ones from the exact planner, for simulations."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np

from tradewind.cost.prices import Prices
from tradewind.network.network import Network, Place, Wire
from tradewind.placement.choices import Content
from tradewind.placement.exact import exact
from tradewind.placement.ground import Ground
from tradewind.placement.joins import Input, JoinQuery, join_choices
from tradewind.placement.plan import Goal, Hop, Plan, Step, providers

MBPS = 125_000.0
"""The bytes that a link of 1 Mbit/s carries in a second."""


def line(*wires: tuple[float, float], cores: float = 4.0) -> Network:
    """Sites 0, 1, … in a line, each link with its Mbit/s and milliseconds."""
    places = [Place(str(number), cores) for number in range(len(wires) + 1)]
    return Network.of(places, [Wire(str(i), str(i + 1), mbps, ms) for i, (mbps, ms) in enumerate(wires)])


def shipping(length: int, rate: float) -> Plan:
    """One content from site 0 along a line."""
    return Plan(frozenset(), frozenset(Hop("a", link, rate) for link in range(length)), (Goal("q", "a", length),))


def random_network(rng: np.random.Generator, sites: int, extra: int) -> Network:
    """A tree with more links, both ways each, with enough room."""
    pairs = {(int(rng.integers(one)), one) for one in range(1, sites)}
    while len(pairs) < min(sites - 1 + extra, sites * (sites - 1) // 2):
        one, two = sorted(rng.choice(sites, 2, replace=False).tolist())
        pairs.add((one, two))
    wires = []
    for one, two in sorted(pairs):
        ms, price = float(rng.uniform(1, 60)), float(rng.uniform(0.01, 0.1))
        wires += [Wire(str(a), str(b), 1000.0, ms, price) for a, b in ((one, two), (two, one))]
    return Network.of([Place(str(number), 1000.0) for number in range(sites)], wires)


def with_room(network: Network, plan: Plan, times: float | np.ndarray) -> Network:
    """The network with links that can carry so many times what the plan sends over them, and hardly anything else."""
    mbps = np.maximum(plan.on_links(network) * times / MBPS, 1e-4)
    return Network(network.places, network.start, network.end, mbps, network.ms, network.usd_per_gb)


def random_join(
    rng: np.random.Generator, network: Network, inputs: int, query: str = "q"
) -> tuple[Plan, tuple[Content, ...]]:
    """The best plan of a random join, and its contents."""
    names = [f"{query}.{chr(97 + number)}" for number in range(inputs)]
    streams = []
    for number, name in enumerate(names):
        origins = tuple(int(site) for site in rng.choice(len(network), int(rng.integers(1, 3)), replace=False))
        filtered = number == 0 and rng.random() < 0.5
        rate = float(rng.uniform(100, 5000))
        streams.append(Input(name, origins, rate, float(rng.uniform(0.1, 0.9)), f"f{number}" if filtered else None))
    selectivity = {frozenset(pair): float(rng.uniform(1e-4, 1e-3)) for pair in combinations(names, 2)}
    choices, key = join_choices(JoinQuery(tuple(streams), selectivity, float(rng.uniform(0.1, 1.0))))
    ground = Ground(network, Prices.of_dollars(network))
    return exact(ground, choices, Goal(query, key, int(rng.integers(len(network))))), choices.contents


def slowest_way(plan: Plan, network: Network, origins: dict[str, tuple[int, ...]]) -> list[float]:
    """For each goal, the seconds on the links of the slowest way to it: worked out from the plan alone."""
    found = providers(plan, network, origins)

    @cache
    def seconds(key: str, site: int) -> float:
        match found[key, site]:
            case Step(inputs=inputs):
                return max(seconds(one, site) for one in inputs)
            case Hop(link=link):
                return seconds(key, int(network.start[link])) + float(network.ms[link]) / 1000.0
        return 0.0

    return [seconds(goal.content, goal.site) for goal in plan.goals]
