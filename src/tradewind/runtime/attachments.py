"""Queries that were added while a deployment ran, written down in its state: a later run goes on with them too."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from tradewind.frontends.deployment.deployment import Deployment
from tradewind.frontends.deployment.file import deployment, deployment_with

_FILE = "attached.json"


@dataclass(frozen=True, slots=True)
class Attachment:
    """Queries that came together: their names, the channels that they could choose from, and their text if they came as
    one. The channels are kept because a later run has to choose as this one did.
    """

    queries: tuple[str, ...]
    channels: tuple[str, ...]
    text: str | None = None
    called: str = ""


def attachments(state: Path) -> list[Attachment]:
    """All that came so far, in order."""
    path = state / _FILE
    found = json.loads(path.read_text()) if path.exists() else []
    return [Attachment(**{**one, "queries": (*one["queries"],), "channels": (*one["channels"],)}) for one in found]


def texts(state: Path) -> list[str]:
    """The texts of the queries that came as such."""
    return [one.text for one in attachments(state) if one.text is not None]


def with_added(file: Path, state: Path) -> Deployment:
    """What a file declares, and the queries that were added to a run of it."""
    added = texts(state)
    return deployment_with(file, added[-1], added=added[:-1]) if added else deployment(file)


def earlier(state: Path, queries: Iterable[str]) -> Attachment | None:
    """How some queries came in an earlier run."""
    wanted = set(queries)
    return next((one for one in attachments(state) if set(one.queries) == wanted), None)


def note(state: Path, new: Attachment) -> None:
    """Write down what came, unless it is known."""
    known = attachments(state)
    if new not in known:
        path = state / _FILE
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps([asdict(one) for one in (*known, new)]))
        partial.replace(path)
