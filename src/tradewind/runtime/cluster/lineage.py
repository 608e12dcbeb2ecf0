"""What runs on a cluster, told as OpenLineage events: queries begin, end, are taken away, and fail.

A coordinator looks at what is wanted and what sites report. What has begun is written down beside its other state, so
that one that starts again does not begin anything twice, and tells of what was taken away meanwhile.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from tradewind.fragments.deployed import Fragment
from tradewind.fragments.triggers import queries_of
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.cluster.desired import Wanted
from tradewind.runtime.cluster.metrics import Sample, sample
from tradewind.runtime.cluster.reports import SiteReport
from tradewind.runtime.cluster.ruling import Ruling
from tradewind.runtime.lineage import Kind, Run, event, run_id, run_of
from tradewind.runtime.lineage_sender import Sender
from tradewind.runtime.saying import Say

_LOOK = 1.0
_FAILED = 10.0
"""Seconds that a site fails before what it works for is said to have failed: it tries again all the while."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A query that has begun: of which deployment, as what, for which time, and what became of it."""

    title: str
    fingerprint: str
    number: int
    state: Literal["running", "ended", "failed", "gone"]
    run: Run

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "title": self.title, "fingerprint": self.fingerprint, "number": self.number, "state": self.state,
            "run": self.run.to_json(),
        }  # fmt: skip

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Begun:
        """What was written."""
        return Begun(**{**data, "run": Run.from_json(data["run"])})


@dataclass
class Chronicle:
    """What has begun and how it goes, in a file; what changes is sent."""

    path: Path
    cluster: str
    """What no other cluster is called: ids of runs rest on it."""
    sender: Sender
    now: Callable[[], datetime]
    begun: dict[str, Begun] = field(init=False)
    _failing: dict[str, float] = field(default_factory=dict)
    """Since when queries fail."""

    def __post_init__(self) -> None:
        self.begun = {}
        # One that cannot be read is of another version: then all is new.
        with suppress(FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
            known = json.loads(self.path.read_text())
            self.begun = {name: Begun.from_json(one) for name, one in known.items()}

    def look(
        self,
        wanted: Wanted | None,
        declared: Callable[[Wanted], Deployment],
        reports: Mapping[str, SiteReport],
        clock: float,
    ) -> None:
        """Tell what has changed since the last look."""
        before = dict(self.begun)
        running = _running(wanted)
        for name, one in list(self.begun.items()):
            if wanted is None or one.title != wanted.title:
                self._take_away(name)
                del self.begun[name]
            elif name not in running:
                self._take_away(name)
        if wanted is not None:
            new = [name for name, parts in running.items() if self._is_new(name, parts)]
            if new:
                found = declared(wanted)
                for name in new:
                    self._begin(name, running[name], wanted, found)
            for name, parts in running.items():
                self._follow(name, parts, wanted, reports, clock)
        if self.begun != before:
            self._write()

    def _is_new(self, name: str, parts: Iterable[Fragment]) -> bool:
        one = self.begun.get(name)
        return one is None or one.state == "gone" or one.fingerprint != _fingerprint(name, parts)

    def _begin(self, name: str, parts: Iterable[Fragment], wanted: Wanted, found: Deployment) -> None:
        self._take_away(name)
        number = self.begun[name].number + 1 if name in self.begun else 1
        run = run_of(
            found, name, namespace=self.sender.namespace, until_done=wanted.until_done,
            run=self._id(wanted.title, name, number),
        )  # fmt: skip
        self.begun[name] = Begun(wanted.title, _fingerprint(name, parts), number, "running", run)
        self._send("START", run)

    def _take_away(self, name: str) -> None:
        """A query is not wanted any more, or not as it was. Its number is kept: another run has another one."""
        one = self.begun.get(name)
        self._failing.pop(name, None)
        if one is None or one.state == "gone":
            return
        if one.state == "running":
            self._send("ABORT", one.run)
        self.begun[name] = replace(one, state="gone")

    def _follow(
        self,
        name: str,
        parts: list[Fragment],
        wanted: Wanted,
        reports: Mapping[str, SiteReport],
        clock: float,
    ) -> None:
        one, sites = self.begun[name], {part.site for part in parts}
        # What is told of the deployment before this one does not count.
        told = [reports[site] for site in sites if site in reports and reports[site].run == wanted.title]
        if not told:
            return
        failed = next((report for report in told if report.state == "failed"), None)
        since = self._failing.setdefault(name, clock) if failed is not None else self._failing.pop(name, clock)
        whole = len(told) == len(sites)
        if one.state == "running" and failed is not None and clock - since >= _FAILED:
            self._send("FAIL", one.run, f"site {failed.site}: {failed.problem or 'failed'}")
            self.begun[name] = replace(one, state="failed")
        elif one.state == "running" and whole and _ended(parts, told):
            self._send("COMPLETE", one.run)
            self.begun[name] = replace(one, state="ended")
        elif one.state == "failed" and whole and all(report.problem is None for report in told):
            number = one.number + 1
            run = replace(one.run, id=self._id(one.title, name, number))
            self.begun[name] = replace(one, number=number, state="running", run=run)
            self._send("START", run)

    def _id(self, title: str, name: str, number: int) -> str:
        return run_id(self.cluster, title, name, *([] if number == 1 else [str(number)]))

    def _send(self, kind: Kind, run: Run, error: str | None = None) -> None:
        self.sender.send(event(kind, run, self.now(), error=error, secrets=self.sender.secrets))

    def _write(self) -> None:
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps({name: one.to_json() for name, one in self.begun.items()}))
        partial.replace(self.path)

    def metrics(self) -> list[Sample]:
        """How many events were sent and dropped."""
        name = "tradewind_lineage_events_total"
        return [sample(name, self.sender.sent, "sent"), sample(name, self.sender.dropped, "dropped")]


