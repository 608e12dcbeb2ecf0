"""For how long nothing has come from the origins that a fragment reads, by the clock of the machine.

Silence counts from the first look that found nothing new: between two looks, and while a micro-batch is at work, nobody
knows whether rows have come.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tradewind.algebra.idleness import Place


@dataclass(slots=True)
class Silence:
    """When each origin spoke last, and since when looks at it have found nothing. From any thread."""

    clock: Callable[[], float] = time.perf_counter
    _spoke: dict[Place, float] = field(default_factory=dict)
    _quiet: dict[Place, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def looked(self, speaking: Iterable[Place], silent: Iterable[Place]) -> None:
        """Something came from some origins, and nothing from others."""
        now = self.clock()
        with self._lock:
            for place in silent:
                self._spoke.setdefault(place, now)
                self._quiet.setdefault(place, now)
            for place in speaking:
                self._spoke[place] = now
                self._quiet.pop(place, None)

    def seconds(self, place: Place) -> float | None:
        """The time since an origin spoke, or since it was first looked at; None before that."""
        with self._lock:
            return self.clock() - self._spoke[place] if place in self._spoke else None

    def lasts(self, place: Place, seconds: float) -> bool:
        """Whether looks at an origin have found nothing for so long."""
        with self._lock:
            return place in self._quiet and self.clock() - self._quiet[place] >= seconds
