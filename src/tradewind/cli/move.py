"""`tradewind move`: a fragment of a cluster goes on at another site."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

import typer

from tradewind.cli.at import At, client_of
from tradewind.cli.check import AsJson
from tradewind.errors import RunError

What = Annotated[str, typer.Argument(help="A fragment, or a query: then what merges for it moves.", show_default=False)]
Site = Annotated[str, typer.Argument(help="Where it is to go on.", show_default=False)]
_PATIENCE, _LOOK = 180.0, 0.2


def move(what: What, site: Site, at: At = None, as_json: AsJson = False) -> None:
    """Move a fragment that runs to another site, with its state: nothing is lost or done twice. What reads streams
    where they arise stays where it is; so does delivering, but not the work behind it. Waits until it runs there, and
    tells what it took.
    """
    client = client_of(at)
    begun = client.post("/v1/move", {"what": what, "site": site})
    typer.echo(f"{begun['fragment']}: from {begun['source']} to {begun['target']}", err=True)
    end, said = time.perf_counter() + _PATIENCE, None
    while True:
        found = _found(client.get("/v1/status"), begun)
        if found["state"] == "undone":
            raise RunError(f"the move was undone: {found['problem']}.", hint="it goes on where it was.")
        if found["state"] == "done":
            break
        if found["state"] != said:
            said = found["state"]
            typer.echo(said, err=True)
        if time.perf_counter() > end:
            why = f" ({found['problem']})" if found["problem"] else ""
            raise RunError(f"it is still {said}{why}.", hint="it goes on by itself: see tradewind status.")
        time.sleep(_LOOK)
    typer.echo(json.dumps(found, indent=2) if as_json else told(found))


def told(found: dict[str, Any]) -> str:
    """A move that is over, in words."""
    taken = "" if found["handover_seconds"] is None else f"; handed over in {found['handover_seconds']:.1f} s"
    pause = "" if found["pause_seconds"] is None else f", {found['pause_seconds']:.1f} s from batch to batch"
    sizes = f"{found['state_bytes']:,} bytes of state, {found['bytes']:,} sent"
    return f"{found['arrives_as']} runs at {found['target']}: {sizes}{taken}{pause}"


def _found(status: dict[str, Any], begun: dict[str, Any]) -> dict[str, Any]:
    """How far a move is; while it has not begun, because what delivers is set apart before, how far that is."""
    found = [one for one in status["moves"] if one["term"] == begun["term"]]
    found += [one for one in status["splits"] if one["term"] == begun.get("apart")]
    if not found:
        raise RunError("the move was ended.", hint="tradewind status shows what runs.")
    first: dict[str, Any] = found[0]
    return {**first, "state": "undone"} if first["state"].startswith("not ") else first
