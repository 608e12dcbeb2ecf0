"""Inside a site: which of its machines does what, and which work is split by key over several of them.

Idea
----
Placement decides which site; the site decides for itself. A grouping that keeps more cores busy than one machine has is
split by key over as few machines as can do it. A top that reads it is cut on each of them first, and brought together
on another machine, so that only k rows of each share move. Everything else goes to the machine that does what it reads,
if there is room, else to the least busy one.

Guarantee
---------
No machine is given more than its cores unless all of them are full, as far as splitting helps: what cannot be split
stays whole. As first-fit it needs at most about 1.7 times the fewest machines.

References
----------
Rabkin et al. (JetStream), Figure 1. Johnson et al. 1974 for first-fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tradewind.network.network import Place
from tradewind.placement.plan import Step
from tradewind.rewrites.split_by_key import split_keys


@dataclass(frozen=True, slots=True)
class Share:
    """A step, or one share of it, on a machine; machines count from 1. `keys` tell the shares apart."""

    step: Step
    worker: int
    part: int = 1
    parts: int = 1
    cores: float = 0.0
    keys: tuple[str, ...] = ()
    before: bool = False
    """Whether it is a top that is cut in a share, before the step that brings the shares together."""


def over_workers(place: Place, steps: Sequence[Step]) -> list[Share]:
    """The steps of one site, inputs first, on its machines."""
    if place.workers == 1:
        return [Share(step, 1, cores=step.cores) for step in steps]
    machines = _Machines(place.cores / place.workers, [0.0] * place.workers, steps)
    for step in steps:
        machines.place(step)
    return [share for some in machines.made.values() for share in some]


class _Machines:
    """The machines of a site while they are given work."""

    def __init__(self, room: float, busy: list[float], steps: Sequence[Step]) -> None:
        self.room, self.busy = room, busy
        self.made: dict[str, list[Share]] = {}
        self._tops = {key: step.cores for step in steps if step.kind == "top" for key in step.inputs}

    def place(self, step: Step) -> None:
        """Give a step to a machine, or its shares to several."""
        self.made[step.output] = self._shares(step)

    def _shares(self, step: Step) -> list[Share]:
        keys = _keys(step)
        # A top that reads it is cut in each share, so the shares do most of its work too.
        load = step.cores + self._tops.get(step.output, 0.0)
        if load > self.room and keys:
            parts = min(math.ceil(load / self.room - 1e-9), len(self.busy))
            workers = sorted(self._idle(range(len(self.busy)))[:parts])
            return [self._on(step, worker, number, parts, keys) for number, worker in enumerate(workers, start=1)]
        below = [share for key in step.inputs for share in self.made.get(key, ()) if not share.before]
        split = [share for share in below if share.parts > 1]
        if step.kind == "top" and split:
            return self._top(step, split)
        near = [share.worker - 1 for share in below if self.busy[share.worker - 1] + step.cores <= self.room]
        return [self._on(step, near[0] if near else self._idle(range(len(self.busy)))[0])]

    def _top(self, step: Step, split: list[Share]) -> list[Share]:
        """Cut on each machine that has a share, and brought together on another one if there is one."""
        cut = []
        for share in split:
            cores = step.cores / share.parts
            self.busy[share.worker - 1] += cores
            cut.append(Share(step, share.worker, share.part, share.parts, cores, share.keys, before=True))
        taken = {share.worker - 1 for share in split}
        free = [one for one in range(len(self.busy)) if one not in taken] or list(range(len(self.busy)))
        return [*cut, Share(step, self._idle(free)[0] + 1)]

    def _idle(self, workers: Sequence[int]) -> list[int]:
        return sorted(workers, key=lambda one: (self.busy[one], one))

    def _on(self, step: Step, worker: int, part: int = 1, parts: int = 1, keys: tuple[str, ...] = ()) -> Share:
        self.busy[worker] += step.cores / parts
        return Share(step, worker + 1, part, parts, step.cores / parts, keys)


def _keys(step: Step) -> tuple[str, ...]:
    """The columns that a step can be split by: those that group its inputs."""
    if step.operator is None or step.kind not in ("merge", "combine") or not step.over:
        return ()
    found = [set(split_keys(step.operator, one)) for one in step.over]
    return tuple(sorted(set.intersection(*found)))
