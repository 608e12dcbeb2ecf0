"""Placed derivations: for each goal a tree that says by which recipe, and at which site, each content is made.

Planners that try out changes work on these trees, because a change of one operator leaves the rest as it is; the plan,
with what the trees share counted once, is worked out anew from all trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tradewind.cost.prices import Prices
from tradewind.network.network import Network
from tradewind.placement.choices import Choices, Sites
from tradewind.placement.ground import Ground
from tradewind.placement.plan import Goal, Hop, Plan, Providers, Step, providers, step_of, support
from tradewind.placement.tables import Table

ARISES = -1
CHEAPEST, QUICKEST = 0, 1
WAYS_TO_TRAVEL = (CHEAPEST, QUICKEST)


Mark = tuple[int, int, int]
"""What makes an operator the same in two trees: content, recipe and site."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """A content at the site where it is made or arises, and which kind of route takes it to where it is used."""

    content: int
    way: int
    """The number of the recipe that makes it, or that it arises."""
    site: int
    inputs: tuple[Derivation, ...] = ()
    travels: int = CHEAPEST
    marks: frozenset[Mark] = field(init=False, compare=False, repr=False)
    """Those of all its nodes."""
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Both are asked for very often, so they are worked out once, from those of the inputs.
        below = (one.marks for one in self.inputs)
        object.__setattr__(self, "marks", frozenset((self.mark,)).union(*below))
        object.__setattr__(self, "_hash", hash((self.mark, self.inputs, self.travels)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def mark(self) -> Mark:
        """What the same operator has in common in all trees."""
        return self.content, self.way, self.site

    def nodes(self) -> Iterator[Derivation]:
        """Itself and all that it is made of."""
        yield self
        for one in self.inputs:
            yield from one.nodes()

    def changed(self, change: Callable[[Derivation], Derivation], at: frozenset[Mark] | None = None) -> Derivation:
        """The same tree with each node changed, or each that has one of some marks, inputs first."""
        if at is not None and self.marks.isdisjoint(at):
            return self
        inputs = tuple(one.changed(change, at) for one in self.inputs)
        same = all(new is old for new, old in zip(inputs, self.inputs, strict=True))
        found = self if same else replace(self, inputs=inputs)
        return change(found) if at is None or self.mark in at else found


def quick_ground(ground: Ground) -> Ground:
    """The same network where a link costs its latency; of equally quick routes the cheaper is taken."""
    network, nothing = ground.network, np.zeros(len(ground.network))
    per_byte = ground.prices.per_byte
    dearest = float(per_byte.sum()) or 1.0
    fine = float(network.ms[network.ms > 0].min(initial=1.0)) * 1e-9
    return Ground(network, Prices(network.ms + fine * per_byte / dearest, nothing, nothing))


class Deriver:
    """Works out the plan of trees, one for each goal, and the trees of a plan."""

    def __init__(self, ground: Ground, choices: Choices, goals: Sequence[Goal]) -> None:
        self.ground = ground
        self.choices = choices
        self.goals = tuple(goals)
        self._grounds = {CHEAPEST: ground, QUICKEST: quick_ground(ground)}
        self._links: dict[tuple[int, Sites | None, int, int], tuple[int, ...] | None] = {}
        self._origins = {content.key: content.origins for content in choices.contents}
        self._arising: Providers = {(key, site): None for key, sites in self._origins.items() for site in sites}
        self._ways = {
            (choices.contents[r.output].key, tuple(choices.contents[i].key for i in r.inputs), r.kind): number
            for number, r in enumerate(choices.recipes)
        }

    @property
    def network(self) -> Network:
        """The network of the plans."""
        return self.ground.network

    def plan(self, trees: Sequence[Derivation]) -> Plan | None:
        """The plan of the trees, none where an operator may not run, or a content may not go, as they say.

        A content has one provider at a site: that of the first tree which brings it there. So nothing is made or
        moved twice, and what no goal rests on is left out.
        """
        found: Providers = dict(self._arising)
        for goal, tree in zip(self.goals, trees, strict=True):
            if not self._bring(tree, goal.site, found):
                return None
        steps: set[Step] = set()
        hops: set[Hop] = set()
        for goal in self.goals:
            more_steps, more_hops = support(goal.content, goal.site, found, self.network)
            steps |= more_steps
            hops |= more_hops
        return Plan(frozenset(steps), frozenset(hops), self.goals)

    def _bring(self, tree: Derivation, to: int, found: Providers) -> bool:
        """Make a content and take it to a site; whether that may be done."""
        content = self.choices.contents[tree.content]
        if tree.way == ARISES:
            if tree.site not in content.origins:
                return False
        else:
            recipe = self.choices.recipes[tree.way]
            if recipe.at is not None and tree.site not in recipe.at:
                return False
            if not all(self._bring(one, tree.site, found) for one in tree.inputs):
                return False
            found.setdefault((content.key, tree.site), step_of(self.choices, recipe, tree.site))
        links = self.links(tree.travels, content.within, tree.site, to)
        if links is None:
            return False
        for link in links:
            hop = Hop(content.key, link, content.bytes_per_second)
            found.setdefault((content.key, int(self.network.end[link])), hop)
        return True

    def links(self, travels: int, within: Sites | None, start: int, end: int) -> tuple[int, ...] | None:
        """The links of a route; None where none leads there."""
        asked = (travels, within, start, end)
        if asked not in self._links:
            routes = self._grounds[travels].routes(within)
            path = routes.path(start, end)
            self._links[asked] = None if path is None else tuple(routes.hops(path))
        return self._links[asked]

    def trees(self, plan: Plan) -> tuple[Derivation, ...] | None:
        """The trees of a plan for these goals; None where it does not make them by these choices.

        Routes are those of the trees, not those of the plan.
        """
        found = providers(plan, self.network, self._origins)
        trees = [self._tree(goal.content, goal.site, found) for goal in self.goals]
        known = tuple(tree for tree in trees if tree is not None)
        return known if len(known) == len(trees) else None

    def _tree(self, key: str, site: int, found: Providers) -> Derivation | None:
        while isinstance(provider := found.get((key, site)), Hop):
            site = int(self.network.start[provider.link])
        content = self.choices.numbers.get(key)
        if content is None or (key, site) not in found:
            return None
        if provider is None:
            return Derivation(content, ARISES, site)
        way = self._ways.get((key, provider.inputs, provider.kind))
        below = [self._tree(one, site, found) for one in provider.inputs]
        inputs = tuple(one for one in below if one is not None)
        return None if way is None or len(inputs) < len(below) else Derivation(content, way, site, inputs)


def best_tree(choices: Choices, tables: Mapping[int, Table], number: int, site: int, travels: int) -> Derivation | None:
    """The tree behind the best way to have a content at a site; None where there is no way."""
    table = tables[number]
    if not np.isfinite(table.swept.cost[site]):
        return None
    start = table.swept.route(site)[0]
    way = int(table.chosen[start])
    if way == ARISES:
        return Derivation(number, ARISES, start, (), travels)
    below = [best_tree(choices, tables, one, start, travels) for one in choices.recipes[way].inputs]
    inputs = tuple(one for one in below if one is not None)
    return Derivation(number, way, start, inputs, travels) if len(inputs) == len(below) else None
