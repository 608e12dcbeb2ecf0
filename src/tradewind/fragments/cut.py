"""Cuts a plan at the borders of sites.

Idea
----
A piece is an operator of the plan at its site, or a stream where it arises. Pieces of one site that read each other, or
read the same channel, run together: they are one fragment, and read what they share once. Only where that would make
two fragments wait for each other, as when rows go to another site and what is made of them comes back, is a fragment
split, by how many borders its pieces' rows have crossed. What is then still read across fragments is a channel.

References
----------
Aurora* and Medusa cut query networks at nodes and call what flows between them streams as well [Cherniack et al.,
CIDR 2003]; Flink and Spark cut at shuffles in the same manner.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from itertools import chain, count

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator, walk
from tradewind.algebra.operators.stored import Read, Update
from tradewind.errors import InputError, InternalError
from tradewind.fragments.deployed import Channel, Deployed, Fragment, above, origins_of
from tradewind.fragments.pieces import Pieces, Place
from tradewind.network.network import Network
from tradewind.placement.choices import Content
from tradewind.placement.plan import Plan

Names = dict[tuple[Operator, str], str]
"""The names of channels, by what they carry and where that is made."""


def cut(plan: Plan, network: Network, contents: Mapping[str, Content]) -> Deployed:
    """The fragments and channels of a plan."""
    pieces = Pieces(plan, network, contents)
    _one_site_a_table(pieces)
    return _deployed(pieces, {})


def attached(runs: Deployed, plan: Plan, network: Network, contents: Mapping[str, Content]) -> Deployed:
    """What is to run besides for one more plan, which takes what it can from channels that are there: fragments of its
    own, new channels, and old ones that go further. What runs goes on as it is.
    """
    given = {
        (key, network.number(site)): (runs.channels[name].operator, network.number(runs.channels[name].site))
        for (key, site), name in runs.had.items()
    }
    pieces = Pieces(plan, network, contents, given)
    _one_site_a_table(pieces)
    return _deployed(pieces, runs.channels)


Groups = dict[Place, int]
"""The number of the fragment that each piece belongs to."""


def _acyclic(pieces: Pieces) -> Groups:
    """Pieces in as few fragments as do not wait for each other."""
    depths = pieces.depths()
    split: set[Place] = set()
    while True:
        groups = _together(pieces, {place: depths[place] if place in split else -1 for place in pieces.reads})
        bad = _cycle(pieces, groups)
        if not bad:
            return groups
        fresh = {place for place, group in groups.items() if group in bad} - split
        if not fresh:
            raise InternalError("fragments wait for each other, however they are split.")
        split |= fresh


def _together(pieces: Pieces, levels: Mapping[Place, int]) -> Groups:
    """Pieces of one site and level that read each other, the same channel or the same table, under one number."""
    leaders: dict[Place, Place] = {place: place for place in pieces.reads}

    def leader(place: Place) -> Place:
        while leaders[place] != place:
            place = leaders[place]
        return place

    first: dict[tuple[object, int, int], Place] = {}
    for place, read in pieces.reads.items():
        site, level = place[1], levels[place]
        for one in read:
            if one[1] == site and levels.get(one) == level:
                leaders[leader(one)] = leader(place)
            else:
                leaders[leader(first.setdefault((one, site, level), place))] = leader(place)
        for table in _tables(place[0], read):
            leaders[leader(first.setdefault((table, site, -1), place))] = leader(place)
    numbers: dict[Place, int] = {}
    return {place: numbers.setdefault(leader(place), len(numbers)) for place in pieces.reads}


def _tables(node: Operator, read: Iterable[Place]) -> Iterator[str]:
    """The tables that a piece works on."""
    for one in above(Graph.of(piece=node), (operator for operator, _ in read)):
        if isinstance(one, Read | Update):
            yield one.table.name


def _cycle(pieces: Pieces, groups: Groups) -> set[int]:
    """The fragments of a round in which each waits for the next; none when there is no such round."""
    try:
        TopologicalSorter(_waits(pieces, groups)).prepare()
    except CycleError as error:
        return set(error.args[1])
    return set()


def _waits(pieces: Pieces, groups: Groups) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {number: set() for number in groups.values()}
    for place, read in pieces.reads.items():
        found[groups[place]].update(groups[one] for one in read if groups.get(one, groups[place]) != groups[place])
    return found


def _deployed(pieces: Pieces, there: Mapping[str, Channel]) -> Deployed:
    """The fragments of some pieces, their channels, and those that were there and go further."""
    groups = _acyclic(pieces)
    channels = _further(pieces, there) | _channels(pieces, groups, there)
    known = {**there, **channels}
    names = _names(_given(pieces, there)) | _names(channels)
    members: dict[int, list[Place]] = {}
    for place, number in groups.items():
        members.setdefault(number, []).append(place)
    order = TopologicalSorter(_waits(pieces, groups)).static_order()
    fragments = tuple(_fragment(pieces, groups, members[number], names) for number in order)
    return Deployed((*fragments, *_deliveries(pieces, names)), channels, dict(_had(pieces, known, names)))


def _had(pieces: Pieces, channels: Mapping[str, Channel], names: Names) -> Iterator[tuple[tuple[str, str], str]]:
    """The contents that are to be had by channels: the name of the channel for each content and site."""
    where = pieces.network.name
    for (key, site), (node, made) in pieces.made.items():
        name = names.get((node, where(made)))
        if name is not None and where(site) in channels[name].sites:
            yield (key, where(site)), name


def _names(channels: Mapping[str, Channel]) -> Names:
    return {(channel.operator, channel.site): name for name, channel in channels.items()}


def _given(pieces: Pieces, there: Mapping[str, Channel]) -> dict[str, Channel]:
    """The channels whose rows are not made anew by pieces."""
    number = pieces.network.number
    return {name: one for name, one in there.items() if (one.operator, number(one.site)) not in pieces.reads}


def _further(pieces: Pieces, there: Mapping[str, Channel]) -> dict[str, Channel]:
    """The channels that are there already and have to go over more links."""
    names = _names(_given(pieces, there))
    found: dict[str, Channel] = {}
    for (node, site), links in pieces.hops.items():
        name = names.get((node, pieces.network.name(site)))
        if name is not None:
            found[name] = replace(there[name], hops=(*there[name].hops, *_hops(pieces, links)))
    return found


def _channels(pieces: Pieces, groups: Groups, taken: Container[str]) -> dict[str, Channel]:
    """What crosses a border, or is read by another fragment of its own site; under names that are not taken."""
    across = {one for place, read in pieces.reads.items() for one in read if groups.get(one) != groups[place]}
    updates = [node for node in walk(*(node for node, _ in pieces.reads)) if isinstance(node, Update)]
    found: dict[str, Channel] = {}
    for place in pieces.reads:
        if place in across or place in pieces.hops:
            node, site = place
            plain = f"{node.kind}-{node.fingerprint[:8]}-{pieces.network.name(site)}"
            # What runs may give the same, but not all of it any more: then this is another channel.
            name = next(name for name in chain([plain], (f"{plain}-{n}" for n in count(2))) if name not in taken)
            hops = _hops(pieces, pieces.hops.get(place, {}))
            found[name] = Channel(name, node, pieces.network.name(site), origins_of(node, updates), hops)
    return found


def _hops(pieces: Pieces, links: Iterable[int]) -> tuple[tuple[str, str], ...]:
    name = pieces.network.name
    return tuple((name(start), name(end)) for start, end in _ends(pieces.network, links))


def _ends(network: Network, links: Iterable[int]) -> list[tuple[int, int]]:
    return [(int(network.start[link]), int(network.end[link])) for link in links]


def _fragment(pieces: Pieces, groups: Groups, members: list[Place], names: Names) -> Fragment:
    site = members[0][1]
    where = pieces.network.name
    inputs: dict[str, Operator] = {}
    results: dict[str, Operator] = {}
    outputs: list[str] = []
    answers: list[str] = []
    for place in members:
        for one in pieces.reads[place]:
            if groups.get(one) != groups[place]:
                inputs[names[one[0], where(one[1])]] = one[0]
        name = names.get((place[0], where(site)))
        if name is not None:
            results[name] = place[0]
            outputs.append(name)
        # An answer that is wanted elsewhere goes there by its channel.
        for query, sink in pieces.answers.get(place, ()):
            if sink == site:
                results[query] = place[0]
                answers.append(query)
    return Fragment(where(site), Graph(tuple(results.items())), inputs, tuple(outputs), tuple(answers))


def _deliveries(pieces: Pieces, names: Names) -> Iterator[Fragment]:
    """Answers that are made elsewhere, or by what runs already: all that is left to do is to deliver them."""
    for (node, site), wanted in pieces.answers.items():
        for query, sink in wanted:
            if sink != site or (node, site) not in pieces.reads:
                name = names[node, pieces.network.name(site)]
                yield Fragment(pieces.network.name(sink), Graph(((query, node),)), {name: node}, (), (query,))


def _one_site_a_table(pieces: Pieces) -> None:
    """A table is kept at one place: boxes that read or update it must be there too."""
    sites: dict[str, int] = {}
    for place, read in pieces.reads.items():
        for table in _tables(place[0], read):
            if sites.setdefault(table, place[1]) != place[1]:
                names = sorted(pieces.network.name(site) for site in (sites[table], place[1]))
                raise InputError(
                    f"table {table!r} would be used at {names[0]} and at {names[1]}.",
                    where=f"tables.{table}",
                    hint="pin the boxes that work on it to one site: pin: {read: SITE, update: SITE}.",
                )
