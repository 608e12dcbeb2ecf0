"""One direction of an imitated link: when each message leaves, and when it arrives.

Pure: time comes in as an argument, in seconds of any clock, and `step` says what has happened and when to call again.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

# How much of a late call is made good by what leaves next, in seconds: timers are late by a little, links are not.
_LENIENCE = 0.05


class Pace:
    """Bytes leave one after the other, at so many Mbit/s; all at once if None."""

    def __init__(self, mbps: float | None) -> None:
        self._rate = _bytes_a_second(mbps)
        self._owed = 0.0
        self._at = 0.0

    def begin(self, now: float, size: int, *, rested: bool) -> None:
        """Starts to send some bytes; a link that rested before has nothing to make good."""
        self._settle(now)
        self._owed = max(self._owed, 0.0) if rested else self._owed
        self._owed += size

    def left(self, now: float) -> float:
        """When the last byte left; in the future if some have not."""
        self._settle(now)
        return now + self._owed / self._rate if self._rate else now

    def forget(self) -> None:
        """What was being sent is not sent any more."""
        self._owed = 0.0

    def throttle(self, now: float, mbps: float | None) -> None:
        """Another rate from now on, for what is being sent too."""
        self._settle(now)
        self._rate = _bytes_a_second(mbps)

    def _settle(self, now: float) -> None:
        if self._rate is None:
            self._owed = 0.0
        else:
            self._owed = max(self._owed - self._rate * (now - self._at), -self._rate * _LENIENCE)
        self._at = now


@dataclass(eq=False)
class Lane:
    """The messages of one channel that wait at the start of a link. They never overtake each other."""

    waiting: deque[Parcel] = field(default_factory=deque)
    queued: bool = False
    closed: bool = False


@dataclass(eq=False)
class Parcel:
    """A message that shall cross. `size`, in bytes, is None until it is ready to leave; `left` is when it did."""

    lane: Lane
    urgent: bool
    size: int | None = None
    left: float = 0.0


class Step(NamedTuple):
    """What has left and what has arrived since the last step, in order, and when to call again (None: if told to)."""

    left: list[Parcel]
    arrived: list[Parcel]
    again: float | None


class Line:
    """The messages of all channels that cross a link in one direction.

    Urgent ones at the head of their lanes go first. The others take turns lane by lane, so that a channel with much to
    send does not hold up one with little. Each arrives `ms` after it left, and the next need not wait for that.
    When the line is cut, all that has not arrived is back in its lane.
    """

    def __init__(self, mbps: float | None, ms: float) -> None:
        self._pace = Pace(mbps)
        self._latency = ms / 1000
        self._lanes: list[Lane] = []
        self._turns: tuple[deque[Lane], deque[Lane]] = (deque(), deque())
        self._leaving: Parcel | None = None
        self._flying: deque[Parcel] = deque()
        self._left: list[Parcel] = []
        self._arrived: list[Parcel] = []
        self._rested = True
        self.cut_since: float | None = None

    def open(self) -> Lane:
        """A lane for one channel."""
        lane = Lane()
        self._lanes.append(lane)
        return lane

    def close(self, lane: Lane) -> None:
        """Forgets a lane; what has left already goes on, and arrives nowhere."""
        lane.closed = True
        lane.waiting.clear()
        self._lanes.remove(lane)

    def join(self, parcel: Parcel) -> None:
        """Puts a message at the end of its lane."""
        parcel.lane.waiting.append(parcel)
        self._queue(parcel.lane)

    def ready(self, parcel: Parcel, size: int) -> None:
        """The message may leave, once it is its turn."""
        parcel.size = size
        self._queue(parcel.lane)

    def cut(self, now: float) -> None:
        """Nothing leaves and nothing arrives any more."""
        if self.cut_since is not None:
            return
        self._advance(now)
        self.cut_since = now
        if self._leaving is not None:
            self._flying.append(self._leaving)
            self._leaving = None
        self._pace.forget()
        while self._flying:
            lost = self._flying.pop()
            if not lost.lane.closed:
                lost.lane.waiting.appendleft(lost)
        for lane in self._lanes:
            lane.queued = False
        for turns in self._turns:
            turns.clear()
        for lane in self._lanes:
            self._queue(lane)

    def heal(self, now: float) -> None:
        """It goes on."""
        if self.cut_since is not None:
            self.cut_since = None
            self._rested = True
            self._advance(now)

    def throttle(self, now: float, mbps: float | None) -> None:
        """Another rate from now on."""
        self._advance(now)
        self._pace.throttle(now, mbps)

    def step(self, now: float) -> Step:
        """Brings everything up to now."""
        self._advance(now)
        again = [self._pace.left(now)] if self._leaving is not None else []
        if self._flying:
            again.append(self._flying[0].left + self._latency)
        step = Step(self._left, self._arrived, min(again, default=None))
        self._left, self._arrived = [], []
        return step

    def _advance(self, now: float) -> None:
        while self.cut_since is None:
            parcel = self._leaving or self._take(now)
            if parcel is None:
                break
            parcel.left = self._pace.left(now)
            if parcel.left > now:
                break
            self._leaving = None
            self._left.append(parcel)
            self._flying.append(parcel)
        while self._flying and self._flying[0].left + self._latency <= now:
            arrived = self._flying.popleft()
            if not arrived.lane.closed:
                self._arrived.append(arrived)

    def _take(self, now: float) -> Parcel | None:
        """Lets the next message begin to leave, if there is one."""
        for turns in self._turns:
            while turns:
                lane = turns.popleft()
                lane.queued = False
                if lane.waiting and lane.waiting[0].size is not None:
                    self._leaving = lane.waiting.popleft()
                    self._pace.begin(now, self._leaving.size or 0, rested=self._rested)
                    self._rested = False
                    self._queue(lane)
                    return self._leaving
        self._rested = True
        return None

    def _queue(self, lane: Lane) -> None:
        if lane.waiting and lane.waiting[0].size is not None and not lane.queued:
            lane.queued = True
            self._turns[0 if lane.waiting[0].urgent else 1].append(lane)


def _bytes_a_second(mbps: float | None) -> float | None:
    return None if mbps is None else mbps * 1e6 / 8
