"""Schedules read tick by tick."""

from __future__ import annotations

import math

import numpy as np

from tradewind.simulation.schedule import Schedule


class Changes:
    """Several schedules, read tick by tick; a change within a tick counts by its part of it."""

    def __init__(self, schedules: tuple[Schedule, ...], step: float) -> None:
        self._schedules, self._step = schedules, step
        self._due: dict[int, set[int]] = {}
        for number, schedule in enumerate(schedules):
            for time in schedule.times:
                tick = math.floor(time / step)
                self._due.setdefault(tick, set()).add(number)
                self._due.setdefault(tick + 1, set()).add(number)
        self._ticks = np.array(sorted(self._due), dtype=np.int64)
        self.values = np.array([schedule.mean(0.0, step) for schedule in schedules], dtype=float)

    def go_to(self, tick: int) -> None:
        """Take the values of a tick."""
        for number in self._due.get(tick, ()):
            self.values[number] = self._schedules[number].mean(tick * self._step, (tick + 1) * self._step)

    def following(self, tick: int) -> float:
        """The first tick after the given one when something changes."""
        place = int(np.searchsorted(self._ticks, tick, side="right"))
        return float(self._ticks[place]) if place < len(self._ticks) else math.inf
