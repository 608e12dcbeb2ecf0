"""What runs where after a move: the same fragments but one, the same channels by other ways. Pure.

A channel keeps its name when its writer moves, so whoever reads it goes on; its copies are fed from elsewhere.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from tradewind.errors import InputError, unknown
from tradewind.fragments.deployed import Channel, Deployed, Fragment
from tradewind.fragments.parting import bound_to_site
from tradewind.fragments.sharing import forgets
from tradewind.fragments.triggers import queries_of
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.network.declared import declared
from tradewind.placement.residency import Residency

Hop = tuple[str, str]


@dataclass(frozen=True)
class Roads:
    """The links of a network, each with its price and its milliseconds, and where rows may be."""

    links: Mapping[Hop, tuple[float, float]]
    residency: Residency

    @staticmethod
    def of(found: Deployment) -> Roads:
        """The links that a deployment declares."""
        network = declared(found.sites, found.links)
        links: dict[Hop, tuple[float, float]] = {}
        for number, (start, end) in enumerate(zip(network.start, network.end, strict=True)):
            hop = network.name(start), network.name(end)
            price = float(network.usd_per_gb[number]), float(network.ms[number])
            links[hop] = min(price, links.get(hop, price))
        wishes = {name: stream.leave_region for name, stream in found.streams.items()}
        return Roads(links, Residency(network, wishes))

    def within(self, channel: Channel) -> Collection[str] | None:
        """The sites that a channel's rows may visit; None is all."""
        found = self.residency.bounds(channel.operator).within
        return None if found is None else [self.residency.network.name(site) for site in found]

    def way(self, channel: Channel, starts: Iterable[str], end: str) -> tuple[Hop, ...]:
        """The cheapest way for a channel from any of some sites to another one, link by link."""
        allowed = self.within(channel)
        begin = dict.fromkeys(starts)
        waiting: list[tuple[float, float, tuple[str, ...]]] = [(0.0, 0.0, (site,)) for site in begin]
        heapq.heapify(waiting)
        seen: set[str] = set()
        while waiting:
            price, ms, path = heapq.heappop(waiting)
            site = path[-1]
            if site == end:
                return tuple(pairwise(path))
            if site in seen:
                continue
            seen.add(site)
            for (start, far), (more, longer) in self.links.items():
                # What has the channel already is itself a start.
                if start == site and far not in seen and far not in begin and (allowed is None or far in allowed):
                    heapq.heappush(waiting, (price + more, ms + longer, (*path, far)))
        raise InputError(
            f"no way leads to {end!r} for what comes from {', '.join(sorted(begin))}.",
            where=f"channel {channel.name}",
            hint="rows only go over links that are declared, and only where their streams may be (leave_region).",
        )


def chosen(deployed: Deployed, what: str) -> Fragment:
    """The fragment of a name, or the one that merges for a query: the last on the way to its answer that can be moved
    and remembers something, or else the last that can be moved.
    """
    for one in deployed.fragments:
        if one.name == what:
            return one
    on_the_way = [one for one in deployed.fragments if what in queries_of(deployed, one)]
    if not on_the_way:
        names = [one.name for one in deployed.fragments]
        raise unknown(
            "fragment or query", what, [*names, *(query for one in deployed.fragments for query in one.answers)]
        )
    free = [one for one in on_the_way if _bound(one) is None]
    if not free:
        raise InputError(
            f"nothing of query {what!r} can be moved: all of it reads streams where they arise, or only delivers.",
            hint="pin: {merge: SITE} in the file lets another site merge.",
        )
    merging = [one for one in free if not all(map(forgets, one.operators))]
    # What delivers has to be taken apart before.
    light = [one for one in merging if not one.answers]
    return (light or merging or free)[-1]


def require_movable(fragment: Fragment, target: str) -> None:
    """A fragment that is bound to its site is not moved, and none is moved to where it is."""
    bound = _bound(fragment)
    if bound is not None:
        raise InputError(f"fragment {fragment.name!r} is bound to {fragment.site!r}: {bound}", where="move")
    if fragment.site == target:
        raise InputError(f"fragment {fragment.name!r} is at {target!r} already.", where="move")


def _bound(fragment: Fragment) -> str | None:
    if fragment.answers and not fragment.operators:
        return f"it only delivers {', '.join(fragment.answers)}, and answers are delivered where the file says."
    return bound_to_site(fragment)


def reaching(deployed: Deployed, fragment: Fragment, target: str, roads: Roads) -> Deployed:
    """With all that a fragment reads carried to another site as well."""
    channels = dict(deployed.channels)
    for name in fragment.inputs:
        channel = channels[name]
        way = roads.way(channel, channel.sites, target)
        channels[name] = replace(channel, hops=(*channel.hops, *way))
    return _had(Deployed(deployed.fragments, channels, deployed.had))


def resettled(deployed: Deployed, fragment: Fragment, target: str, roads: Roads) -> Deployed:
    """With a fragment at another site, and nothing carried to where nobody reads it any more."""
    there = replace(fragment, site=target)
    fragments = tuple(there if one.name == fragment.name else one for one in deployed.fragments)
    reached = reaching(deployed, fragment, target, roads)
    found = Deployed(fragments, reached.channels, deployed.had)
    channels = dict(found.channels)
    for name in fragment.outputs:
        channels[name] = _from(found, channels[name], target, roads)
    return withdrawn(Deployed(fragments, channels, deployed.had), fragment.inputs)


def withdrawn(deployed: Deployed, names: Iterable[str]) -> Deployed:
    """With some channels carried only as far as somebody reads them."""
    channels = dict(deployed.channels)
    for name in names:
        wanted = {one.site for one in deployed.readers(name)}
        hops: list[Hop] = []
        for start, end in reversed(channels[name].hops):
            if end in wanted:
                wanted.add(start)
                hops.append((start, end))
        channels[name] = replace(channels[name], hops=tuple(reversed(hops)))
    return _had(Deployed(deployed.fragments, channels, deployed.had))


def _from(deployed: Deployed, channel: Channel, site: str, roads: Roads) -> Channel:
    """A channel that is made at another site and goes from there to all who read it."""
    found = replace(channel, site=site, hops=())
    for reader in deployed.readers(channel.name):
        if reader.site not in found.sites:
            found = replace(found, hops=(*found.hops, *roads.way(found, found.sites, reader.site)))
    return found


def _had(deployed: Deployed) -> Deployed:
    """With the contents to be had where their channels are."""
    had = {
        (content, site): name
        for (content, _), name in deployed.had.items()
        for site in deployed.channels[name].sites
    }  # fmt: skip
    # The same content may be on two channels: what was there stays.
    had |= {place: name for place, name in deployed.had.items() if place[1] in deployed.channels[name].sites}
    return replace(deployed, had=had)


def upstream(channel: Channel) -> dict[str, str]:
    """From where each site gets a channel."""
    return {end: start for start, end in channel.hops}


def joined(*deployed: Deployed) -> tuple[Hop, ...]:
    """The pairs of sites between which something flows in any of some deployments."""
    pairs = {(min(hop), max(hop)) for one in deployed for channel in one.channels.values() for hop in channel.hops}
    return tuple(sorted(pairs))
