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
    room = place.cores / place.workers
    busy = [0.0] * place.workers
    made: dict[str, list[Share]] = {}
    found: list[Share] = []
    for step in steps:
        some = _placed(step, made, busy, room)
        made[step.output] = some
        found.extend(some)
    return found


def _placed(step: Step, made: dict[str, list[Share]], busy: list[float], room: float) -> list[Share]:
    keys = _keys(step)
    if step.cores > room and keys:
        parts = min(math.ceil(step.cores / room - 1e-9), len(busy))
        workers = sorted(range(len(busy)), key=lambda one: (busy[one], one))[:parts]
        return [_on(step, worker, busy, part, parts, keys) for part, worker in enumerate(sorted(workers), start=1)]
    below = [share for key in step.inputs for share in made.get(key, ())]
    split = [share for share in below if share.parts > 1]
    if step.kind == "top" and split:
        cut = [
            Share(step, share.worker, share.part, share.parts, step.cores / share.parts, share.keys, before=True)
            for share in split
        ]
        taken = {share.worker - 1 for share in split}
        free = [one for one in range(len(busy)) if one not in taken] or list(range(len(busy)))
        return [*cut, _on(step, min(free, key=lambda one: (busy[one], one)), busy)]
    near = [share.worker - 1 for share in below if busy[share.worker - 1] + step.cores <= room]
    worker = near[0] if near else min(range(len(busy)), key=lambda one: (busy[one], one))
    return [_on(step, worker, busy)]


def _keys(step: Step) -> tuple[str, ...]:
    """The columns that a step can be split by: those that group its first input."""
    if step.operator is None or step.kind not in ("merge", "combine"):
        return ()
    return split_keys(step.operator, step.over[0]) if step.over else ()


def _on(
    step: Step, worker: int, busy: list[float], part: int = 1, parts: int = 1, keys: tuple[str, ...] = ()
) -> Share:
    busy[worker] += step.cores / parts
    return Share(step, worker + 1, part, parts, step.cores / parts, keys)
