"""What every planner stands on: a network, the prices of an objective, and the routes that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tradewind.cost.prices import Prices
from tradewind.network.network import Indices, Network, Numbers
from tradewind.network.routes import Routes
from tradewind.placement.choices import Content, Recipe, Sites, Weighed


@dataclass(frozen=True, eq=False)
class Ground:
    """A network with prices; routes are worked out once for each set of sites that a content may visit."""

    network: Network
    prices: Prices
    _routes: dict[Sites | None, Routes] = field(default_factory=dict, repr=False)

    def routes(self, within: Sites | None = None) -> Routes:
        """The cheapest routes, over the given sites only."""
        found = self._routes.get(within)
        if found is None:
            found = self._routes[within] = Routes(self.network, self.prices.per_byte, within)
        return found

    def routes_of(self, content: Content) -> Routes:
        """The cheapest routes of one content."""
        return self.routes(content.within)

    def part(self, sites: Indices) -> Ground:
        """The same over some sites only, numbered in their order."""
        network, links = self.network.part(sites)
        return Ground(network, self.prices.part(sites, links))

    def again(self, content: Content, sites: Sequence[int]) -> Numbers:
        """What using a content costs at sites where it runs already: nothing."""
        return np.zeros(len(sites))

    def work(self, recipe: Recipe, sites: Indices | None = None) -> Numbers:
        """What an operator costs at each site, or at each of some: infinite where it may not run."""
        some = slice(None) if sites is None else sites
        cost = recipe.cores * self.prices.per_core[some] + self.prices.per_operator[some]
        if recipe.at is None:
            return cost
        places = np.arange(len(self.network)) if sites is None else sites
        return np.where(np.isin(places, list(recipe.at)), cost, np.inf)

    def works(self, recipes: Weighed) -> Numbers:
        """What each of many operators (row) costs at each site (column)."""
        found = recipes.cores[:, None] * self.prices.per_core + self.prices.per_operator
        for row, at in recipes.at:
            allowed = list(at)
            kept = found[row, allowed]
            found[row] = np.inf
            found[row, allowed] = kept
        return found
