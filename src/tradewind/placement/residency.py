"""Where rows may be: streams that must not leave their region, or only as aggregates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tradewind.algebra.operators.aggregation import Aggregate, Partial
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Source
from tradewind.network.network import Network
from tradewind.placement.choices import Sites


@dataclass(frozen=True, slots=True)
class Bounds:
    """The sites that rows may visit: as they are, and even when they have been aggregated; None means everywhere."""

    rows: Sites | None = None
    aggregates: Sites | None = None

    @property
    def within(self) -> Sites | None:
        """The sites that the rows themselves may visit."""
        return _both(self.rows, self.aggregates)


def _both(one: Sites | None, other: Sites | None) -> Sites | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


@dataclass(frozen=True, eq=False)
class Residency:
    """The wishes of a deployment: for each stream `free`, `aggregated` or `never`.

    A site that names no region is a region of its own.
    """

    network: Network
    wishes: Mapping[str, str]
    _known: dict[Operator, Bounds] = field(default_factory=dict, repr=False)

    def bounds(self, node: Operator) -> Bounds:
        """Where the rows that an operator gives out may be."""
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = self._bounds(node)
        return found

    def _bounds(self, node: Operator) -> Bounds:
        if isinstance(node, Source):
            return self._source(node)
        rows: Sites | None = None
        aggregates: Sites | None = None
        for child in node.inputs:
            below = self.bounds(child)
            rows, aggregates = _both(rows, below.rows), _both(aggregates, below.aggregates)
        # Groups without a function are the rows themselves.
        aggregated = isinstance(node, Aggregate | Partial) and bool(node.functions)
        return Bounds(None if aggregated else rows, aggregates)

    def _source(self, node: Source) -> Bounds:
        wish = self.wishes.get(node.stream, "free")
        if wish == "free":
            return Bounds()
        home: Sites | None = None
        for origin in node.origins:
            home = _both(home, self.region(self.network.number(origin)))
        return Bounds(home, None) if wish == "aggregated" else Bounds(None, home)

    def region(self, site: int) -> Sites:
        """The sites of a site's region."""
        name = self.network.places[site].region
        return self.network.in_region(name) if name is not None else frozenset([site])

    def without(self, stream: str) -> Residency:
        """The same wishes but for one stream's."""
        return Residency(self.network, {name: wish for name, wish in self.wishes.items() if name != stream})

    def told(self, node: Operator) -> str:
        """Why an operator's output may be where it is, in words."""
        bounds = self.bounds(node)
        if bounds.within is None:
            streams = sorted(
                {one.stream for one in _sources(node) if self.wishes.get(one.stream, "free") == "aggregated"}
            )
            return f"aggregates of {', '.join(streams)} may leave" if streams else "free to go anywhere"
        held = sorted({one.stream for one in _sources(node) if self.wishes.get(one.stream, "free") != "free"})
        places = sorted(self.network.name(site) for site in bounds.within)
        shown = ", ".join(places[:6]) + (f" and {len(places) - 6} more" if len(places) > 6 else "")
        return f"rows of {', '.join(held)} stay at {shown or 'no site at all'}"


def _sources(node: Operator) -> list[Source]:
    found: dict[Operator, None] = {}
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found[one] = None
            waiting.extend(one.inputs)
    return [one for one in found if isinstance(one, Source)]
