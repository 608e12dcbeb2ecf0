"""What changes over virtual time: factors that hold from a moment on, and links that are cut for a while."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from tradewind.errors import InputError


@dataclass(frozen=True, slots=True)
class Schedule:
    """Factors by time, each from its moment on until the next; before the first the factor is one.

    >>> Schedule(((10.0, 2.0), (20.0, 0.5))).at(15.0)
    2.0
    """

    points: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        for time, factor in self.points:
            if not (factor >= 0 and math.isfinite(factor)):
                raise InputError(f"a rate cannot be {factor:g} times what it was.", hint="a factor is zero or above.")
            if not (time >= 0 and math.isfinite(time)):
                raise InputError(f"{time:g} is no moment of the simulation.", hint="times are seconds since its start.")
        if any(later[0] <= earlier[0] for earlier, later in pairwise(self.points)):
            raise InputError(
                "the moments of a schedule do not follow each other.", hint="put them in order, each once."
            )

    @property
    def times(self) -> tuple[float, ...]:
        """The moments when the factor changes."""
        return tuple(time for time, _ in self.points)

    def at(self, time: float) -> float:
        """The factor at a moment."""
        place = bisect_right(self.times, time)
        return self.points[place - 1][1] if place else 1.0

    def mean(self, start: float, end: float) -> float:
        """The mean factor between two moments."""
        inner = [time for time in self.times if start < time < end]
        edges = [start, *inner, end]
        if not inner:
            return self.at(start)
        return sum(self.at(one) * (two - one) for one, two in pairwise(edges)) / (end - start)

    def __mul__(self, other: Schedule) -> Schedule:
        moments = sorted({*self.times, *other.times})
        return Schedule(tuple((time, self.at(time) * other.at(time)) for time in moments))


STEADY = Schedule()
"""Nothing changes."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A link, by its number, that carries nothing from `start` to `end`; what is on its way already arrives."""

    link: int
    start: float
    end: float

    def __post_init__(self) -> None:
        if not self.end > self.start:
            raise InputError(f"a cut from {self.start:g} s to {self.end:g} s is none.", hint="it ends after it starts.")

    @property
    def schedule(self) -> Schedule:
        """The cut as a factor on the link's bandwidth."""
        closed = (self.start, 0.0)
        return Schedule((closed,) if math.isinf(self.end) else (closed, (self.end, 1.0)))


def together(schedules: Iterable[Schedule]) -> Schedule:
    """All factors at once."""
    found = STEADY
    for one in schedules:
        found = found * one
    return found
