"""Whether those who take part in a change are still there: the same processes as when it began, and heard of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

LOST = 15.0
"""Seconds after which a change is not waited for any more at a site that says nothing."""


@dataclass(frozen=True, slots=True)
class Present:
    """The process that is a site, and for how many seconds nothing was heard of it."""

    agent: str
    silent: float = 0.0


@dataclass
class Presence:
    """The processes that take part in one change."""

    since: float
    """When it began, or when whoever leads it began to."""
    _agents: dict[str, str] = field(default_factory=dict)

    def lost(self, sites: Iterable[str], heard: Mapping[str, Present], now: float) -> str | None:
        """Who of them was started again or is gone, in words; None as long as all are there.

        >>> watch = Presence(0.0)
        >>> watch.lost(["hq"], {"hq": Present("a")}, 1.0), watch.lost(["hq"], {"hq": Present("a", 20.0)}, 21.0)
        (None, 'nothing was heard of hq for 20 s')
        >>> watch.lost(["hq"], {"hq": Present("b")}, 22.0)
        'hq was started again'
        """
        for site in sites:
            there = heard.get(site)
            silent = now - self.since if there is None else there.silent
            if silent > LOST:
                return f"nothing was heard of {site} for {silent:.0f} s"
            if there is not None and self._agents.setdefault(site, there.agent) != there.agent:
                return f"{site} was started again"
        return None
