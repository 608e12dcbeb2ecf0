"""Hard limits of a plan: cores of sites, bytes per second of links, and deadlines of queries; and what breaks them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from tradewind.network.network import Network, Numbers
from tradewind.placement.plan import Goal, Plan
from tradewind.placement.running import Running

TOLERANCE = 1e-6
"""A limit is kept where it is passed by less than this share of it: so exact is arithmetic with many terms."""


@dataclass(frozen=True, eq=False)
class Limits:
    """What a plan may use at most; what is None, or not named, is not limited."""

    cores: Numbers | None = None
    """Busy cores of each site."""
    bytes_per_second: Numbers | None = None
    """Of each link."""
    deadline_ms: Mapping[str, float] = field(default_factory=dict)
    """For a query: how long the slowest of the ways from its streams to its answer may be."""

    @staticmethod
    def of(network: Network, deadline_ms: Mapping[str, float] | None = None) -> Limits:
        """The cores and links that a network has."""
        return Limits(network.cores, network.bytes_per_second, dict(deadline_ms or {}))

    def left(self, network: Network, used: Plan) -> Limits:
        """What another plan leaves; deadlines stay."""
        cores = None if self.cores is None else np.maximum(self.cores - used.at_sites(network), 0.0)
        moved = None if self.bytes_per_second is None else self.bytes_per_second - used.on_links(network)
        return Limits(cores, None if moved is None else np.maximum(moved, 0.0), self.deadline_ms)


@dataclass(frozen=True, slots=True)
class Violation:
    """One limit that is not kept: `kind` is site, link or deadline, `name` says which."""

    kind: str
    name: str
    used: float
    allowed: float

    @property
    def excess(self) -> float:
        """By which share of it the limit is passed; where nothing is allowed, how much is used."""
        return (self.used - self.allowed) / (self.allowed or 1.0)

    def __str__(self) -> str:
        if self.kind == "deadline":
            return f"query {self.name!r} needs {self.used:,.4g} ms and may take {self.allowed:,.4g} ms"
        unit = "cores" if self.kind == "site" else "bytes/s"
        return f"{self.kind} {self.name} needs {self.used:,.4g} {unit} and has {self.allowed:,.4g}"


def broken(plan: Plan, network: Network, limits: Limits) -> list[Violation]:
    """The limits that a plan does not keep, those passed most first."""
    found: list[Violation] = []
    if limits.cores is not None:
        used = plan.at_sites(network)
        found += [
            Violation("site", repr(network.name(site)), float(used[site]), float(limits.cores[site]))
            for site in _over(used, limits.cores)
        ]
    if limits.bytes_per_second is not None:
        used = plan.on_links(network)
        found += [
            Violation("link", link_name(network, link), float(used[link]), float(limits.bytes_per_second[link]))
            for link in _over(used, limits.bytes_per_second)
        ]
    for goal in plan.goals:
        allowed = limits.deadline_ms.get(goal.query, np.inf)
        if np.isfinite(allowed):
            needed = latency(plan, network, goal, arising(plan, network))
            if needed > allowed * (1 + TOLERANCE):
                found.append(Violation("deadline", goal.query, needed, allowed))
    return sorted(found, key=lambda one: (-one.excess, one.kind, one.name))


def newly_broken(plan: Plan, network: Network, limits: Limits, running: Running | None = None) -> list[Violation]:
    """The limits that are not kept once a plan is added to what runs; not those that it does not make worse."""
    if running is None:
        return broken(plan, network, limits)
    before = {(one.kind, one.name): one.used for one in broken(running.whole, network, limits)}
    together = running.whole | Plan(plan.steps, plan.hops)
    capacities = broken(together, network, Limits(limits.cores, limits.bytes_per_second))
    found = [one for one in capacities if one.used > before.get((one.kind, one.name), 0.0) * (1 + TOLERANCE)]
    return found + broken(plan, network, Limits(deadline_ms=limits.deadline_ms))


def _over(used: Numbers, allowed: Numbers) -> list[int]:
    return [int(one) for one in np.flatnonzero(used > allowed * (1 + TOLERANCE))]


def link_name(network: Network, link: int) -> str:
    """A link in words."""
    return f"{network.name(network.start[link])!r} to {network.name(network.end[link])!r}"


def latency(plan: Plan, network: Network, goal: Goal, origins: Mapping[str, Iterable[int]]) -> float:
    """The milliseconds of the slowest way from a base stream to a goal, along hops; infinite where none leads there."""
    return arrivals(plan, network, origins).get((goal.content, goal.site), np.inf)


def arrivals(plan: Plan, network: Network, origins: Mapping[str, Iterable[int]]) -> dict[tuple[str, int], float]:
    """After how many milliseconds each content is at each site of a plan.

    An operator waits for the slowest of its inputs; of what comes to a site in two ways, the faster counts.
    """
    found = {(key, site): 0.0 for key, sites in origins.items() for site in sites}
    changed = True
    while changed:
        changed = False
        later = [
            *(((step.output, step.site), _slowest(found, step.inputs, step.site)) for step in plan.steps),
            *(
                ((hop.content, int(network.end[hop.link])), _moved(found, hop.content, network, hop.link))
                for hop in plan.hops
            ),
        ]
        for place, when in later:
            if when < found.get(place, np.inf):
                found[place] = when
                changed = True
    return found


def _slowest(found: Mapping[tuple[str, int], float], inputs: Iterable[str], site: int) -> float:
    return max((found.get((key, site), np.inf) for key in inputs), default=0.0)


def _moved(found: Mapping[tuple[str, int], float], key: str, network: Network, link: int) -> float:
    return found.get((key, int(network.start[link])), np.inf) + float(network.ms[link])


def arising(plan: Plan, network: Network) -> dict[str, set[int]]:
    """The contents that a plan uses at a site without making or bringing them there: they must arise at it."""
    used = {(key, step.site) for step in plan.steps for key in step.inputs}
    used |= {(hop.content, int(network.start[hop.link])) for hop in plan.hops}
    used |= {(goal.content, goal.site) for goal in plan.goals}
    used -= {(step.output, step.site) for step in plan.steps}
    used -= {(hop.content, int(network.end[hop.link])) for hop in plan.hops}
    found: dict[str, set[int]] = {}
    for key, site in used:
        found.setdefault(key, set()).add(site)
    return found


def since(running: Running, key: str, site: int) -> float:
    """After how many milliseconds a content that runs already is at a site."""
    steps, hops = running.support(key, site)
    rests_on = Plan(frozenset(steps), frozenset(hops))
    return arrivals(rests_on, running.network, arising(rests_on, running.network)).get((key, site), 0.0)