@contextmanager
def told(coordinator: Ruling, sender: Sender | None, say: Say, now: Callable[[], datetime]) -> Iterator[None]:
    """Tell of what a coordinator lets run, while it leads. What runs goes on when it ends, so nothing ends with it."""
    if sender is None:
        yield
        return
    chronicle = Chronicle(
        coordinator.office.folder / "lineage.json", coordinator.members.authority.verifying_key, sender, now
    )
    coordinator.measures.append(chronicle.metrics)
    stopping = threading.Event()

    def look_always() -> None:
        told = False
        while not stopping.wait(_LOOK):
            try:
                reports = {site: one.report for site, one in tuple(coordinator.registry.heard.items())}
                chronicle.look(coordinator.desired.wanted, declared, reports, coordinator.clock())
            except Exception as error:  # noqa: BLE001 - what runs must not notice
                if not told:
                    say(f"OpenLineage events cannot be made: {type(error).__name__}: {error}", level="error")
                told = True

    def declared(wanted: Wanted) -> Deployment:
        return wanted.declared(coordinator.office.root)

    looking = threading.Thread(target=look_always, name="tradewind-chronicle", daemon=True)
    looking.start()
    try:
        yield
    finally:
        stopping.set()
        looking.join()
        sender.close()


def _running(wanted: Wanted | None) -> dict[str, list[Fragment]]:
    """The queries that are wanted, each with the fragments that work for it."""
    if wanted is None:
        return {}
    found: dict[str, list[Fragment]] = {}
    for fragment in wanted.deployed.fragments:
        for name in queries_of(wanted.deployed, fragment):
            if name not in wanted.removed:
                found.setdefault(name, []).append(fragment)
    return found


def _fingerprint(name: str, parts: Iterable[Fragment]) -> str:
    """What a query asks: the same wherever its parts run."""
    return next(
        node.fingerprint for one in parts if name in one.answers for had, node in one.graph.results if had == name
    )


def _ended(parts: Iterable[Fragment], told: Iterable[SiteReport]) -> bool:
    states = {name: one.state for report in told for name, one in report.fragments.items()}
    return all(states.get(one.name) == "ended" for one in parts)
