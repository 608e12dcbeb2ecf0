"""Small sets of queries over common streams, for planning several queries at once."""

from __future__ import annotations

import random
from itertools import combinations

from tradewind.cost.prices import Prices
from tradewind.network.network import Network, Place, Wire, both_ways
from tradewind.placement.ground import Ground
from tradewind.placement.joins import Input, JoinQuery, join_choices
from tradewind.placement.many import Asked
from tradewind.placement.plan import Goal


def random_set(seed: int, *, queries: int = 4, sites: int = 7, streams: int = 4) -> tuple[Ground, list[Asked]]:
    """Queries that join two or three of some streams, filtered now and then, with their answers wanted anywhere."""
    chance = random.Random(seed)
    names = [f"n{number}" for number in range(sites)]
    wires = [Wire(names[i], names[chance.randrange(i)], 100, 1, chance.uniform(0.2, 3)) for i in range(1, sites)]
    for _ in range(sites // 2):
        a, b = chance.sample(names, 2)
        if not any({a, b} == {wire.start, wire.end} for wire in wires):
            wires.append(Wire(a, b, 100, 1, chance.uniform(0.2, 3)))
    network = Network.of([Place(name) for name in names], both_ways(wires))
    ground = Ground(network, Prices.of_links(network, network.usd_per_gb))
    known = [Input(f"s{n}", (chance.randrange(sites),), chance.uniform(20, 100)) for n in range(streams)]
    selectivity = {frozenset((a.name, b.name)): 10 ** chance.uniform(-2.3, -1.7) for a, b in combinations(known, 2)}
    kept = {(one.name, f"f{n}"): chance.uniform(0.3, 0.95) for one in known for n in range(3)}
    asked = []
    for number in range(queries):
        some = chance.sample(known, chance.choice((2, 3)))
        inputs = tuple(
            _filtered(one, f"f{chance.randrange(3)}", kept) if chance.random() < 0.3 else one for one in some
        )
        choices, key = join_choices(JoinQuery(inputs, selectivity))
        asked.append(Asked(Goal(f"q{number}", key, chance.randrange(sites)), choices))
    return ground, asked


def _filtered(one: Input, name: str, kept: dict[tuple[str, str], float]) -> Input:
    return Input(one.name, one.origins, one.bytes_per_second, kept[one.name, name], name)
