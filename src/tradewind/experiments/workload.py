"""Random workloads after Seshadri et al.: streams that arise somewhere, queries that join some of them elsewhere.

The paper says how many sites, streams, queries and joins there were, not how rates and selectivities were drawn. Ours:

- The network is a transit-stub one, made from the seed; a byte costs on each link what its price says.
- Each stream arises at a site of its own, drawn evenly, at a rate drawn evenly from `rates`, in megabytes a second.
- A pair of streams has one selectivity, the same in every query, so that equal sets of streams are equal contents. It
  is drawn evenly from `kept`: a join of two streams of one megabyte a second gives that share of a megabyte, and one
  of m streams the product over all its pairs. From 0.3 to 1.2, joins are mostly data-decreasing and now and then mildly
  data-increasing.
- A query joins distinct streams, drawn evenly, by 2 to 5 joins, each number as likely as another; its sink is a site
  drawn evenly. With 5 streams there cannot be 5 joins of distinct ones: those queries get 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tradewind.cost.prices import Prices
from tradewind.errors import InputError
from tradewind.network.transit_stub import transit_stub
from tradewind.placement.ground import Ground
from tradewind.placement.joins import Input, JoinQuery, join_choices
from tradewind.placement.many import Asked
from tradewind.placement.plan import Goal


@dataclass(frozen=True, slots=True)
class Rule:
    """How much of everything there is, and from where figures are drawn."""

    nodes: int = 64
    streams: int = 5
    queries: int = 100
    joins: tuple[int, int] = (2, 5)
    rates: tuple[float, float] = (0.5, 1.5)
    """Megabytes per second of a stream."""
    kept: tuple[float, float] = (0.3, 1.2)
    """What a join of two streams of one megabyte a second gives, in megabytes."""

    def __post_init__(self) -> None:
        if not 2 <= self.streams <= self.nodes:
            raise InputError(f"{self.streams} streams on {self.nodes} sites are not possible.")
        if not 1 <= self.joins[0] <= self.joins[1]:
            raise InputError(f"from {self.joins[0]} to {self.joins[1]} joins are not possible.")


@dataclass(frozen=True, slots=True)
class Workload:
    """A network with prices, and queries in the order in which they come."""

    ground: Ground
    queries: tuple[Asked, ...]


def workload(rule: Rule, seed: int) -> Workload:
    """The workload that a seed gives by a rule."""
    rng = np.random.default_rng(seed)
    network = transit_stub(rule.nodes, seed)
    names = [f"S{number:02}" for number in range(rule.streams)]
    origins = rng.permutation(rule.nodes)[: rule.streams]
    rates = rng.uniform(*rule.rates, size=rule.streams)
    streams = [Input(name, (int(site),), float(rate)) for name, site, rate in zip(names, origins, rates, strict=True)]
    selectivity = {frozenset(pair): float(rng.uniform(*rule.kept)) for pair in combinations(names, 2)}
    asked = []
    for number in range(rule.queries):
        joins = min(int(rng.integers(rule.joins[0], rule.joins[1] + 1)), rule.streams - 1)
        some = [streams[i] for i in sorted(rng.permutation(rule.streams)[: joins + 1])]
        choices, key = join_choices(JoinQuery(tuple(some), selectivity))
        goal = Goal(f"q{number}", key, int(rng.integers(rule.nodes)))
        asked.append(Asked(goal, choices))
    # Dollars in an hour for a megabyte in a second.
    prices = Prices.of_links(network, network.usd_per_gb * 3.6)
    return Workload(Ground(network, prices), tuple(asked))
