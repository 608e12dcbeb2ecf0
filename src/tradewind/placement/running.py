"""What runs already: the plans of earlier queries, and where each content is to be had because of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tradewind.cost.prices import Prices
from tradewind.errors import unknown
from tradewind.network.network import Network
from tradewind.placement.plan import Hop, Plan, Providers, Step, providers, support

Origins = Mapping[str, Iterable[int]]


class Running:
    """Queries at work together.

    A query's plan holds all that its answer rests on, also what others brought about; so removing a query gives back
    exactly what only it used.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.plans: dict[str, Plan] = {}
        self._provided: dict[str, Providers] = {}
        self._providers: Providers = {}
        self._sites: dict[str, set[int]] = {}

    def add(self, query: str, plan: Plan, origins: Origins) -> None:
        """Let a query run by a plan; `origins` are the sites of the base streams that the plan may read."""
        self.plans[query] = plan
        self._provided[query] = providers(plan, self.network, _read(plan, origins))
        self._provide(query)

    def _provide(self, query: str) -> None:
        for place, provider in self._provided[query].items():
            if place not in self._providers:
                self._providers[place] = provider
                if provider is not None:
                    self._sites.setdefault(place[0], set()).add(place[1])

    def remove(self, query: str) -> Plan:
        """Stop a query; what no other query rests on is given back. Its plan is returned."""
        if query not in self.plans:
            raise unknown("query", query, self.plans)
        del self._provided[query]
        self._providers, self._sites = {}, {}
        for name in self._provided:
            self._provide(name)
        return self.plans.pop(query)

    def copy(self) -> Running:
        """Another one with the same queries, to try something with."""
        found = Running(self.network)
        found.plans, found._provided = dict(self.plans), dict(self._provided)
        found._providers = dict(self._providers)
        found._sites = {key: set(sites) for key, sites in self._sites.items()}
        return found

    def sites(self, key: str) -> frozenset[int]:
        """Where a content is to be had without making or moving anything more."""
        return frozenset(self._sites.get(key, ()))

    def support(self, key: str, site: int) -> tuple[set[Step], set[Hop]]:
        """The operators and hops that a content at a site rests on."""
        return support(key, site, self._providers, self.network)

    @property
    def whole(self) -> Plan:
        """All plans together; what they share is there once."""
        steps = frozenset(step for plan in self.plans.values() for step in plan.steps)
        hops = frozenset(hop for plan in self.plans.values() for hop in plan.hops)
        return Plan(steps, hops, tuple(goal for plan in self.plans.values() for goal in plan.goals))


def _read(plan: Plan, origins: Origins) -> dict[str, Iterable[int]]:
    """The origins of the base streams that a plan has anything to do with."""
    keys = {key for step in plan.steps for key in step.inputs}
    keys |= {hop.content for hop in plan.hops} | {goal.content for goal in plan.goals}
    return {key: origins[key] for key in keys if key in origins}


def added(plan: Plan, running: Running | None, prices: Prices) -> float:
    """What a plan costs beyond what runs already."""
    if running is None:
        return plan.cost(prices)
    whole = running.whole
    return Plan(plan.steps - whole.steps, plan.hops - whole.hops).cost(prices)
