"""A run from the beginning: nothing of an earlier one is left, neither its state nor what it delivered."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.attachments import texts, with_added
from tradewind.runtime.identity import require_ours
from tradewind.runtime.places import sink_of
from tradewind.spark.sinks import Sink
from tradewind.spark.sources.bounds import Bounds


def start_afresh(found: Deployment, state: Path, sinks: Mapping[str, Sink]) -> None:
    """Remove the state of earlier runs, and what they delivered, also for queries that were added to them."""
    require_ours(state)
    added = _added(found, state)
    shutil.rmtree(state, ignore_errors=True)
    for sink in (*sinks.values(), *added):
        sink.clear()


def _added(found: Deployment, state: Path) -> list[Sink]:
    if not texts(state):
        return []
    base = Path(found.name).resolve().parent
    try:
        every = with_added(Path(found.name), state).queries
    except InputError:
        return []  # the file has changed so much that they could not be added to it: what they were is not known
    bounds = Bounds(base, (state,))
    return [
        sink_of(name, query, base, None, pulled=False, bounds=bounds)
        for name, query in every.items()
        if name not in found.queries
    ]
