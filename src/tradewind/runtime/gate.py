"""Commits held back until they are worth a batch: news from all channels of a fragment make one, instead of many."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from tradewind.backbone.commits import Placed


class Gate:
    """Lets commits through when every channel that has not ended has brought one, or when the first has waited long
    enough. What is merged at a site is then merged over all who send there, and sent on once.
    """

    def __init__(
        self,
        channels: Iterable[str],
        ended: Iterable[str],
        passed: Callable[[str, Placed], None],
        *,
        patience: float,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._channels = frozenset(channels)
        self._ended = set(ended)
        self._passed = passed
        self._patience = patience
        self._clock = clock
        self._waiting: list[tuple[str, Placed]] = []
        self._since = 0.0
        self._lock = threading.Lock()
        self._closed = False

    def close(self) -> None:
        """Let nothing through any more."""
        with self._lock:
            self._closed = True
            self._waiting.clear()

    def told(self, channel: str, placed: Placed) -> None:
        """A commit has come."""
        with self._lock:
            if self._closed:
                return
            if not self._waiting:
                self._since = self._clock()
            self._waiting.append((channel, placed))
            (self._ended.add if placed.commit.closing else self._ended.discard)(channel)
            if {name for name, _ in self._waiting} | self._ended >= self._channels:
                self._open()

    def look(self) -> None:
        """Let through what has waited long enough."""
        with self._lock:
            if self._waiting and self._clock() - self._since >= self._patience:
                self._open()

    def _open(self) -> None:
        for channel, placed in self._waiting:
            self._passed(channel, placed)
        self._waiting.clear()
