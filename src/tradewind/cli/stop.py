"""`tradewind stop`: a cluster's deployment ends for good, once whoever asks for it knows what is lost."""

from __future__ import annotations

import json
from typing import Any

import typer

from tradewind.cli.asking import Yes, agreed
from tradewind.cli.at import At, client_of
from tradewind.cli.check import AsJson

_HINT = "--yes stops without asking; `tradewind pause` keeps the state."


def stop(at: At = None, yes: Yes = False, as_json: AsJson = False) -> None:
    """Stop the deployment of a cluster for good, and discard its state. Says what is lost, and asks. What was delivered
    stays; agents and the coordinator go on. `pause` stops it for a while, and keeps everything.
    """
    client = client_of(at)
    status = client.get("/v1/status")
    lost = lost_by(status)
    if lost is None:
        typer.echo(json.dumps({"epoch": status["epoch"], "lost": None}) if as_json else "nothing runs.")
        return
    if not as_json:
        typer.echo("\n".join(told(lost)))
    if not yes and not agreed("Stop it?", as_json=as_json, hint=_HINT):
        typer.echo("nothing was stopped.", err=True)
        raise typer.Exit(1)
    done = client.post("/v1/stop", {})
    shown = json.dumps({**done, "lost": lost}, indent=2)
    typer.echo(shown if as_json else f"nothing is wanted from epoch {done['epoch']} on.")


def lost_by(status: dict[str, Any]) -> dict[str, Any] | None:
    """What stopping loses, and what stays of it, by a cluster's status; None if nothing runs."""
    if status["deployment"] is None:
        return None
    fragments = {site: sorted(one["fragments"]) for site, one in status["sites"].items() if one["fragments"]}
    return {
        "deployment": status["deployment"],
        "state_of": fragments,
        "answers": [
            {"query": name, "site": one["site"], "path": one.get("path"), "final": one["final"],
             "tentative": one["tentative"]}
            for name, one in status["queries"].items()
        ],
    }  # fmt: skip


def told(lost: dict[str, Any]) -> list[str]:
    """What stopping loses, in words."""
    sites = lost["state_of"]
    count = sum(map(len, sites.values()))
    whose = f"{count} fragment{'s' if count != 1 else ''} at {', '.join(sites) or 'no site that is there'}"
    lines = [
        f"stopping {lost['deployment']} discards its state: of {whose}.",
        "lost: how far each stream was read, what windows and joins hold, and rows on their way between sites.",
    ]
    for one in lost["answers"]:
        place = f"{one['site']}, {one['path']}" if one["path"] else one["site"]
        open_ = f", {one['tentative']:,} tentative ones, which never become final" if one["tentative"] else ""
        lines.append(f"stays: {one['query']} at {place}: {one['final']:,} final rows{open_}")
    lines.append("to go on later: tradewind pause; to keep a copy of the state: tradewind savepoint NAME.")
    return lines
