"""The sites of a deployment in one process: all of them with one Spark, one backbone server and pumps that imitate the
links; or one of them, whose links reach other machines.

Every fragment is one streaming query. Fragments that read streams only end when these are read to their end; all
others end when the channels that they read have said their last words.
"""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shutil import rmtree

from tradewind.backbone.channels import Reader
from tradewind.backbone.counting import Counted
from tradewind.backbone.retention import unsubscribed
from tradewind.errors import BadRecordsError, InternalError
from tradewind.fragments.deployed import Fragment
from tradewind.fragments.differences import difference
from tradewind.fragments.triggers import queries_of
from tradewind.frontends.deployment.model import Site
from tradewind.runtime.assembling import Assembling, Brake, Turn
from tradewind.runtime.deviations import Measured
from tradewind.runtime.expected import Span, span_of
from tradewind.runtime.failing import failure
from tradewind.runtime.gatekeeper import Gatekeeper
from tradewind.runtime.idling import Idling
from tradewind.runtime.measured import rates_of, reads_of
from tradewind.runtime.setting import Setting
from tradewind.runtime.turns import Turns
from tradewind.runtime.waiting import Waiting
from tradewind.runtime.wiring import Wiring, limits_of
from tradewind.spark.delivery import Totals
from tradewind.spark.engine import NEVER
from tradewind.spark.memory import last_commit
from tradewind.spark.query import Running
from tradewind.spark.session import Session, another, start
from tradewind.spark.sources.survey import Survey

__all__ = ["Setting", "Sites"]

_LOOK = 0.05
_SOON = 0.2
_GATHER = 3.0
"""Seconds that a commit waits at least for those of other channels, when everything is read as fast as it can be."""
_GATHERED = 4.0
"""It waits for so many of the times that a fragment would take if it were timed: what comes in several batches is sent
on as often, and a top in rounds then changes its thresholds each time.
"""
_PLACES = (os.cpu_count() or 1) + 2
"""So many fragments work at once."""
_MERGING = 2
"""The places of a fragment that reads channels: what all others send comes together there, and is waited for."""
_CROWDED = 2 * _PLACES
"""With more fragments than this, one that reads channels works alone: else its batches, which hold what all others have
sent meanwhile, take two to three times as long. With fewer that would cost more than it gives.
"""
_PATIENCE = 30_000_000
"""So far, in microseconds, an origin may be behind the others where no freshness is wished."""


