"""A plan: operators at sites, contents on links, and whose answers they are.

Plans are sets, so what several queries share is there once, and so is its cost. Who feeds whom follows from the
contents: an operator finds each of its inputs at its own site, made there or brought there over a link.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from tradewind.algebra.operators.base import Operator
from tradewind.cost.prices import Prices
from tradewind.network.network import Network, Numbers
from tradewind.placement.choices import Choices, Recipe, Work


@dataclass(frozen=True, slots=True)
class Step:
    """An operator at work at a site."""

    output: str
    inputs: tuple[str, ...]
    kind: str
    site: int
    cores: float = field(default=0.0, compare=False)
    work: Work | None = field(default=None, compare=False)

    @property
    def operator(self) -> Operator | None:
        """The node that does it; made-up queries have none."""
        return self.work.operator if self.work is not None else None

    @property
    def over(self) -> tuple[Operator, ...]:
        """The nodes, below the operator, that stand for its inputs."""
        return self.work.over if self.work is not None else ()


def step_of(choices: Choices, recipe: Recipe, site: int) -> Step:
    """A recipe at work at a site."""
    keys = tuple(choices.contents[number].key for number in recipe.inputs)
    output = choices.contents[recipe.output].key
    return Step(output, keys, recipe.kind, site, recipe.cores, recipe.work)


@dataclass(frozen=True, slots=True)
class Hop:
    """A content that crosses a link; however many want it behind that link, it crosses once."""

    content: str
    link: int
    bytes_per_second: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Goal:
    """The answer of a query: its content, and the site where it is delivered."""

    query: str
    content: str
    site: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Operators, hops and goals of one query or of many."""

    steps: frozenset[Step] = frozenset()
    hops: frozenset[Hop] = frozenset()
    goals: tuple[Goal, ...] = ()

    def __or__(self, other: Plan) -> Plan:
        return Plan(self.steps | other.steps, self.hops | other.hops, (*self.goals, *other.goals))

    @staticmethod
    def of(plans: Iterable[Plan]) -> Plan:
        """Several plans together; what they share is there once."""
        whole = Plan()
        for one in plans:
            whole = whole | one
        return whole

    def cost(self, prices: Prices) -> float:
        """What its links, cores and operators cost together."""
        moved = math.fsum(hop.bytes_per_second * float(prices.per_byte[hop.link]) for hop in self.hops)
        worked = math.fsum(
            step.cores * float(prices.per_core[step.site]) + float(prices.per_operator[step.site])
            for step in self.steps
        )
        return moved + worked

    def on_links(self, network: Network) -> Numbers:
        """Bytes per second on each link."""
        # A plan is a set, and the last digit of a sum must not depend on the order of its parts.
        return _sums(len(network.start), ((hop.link, hop.bytes_per_second) for hop in self.hops))

    def at_sites(self, network: Network) -> Numbers:
        """Busy cores at each site."""
        return _sums(len(network), ((step.site, step.cores) for step in self.steps))


def _sums(size: int, parts: Iterable[tuple[int, float]]) -> Numbers:
    """The sum of the numbers at each place, the same in whatever order they come."""
    by_place: dict[int, list[float]] = {}
    for place, number in parts:
        by_place.setdefault(place, []).append(number)
    found = np.zeros(size)
    for place, numbers in by_place.items():
        found[place] = math.fsum(numbers)
    return found


Providers = dict[tuple[str, int], Step | Hop | None]
"""For each content at each site where it is to be had: the operator or the hop that brings it; None at an origin."""


def providers(plan: Plan, network: Network, origins: Mapping[str, Iterable[int]]) -> Providers:
    """Where the contents of a plan are to be had, and from whom, worked out from the origins on.

    Steps whose inputs never arrive, and hops of what is not there, bring nothing.
    """
    found: Providers = {(key, site): None for key, sites in origins.items() for site in sites}
    waiting: dict[tuple[str, int], list[Step | Hop]] = {}
    missing: dict[Step | Hop, int] = {}
    ready: list[Step | Hop] = []
    every: tuple[Step | Hop, ...] = (*plan.steps, *plan.hops)
    for one in every:
        needs = {place for place in _needs(one, network) if place not in found}
        missing[one] = len(needs)
        if not needs:
            ready.append(one)
        for place in needs:
            waiting.setdefault(place, []).append(one)
    # In rounds: what is to be had without the others of a round comes before what rests on them.
    while ready:
        made = sorted((one for one in ready if isinstance(one, Step)), key=lambda s: (s.output, s.site, s.inputs))
        moved = sorted((one for one in ready if isinstance(one, Hop)), key=lambda h: (h.content, h.link))
        brought: list[tuple[tuple[str, int], Step | Hop]] = [((step.output, step.site), step) for step in made]
        brought += [((hop.content, int(network.end[hop.link])), hop) for hop in moved]
        ready = []
        for place, one in brought:
            if place in found:
                continue
            found[place] = one
            for reader in waiting.pop(place, ()):
                missing[reader] -= 1
                if not missing[reader]:
                    ready.append(reader)
    return found


def _needs(one: Step | Hop, network: Network) -> list[tuple[str, int]]:
    """What has to be where, for an operator or a hop to do something."""
    if isinstance(one, Hop):
        return [(one.content, int(network.start[one.link]))]
    return [(key, one.site) for key in one.inputs]


def support(key: str, site: int, found: Providers, network: Network) -> tuple[set[Step], set[Hop]]:
    """All operators and hops that a content at a site rests on."""
    steps: set[Step] = set()
    hops: set[Hop] = set()
    waiting = [(key, site)]
    while waiting:
        content, place = waiting.pop()
        provider = found[content, place]
        if isinstance(provider, Step) and provider not in steps:
            steps.add(provider)
            waiting.extend((one, place) for one in provider.inputs)
        elif isinstance(provider, Hop) and provider not in hops:
            hops.add(provider)
            waiting.append((content, int(network.start[provider.link])))
    return steps, hops
