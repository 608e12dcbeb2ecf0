"""How often fragments work: as seldom as the wished freshness allows, since fewer batches are fewer bytes.

A third of the wished time is for waiting at the leaves, where partials of what has come are sent; a third is for
merging them, divided among the levels of fragments between there and the answer; the rest is for the way. The planner
reckons with the same thirds.
"""

from __future__ import annotations

from collections.abc import Mapping

from tradewind.algebra.operators.aggregation import Aggregate, Combine, Partial
from tradewind.cost.assumptions import length
from tradewind.cost.declared import FLUSH_SECONDS, FLUSHES_PER_WISH, LEAST_FLUSH_SECONDS
from tradewind.fragments.deployed import Deployed, Fragment

SOON = 0.5
"""Seconds between two looks at channels where no wish says how fresh answers are to be."""
_SHORTEST, _LONGEST = 0.1, 5.0


def intervals(deployed: Deployed, wishes: Mapping[str, float | None]) -> dict[str, float]:
    """Seconds between two batches of each fragment, by its name, from the freshness in seconds that queries wish."""
    levels = levels_of(deployed)
    return {one.name: _interval(one, _wish(deployed, one, wishes), levels) for one in deployed.fragments}


def levels_of(deployed: Deployed) -> dict[str, int]:
    """How many channels follow one another on the longest way to each fragment."""
    found: dict[str, int] = {}
    for one in deployed.fragments:
        found[one.name] = max((found[deployed.writer(name).name] + 1 for name in one.inputs), default=0)
    return found


def queries_of(deployed: Deployed, fragment: Fragment) -> tuple[str, ...]:
    """The queries whose answers rest on a fragment."""
    found = dict.fromkeys(fragment.answers)
    for name in fragment.outputs:
        for reader in deployed.readers(name):
            found.update(dict.fromkeys(queries_of(deployed, reader)))
    return tuple(found)


def _wish(deployed: Deployed, fragment: Fragment, wishes: Mapping[str, float | None]) -> float | None:
    known = [wish for name in queries_of(deployed, fragment) if (wish := wishes.get(name)) is not None]
    return min(known, default=None)


def _interval(fragment: Fragment, wish: float | None, levels: Mapping[str, int]) -> float:
    if fragment.inputs:
        if wish is None:
            return SOON
        return min(_LONGEST, max(_SHORTEST, wish / FLUSHES_PER_WISH / max(levels.values())))
    windows = [length(one.window) for one in fragment.operators if isinstance(one, Aggregate | Partial | Combine)]
    known = [size for size in windows if size]
    if wish is None:
        return min(known, default=FLUSH_SECONDS)
    return max(LEAST_FLUSH_SECONDS, min([wish / FLUSHES_PER_WISH, *known]))
