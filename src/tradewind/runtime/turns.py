"""Fragments in turns: as many work at once as the machine has cores for, so that each is done sooner."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE = 10.0
"""Seconds after which a fragment goes ahead in any case: those whose turn it is may be waiting for it."""


class Turns:
    """So many places at a time, in the order in which they are asked for, unless some take long."""

    def __init__(self, places: int, patience: float = _PATIENCE) -> None:
        self._places = self._free = places
        self._patience = patience
        self._waiting: deque[object] = deque()
        self._changed = threading.Condition()

    @contextmanager
    def taken(self, places: int = 1) -> Iterator[None]:
        """For as long as one works that takes so many places, or all if there are fewer."""
        wanted = min(places, self._places)
        got = self._took(wanted)
        try:
            yield
        finally:
            if got:
                with self._changed:
                    self._free += wanted
                    self._changed.notify_all()

    def _took(self, wanted: int) -> bool:
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
            got = self._changed.wait_for(
                lambda: self._waiting[0] is ticket and self._free >= wanted, timeout=self._patience
            )
            self._waiting.remove(ticket)
            if got:
                self._free -= wanted
            self._changed.notify_all()
        return got
