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

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator, walk
from tradewind.algebra.operators.stored import Read, Update
from tradewind.errors import InputError, InternalError
from tradewind.fragments.deployed import Channel, Deployed, Fragment, above, origins_of
from tradewind.network.network import Network
from tradewind.placement.choices import Content
from tradewind.placement.plan import Hop, Plan, Providers, Step, providers
from tradewind.rewrites.split_by_key import exchanged

Place = tuple[Operator, int]
"""What an operator gives, and the site where it is made."""


def cut(plan: Plan, network: Network, contents: Mapping[str, Content]) -> Deployed:
    """The fragments and channels of a plan."""
    pieces = _Pieces(plan, network, contents)
    groups = _acyclic(pieces)
    return _deployed(pieces, groups)


@dataclass
class _Pieces:
    """The pieces of a plan: what each reads, from where, and on which way it came."""

    plan: Plan
    network: Network
    contents: Mapping[str, Content]
    reads: dict[Place, tuple[Place, ...]] = field(default_factory=dict)
    """The places that a piece's inputs are made at."""
    hops: dict[Place, dict[int, None]] = field(default_factory=dict)
    """The links that what is made at a place crosses, in the order of the way."""
    answers: dict[Place, list[tuple[str, int]]] = field(default_factory=dict)
    """The queries that what is made at a place answers, and where that is wanted."""

    def __post_init__(self) -> None:
        origins = {key: content.origins for key, content in self.contents.items() if content.origins}
        self._providers: Providers = providers(self.plan, self.network, origins)
        self._made: dict[tuple[str, int], Place] = {}
        self._had: dict[Place, Place] = {}
        for goal in self.plan.goals:
            self.answers.setdefault(self._place(goal.content, goal.site), []).append((goal.query, goal.site))

    def _place(self, key: str, site: int) -> Place:
        """Where what is to be had at a site is made; the way there is noted."""
        if (key, site) not in self._made:
            found = self._find(key, site)
            # Contents of other names may hold the same rows: one of them is enough at a site.
            self._made[key, site] = self._had.setdefault((found[0], site), found)
        return self._made[key, site]

    def _find(self, key: str, site: int) -> Place:
        if (key, site) not in self._providers:
            raise InternalError(f"a plan needs {key!r} at {self.network.name(site)}, where it never comes.")
        provider = self._providers[key, site]
        if isinstance(provider, Hop):
            place = self._place(key, int(self.network.start[provider.link]))
            if (place[0], site) not in self._had:
                self.hops.setdefault(place, {})[provider.link] = None
            return place
        read = () if provider is None else tuple(self._place(one, site) for one in provider.inputs)
        node = self.contents[key].operator if provider is None else _over(provider, read)
        if node is None:
            raise InternalError("a plan of made-up streams has no fragments.")
        self.reads.setdefault((node, site), read)
        return node, site

    def depths(self) -> dict[Place, int]:
        """How many borders the rows of each piece have crossed."""
        found: dict[Place, int] = {}
        for place in TopologicalSorter(self.reads).static_order():
            found[place] = max((found[one] + (one[1] != place[1]) for one in self.reads[place]), default=0)
        return found


def _over(step: Step, read: tuple[Place, ...]) -> Operator:
    if step.operator is None:
        raise InternalError("a plan of made-up streams has no fragments.")
    news = {old: node for old, (node, _) in zip(step.over, read, strict=True)}
    return news[step.operator] if step.operator in news else exchanged(step.operator, news)


Groups = dict[Place, int]
"""The number of the fragment that each piece belongs to."""


def _acyclic(pieces: _Pieces) -> Groups:
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


def _together(pieces: _Pieces, levels: Mapping[Place, int]) -> Groups:
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
            if one[1] == site and levels[one] == level:
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


def _cycle(pieces: _Pieces, groups: Groups) -> set[int]:
    """The fragments of a round in which each waits for the next; none when there is no such round."""
    try:
        TopologicalSorter(_waits(pieces, groups)).prepare()
    except CycleError as error:
        return set(error.args[1])
    return set()


def _waits(pieces: _Pieces, groups: Groups) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {number: set() for number in groups.values()}
    for place, read in pieces.reads.items():
        found[groups[place]].update(groups[one] for one in read if groups[one] != groups[place])
    return found


def _deployed(pieces: _Pieces, groups: Groups) -> Deployed:
    _one_site_a_table(pieces)
    channels = _channels(pieces, groups)
    names = {(channel.operator, channel.site): name for name, channel in channels.items()}
    members: dict[int, list[Place]] = {}
    for place, number in groups.items():
        members.setdefault(number, []).append(place)
    order = TopologicalSorter(_waits(pieces, groups)).static_order()
    fragments = tuple(_fragment(pieces, groups, members[number], names) for number in order)
    return Deployed((*fragments, *_deliveries(pieces, names)), channels)


def _channels(pieces: _Pieces, groups: Groups) -> dict[str, Channel]:
    """What crosses a border, or is read by another fragment of its own site."""
    across = {one for place, read in pieces.reads.items() for one in read if groups[one] != groups[place]}
    updates = [node for node in walk(*(node for node, _ in pieces.reads)) if isinstance(node, Update)]
    found: dict[str, Channel] = {}
    for place in pieces.reads:
        if place in across or place in pieces.hops:
            node, site = place
            name = f"{node.kind}-{node.fingerprint[:8]}-{pieces.network.name(site)}"
            links = pieces.hops.get(place, {})
            hops = tuple((pieces.network.name(s), pieces.network.name(e)) for s, e in _ends(pieces.network, links))
            found[name] = Channel(name, node, pieces.network.name(site), origins_of(node, updates), hops)
    return found


def _ends(network: Network, links: Iterable[int]) -> list[tuple[int, int]]:
    return [(int(network.start[link]), int(network.end[link])) for link in links]


def _fragment(
    pieces: _Pieces, groups: Groups, members: list[Place], names: Mapping[tuple[Operator, str], str]
) -> Fragment:
    site = members[0][1]
    where = pieces.network.name
    inputs: dict[str, Operator] = {}
    results: dict[str, Operator] = {}
    outputs: list[str] = []
    answers: list[str] = []
    for place in members:
        for one in pieces.reads[place]:
            if groups[one] != groups[place]:
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


def _deliveries(pieces: _Pieces, names: Mapping[tuple[Operator, str], str]) -> Iterator[Fragment]:
    """Answers that are made elsewhere than where they are wanted: all that is left to do there is to deliver them."""
    for (node, site), wanted in pieces.answers.items():
        for query, sink in wanted:
            if sink != site:
                name = names[node, pieces.network.name(site)]
                yield Fragment(pieces.network.name(sink), Graph(((query, node),)), {name: node}, (), (query,))


def _one_site_a_table(pieces: _Pieces) -> None:
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
