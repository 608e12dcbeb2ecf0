"""`tradewind pause` and `resume`: a cluster's deployment stands still for a while; its state is kept."""

from __future__ import annotations

import json
import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import typer

from tradewind.cli.at import At, client_of
from tradewind.cli.check import AsJson
from tradewind.cli.status import why
from tradewind.errors import RunError

if TYPE_CHECKING:
    from tradewind.runtime.cluster.client import Client

_PATIENCE, _LOOK = 180.0, 0.3


def pause(at: At = None, as_json: AsJson = False) -> None:
    """Pause all queries of a cluster, each after the micro-batch that it is at. State, positions in streams and rows on
    their way are kept, also when agents and the coordinator are started again meanwhile; `resume` goes on from there.
    """
    client = client_of(at)
    done = client.post("/v1/pause", {})
    status = _awaited(client, {"paused"})
    _tell(done, status, "is paused" if done["changed"] else "is paused already", as_json)


def resume(at: At = None, as_json: AsJson = False) -> None:
    """Let the queries of a cluster that is paused go on from where they were."""
    client = client_of(at)
    done = client.post("/v1/resume", {})
    status = _awaited(client, {"running", "ended"}) if done["changed"] else client.get("/v1/status")
    _tell(done, status, "goes on" if done["changed"] else "is not paused", as_json)


def _tell(done: dict[str, Any], status: dict[str, Any], said: str, as_json: bool) -> None:
    shown = json.dumps({**done, "state": status["state"]}, indent=2)
    typer.echo(shown if as_json else f"{done['deployment']} {said}.")


def _awaited(client: Client, states: Collection[str]) -> dict[str, Any]:
    end, said = time.perf_counter() + _PATIENCE, None
    while True:
        status: dict[str, Any] = client.get("/v1/status")
        if status["state"] in states:
            return status
        if status["state"] != said:
            said = status["state"]
            typer.echo(f"{said}: {why(status)}", err=True)
        if time.perf_counter() > end:
            raise RunError(f"it is still {said}: {why(status)}", hint="it goes on by itself once all sites are there.")
        time.sleep(_LOOK)
