"""What a site warns of: places of streams that are not there, and what its micro-batches came across."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.looking import missing_places

_MOST = 50
"""Warnings of micro-batches that are kept, the newest: a report is bounded."""
_LONGEST = 2_000


class Warned:
    """The warnings of a run at a site, each once."""

    def __init__(self) -> None:
        self._batches: dict[str, None] = {}
        self._lock = threading.Lock()

    def note(self, warnings: Iterable[str]) -> None:
        """A micro-batch has warned. What several fragments say of the same stream is the same warning."""
        with self._lock:
            for warning in warnings:
                self._batches.setdefault(warning[:_LONGEST])
            for oldest in list(self._batches)[:-_MOST]:
                del self._batches[oldest]

    def now(self, declared: Deployment | None) -> list[str]:
        """What holds now, for a site that reads what its deployment declares: a place that has come is no longer told
        of, a file that was gone stays so.
        """
        missing = [] if declared is None else missing_places(declared)
        with self._lock:
            return [one[:_LONGEST] for one in missing] + list(self._batches)
