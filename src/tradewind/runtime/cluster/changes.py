"""What another deployment would change: what starts, stops, goes on and loses its state, and what links would carry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tradewind.fragments.deployed import Channel, Deployed, Fragment
from tradewind.fragments.differences import difference
from tradewind.fragments.parting import places
from tradewind.fragments.triggers import queries_of
from tradewind.runtime.cluster.desired import Wanted, sites_of
from tradewind.runtime.cluster.moving_routes import upstream
from tradewind.runtime.cluster.recutting import Split

_NOTHING = Deployed((), {})
_HOUR, _GB = 3600.0, 1e9


@dataclass(frozen=True)
class Changes:
    """From what is wanted to what would be. `anew` says that nothing of the state that there is can be gone on from."""

    before: Wanted | None
    after: Wanted | None
    anew: bool

    @property
    def nothing(self) -> bool:
        """Whether all stays as it is."""
        if self.before is None or self.after is None:
            return self.before is self.after
        return not self.anew and _content(self.before) == _content(self.after)

    def to_json(self) -> dict[str, Any]:
        """Plain data, for people and programs."""
        old = self.before.deployed if self.before is not None else _NOTHING
        new = self.after.deployed if self.after is not None else _NOTHING
        found = difference(_NOTHING if self.anew else old, new)
        stopped = old.fragments if self.anew else found.stopped
        asked = set(_answers(self.after)) - set(self.after.removed if self.after is not None else ())
        before = set(_answers(self.before)) - set(self.before.removed if self.before is not None else ())
        return {
            "nothing": self.nothing,
            "anew": self.anew and self.before is not None,
            "starts": [_shown(one, new) for one in found.started],
            "stops": [_shown(one, old) for one in stopped],
            "keeps": [_shown(one, new) for one in found.kept],
            "loses_state": sorted({query for one in stopped for query in queries_of(old, one)} & asked),
            "queries": {
                "added": sorted(asked - before),
                "removed": sorted(before - asked),
                "kept": sorted(asked & before),
            },
            "links": self._links(),
            "sites": list(sites_of(new)),
        }

    def _links(self) -> list[dict[str, Any]]:
        """What each link carries and costs, before and after."""
        sides = [{(f.start, f.end): f for f in one.flows} if one else {} for one in (self.before, self.after)]
        found = []
        for ends in dict.fromkeys([*sides[0], *sides[1]]):
            rates = [side[ends].planned if ends in side else 0.0 for side in sides]
            if any(rates):
                price = next(side[ends].usd_per_gb for side in sides if ends in side) / _GB * _HOUR
                found.append({
                    "from": ends[0], "to": ends[1],
                    "bytes_per_second_before": rates[0], "bytes_per_second_after": rates[1],
                    "usd_per_hour_before": rates[0] * price, "usd_per_hour_after": rates[1] * price,
                })  # fmt: skip
        return found


def begins_anew(before: Wanted | None, after: Wanted, whole: Mapping[str, bool]) -> bool:
    """Whether a deployment has to begin from nothing: it is another one, a channel would come to a site by another way
    than it does, or something new would read one that does not hold any more all that was ever sent on it.
    """
    if before is None or before.name != after.name or before.until_done != after.until_done:
        return True
    if any(_turned(channel, after.deployed.channels.get(name)) for name, channel in before.deployed.channels.items()):
        return True
    started = difference(before.deployed, after.deployed).started
    return any(
        name in before.deployed.channels and not whole.get(name, False) for one in started for name in one.inputs
    )


def _turned(before: Channel, after: Channel | None) -> bool:
    """Whether a channel would be made, or come to a site that has it, from elsewhere."""
    if after is None:
        return False
    ways = upstream(after)
    return before.site != after.site or any(ways.get(end, start) != start for start, end in before.hops)


def without(deployed: Deployed, queries: Iterable[str], splits: Iterable[Split] = ()) -> Deployed:
    """A deployment without what only some queries need. What others need too goes on as it is, and so do all parts of
    one that is in parts.
    """
    gone = set(queries)
    needed = {one.name for one in deployed.fragments if set(queries_of(deployed, one)) - gone}
    for split in splits:
        if split.runs(deployed) and needed.intersection(one.name for one in places(deployed, split.parting)):
            needed.add(split.parting.together.name)
    kept = tuple(one for one in deployed.fragments if one.name in needed)
    written = {name for one in kept for name in one.outputs}
    read = {name for one in kept for name in one.inputs}
    channels = {name: one for name, one in deployed.channels.items() if name in written and name in read}
    # A fragment that goes on keeps all of its channels: it is what it is by what it gives.
    channels |= {name: deployed.channels[name] for name in written}
    had = {place: name for place, name in deployed.had.items() if name in channels}
    return Deployed(kept, channels, had)


def _content(wanted: Wanted) -> tuple[Any, ...]:
    names = tuple(sorted(one.name for one in wanted.deployed.fragments))
    hops = tuple(sorted((name, one.site, one.hops) for name, one in wanted.deployed.channels.items()))
    return wanted.text, wanted.added, wanted.removed, wanted.until_done, names, hops


def _answers(wanted: Wanted | None) -> list[str]:
    return [] if wanted is None else [name for one in wanted.deployed.fragments for name in one.answers]


def _shown(fragment: Fragment, deployed: Deployed) -> dict[str, Any]:
    return {
        "fragment": fragment.name,
        "site": fragment.site,
        "operators": len(fragment.operators),
        "queries": list(queries_of(deployed, fragment)),
    }
