"""A network as arrays: sites, and links with a direction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tradewind.errors import InputError, unknown

Numbers = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Place:
    """A site: how much it can compute, where it is, and what a busy core costs there."""

    name: str
    cores: float = 1.0
    region: str | None = None
    usd_per_core_hour: float = 0.0
    workers: int = 1
    """The machines that its cores are spread over."""


@dataclass(frozen=True, slots=True)
class Wire:
    """A link in one direction."""

    start: str
    end: str
    mbps: float
    ms: float = 0.0
    usd_per_gb: float = 0.01


def both_ways(wires: Iterable[Wire]) -> Iterator[Wire]:
    """Each link, and after it the same link back."""
    for wire in wires:
        yield wire
        yield replace(wire, start=wire.end, end=wire.start)


@dataclass(frozen=True, eq=False)
class Network:
    """Sites by number, and directed links as arrays of equal length; a link both ways is two."""

    places: tuple[Place, ...]
    start: Indices
    end: Indices
    mbps: Numbers
    ms: Numbers
    usd_per_gb: Numbers
    _numbers: Mapping[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_numbers", {place.name: number for number, place in enumerate(self.places)})
        if len(self._numbers) != len(self.places):
            raise InputError("two sites have the same name.")
        for name, least in (("mbps", "bandwidth"), ("usd_per_gb", "price")):
            values = getattr(self, name)
            if not np.all(values > 0) or not np.all(np.isfinite(values)):
                link = int(np.flatnonzero(~((values > 0) & np.isfinite(values)))[0])
                raise InputError(
                    f"the link from {self.name(self.start[link])!r} to {self.name(self.end[link])!r} has a {least} of "
                    f"{values[link]:g}.",
                    hint=f"{name} must be above zero.",
                )

    @staticmethod
    def of(places: Iterable[Place], wires: Iterable[Wire]) -> Network:
        """A network from single sites and links."""
        sites = tuple(places)
        numbers = {place.name: number for number, place in enumerate(sites)}
        some = tuple(wires)
        for wire in some:
            for end in (wire.start, wire.end):
                if end not in numbers:
                    raise unknown("site", end, numbers)
        return Network(
            sites,
            np.array([numbers[wire.start] for wire in some], dtype=np.int64),
            np.array([numbers[wire.end] for wire in some], dtype=np.int64),
            np.array([wire.mbps for wire in some], dtype=float),
            np.array([wire.ms for wire in some], dtype=float),
            np.array([wire.usd_per_gb for wire in some], dtype=float),
        )

    def __len__(self) -> int:
        return len(self.places)

    def number(self, name: str) -> int:
        """The number of a site."""
        if name not in self._numbers:
            raise unknown("site", name, self._numbers)
        return self._numbers[name]

    def name(self, number: int) -> str:
        """The name of a site."""
        return self.places[int(number)].name

    @cached_property
    def cores(self) -> Numbers:
        """The cores of each site."""
        return np.array([place.cores for place in self.places], dtype=float)

    @cached_property
    def usd_per_core_hour(self) -> Numbers:
        """What a busy core costs at each site."""
        return np.array([place.usd_per_core_hour for place in self.places], dtype=float)

    @cached_property
    def bytes_per_second(self) -> Numbers:
        """What each link can carry."""
        return self.mbps * 125_000.0

    def part(self, sites: Indices) -> tuple[Network, Indices]:
        """The network of some sites, numbered in their order, with the links between them; and which these are."""
        number = np.full(len(self), -1, dtype=np.int64)
        number[sites] = np.arange(len(sites))
        start, end = number[self.start], number[self.end]
        links = np.flatnonzero((start >= 0) & (end >= 0))
        figures = (values[links] for values in (self.mbps, self.ms, self.usd_per_gb))
        return Network(tuple(self.places[site] for site in sites.tolist()), start[links], end[links], *figures), links

    def in_region(self, region: str | None) -> frozenset[int]:
        """The sites of a region."""
        return frozenset(number for number, place in enumerate(self.places) if place.region == region)
