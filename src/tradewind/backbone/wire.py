"""One direction of a link as pumps use it: messages cross in their time, and all of them are counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from tradewind.backbone.counting import Tally
from tradewind.backbone.disturbances import Disturbance
from tradewind.backbone.pace import Lane, Line, Parcel


@dataclass(eq=False)
class Crossing(Parcel):
    """A message on its way; `arrived` is done when it is at the end."""

    arrived: asyncio.Future[None] = field(default_factory=asyncio.Future)


class Wire:
    """Runs a line by the clock. All but the making happens in the loop that it was begun in."""

    def __init__(self, mbps: float | None, ms: float, clock: Callable[[], float]) -> None:
        self.tally = Tally()
        self.back: Wire = self
        self.ms = ms
        self._mbps = mbps
        self._clock = clock
        self._line = Line(mbps, ms)
        self._cuts: set[Disturbance | None] = set()
        self._throttles: list[Disturbance] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def cut_since(self) -> float | None:
        """Since when nothing passes."""
        return self._line.cut_since

    @property
    def under_way(self) -> int:
        """How many bytes are between start and end when it is filled."""
        return int((self._mbps or 0.0) * 1e6 / 8 * self.ms / 1000)

    def begin(self) -> None:
        """From now on it runs in this loop."""
        self._loop = asyncio.get_running_loop()
        self._disturbed()

    def end(self) -> None:
        """It stands still."""
        self._loop = None
        if self._timer is not None:
            self._timer.cancel()

    def open(self) -> Lane:
        """A lane for one channel."""
        return self._line.open()

    def close(self, lane: Lane) -> None:
        """Nothing more comes from that channel, and nothing of it is waited for."""
        self._line.close(lane)

    def join(self, lane: Lane, *, urgent: bool = False) -> Crossing:
        """Takes a place at the end of a lane."""
        crossing = Crossing(lane, urgent)
        self._line.join(crossing)
        return crossing

    def ready(self, crossing: Crossing, size: int) -> None:
        """The message, of so many bytes, may leave when it is its turn."""
        self._line.ready(crossing, size)
        self._touch()

    def acknowledged(self, crossing: Crossing, size: int, round_trip: float | None = None) -> None:
        """The end has stored the message; that is told in so many bytes. A round trip that was measured is given."""
        imitated = self._clock() - crossing.left + self.back.ms / 1000
        self.tally.acknowledged(size, imitated if round_trip is None else round_trip)

    def begins(self, disturbance: Disturbance | None) -> None:
        """Something is done to the link; None: it is cut by hand."""
        if disturbance is None or disturbance.mbps is None:
            self._cuts.add(disturbance)
        else:
            self._throttles.append(disturbance)
        self._disturbed()

    def ends(self, disturbance: Disturbance) -> None:
        """It is over."""
        self._cuts.discard(disturbance)
        self._throttles = [one for one in self._throttles if one is not disturbance]
        self._disturbed()

    def heal(self) -> None:
        """All cuts are over, whatever made them."""
        self._cuts.clear()
        self._disturbed()

    def throttle(self, mbps: float | None) -> None:
        """Another rate, whatever was to be; None: the declared one again."""
        self._throttles = [] if mbps is None else [Disturbance("", "", mbps)]
        self._disturbed()

    def _disturbed(self) -> None:
        now = self._clock()
        self._line.throttle(now, self._throttles[-1].mbps if self._throttles else self._mbps)
        if self._cuts:
            self._line.cut(now)
        else:
            self._line.heal(now)
        self._touch()

    def _touch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._loop is None:
            return
        now = self._clock()
        step = self._line.step(now)
        for parcel in step.left:
            self.tally.left(parcel.size or 0)
        for parcel in step.arrived:
            if isinstance(parcel, Crossing) and not parcel.arrived.done():
                parcel.arrived.set_result(None)
        if step.again is not None:
            self._timer = self._loop.call_later(max(step.again - now, 0.0), self._touch)
