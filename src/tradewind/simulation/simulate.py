"""The flows of a plan over virtual time.

Idea
----
Base contents arise at rates that follow schedules. An operator's output answers to what comes in (see `responses`); a
hop passes on what comes in. Links share their bandwidth and sites their cores by fluid queues (see `queues`), so what
is overfull makes its elements wait, and everything behind them gets less, and gets it later. An answer is as old as the
slowest of the ways that lead to it: the links' delays, and the time spent waiting on each.

Guarantee
---------
What comes to a link is what it took in and what waits before it. Where nothing waits, bytes, busy cores and latency are
those of the plan's cost model. Time is cut into ticks: a change moves on by one operator or hop in a tick, so it comes
to a site a few ticks late; ages do not count these ticks. The simulation starts in the steady state of the rates at
time zero, with nothing waiting.

Complexity
----------
O(ticks · (operators + hops)), in array operations. From when nothing waits and nothing changes until the next moment of
a schedule, only samples take time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from tradewind.errors import InputError
from tradewind.network.network import Network, Numbers
from tradewind.placement.plan import Plan
from tradewind.simulation.changes import Changes
from tradewind.simulation.history import History
from tradewind.simulation.queues import Queues
from tradewind.simulation.rates import Rates
from tradewind.simulation.responses import RESPONSES, Response
from tradewind.simulation.schedule import Cut, Schedule, together
from tradewind.simulation.watch import Moment, Watch
from tradewind.simulation.wiring import Wiring, wire


def simulate(
    plan: Plan,
    network: Network,
    rates: Rates,
    seconds: float,
    *,
    step: float = 0.1,
    every: float = 1.0,
    cuts: Iterable[Cut] = (),
    bandwidth: Mapping[int, Schedule] | None = None,
    responses: Mapping[str, Response] = RESPONSES,
) -> History:
    """Run the flows of a plan for so many virtual seconds.

    `step` is the length of a tick and `every` that of a sample, both in seconds. `bandwidth` has factors on what a
    link, by its number, can carry; `responses` says by kind of step how its output follows its inputs.
    """
    _check(seconds, step, every)
    ticks = max(1, round(seconds / step))
    wiring = wire(plan, network, rates, responses)
    factors = Changes(tuple(source.schedule for source in rates.sources), step)
    room = Changes(_bandwidths(network, wiring, tuple(cuts), bandwidth or {}), step)
    rows = np.array([rates.rows_per_second.get(goal.content, 0.0) for goal in plan.goals])
    watch = Watch(wiring, network, rows, step)
    capacity = np.concatenate([network.bytes_per_second, network.cores])[wiring.servers] * step
    tick, sample = 0, max(1, round(every / step))
    flows = Flows(wiring, capacity, factors, room, step)
    while tick < ticks:
        end = min(ticks, (tick // sample + 1) * sample)
        count = flows.go(tick, end)
        watch.see(flows.moment, count)
        tick += count
        if tick == end:
            watch.sample(tick, flows.moment, flows.queues)
    return watch.history(plan)


class Flows:
    """All that flows in a plan, tick by tick."""

    def __init__(self, wiring: Wiring, capacity: Numbers, factors: Changes, room: Changes, step: float) -> None:
        self._wiring, self._capacity, self._factors, self._room = wiring, capacity, factors, room
        self.queues = Queues(wiring.weight, wiring.server, len(wiring.servers), step)
        self.moment = self._steady()

    def go(self, tick: int, end: int) -> int:
        """Let a tick pass, and those after it that are exactly like it, but none from `end` on; how many passed."""
        before, room = self.moment, self._room
        self._factors.go_to(tick)
        room.go_to(tick)
        self.queues.arrive(before.arriving, before.arriving_age)
        passed, ages = self.queues.serve(self._capacity * room.values, room.values == 0.0)
        self.moment = now = self._after(passed, ages)
        if not (self.queues.clear and now.same(before)):
            return 1
        count = int(min(end, self._factors.following(tick), room.following(tick))) - tick
        self.queues.repeat(count - 1)
        return count

    def _after(self, passed: Numbers, ages: Numbers) -> Moment:
        """What follows for everybody from what elements pass on, so old."""
        wiring = self._wiring
        factors = np.concatenate([passed, self._factors.values * wiring.scale])
        age = np.concatenate([ages + wiring.delay, np.zeros(len(wiring.scale))])
        return Moment(factors, age, *wiring.inputs(factors, age))

    def _steady(self) -> Moment:
        """What would flow for ever at the rates of time zero if nothing had to wait."""
        size = len(self._wiring.weight)
        found = self._after(np.zeros(size), np.zeros(size))
        for _ in range(size):
            before, found = found, self._after(found.arriving, found.arriving_age)
            if found.same(before):
                break
        return found


def _bandwidths(
    network: Network, wiring: Wiring, cuts: tuple[Cut, ...], bandwidth: Mapping[int, Schedule]
) -> tuple[Schedule, ...]:
    """The schedule of each server's capacity."""
    links = len(network.start)
    for link in (*(cut.link for cut in cuts), *bandwidth):
        if not 0 <= link < links:
            raise InputError(f"there is no link number {link}.", hint=f"the network has {links} links.")
    changes: dict[int, list[Schedule]] = {link: [schedule] for link, schedule in bandwidth.items()}
    for cut in cuts:
        changes.setdefault(cut.link, []).append(cut.schedule)
    return tuple(together(changes.get(int(server), ())) for server in wiring.servers)


def _check(seconds: float, step: float, every: float) -> None:
    for name, value in (("time to simulate", seconds), ("time step", step), ("time of a sample", every)):
        if not (value > 0 and math.isfinite(value)):
            raise InputError(f"the {name} is {value:g} s.", hint="it must be above zero.")
    if step > seconds:
        raise InputError(f"the time step of {step:g} s is longer than the {seconds:g} s to simulate.")