@dataclass
class Sites:
    """A run of many sites, or of one of them."""

    setting: Setting
    spark: Session | None = None
    running: dict[str, Running] = field(default_factory=dict)
    failed: dict[str, BadRecordsError] = field(default_factory=dict)
    """The fragments that cannot go on because of what they read, each with the reason; all others go on."""
    session: Session | None = None
    wiring: Wiring = field(init=False)
    _closed: set[str] = field(default_factory=set)
    _watching: threading.Lock = field(default_factory=threading.Lock)
    _gates: Gatekeeper | None = None
    _turns: Turns = field(default_factory=lambda: Turns(_PLACES))
    _starts: int = 0
    _brakes: dict[str, Brake] = field(default_factory=dict)
    idling: Idling = field(init=False)
    _waiting: Waiting = field(default_factory=Waiting)

    def __post_init__(self) -> None:
        setting = self.setting
        name = Path(setting.found.name).stem if setting.here is None else setting.here.title
        folder, limits = setting.state / "backbone", limits_of(setting.found.channels)
        self.wiring = Wiring(
            name, setting.deployed, setting.found.links, setting.network, folder, limits, setting.here, setting.since,
            setting.guests,
        )  # fmt: skip
        self.idling = Idling(
            self._going, lambda name: self.setting.intervals.get(name, 0.0), alone=setting.here is None
        )
        self.idling.declare(setting.found)

    def start(self) -> None:
        """Start the backbone, Spark and every fragment."""
        setting = self.setting
        self.wiring.start()
        self.session = self.spark or self._started()
        self._starts = _next_start(setting.state)
        self._gates = Gatekeeper(self.wiring)
        self._begin(self.session, [one for one in setting.own if one.name not in setting.held])
        self._watch_origins()

    def _going(self) -> dict[str, Running]:
        """The fragments that run and have not failed."""
        return {name: one for name, one in tuple(self.running.items()) if name not in self.failed}

    def _watch_origins(self) -> None:
        self.idling.declare(self.setting.found)
        # What is read to its end is final then, whoever is silent.
        if not self.setting.until_done:
            self.idling.start()

    def _started(self) -> Session:
        """The Spark that all sites share here. It has the memory of the largest of them, since they take turns."""
        setting = self.setting
        sites = [setting.found.sites[one.site] for one in setting.own]
        memory = max(sites, key=lambda site: site.memory_each, default=Site()).memory
        log = setting.state / "spark.log"
        return start(os.cpu_count() or 1, setting.state / "tmp", memory=memory, log=log)

    def _begin(self, session: Session, fragments: Sequence[Fragment]) -> None:
        # Those that take are there before those that give: nothing has to wait for them.
        started = {one.name: self._assembled(one, another(session)) for one in reversed(fragments)}
        self.running = {**self.running, **started}
        if self._gates is not None:
            self._gates.listen((started[one.name], self._patience_at(one)) for one in fragments)
        for fragment in reversed(fragments):
            started[fragment.name].start(interval=self._interval(fragment))

    def adapt(self, setting: Setting) -> None:
        """Let run what another setting says: what is new there begins, what it has not ends, and all else goes on."""
        if self.session is None:
            raise InternalError("what does not run is changed.")
        change = difference(self.setting.deployed, setting.deployed)
        with self._watching:
            for one in change.stopped:
                if self.setting.runs(one):
                    self._end(one)
            for one in setting.own:
                if one.name in self.running and (one.name in setting.held or self._brakes[one.name].pulled):
                    self._halt(one)
            self.wiring.add_links(setting.found.links)
            self.wiring.adapt(setting.deployed, setting.since, setting.guests)
            self.setting = setting
            wanted = [one for one in setting.own if one.name not in setting.held and one.name not in self.running]
            self._begin(self.session, wanted)
            self._watch_origins()

    def brake(self, fragment: str, patience: float) -> None:
        """Let a fragment do the batch that it is at, and none after it; it is stopped when it is held."""
        brake = self._brakes.get(fragment)
        if brake is not None:
            brake.pull(patience)

    def brake_all(self, patience: float) -> None:
        """Let every fragment do the batch that it is at, and none after it."""
        brakes = list(self._brakes.values())
        for brake in brakes:
            brake.pulled = True
        for brake in brakes:
            brake.pull(patience)

    def settle(self, fragment: Fragment) -> None:
        """Let be seen all that a fragment that stands still had committed, should it have died before that."""
        if self.session is None:
            raise InternalError("what does not run is settled.")
        with self._watching:
            self._assembled(fragment, another(self.session)).engine.release()

    def level(self, shares: Sequence[Fragment], together: Fragment) -> None:
        """Let shares of a fragment that stand still come to the same place on what they read, and what brings them
        together read all that they have said.
        """
        stood = [last_commit(self.setting.folder(one) / "memory").notes.get("positions", {}) for one in shares]
        upto = {name: max(one.get(name, 0) for one in stood) for one in shares for name in one.inputs}
        for share in shares:
            self._caught_up(share, upto)
        addresses = {name: self.wiring.address(together.site, name) for name in together.inputs}
        heads = {name: Reader(self.wiring.connection, address).head() for name, address in addresses.items()}
        self._caught_up(together, heads)

    def _caught_up(self, fragment: Fragment, upto: Mapping[str, int]) -> None:
        assembling = Assembling(self.setting, self.wiring)
        assembling.catch_up(fragment, self.aside(), self._starts, upto, self._turn(fragment))

    def aside(self) -> Session:
        """A Spark for work that is no fragment's."""
        if self.session is None:
            raise InternalError("what does not run is worked on.")
        return another(self.session)

    def rehearse(self, fragment: Fragment, folder: Path, reads_as: str) -> None:
        """Do aside what a fragment that is to come here would do, so that it is done quickly when it has come."""
        if self.session is None:
            raise InternalError("what does not run is rehearsed in.")
        assembling = Assembling(self.setting, self.wiring)
        assembling.rehearse(fragment, another(self.session), folder, reads_as, self._turn(fragment))

    def buckets(self, fragment: Fragment) -> int:
        """Into how many buckets a fragment deals what it remembers."""
        return Assembling(self.setting, self.wiring).buckets(fragment)

    def _halt(self, fragment: Fragment) -> None:
        """Let a fragment stand still; all of it stays."""
        one = self.running.pop(fragment.name, None)
        self._brakes.pop(fragment.name, None)
        self.failed.pop(fragment.name, None)
        if one is None:
            return
        one.stop()
        one.engine.release()
        if self._gates is not None:
            self._gates.forget(one)

    def _end(self, fragment: Fragment) -> None:
        """Stop a fragment for good: nothing is kept of it, or for it."""
        self._halt(fragment)
        for name in fragment.inputs:
            unsubscribed(self.wiring.connection, self.wiring.address(fragment.site, name), fragment.name)
        rmtree(self.setting.folder(fragment), ignore_errors=True)
        self._closed.discard(fragment.name)

    def _interval(self, fragment: Fragment) -> float | None:
        if not self.setting.until_done:
            return self.setting.intervals[fragment.name]
        # What is there already is to be read as soon as it can be; looking more often would cost more than it gains.
        return _SOON if fragment.inputs else None

    def _patience_at(self, fragment: Fragment) -> float:
        """How many seconds a commit waits at a fragment for those of its other channels."""
        if not self.setting.until_done:
            return 0.0  # where triggers are timed they gather enough
        return max(_GATHER, _GATHERED * self.setting.intervals[fragment.name])

    def _assembled(self, fragment: Fragment, spark: Session) -> Running:
        brake = self._brakes[fragment.name] = Brake(self._turn(fragment))
        return Assembling(self.setting, self.wiring).fragment(fragment, spark, self._starts, brake.taken)

    def _turn(self, fragment: Fragment) -> Turn:
        merging = _MERGING if len(self.setting.own) <= _CROWDED else _PLACES
        return partial(self._turns.taken, merging if fragment.inputs else 1)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end of a finite run, or so long; whether it has ended. What went wrong anywhere is raised; of
        queries that fail because of what they read, when all others have come to their end.
        """
        pause = threading.Event()
        waited = 0.0
        while not self.settled():
            if seconds is not None and waited >= seconds:
                return False
            pause.wait(_LOOK)
            waited += _LOOK
        if self.failed:
            raise failure(self.failed_queries, list(self.setting.found.queries))
        return True

    def settled(self) -> bool:
        """Close whatever has come to its end; whether all have, but those that have failed and those that wait for what
        these would have sent.
        """
        with self._watching:
            self.wiring.raise_failures()
            self.idling.raise_failure()
            own = self.setting.own
            for fragment in own:
                if self._watched(fragment.name):
                    self._look_at(fragment)
            over = self._closed | self._cut_off()
            # A site that only passes on what others make ends with a finite run, and not before.
            return over.issuperset(one.name for one in own) and (bool(own) or self.setting.until_done)

    def _look_at(self, fragment: Fragment) -> None:
        try:
            if self._ended(fragment):
                self.running[fragment.name].close()
                self._closed.add(fragment.name)
        except BadRecordsError as error:
            self.failed[fragment.name] = error

    def _cut_off(self) -> set[str]:
        """The fragments that have failed, and those that they would have to send something to."""
        names = set(self.failed)
        for one in self.setting.deployed.fragments:  # those that give come before those that take
            if any(self.setting.deployed.writer(channel).name in names for channel in one.inputs):
                names.add(one.name)
        return names

    @property
    def failed_queries(self) -> dict[str, BadRecordsError]:
        """The queries whose answers rest on fragments that have failed, each with the reason."""
        fragments = {one.name: one for one in self.setting.deployed.fragments}
        return {
            query: error
            for name, error in self.failed.items()
            for query in queries_of(self.setting.deployed, fragments[name])
        }

    def again(self, fragment: Fragment) -> None:
        """Let a fragment that has failed go on from what it has committed."""
        with self._watching:
            if self.session is None or fragment.name not in self.failed:
                return
            self._halt(fragment)
            self._begin(self.session, [fragment])

    def _watched(self, fragment: str) -> bool:
        """Whether a fragment may come to its end. One that is braked ends in its own way, and one that has failed has
        ended.
        """
        if fragment not in self.running or fragment in self._closed or fragment in self.failed:
            return False
        return not self._brakes[fragment].pulled

    def _ended(self, fragment: Fragment) -> bool:
        one = self.running[fragment.name]
        if one.over():
            return True
        if not self.setting.until_done or not fragment.inputs:
            return False
        # Of those that run elsewhere only the channels tell.
        writers = (self.setting.deployed.writer(name) for name in fragment.inputs)
        if any(self.setting.runs(one) and one.name not in self._closed for one in writers):
            return False
        if not one.drained():
            return False
        one.stop()
        return True

    @property
    def closed(self) -> frozenset[str]:
        """The fragments that have come to their end."""
        return frozenset(self._closed)

    def stop(self) -> None:
        """Stop everything; what was committed stays."""
        running, self.running = self.running, {}
        session, self.session = self.session, None
        with ExitStack() as parts:  # the last one first; what does not end well keeps nothing else from it
            parts.callback(self.wiring.stop)
            if session is not None and self.spark is None:
                parts.callback(session.stop)
            for one in running.values():
                parts.callback(one.engine.release)
                parts.callback(one.stop)
            if self._gates is not None:
                parts.callback(self._gates.stop)
            parts.callback(self.idling.stop)

    @property
    def read(self) -> dict[tuple[str, str], Survey]:
        """What has ever been read of each stream at each origin; a stream that several fragments read counts once."""
        found: dict[tuple[str, str], Survey] = {}
        for one in self.running.values():
            for place, survey in one.read.items():
                # One that came later may still have to read what the others have.
                found[place] = max(found.get(place, survey), survey, key=lambda some: some.rows)
        return found

    def spans(self) -> dict[str, Span]:
        """How much of the streams' own time each fragment has read, by its name."""
        rates = rates_of(self.setting.found)
        known = {name: span_of(reads_of(one.read), rates) for name, one in self.running.items()}
        return {name: span for name, span in known.items() if span is not None}

    def taken(self) -> dict[str, dict[str, int]]:
        """How many rows came to each fragment by each channel."""
        return {name: dict(one.taken) for name, one in self.running.items()}

    @property
    def totals(self) -> dict[str, Totals]:
        """How many rows every answer has now."""
        return {name: totals for one in self.running.values() for name, totals in one.totals.items()}

    def missing(self) -> dict[str, tuple[str, ...]]:
        """For each query, the origins that its answer waits for: those that are behind the others for longer than it
        may take until rows are late, and than the answer was wished to be fresh.
        """
        found = {}
        for query, marks in self.marks().items():
            newest = max(marks.values(), default=NEVER)
            late = [name for name, mark in marks.items() if mark < newest - self._patience(query)]
            if late:
                found[query] = tuple(sorted(late))
        return found

    def marks(self) -> dict[str, dict[str, float]]:
        """For each query that has not ended, how far each of the origins is that it rests on."""
        return {
            wish.name: one.engine.marks_of(wish.operator)
            for name, one in self.running.items()
            if name not in self._closed and not one.ended
            for wish in one.wishes
        }

    def measured(self) -> Measured:
        """What can be compared with what was planned. Of a channel that several fragments read, the one counts that has
        read most.
        """
        taken: dict[str, int] = {}
        for some in self.taken().values():
            taken |= {name: max(rows, taken.get(name, 0)) for name, rows in some.items()}
        settled = {name: min(marks.values(), default=NEVER) for name, marks in self.marks().items()}
        return Measured(
            reads_of(self.read),
            self.spans(),
            taken,
            {name: one.final + one.tentative for name, one in self.totals.items()},
            {ends: one.bytes for ends, one in self.counts().items()},
            {name: mark for name, mark in settled.items() if math.isfinite(mark)},
            self.setting.until_done and len(self._closed) == len(self.setting.own),
        )

    def waits(self) -> dict[str, dict[str, float]]:
        """For each query that waits for origins: which, and for how many seconds their marks have not moved."""
        idle = {f"{stream}/{site}" for (stream, site), one in self.idling.origins().items() if one.idle}
        return self._waiting.look(self.marks(), self.missing(), idle)

    def _patience(self, query: str) -> int:
        return self.setting.found.queries[query].fresh_within or _PATIENCE

    def counts(self) -> dict[tuple[str, str], Counted]:
        """What crossed each link."""
        return self.wiring.counts()


def _next_start(state: Path) -> int:
    """The number of this run of a state folder, written down before anything is done under it."""
    path = state / "epoch.json"
    epoch = json.loads(path.read_text())["epoch"] + 1 if path.exists() else 1
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps({"epoch": epoch}))
    partial.replace(path)
    return int(epoch)
