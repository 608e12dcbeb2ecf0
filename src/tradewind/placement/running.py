"""What runs already: the plans of earlier queries, and where each content is to be had because of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tradewind.errors import unknown
from tradewind.network.network import Network
from tradewind.placement.plan import Hop, Plan, Providers, Step, providers, support


class Running:
    """Queries at work together.

    A query's plan holds all that its answer rests on, also what others brought about; so removing a query gives back
    exactly what only it used.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.plans: dict[str, Plan] = {}
        self._origins: dict[str, tuple[int, ...]] = {}
        self._providers: Providers = {}
        self._sites: dict[str, set[int]] = {}

    def add(self, query: str, plan: Plan, origins: Mapping[str, Iterable[int]]) -> None:
        """Let a query run by a plan; `origins` are the sites of the base streams that the plan reads."""
        self.plans[query] = plan
        self._origins.update({key: tuple(sites) for key, sites in origins.items()})
        known = {key: sites for key, sites in self._sites.items()}
        fresh = providers(plan, self.network, self._origins)
        for place, provider in fresh.items():
            if provider is not None and place not in self._providers:
                self._providers[place] = provider
                known.setdefault(place[0], set()).add(place[1])
        self._sites = known

    def remove(self, query: str) -> Plan:
        """Stop a query; what no other query rests on is given back. Its plan is returned."""
        if query not in self.plans:
            raise unknown("query", query, self.plans)
        gone = self.plans.pop(query)
        rest = dict(self.plans)
        self.plans, self._providers, self._sites = {}, {}, {}
        for name, plan in rest.items():
            self.add(name, plan, {})
        return gone

    def sites(self, key: str) -> frozenset[int]:
        """Where a content is to be had without making or moving anything more."""
        return frozenset(self._sites.get(key, ()))

    def support(self, key: str, site: int) -> tuple[set[Step], set[Hop]]:
        """The operators and hops that a content at a site rests on."""
        known = self._providers | {(k, s): None for k, sites in self._origins.items() for s in sites}
        return support(key, site, known, self.network)

    @property
    def whole(self) -> Plan:
        """All plans together; what they share is there once."""
        steps = frozenset(step for plan in self.plans.values() for step in plan.steps)
        hops = frozenset(hop for plan in self.plans.values() for hop in plan.hops)
        return Plan(steps, hops, tuple(goal for plan in self.plans.values() for goal in plan.goals))
