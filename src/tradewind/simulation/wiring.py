"""A plan as arrays: its operators and hops as elements of one list, who feeds whom, and who shares what.

An element is a hop, which takes of its link's bandwidth, or a step, which takes of its site's cores. Behind the
elements come the sources. Whatever an element passes on is told as a factor of what it passes on nominally.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tradewind.errors import InputError
from tradewind.network.network import Indices, Network, Numbers
from tradewind.placement.plan import Hop, Plan, Step, providers
from tradewind.simulation.rates import Rates
from tradewind.simulation.responses import SHARES_ASIDE, Response, mean, response_of


@dataclass(frozen=True, eq=False)
class Group:
    """Steps with as many inputs and the same response; `feeds` and `shares` have a row per input."""

    response: Response
    elements: Indices
    feeds: Indices
    shares: Numbers


@dataclass(frozen=True, eq=False)
class Wiring:
    """The elements of a plan."""

    weight: Numbers
    """Bytes per second, or cores, of each element at a factor of one."""
    delay: Numbers
    """Seconds that each element takes when nothing waits."""
    server: Indices
    """The link or site, a number in `servers`, that each element takes of."""
    servers: Indices
    """Numbers of links, and of sites behind all links; only those that the plan uses."""
    single: Indices
    feed: Indices
    """The elements with one input that they answer to one to one, and what feeds them."""
    groups: tuple[Group, ...]
    scale: Numbers
    """Bytes per second of each source when its schedule is at one, as a factor of what the plan counts on."""
    goals: Indices
    """What delivers each answer: an element or a source."""

    def inputs(self, factors: Numbers, ages: Numbers) -> tuple[Numbers, Numbers]:
        """What comes to each element, and how old it is, from what elements and sources pass on.

        An operator's output is complete when the slowest of its inputs has come.
        """
        size = len(self.weight)
        arriving, arriving_age = np.empty(size), np.empty(size)
        arriving[self.single] = factors[self.feed]
        arriving_age[self.single] = ages[self.feed]
        for group in self.groups:
            answer = group.response(factors[group.feeds], group.shares)
            if not np.all(answer >= 0):
                raise InputError("a response function gives a rate below zero, or none at all.")
            arriving[group.elements] = answer
            arriving_age[group.elements] = ages[group.feeds].max(axis=0)
        return arriving, arriving_age


def wire(plan: Plan, network: Network, rates: Rates, responses: Mapping[str, Response]) -> Wiring:
    """The arrays of a plan; every operator, hop and goal must be fed."""
    _check(plan, network, rates)
    found = providers(plan, network, rates.origins)
    hops = sorted(plan.hops, key=lambda hop: (hop.link, hop.content))
    steps = sorted(plan.steps, key=lambda step: (step.site, step.output, step.inputs, step.kind))
    elements: list[Hop | Step] = [*hops, *steps]
    numbers = {one: number for number, one in enumerate(elements)}
    sources = {(one.content, one.site): len(elements) + number for number, one in enumerate(rates.sources)}

    def feed(key: str, site: int, where: str) -> int:
        if (key, site) not in found:
            raise InputError(
                f"nothing brings {key!r} to {network.name(site)!r}.",
                where=where,
                hint="the plan lacks an operator or a hop, or the rates lack a source.",
            )
        provider = found[key, site]
        return sources[key, site] if provider is None else numbers[provider]

    fed = [_wanted(one, network, responses) for one in elements]
    feeds = [[feed(key, one.site, one.where) for key in one.inputs] for one in fed]
    plain = [number for number, one in enumerate(fed) if one.response is mean and len(one.inputs) == 1]
    used = [*(hop.link for hop in hops), *(len(network.start) + step.site for step in steps)]
    servers, server = np.unique(np.array(used, dtype=np.int64), return_inverse=True)
    nominal = _nominal(hops, rates)
    return Wiring(
        np.array([*(hop.bytes_per_second for hop in hops), *(step.cores for step in steps)], dtype=float),
        np.array([*(float(network.ms[hop.link]) / 1000.0 for hop in hops), *(0.0 for _ in steps)], dtype=float),
        server.astype(np.int64),
        servers,
        np.array(plain, dtype=np.int64),
        np.array([feeds[number][0] for number in plain], dtype=np.int64),
        tuple(_groups(fed, feeds, nominal)),
        np.array([one.bytes_per_second / (nominal[one.content] or 1.0) for one in rates.sources], dtype=float),
        np.array([feed(goal.content, goal.site, f"query {goal.query}") for goal in plan.goals], dtype=np.int64),
    )


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What an element wants at which site, and how it answers to it."""

    response: Response
    inputs: tuple[str, ...]
    site: int
    where: str


def _wanted(one: Hop | Step, network: Network, responses: Mapping[str, Response]) -> _Wanted:
    if isinstance(one, Hop):
        return _Wanted(mean, (one.content,), int(network.start[one.link]), f"hop of {one.content}")
    return _Wanted(response_of(one.kind, responses), one.inputs, one.site, f"{one.kind} of {one.output}")


def _check(plan: Plan, network: Network, rates: Rates) -> None:
    for hop in plan.hops:
        if not 0 <= hop.link < len(network.start):
            raise InputError(
                f"the plan uses link number {hop.link}, which is not there.", where=f"hop of {hop.content}"
            )
        if not hop.bytes_per_second >= 0:
            raise InputError(f"a hop of {hop.content!r} has a rate of {hop.bytes_per_second:g} bytes per second.")
    for step in plan.steps:
        if not step.cores >= 0:
            raise InputError(f"a step that makes {step.output!r} keeps {step.cores:g} cores busy.")
        if not step.inputs:
            raise InputError(f"a step makes {step.output!r} of nothing.", hint="what arises by itself is a source.")
    for site in sorted({one.site for some in (plan.steps, plan.goals, rates.sources) for one in some}):
        if not 0 <= site < len(network):
            raise InputError(f"there is no site number {site}.", hint=f"the network has {len(network)} sites.")


def _nominal(hops: Iterable[Hop], rates: Rates) -> dict[str, float]:
    """The nominal bytes per second of each content: as the plan has them, or else as given."""
    found = {source.content: source.bytes_per_second for source in rates.sources}
    found.update(rates.bytes_per_second)
    found.update({hop.content: hop.bytes_per_second for hop in hops})
    return found


def _groups(fed: Sequence[_Wanted], feeds: Sequence[list[int]], nominal: Mapping[str, float]) -> Iterator[Group]:
    alike: dict[tuple[Response, int], list[int]] = {}
    for number, one in enumerate(fed):
        missing = [key for key in one.inputs if key not in nominal]
        if missing and len(one.inputs) > 1 and one.response not in SHARES_ASIDE:
            raise InputError(
                f"how many bytes {missing[0]!r} has in a second is not known.",
                where=one.where,
                hint="it crosses no link, so its nominal rate must be given.",
            )
        if one.response is not mean or len(one.inputs) > 1:
            alike.setdefault((one.response, len(one.inputs)), []).append(number)
    for (response, count), members in alike.items():
        weights = np.array([[nominal.get(key, 0.0) for key in fed[number].inputs] for number in members]).T
        total = weights.sum(axis=0)
        shares = np.where(total > 0, weights / np.where(total > 0, total, 1.0), 1.0 / count)
        inputs = np.array([feeds[number] for number in members], dtype=np.int64).T
        yield Group(response, np.array(members, dtype=np.int64), inputs, shares)
