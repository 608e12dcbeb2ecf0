"""The network of Figure 1 of Seshadri et al., and queries that join its streams.

The figure has sources A, B and C, nodes N1 to N5 and Sink1 to Sink5; which links there are, what they cost and how much
flows is not in the text. These are ours, chosen so that they fit what the text says:

- A and C are near to N1, A and B are near to N2 and to N5, A and C can also meet at N4;
- Sink1 and Sink5 are behind N3, Sink2 is behind N2, Sink3 and Sink4 are behind N4;
- N1, N2 and N3 are close to one another, and so are N4 and N5; between the two groups lies one dear link.

Sources only send and sinks only receive; joins run at N1 to N5, filters anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tradewind.cost.prices import Prices
from tradewind.network.network import Network, Place, Wire, both_ways
from tradewind.placement.choices import Choices
from tradewind.placement.ground import Ground
from tradewind.placement.joins import Input, JoinQuery, join_choices
from tradewind.placement.many import Asked
from tradewind.placement.plan import Goal

NODES = ("N1", "N2", "N3", "N4", "N5")
SINKS = ("Sink1", "Sink2", "Sink3", "Sink4", "Sink5")
SOURCES = ("A", "B", "C")

OUT = (("A", "N1", 1), ("A", "N2", 2), ("A", "N4", 2), ("A", "N5", 1), ("B", "N2", 1), ("B", "N5", 2),
       ("C", "N1", 1), ("C", "N4", 1))  # fmt: skip
BETWEEN = (("N1", "N3", 2), ("N2", "N3", 2), ("N2", "N5", 6), ("N4", "N5", 3))
INTO = (("N3", "Sink1", 1), ("N3", "Sink5", 1), ("N2", "Sink2", 1), ("N4", "Sink3", 1), ("N4", "Sink4", 1))
"""Links, each with what a byte per second on it costs."""

PER_OPERATOR = 0.5
"""What an operator costs wherever it runs."""


def ground() -> Ground:
    """The network with its prices."""
    wires = [Wire(start, end, 1000, usd_per_gb=price) for start, end, price in (*OUT, *INTO)]
    wires += both_ways(Wire(start, end, 1000, usd_per_gb=price) for start, end, price in BETWEEN)
    network = Network.of([Place(name) for name in (*SOURCES, *NODES, *SINKS)], wires)
    return Ground(network, Prices.of_links(network, network.usd_per_gb, np.full(len(network), PER_OPERATOR)))


@dataclass(frozen=True, slots=True)
class Rates:
    """How much flows: of each stream, of the joins that the text speaks of, and what it says of them."""

    stream: float = 10.0
    ab: float = 5.0
    ac: float = 4.0
    abc: float = 20.0

    @property
    def selectivity(self) -> dict[frozenset[str], float]:
        """Of each pair; that of B and C, which no good plan joins first, follows from the others."""
        pair = {frozenset("AB"): self.ab / self.stream**2, frozenset("AC"): self.ac / self.stream**2}
        pair[frozenset("BC")] = self.abc * self.stream / (self.ab * self.ac)
        return pair


@dataclass(frozen=True, slots=True)
class Kept:
    """A filter of a query on a stream: its name, and the share of rows that it leaves."""

    name: str
    share: float


@dataclass(frozen=True, slots=True)
class Asks:
    """A query: the streams that it joins, its sink, and filters that other queries do not have.

    A query with two sinks is two queries. Filters that all queries have are in the rates of the streams.
    """

    name: str
    streams: str
    sink: str
    filters: Mapping[str, Kept] = field(default_factory=dict)

    def on(self, ground: Ground, rates: Rates) -> Asked:
        """As the planners take it."""
        inputs = tuple(self._input(ground.network, name, rates) for name in self.streams)
        choices, key = join_choices(JoinQuery(inputs, rates.selectivity))
        return Asked(Goal(self.name, key, ground.network.number(self.sink)), _at_nodes(ground.network, choices))

    def _input(self, network: Network, name: str, rates: Rates) -> Input:
        found = Input(name, (network.number(name),), rates.stream)
        kept = self.filters.get(name)
        return found if kept is None else replace(found, kept=kept.share, filter_name=kept.name)


def _at_nodes(network: Network, choices: Choices) -> Choices:
    sites = frozenset(map(network.number, NODES))
    recipes = (replace(recipe, at=sites) if recipe.kind == "join" else recipe for recipe in choices.recipes)
    return Choices(choices.contents, tuple(recipes))
