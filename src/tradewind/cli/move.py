"""`tradewind move`: a fragment of a cluster goes on at another site."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from tradewind.cli.at import At, client_of
from tradewind.cli.check import AsJson
from tradewind.errors import InputError, RunError, TradewindError

What = Annotated[
    str | None, typer.Argument(help="A fragment, or a query: then what merges for it moves.", show_default=False)
]
Site = Annotated[str | None, typer.Argument(help="Where it is to go on.", show_default=False)]
Cancel = Annotated[bool, typer.Option("--cancel", help="Undo the move that is under way, whoever began it.")]
_LOOK, _REPEAT = 0.2, 10.0
"""Seconds between two looks, and until a phase that goes on is told again."""
_PHASES = {
    "coming apart": "its work is parted from delivering, where it is",
    "apart": "its new site is waited for",
    "moving": "its new site is waited for",
    "preparing": "what it reads is brought to {target}; it goes on at {source}",
    "handing": "it stands still, and its state is sent",
    "taking": "it begins at {target}",
}
_INTERRUPTED = 130


def move(what: What = None, site: Site = None, cancel: Cancel = False, at: At = None, as_json: AsJson = False) -> None:
    """Move a fragment that runs to another site, with its state: nothing is lost or done twice. What reads streams
    where they arise stays where it is; so does delivering, but not the work behind it. Waits until it runs there, and
    tells what it took. Ctrl-C undoes it, up to when its state was handed over.
    """
    client = client_of(at)
    if cancel:
        if what is not None:
            raise InputError("--cancel takes no fragment and no site.", hint="one move is under way at a time.")
        undone = client.post("/v1/move/cancel", {})
        typer.echo(json.dumps(undone, indent=2) if as_json else f"{undone['fragment']} goes on where it was.")
        return
    if what is None or site is None:
        raise InputError("a fragment or query and a site are wanted.", hint="move WHAT SITE, or move --cancel.")
    begun = client.post("/v1/move", {"what": what, "site": site})
    typer.echo(f"{begun['fragment']}: from {begun['source']} to {begun['target']}", err=True)
    following = _Following(begun, time.perf_counter)
    try:
        found = following.followed(client)
    except KeyboardInterrupt:
        found = _cancelled(client, following)
        if as_json:
            typer.echo(json.dumps(found, indent=2))
        typer.echo("the move was undone: it goes on where it was.", err=True)
        raise typer.Exit(_INTERRUPTED) from None
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    if found["state"] == "undone":
        raise RunError(f"the move was undone: {found['problem']}.", hint="it goes on where it was.")
    if not as_json:
        typer.echo(told(found))


@dataclass
class _Following:
    """Tells how far a move is, each phase once it begins, and from time to time that it goes on."""

    begun: dict[str, Any]
    clock: Callable[[], float]
    phases: dict[str, float] = field(default_factory=dict)
    """How long each has taken so far, as it was seen from here."""
    _since: float = field(init=False)

    def __post_init__(self) -> None:
        self._since = self.clock()

    def followed(self, client: Any) -> dict[str, Any]:
        """Wait for the end of a move: what is known of it then, with its phases."""
        phase, entered, told_at = "", self._since, self._since
        while True:
            found = _found(client.get("/v1/status"), self.begun)
            now, state = self.clock(), str(found["state"])
            if phase:
                self.phases[phase] = round(now - entered, 1)
            if state in {"undone", "done"}:
                return {**found, "seconds": round(now - self._since, 1), "phases": self.phases}
            if state != phase or now - told_at >= _REPEAT:
                still = "still " if state == phase else ""
                phase, entered, told_at = state, entered if still else now, now
                what = f": {_PHASES[state].format(**self.begun)}" if state in _PHASES else ""
                problem = f" ({found['problem']})" if found["problem"] else ""
                typer.echo(f"{now - self._since:6.1f} s  {still}{state}{what}{problem}", err=True)
            time.sleep(_LOOK)


def _cancelled(client: Any, following: _Following) -> dict[str, Any]:
    """Undo a move; what is known of it then."""
    try:
        client.post("/v1/move/cancel", {})
    except TradewindError as error:
        raise RunError(f"it goes on: {error}") from None
    return following.followed(client)


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
