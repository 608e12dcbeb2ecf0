"""What differs between two deployments: what is equal goes on, with its state; only the rest is stopped or started."""

from __future__ import annotations

from dataclasses import dataclass

from tradewind.fragments.deployed import Channel, Deployed, Fragment


@dataclass(frozen=True, slots=True)
class Difference:
    """What must be done to get from one deployment to another, in order: carry, start, stop, drop.

    `carried` and `dropped` are the ways of channels over links, each with the channel's name.
    """

    kept: tuple[Fragment, ...]
    started: tuple[Fragment, ...]
    stopped: tuple[Fragment, ...]
    opened: tuple[Channel, ...]
    closed: tuple[Channel, ...]
    carried: tuple[tuple[str, str, str], ...]
    dropped: tuple[tuple[str, str, str], ...]

    @property
    def nothing(self) -> bool:
        """Whether all stays as it is."""
        return not (self.started or self.stopped or self.opened or self.closed or self.carried or self.dropped)


def difference(old: Deployed, new: Deployed) -> Difference:
    """What must change. Fragments are told apart by their names, which say what they do and where."""
    before = {one.name: one for one in old.fragments}
    after = {one.name: one for one in new.fragments}
    ways_before, ways_after = _ways(old), _ways(new)
    return Difference(
        kept=tuple(one for name, one in after.items() if name in before),
        started=tuple(one for name, one in after.items() if name not in before),
        # Those that take stop before those that give.
        stopped=tuple(one for name, one in reversed(before.items()) if name not in after),
        opened=tuple(one for name, one in new.channels.items() if name not in old.channels),
        closed=tuple(one for name, one in old.channels.items() if name not in new.channels),
        carried=tuple(way for way in ways_after if way not in ways_before),
        dropped=tuple(way for way in ways_before if way not in ways_after),
    )


def _ways(deployed: Deployed) -> dict[tuple[str, str, str], None]:
    return {(start, end, name): None for name, channel in deployed.channels.items() for start, end in channel.hops}
