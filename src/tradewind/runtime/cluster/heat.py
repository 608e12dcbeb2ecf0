"""When a site splits a fragment over its agents, and when it makes one of it again: the site's own decision.

A fragment is hot when its batches have taken longer than they may for a while, though they hold many rows: so many that
it is the rows that take the time, and shares of them take less. Shares are idle when they have had little to do for
long; hashed keys make them much alike, so the share that is at home speaks for all. No I/O, and no clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tradewind.errors import InputError
from tradewind.fragments.deployed import Fragment
from tradewind.fragments.parting import places, split
from tradewind.fragments.sharing import MOST, Sharing
from tradewind.runtime.cluster.desired import Wanted
from tradewind.runtime.cluster.reports import Proposal
from tradewind.runtime.cluster.workers import workers_of

_BATCHES, _LONG = 10, 30.0
"""So many batches, over so many seconds at least, have to be too long."""
_QUICK = 3.0
"""Seconds that a batch may take in any case: planning and committing it takes a while, however few its rows are."""
_MANY = 10_000
"""Rows of a batch, on average."""
_IDLE, _LITTLE = 600.0, 0.1
"""Seconds for which shares had little to do, and the part of the time that is little."""


class Batch(NamedTuple):
    """A batch that was done: when it ended, how long it took, and how many rows it held."""

    at: float
    seconds: float
    rows: int


@dataclass
class Heat:
    """The batches of a site's fragments, of the last minutes."""

    batches: dict[str, deque[Batch]] = field(default_factory=dict)
    since: dict[str, float] = field(default_factory=dict)
    """When each fragment was seen first."""

    def note(self, fragment: str, one: Batch) -> None:
        """A batch was done."""
        known = self.batches.setdefault(fragment, deque())
        self.since.setdefault(fragment, one.at - one.seconds)
        known.append(one)
        while known[0].at < one.at - _IDLE and len(known) > _BATCHES:
            known.popleft()

    def forget(self, wanted: Iterable[str]) -> None:
        """Only some fragments are here any more."""
        kept = set(wanted)
        for gone in set(self.batches) - kept:
            del self.batches[gone], self.since[gone]

    def hot(self, fragment: str, interval: float) -> bool:
        """Whether a fragment cannot do its work in time."""
        last = list(self.batches.get(fragment, ()))[-_BATCHES:]
        if len(last) < _BATCHES or last[-1].at - (last[0].at - last[0].seconds) < _LONG:
            return False
        return all(one.seconds > max(interval, _QUICK) for one in last) and _mean(last) >= _MANY

    def idle(self, fragment: str, now: float) -> bool:
        """Whether a fragment has had little to do for long."""
        if fragment not in self.since or now - self.since[fragment] < _IDLE:
            return False
        worked = sum(one.seconds for one in self.batches[fragment] if one.at > now - _IDLE)
        return worked < _LITTLE * _IDLE


def _mean(batches: list[Batch]) -> float:
    return sum(one.rows for one in batches) / len(batches)


def proposals(wanted: Wanted, site: str, members: Mapping[str, str], heat: Heat, now: float) -> list[Proposal]:
    """What a site wants to be done otherwise: one thing at a time, and nothing while something is on its way."""
    if (
        wanted.move is not None
        or wanted.recut is not None
        or wanted.until_done
        or any(s.merging for s in wanted.splits)
    ):
        return []
    apart = [one for one in wanted.splits if one.runs(wanted.deployed)]
    for one in apart:
        if one.detached or one.whole.site != site:
            continue
        home = places(wanted.deployed, one.parting)[0]
        if home.site == site and heat.idle(home.name, now):
            return [Proposal(kind="merge", fragment=home.name)]
    taken = {one.site for one in wanted.deployed.fragments}
    free = [place for place in workers_of(site, members) if place not in taken]
    parts = {name for one in apart for name in (one.parting.together.name, *one.parting.channel_names)}
    for fragment in wanted.deployed.fragments if free else ():
        if fragment.site != site or fragment.name in parts or parts & set(fragment.outputs):
            continue
        if heat.hot(fragment.name, wanted.intervals[fragment.name]) and _can(wanted, fragment):
            return [Proposal(kind="split", fragment=fragment.name, over=min(len(free) + 1, MOST))]
    return []


def _can(wanted: Wanted, fragment: Fragment) -> bool:
    try:
        split(wanted.deployed, Sharing(fragment, 2, 0))
    except InputError:
        return False
    return True
