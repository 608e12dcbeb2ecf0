"""`tradewind split` and `tradewind merge`: a fragment of a cluster over several agents of its site, and back."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

import typer

from tradewind.cli.at import At, client_of
from tradewind.cli.check import AsJson
from tradewind.errors import RunError

What = Annotated[str, typer.Argument(help="A fragment, or a query: then what merges for it.", show_default=False)]
Over = Annotated[
    int | None,
    typer.Option("--over", min=2, help="Over how many agents of its site.  [default: all that have nothing to do]"),
]
_PATIENCE, _LOOK = 300.0, 0.2


def split(what: What, over: Over = None, at: At = None, as_json: AsJson = False) -> None:
    """Split a fragment that runs by key over several agents of its site, with its state: each does the groups whose
    keys hash to it, and nothing is lost or done twice. Waits until all of them are at work.
    """
    client = client_of(at)
    begun = client.post("/v1/split", {"what": what, **({} if over is None else {"over": over})})
    typer.echo(f"{begun['fragment']}: by {', '.join(begun['keys'])}, over {', '.join(begun['places'])}", err=True)
    found = _waited(client, begun["term"], "split")
    typer.echo(json.dumps(found, indent=2) if as_json else f"{found['fragment']} is split over {len(found['places'])}.")


def merge(what: What, at: At = None, as_json: AsJson = False) -> None:
    """Make a fragment that is split one again, where it was. Waits until it is."""
    client = client_of(at)
    begun = client.post("/v1/merge", {"what": what})
    typer.echo(f"{begun['fragment']}: from {', '.join(begun['places'])}", err=True)
    _waited(client, begun["term"], None)
    typer.echo(json.dumps(begun, indent=2) if as_json else f"{begun['fragment']} is one again, at {begun['site']}.")


def _waited(client: Any, term: int, wanted: str | None) -> dict[str, Any]:
    """Wait until a split is as it is wanted; without that, until it is gone."""
    end, said = time.perf_counter() + _PATIENCE, None
    while True:
        known = [one for one in client.get("/v1/status")["splits"] if one["term"] == term]
        failed = next((one for one in known if one["state"].startswith("not ")), None)
        if failed is not None:
            raise RunError(f"it is {failed['state']}: {failed['problem']}.", hint="it goes on as it was.")
        state = known[-1]["state"] if known else None
        if state == wanted:
            return known[-1] if known else {}
        if state is None:
            raise RunError("the split was ended.", hint="tradewind status shows what runs.")
        if state != said:
            said = state
            typer.echo(said, err=True)
        if time.perf_counter() > end:
            raise RunError(f"it is still {said}.", hint="it goes on by itself: see tradewind status.")
        time.sleep(_LOOK)
