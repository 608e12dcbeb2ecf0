"""Idle origins of a run: those that are silent for their stream's `idle_after` follow the others.

The fragment that reads an origin decides that it is idle, and moves on its mark by a micro-batch without rows, so the
decision is part of a commit. Where all sites run in one process that knows how far the others are; a site of a cluster
is told by its coordinator.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Protocol

from tradewind.algebra.idleness import OriginStatus, Place, combined, followed
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.assembling import StandsStillError
from tradewind.spark.silence import Silence

_LOOK = 0.25
_LONGEST = 10.0
"""Seconds after which an idle origin follows at the latest, however seldom its fragment works."""
_MICROS = 1e6


class Watched(Protocol):
    """A fragment that reads origins."""

    silence: Silence

    @property
    def ended(self) -> bool:
        """Whether it has said what holds if nothing more comes."""

    @property
    def places(self) -> tuple[Place, ...]:
        """The origins that it reads."""

    @property
    def marks(self) -> Mapping[str, Mapping[str, float]]:
        """Where they stand, by stream and site."""

    def look(self) -> None:
        """See whether there was a look for new rows that found none."""

    def follow(self, due: Callable[[], Mapping[Place, float]]) -> bool:
        """Move on the marks of origins; which ones is asked when no batch is under way."""


class Idling:
    """Watches the origins that fragments of this process read, by the fragments' names.

    `every` says how many seconds lie between two batches of a fragment. Unless `alone`, how far others are is told.
    """

    def __init__(
        self,
        fragments: Callable[[], Mapping[str, Watched]],
        every: Callable[[str], float],
        *,
        alone: bool,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._fragments = fragments
        self._every = every
        self._alone = alone
        self._clock = clock
        self._after: dict[str, float] = {}
        self._queries: list[frozenset[str]] = []
        self._told: dict[Place, float] = {}
        self._moved: dict[str, float] = {}
        self._failure: Exception | None = None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def declare(self, found: Deployment) -> None:
        """What is declared holds from now on."""
        declared = ((name, stream.idle_after) for name, stream in found.streams.items())
        self._after = {name: after / _MICROS for name, after in declared if after is not None}
        self._queries = combined(found.graph()) if found.queries else []

    def start(self) -> None:
        """Watch, if there is anything to be watched."""
        if self._after and self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="tradewind-idling", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Watch no more; a batch that is under way ends."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def raise_failure(self) -> None:
        """Raise what went wrong."""
        if self._failure is not None:
            raise self._failure

    def told(self, marks: Mapping[Place, float]) -> None:
        """Idle origins may go on to these marks."""
        self._told = dict(marks)

    def origins(self) -> dict[Place, OriginStatus]:
        """Where the origins stand that are read here. One that several fragments read is as far as the slowest, and
        idle if all of them say so.
        """
        found: dict[Place, OriginStatus] = {}
        for one in tuple(self._fragments().values()):
            marks = one.marks
            for place in one.places:
                stream, origin = place
                now = OriginStatus(marks[stream][origin], self._idle(one, place), one.silence.seconds(place))
                before = found.get(place, now)
                silent = [seconds for seconds in (before.silent, now.silent) if seconds is not None]
                found[place] = OriginStatus(
                    min(before.mark, now.mark), before.idle and now.idle, min(silent, default=None)
                )
        return found

    def look(self) -> None:
        """See who is silent, and let those that are idle follow the others."""
        now = self._clock()
        for name, one in tuple(self._fragments().items()):
            if not any(stream in self._after for stream, _ in one.places):
                continue
            one.look()
            goals = self._goals(one)
            if now - self._moved.get(name, -_LONGEST) < min(self._every(name), _LONGEST) or not self._due(one, goals):
                continue
            with suppress(StandsStillError):
                if one.follow(lambda one=one, goals=goals: self._due(one, goals)):  # type: ignore[misc]
                    self._moved[name] = self._clock()

    def _goals(self, one: Watched) -> Mapping[Place, float]:
        """How far idle origins may go on."""
        if not self._alone:
            return self._told
        origins = self.origins()
        # What was said of the end holds until more comes from somebody.
        over = one.ended and all(origin.idle for origin in origins.values())
        return {} if over else followed(origins, self._queries)

    def _watch(self) -> None:
        while not self._stopping.wait(_LOOK):
            try:
                self.look()
            except Exception as error:  # noqa: BLE001 - whoever waits for the run raises it
                if not self._stopping.is_set():
                    self._failure = error
                return

    def _idle(self, one: Watched, place: Place) -> bool:
        after = self._after.get(place[0])
        return after is not None and one.silence.lasts(place, after)

    def _due(self, one: Watched, goals: Mapping[Place, float]) -> dict[Place, float]:
        marks = one.marks
        return {
            place: goals[place]
            for place in one.places
            if place in goals and goals[place] > marks[place[0]][place[1]] and self._idle(one, place)
        }
