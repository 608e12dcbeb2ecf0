"""The pieces of a plan: its operators at their sites, what each reads, from where, and on which way that came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter

from tradewind.algebra.operators.base import Operator
from tradewind.errors import InternalError
from tradewind.network.network import Network
from tradewind.placement.choices import Content
from tradewind.placement.plan import Hop, Plan, Providers, Step, providers
from tradewind.rewrites.split_by_key import exchanged

Place = tuple[Operator, int]
"""What an operator gives, and the site where it is made."""


@dataclass
class Pieces:
    """The pieces of a plan: what each reads, from where, and on which way it came."""

    plan: Plan
    network: Network
    contents: Mapping[str, Content]
    given: Mapping[tuple[str, int], Place] = field(default_factory=dict)
    """What need not be made: for contents that are to be had at sites already, where they are made."""
    reads: dict[Place, tuple[Place, ...]] = field(default_factory=dict)
    """The places that a piece's inputs are made at."""
    hops: dict[Place, dict[int, None]] = field(default_factory=dict)
    """The links that what is made at a place crosses, in the order of the way."""
    answers: dict[Place, list[tuple[str, int]]] = field(default_factory=dict)
    """The queries that what is made at a place answers, and where that is wanted."""

    def __post_init__(self) -> None:
        there = {key: list(content.origins) for key, content in self.contents.items() if content.origins}
        for key, site in self.given:
            there.setdefault(key, []).append(site)
        self._providers: Providers = providers(self.plan, self.network, there)
        self.made: dict[tuple[str, int], Place] = dict(self.given)
        """For each content at each site where it is needed: where it is made."""
        self._had: dict[Place, Place] = {(place[0], site): place for (_, site), place in self.given.items()}
        for goal in self.plan.goals:
            self.answers.setdefault(self._place(goal.content, goal.site), []).append((goal.query, goal.site))
        self._forget_unread()

    def _place(self, key: str, site: int) -> Place:
        """Where what is to be had at a site is made; the way there is noted."""
        if (key, site) not in self.made:
            found = self._find(key, site)
            # Contents of other names may hold the same rows: one of them is enough at a site.
            self.made[key, site] = self._had.setdefault((found[0], site), found)
        return self.made[key, site]

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

    def _forget_unread(self) -> None:
        """Leave out what turned out to be had already under another name, and what only that would have read."""
        wanted: set[Place] = set()
        waiting = list(self.answers)
        while waiting:
            place = waiting.pop()
            if place not in wanted:
                wanted.add(place)
                waiting.extend(self.reads.get(place, ()))
        self.reads = {place: read for place, read in self.reads.items() if place in wanted}
        self.hops = {place: links for place, links in self.hops.items() if place in wanted}

    def depths(self) -> dict[Place, int]:
        """How many borders the rows of each piece have crossed."""
        found: dict[Place, int] = {}
        for place in TopologicalSorter(self.reads).static_order():
            read = self.reads.get(place, ())
            found[place] = max((found[one] + (one[1] != place[1]) for one in read), default=0)
        return found


def _over(step: Step, read: tuple[Place, ...]) -> Operator:
    if step.operator is None:
        raise InternalError("a plan of made-up streams has no fragments.")
    news = {old: node for old, (node, _) in zip(step.over, read, strict=True)}
    return news[step.operator] if step.operator in news else exchanged(step.operator, news)
