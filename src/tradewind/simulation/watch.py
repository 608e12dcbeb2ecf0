"""Samples in the making: what each tick was like, gathered into the rows of a history."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tradewind.network.network import Network, Numbers
from tradewind.placement.plan import Plan
from tradewind.simulation.history import History
from tradewind.simulation.queues import Queues
from tradewind.simulation.wiring import Wiring


@dataclass(frozen=True, eq=False)
class Moment:
    """What elements pass on in a tick and what comes to them, as factors, and how old it is; sources come last."""

    passed: Numbers
    age: Numbers
    arriving: Numbers
    arriving_age: Numbers

    def same(self, other: Moment) -> bool:
        """Whether nothing changed at all."""
        pairs = (
            (self.passed, other.passed),
            (self.age, other.age),
            (self.arriving, other.arriving),
            (self.arriving_age, other.arriving_age),
        )
        return all(np.array_equal(one, two) for one, two in pairs)


class Watch:
    """Samples in the making."""

    def __init__(self, wiring: Wiring, network: Network, rows: Numbers, step: float) -> None:
        self._wiring, self._network, self._rows, self._step = wiring, network, rows, step
        self._moved = np.zeros(len(wiring.weight))
        self._delivered = np.zeros(len(rows))
        self._since = 0
        self._samples: list[tuple[Numbers, ...]] = []
        self._times: list[float] = []

    def see(self, moment: Moment, ticks: int) -> None:
        """So many ticks were like this one."""
        self._moved += moment.passed[: len(self._moved)] * ticks
        self._delivered += moment.passed[self._wiring.goals] * ticks
        self._since += ticks

    def sample(self, tick: int, moment: Moment, queues: Queues) -> None:
        """A sample ends before this tick."""
        wiring, links = self._wiring, len(self._network.start)
        rate = np.bincount(wiring.server, wiring.weight * self._moved / self._since, len(wiring.servers))
        columns = []
        for values in (rate, queues.waiting, queues.arrived):
            found = np.zeros(links + len(self._network))
            found[wiring.servers] = values
            columns += [found[:links], found[links:]]
        answers = (moment.age[wiring.goals], self._rows * self._delivered / self._since)
        self._samples.append((*columns, *answers))
        self._times.append(tick * self._step)
        self._moved[:], self._delivered[:], self._since = 0.0, 0.0, 0

    def history(self, plan: Plan) -> History:
        """All samples."""
        rate, cores, backlog, work, arrived, _, latency, rows = map(np.array, zip(*self._samples, strict=True))
        return History(plan.goals, np.array(self._times), rate, backlog, arrived, cores, work, latency, rows)
