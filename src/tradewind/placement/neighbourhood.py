"""The changes of one operator that a search may try on placed derivations.

An operator goes to another site, alone or with all that it is made of; two operators change places; a content is made
by another recipe, or read from another origin; a content is taken from where another tree has it already; a content
travels by another kind of route.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from random import Random

from tradewind.placement.derivations import ARISES, WAYS_TO_TRAVEL, Derivation, Deriver, Mark, best_tree
from tradewind.placement.tables import Table

Trees = tuple[Derivation, ...]
Change = Callable[[Trees], Trees]
ALL_SITES = 24
"""In networks of up to so many sites an operator may go to each of them at once."""
DRAWN_SITES = 8
"""In larger ones it may go next door, to sites that work already, and to so many drawn ones."""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """All changes of given trees; `tables`, by kind of route, say how contents that no tree has yet are best had."""

    deriver: Deriver
    tables: Mapping[int, Mapping[int, Table]]
    next_door: Mapping[int, frozenset[int]]

    @staticmethod
    def of(deriver: Deriver, tables: Mapping[int, Mapping[int, Table]]) -> Neighbourhood:
        """The neighbourhood on the network of a deriver."""
        found: dict[int, set[int]] = {}
        network = deriver.network
        for start, end in zip(network.start.tolist(), network.end.tolist(), strict=True):
            found.setdefault(start, set()).add(end)
            found.setdefault(end, set()).add(start)
        return Neighbourhood(deriver, tables, {site: frozenset(others) for site, others in found.items()})

    def changes(self, trees: Trees, random: Random) -> list[Change]:
        """All changes, in an order that is drawn."""
        holders: dict[Mark, list[int]] = {}
        nodes: dict[Mark, Derivation] = {}
        for number, tree in enumerate(trees):
            for node in tree.nodes():
                nodes.setdefault(node.mark, node)
                if number not in holders.setdefault(node.mark, []):
                    holders[node.mark].append(number)
        found: list[Change] = []
        for one, node in nodes.items():
            for new in self._instead(node, nodes, trees, random):
                found.append(partial(_everywhere, one, new))
                if len(holders[one]) > 1:
                    found.extend(partial(_in_tree, one, new, number) for number in holders[one])
        made = [one for one in nodes if one[1] != ARISES]
        found.extend(partial(_swap, a, b) for a, b in combinations(made, 2) if a[2] != b[2])
        random.shuffle(found)
        return found

    def _instead(
        self, node: Derivation, nodes: Mapping[Mark, Derivation], trees: Trees, random: Random
    ) -> Iterator[Callable[[Derivation], Derivation]]:
        for travels in WAYS_TO_TRAVEL:
            if travels != node.travels:
                yield partial(_with_travel, travels)
        for site in self._sites(node, nodes, random):
            yield partial(_with_site, site)
            if any(one.way != ARISES for one in node.inputs):
                yield partial(_gathered, site)
        for way in self._other_ways(node):
            for new in self._made_by(way, node, nodes):
                yield partial(_taken, new)
        for other in nodes.values():
            if other.content == node.content and other.mark != node.mark:
                yield partial(_taken, other)

    def _sites(self, node: Derivation, nodes: Mapping[Mark, Derivation], random: Random) -> list[int]:
        if node.way == ARISES:
            return [site for site in self.deriver.choices.contents[node.content].origins if site != node.site]
        allowed = self.deriver.choices.recipes[node.way].at
        size = len(self.deriver.network)
        some: set[int] = set(range(size))
        if size > ALL_SITES:
            some = {other.site for other in nodes.values()} | {goal.site for goal in self.deriver.goals}
            some |= self.next_door.get(node.site, frozenset())
            drawn = range(size) if allowed is None else sorted(allowed)
            some.update(random.sample(drawn, k=min(DRAWN_SITES, len(drawn))))
        return sorted(site for site in some if site != node.site and (allowed is None or site in allowed))

    def _other_ways(self, node: Derivation) -> list[int]:
        choices = self.deriver.choices
        ways = [*choices.ways[node.content], *([ARISES] if choices.contents[node.content].origins else [])]
        return [way for way in ways if way != node.way]

    def _made_by(self, way: int, node: Derivation, nodes: Mapping[Mark, Derivation]) -> Iterator[Derivation]:
        """The content made by another recipe at its site: from inputs that trees have, or from those that are best."""
        choices = self.deriver.choices
        if way == ARISES:
            for site in choices.contents[node.content].origins:
                yield Derivation(node.content, ARISES, site, (), node.travels)
            return
        allowed = choices.recipes[way].at
        site = node.site if allowed is None or node.site in allowed else min(allowed)
        had = {other.content: other for other in nodes.values()}
        for travels, tables in self.tables.items():
            fresh = [best_tree(choices, tables, one, site, travels) for one in choices.recipes[way].inputs]
            for inputs in ([had.get(one.content, one) if one else None for one in fresh], fresh):
                known = tuple(one for one in inputs if one is not None)
                if len(known) == len(inputs):
                    yield Derivation(node.content, way, site, known, node.travels)


def _everywhere(one: Mark, new: Callable[[Derivation], Derivation], trees: Trees) -> Trees:
    at = frozenset((one,))
    return tuple(tree.changed(new, at) for tree in trees)


def _in_tree(one: Mark, new: Callable[[Derivation], Derivation], number: int, trees: Trees) -> Trees:
    (changed,) = _everywhere(one, new, (trees[number],))
    return (*trees[:number], changed, *trees[number + 1 :])


def _swap(one: Mark, other: Mark, trees: Trees) -> Trees:
    sites = {one: other[2], other: one[2]}

    def swapped(node: Derivation) -> Derivation:
        return replace(node, site=sites[node.mark])

    at = frozenset(sites)
    return tuple(tree.changed(swapped, at) for tree in trees)


def _with_travel(travels: int, node: Derivation) -> Derivation:
    return replace(node, travels=travels)


def _with_site(site: int, node: Derivation) -> Derivation:
    return replace(node, site=site)


def _gathered(site: int, node: Derivation) -> Derivation:
    return gathered(node, site)


def _taken(new: Derivation, node: Derivation) -> Derivation:
    return replace(new, travels=node.travels)


def gathered(tree: Derivation, site: int) -> Derivation:
    """The same tree with all operators at one site."""
    return tree.changed(lambda node: node if node.way == ARISES else replace(node, site=site))


def scattered(trees: Sequence[Derivation], deriver: Deriver, random: Random) -> Trees:
    """The same trees with every operator at a drawn site, the same operator at the same site in all of them."""
    drawn: dict[Mark, int] = {}

    def elsewhere(node: Derivation) -> Derivation:
        if node.way == ARISES:
            return node
        allowed = deriver.choices.recipes[node.way].at
        sites = sorted(allowed) if allowed is not None else range(len(deriver.network))
        return replace(node, site=drawn.setdefault(node.mark, random.choice(sites)))

    return tuple(tree.changed(elsewhere) for tree in trees)
