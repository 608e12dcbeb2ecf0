"""What other processes ask of a run, over its backbone: queries to be added."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tradewind.backbone import catalog
from tradewind.backbone.connection import Connection
from tradewind.backbone.server import url_of
from tradewind.errors import InputError, RunError, TradewindError

_ASKED, _ANSWERED = "asked-", "answered-"
_LOOK = 0.2


@contextmanager
def reached(state: Path, backbone: str | None) -> Iterator[Connection]:
    """A connection to the backbone of the run that is going on in a state folder."""
    url = backbone or url_of(state / "backbone")
    if url is None:
        raise InputError("nothing runs there.", where=str(state), hint="tradewind run FILE, in another terminal.")
    connection = Connection.open(url)
    try:
        yield connection
    finally:
        connection.close()


@dataclass(frozen=True, slots=True)
class Request:
    """Queries that somebody wants to be added, as text that is called something."""

    key: str
    text: str
    called: str


def ask(connection: Connection, deployment: str, text: str, called: str, patience: float = 120.0) -> Sequence[str]:
    """Ask a run to add queries, and wait until it has: their names. What it refuses is raised."""
    key = secrets.token_hex(8)
    catalog.put(connection, deployment, _ASKED + key, {"text": text, "called": called})
    end = time.perf_counter() + patience
    pause = threading.Event()
    while time.perf_counter() < end:
        answer = catalog.get(connection, deployment, _ANSWERED + key)
        if answer is not None:
            catalog.remove(connection, deployment, _ANSWERED + key)
            if "what" in answer:
                raise InputError(answer["what"], where=answer["where"], hint=answer["hint"])
            return list(answer["queries"])
        pause.wait(_LOOK)
    catalog.remove(connection, deployment, _ASKED + key)
    raise RunError(f"the run did not answer for {patience:.0f} s.", hint="is it still going on?")


def waiting(connection: Connection, deployment: str) -> list[Request]:
    """What is asked and not answered yet."""
    every = catalog.all_(connection, deployment)
    return [Request(key.removeprefix(_ASKED), **value) for key, value in every.items() if key.startswith(_ASKED)]


def answer(connection: Connection, deployment: str, request: Request, said: Sequence[str] | TradewindError) -> None:
    """Tell who asked that it is done, or why not."""
    if isinstance(said, TradewindError):
        value: dict[str, object] = {"what": said.what, "where": said.where, "hint": said.hint}
    else:
        value = {"queries": list(said)}
    catalog.put(connection, deployment, _ANSWERED + request.key, value)
    catalog.remove(connection, deployment, _ASKED + request.key)
