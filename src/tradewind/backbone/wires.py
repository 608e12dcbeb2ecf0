"""All wires of a deployment: found by their ends, disturbed when it is time, with totals that outlive a run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tradewind.backbone.counting import Tally
from tradewind.backbone.disturbances import Disturbance, no_link, schedule
from tradewind.backbone.wire import Wire


@dataclass(frozen=True, slots=True)
class LinkShape:
    """One direction of a link. Where Mbit/s and latency are given, they are imitated."""

    start: str
    end: str
    mbps: float | None = None
    ms: float = 0.0


class Wires:
    """The wires, by their two ends. All but the making and the totals happens in the loop that they were begun in."""

    def __init__(
        self, links: Sequence[LinkShape], disturbances: Sequence[Disturbance], clock: Callable[[], float]
    ) -> None:
        self._clock = clock
        self._former: dict[tuple[str, str], Tally] = {}
        self._wires: dict[tuple[str, str], Wire] = {}
        self.add(links)
        self._disturbances = tuple(disturbances)
        for one in disturbances:
            self.between(one.one, one.other)
        self._began = 0.0
        self._disturbing: asyncio.Task[None] | None = None

    def add(self, links: Iterable[LinkShape]) -> list[Wire]:
        """Wires of links that are new; those that are known stay as they are."""
        made = {
            (link.start, link.end): Wire(link.mbps, link.ms, self._clock)
            for link in links
            if (link.start, link.end) not in self._wires
        }
        self._wires = {**self._wires, **made}
        for (start, end), wire in made.items():
            wire.back = self._wires.get((end, start), wire)
            wire.tally = self._former.pop((start, end), wire.tally)
        return list(made.values())

    async def join(self, links: Iterable[LinkShape]) -> None:
        """Add links while the others run: they run too, in this loop."""
        for wire in self.add(links):
            wire.begin()

    def over(self, start: str, end: str) -> Wire:
        """The wire of a link in one direction."""
        return self.between(start, end, symmetrical=False)[0]

    def between(self, one: str, other: str, *, symmetrical: bool = True) -> list[Wire]:
        """The wires between two sites, both ways where there are; an error that lists the links if there are none."""
        links = [(one, other), (other, one)] if symmetrical else [(one, other)]
        found = [self._wires[link] for link in links if link in self._wires]
        if not found:
            raise no_link(one, other, self._wires)
        return found

    def cut_since(self, link: tuple[str, str]) -> float | None:
        """Since which second of the run nothing passes over a link."""
        since = self._wires[link].cut_since if link in self._wires else None
        return None if since is None else max(since - self._began, 0.0)

    def tallies(self) -> dict[tuple[str, str], Tally]:
        """The totals of each link, those of former links too."""
        return self._former | {link: wire.tally for link, wire in self._wires.items()}

    def kept(self) -> dict[str, Any]:
        """The totals, to be stored."""
        return {"totals": [[*link, tally.kept()] for link, tally in self.tallies().items() if tally.messages]}

    def restore(self, kept: dict[str, Any]) -> None:
        """Goes on from what `kept` gave."""
        for start, end, totals in kept["totals"]:
            tally = Tally.restored(totals)
            if (start, end) in self._wires:
                self._wires[start, end].tally = tally
            else:
                self._former[start, end] = tally

    async def begin(self) -> None:
        """From now on they run in this loop, and the seconds of disturbances count."""
        self._began = self._clock()
        for wire in self._wires.values():
            wire.begin()
        self._disturbing = asyncio.create_task(self._disturb())

    async def end(self) -> None:
        """They stand still, as if nothing had been done to them on schedule."""
        if self._disturbing is not None:
            self._disturbing.cancel()
        for one in self._disturbances:
            for wire in self.between(one.one, one.other):
                wire.ends(one)
        for wire in self._wires.values():
            wire.end()

    async def _disturb(self) -> None:
        for at, begins, one in schedule(self._disturbances):
            await asyncio.sleep(max(self._began + at - self._clock(), 0.0))
            for wire in self.between(one.one, one.other):
                (wire.begins if begins else wire.ends)(one)
