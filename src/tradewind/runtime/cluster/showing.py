"""What a coordinator tells of its cluster: how everything is, and the rows of answers."""

from __future__ import annotations

import time
from typing import Any

from tradewind.algebra.times import format_timestamp
from tradewind.errors import InputError, unknown
from tradewind.runtime.cluster import metrics, views
from tradewind.runtime.cluster.comparing import with_deviations
from tradewind.runtime.cluster.dialling import unreachable
from tradewind.runtime.cluster.freshness import with_freshness
from tradewind.runtime.cluster.registry import status_of
from tradewind.runtime.cluster.ruling import Ruling


class Showing(Ruling):
    """A coordinator as those see it who ask. All that it gives is plain data."""

    def version(self) -> int:
        """Grows when anything changes that `status` tells."""
        return self.registry.version

    def fragments(self) -> list[str]:
        """What is wanted to run, by name."""
        wanted = self._desired.wanted
        return [] if wanted is None else [one.name for one in wanted.deployed.fragments]

    def status(self) -> dict[str, Any]:
        """How everything is."""
        with self._lock:
            found = self.declared()
            known = status_of(self.registry, self._desired, found.sites if found is not None else (), self.clock())
            _say_since(known)
            if found is not None and self._desired.wanted is not None:
                known = with_freshness(known, found, self._desired.wanted.deployed)
                for name, query in known["queries"].items():
                    query["path"] = found.queries[name].deliver.path
                known = with_deviations(known, found, self._desired.wanted, self.registry)
            known["coordinator"] = {"leader": True, "since": self._since, "refused_reports": self.registry.refused}
            known.setdefault("deviations", [])
            known["warnings"] = [*self._warnings(), *(one["message"] for one in known["deviations"])]
            known["moves"] = self._lead.shown(self._desired.wanted)
            known["splits"] = self._recuts.shown(self._desired.wanted)
            return known

    def _warnings(self) -> list[str]:
        wanted = self._desired.wanted
        if wanted is None:
            return []
        apart = unreachable(wanted.deployed, self._desired.addresses, self.registry.heard)
        unlinked = [
            f"{one} and {two} cannot reach each other: start one of their agents with --listen." for one, two in apart
        ]
        return unlinked + [
            f"site {site}: {warning}"
            for site, heard in self.registry.heard.items()
            if heard.report.run == wanted.title
            for warning in heard.report.warnings
        ]

    def streams(self) -> list[dict[str, Any]]:
        """The streams that run between sites."""
        with self._lock:
            return views.streams(self._desired.wanted, self.registry)

    def entities(self) -> list[dict[str, str]]:
        """All that has a name."""
        with self._lock:
            return views.entities(self.declared(), self._desired.wanted)

    def describe(self, name: str) -> dict[str, Any]:
        """What is known of one thing."""
        with self._lock:
            return views.described(name, self.declared(), self._desired.wanted, self.status(), self.registry)

    def rows(self, query: str, limit: int = 1000, oldest: bool = False) -> dict[str, Any]:
        """The newest rows of a query's answer, or the oldest, and how many there are, asked of the site where it is
        delivered.
        """
        answered = {name: one.site for one in self._running().deployed.fragments for name in one.answers}
        if query not in answered or query in self._running().removed:
            raise unknown("query", query, answered)
        question = {"kind": "rows", "query": query, "limit": limit, "oldest": oldest}
        told: dict[str, Any] = self._questions.ask(answered[query], question)
        return told

    def push(self, stream: str, rows: list[dict[str, Any]]) -> int:
        """Give rows to a stream that rows are pushed into, at the one site where it is; how many were taken."""
        found = self.declared()
        if found is None or stream not in found.streams:
            raise unknown("stream", stream, found.streams if found is not None else ())
        places = [site for site, origin in found.streams[stream].origins.items() if origin.format == "push"]
        if len(places) != 1:
            raise InputError(
                f"rows cannot be pushed into stream {stream!r} from here: {len(places)} sites take them.",
                hint="declare one origin of it with format: push.",
            )
        return int(self._questions.ask(places[0], {"kind": "push", "stream": stream, "rows": rows}))

    def stats(self) -> dict[str, Any]:
        """How everything does."""
        with self._lock:
            return views.stats(self.status(), self.registry)

    def metrics(self) -> list[metrics.Sample]:
        """The same for Prometheus."""
        with self._lock:
            known = list(metrics.of_cluster(self.status(), self.registry))
        return [*known, *(one for told in self.measures for one in told())]


def _say_since(status: dict[str, Any]) -> None:
    """Say since when origins are silent and waited for, by the clock, beside for how long."""
    now = time.time()  # noqa: TID251 - shown to people; nothing is decided by it
    for query in status["queries"].values():
        for wait in query["waits_for"]:
            wait["since"] = _since(now, wait["seconds"])
    for origin in status["origins"].values():
        origin["silent_since"] = _since(now, origin["silent_seconds"])


def _since(now: float, seconds: float | None) -> str | None:
    return None if seconds is None else format_timestamp(int(now - seconds) * 1_000_000)
