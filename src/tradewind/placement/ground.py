"""What every planner stands on: a network, the prices of an objective, and the routes that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tradewind.cost.prices import Prices
from tradewind.network.network import Network, Numbers
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

    def again(self, content: Content, sites: Sequence[int]) -> Numbers:
        """What using a content costs at sites where it runs already: nothing."""
        return np.zeros(len(sites))

    def work(self, recipe: Recipe) -> Numbers:
        """What an operator costs at each site: infinite where it may not run."""
        cost = recipe.cores * self.prices.per_core + self.prices.per_operator
        if recipe.at is None:
            return cost
        found = np.full(len(cost), np.inf)
        allowed = list(recipe.at)
        found[allowed] = cost[allowed]
        return found

    def works(self, recipes: Weighed) -> Numbers:
        """What each of many operators (row) costs at each site (column)."""
        found = recipes.cores[:, None] * self.prices.per_core + self.prices.per_operator
        for row, at in recipes.at:
            allowed = list(at)
            kept = found[row, allowed]
            found[row] = np.inf
            found[row, allowed] = kept
        return found
