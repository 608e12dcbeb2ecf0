"""`tradewind savepoint`: a consistent copy of what a cluster runs, to start from later."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tradewind.cli.aligning import aligned
from tradewind.cli.at import At, client_of
from tradewind.cli.check import AsJson
from tradewind.errors import InputError, RunError

if TYPE_CHECKING:
    from tradewind.runtime.cluster.client import Client

Name = Annotated[str | None, typer.Argument(help="What the savepoint is called.", show_default=False)]
Listing = Annotated[bool, typer.Option("--list", help="List the savepoints that there are.")]
Removing = Annotated[bool, typer.Option("--remove", help="Remove the savepoint.")]
_PATIENCE, _LOOK = 660.0, 0.3


def savepoint(
    name: Name = None, listing: Listing = False, remove: Removing = False, at: At = None, as_json: AsJson = False
) -> None:
    """Take a savepoint of what a cluster runs: a consistent copy of its state, of rows on their way and of what was
    delivered, kept at each site. All queries stand still meanwhile. `apply FILE --from NAME` starts from it.
    """
    if listing == (name is not None):
        raise InputError("give the name of a savepoint, or --list.", hint="tradewind savepoint NAME.")
    client = client_of(at)
    if name is None:
        known = client.get("/v1/savepoints")["savepoints"]
        typer.echo(json.dumps(known, indent=2) if as_json else "\n".join(listed(known)))
    elif remove:
        done = client.delete(f"/v1/savepoints/{name}")
        left = f"; its part is still at {', '.join(done['left_at'])}" if done["left_at"] else ""
        typer.echo(json.dumps(done) if as_json else f"removed: {name}{left}")
    else:
        begun = client.post("/v1/savepoints", {"name": name})
        typer.echo(f"{begun['deployment']} stands still for savepoint {name}.", err=True)
        done = _awaited(client, name)
        sites = ", ".join(done["sites"])
        typer.echo(json.dumps(done, indent=2) if as_json else f"savepoint {name} of {done['deployment']} at {sites}.")


def listed(known: list[dict[str, Any]]) -> list[str]:
    """Savepoints as a table."""
    rows = [("savepoint", "is", "taken", "of", "queries", "at", "problem")]
    rows += [
        (one["name"], one["state"], one["created"] or "", one["deployment"], ", ".join(one["queries"]),
         ", ".join(one["sites"]), one["problem"] or "")
        for one in known
    ]  # fmt: skip
    return aligned(rows) if known else ["there are no savepoints."]


def _awaited(client: Client, name: str) -> dict[str, Any]:
    end, state = time.perf_counter() + _PATIENCE, "saving"
    while True:
        known = {one["name"]: one for one in client.get("/v1/savepoints")["savepoints"]}
        found: dict[str, Any] = known.get(name, {"state": "failed", "problem": "the deployment was replaced"})
        if found["state"] == "taken":
            return found
        if found["state"] == "failed":
            raise RunError(f"no savepoint was taken: {found['problem']}.", hint="what ran goes on.")
        if time.perf_counter() > end:
            raise RunError(f"it is still {state}.", hint="tradewind savepoint --list shows how it ends.")
        status = client.get("/v1/status")["state"]
        if status != state:
            state = status
            typer.echo(state, err=True)
        time.sleep(_LOOK)
