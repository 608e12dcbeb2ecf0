"""Fragments in turns: as many work at once as the machine has cores for, so that each is done sooner."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE = 10.0
"""Seconds after which a fragment goes ahead in any case: those whose turn it is may be waiting for it."""


class Turns:
    """So many at a time, unless some take long."""

    def __init__(self, places: int, patience: float = _PATIENCE) -> None:
        self._free = threading.Semaphore(places)
        self._patience = patience

    @contextmanager
    def taken(self) -> Iterator[None]:
        """For as long as one works."""
        got = self._free.acquire(timeout=self._patience)
        try:
            yield
        finally:
            if got:
                self._free.release()
