"""`tradewind apply`: what a deployment would change in a cluster, and, once that is agreed to, the change."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tradewind.cli.aligning import aligned, amount
from tradewind.cli.at import At, client_of
from tradewind.cli.check import AsJson, File
from tradewind.cli.run import Fresh, Planner, UntilDone
from tradewind.errors import InputError
from tradewind.frontends.deployment.file import deployment

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Only show the difference: exit 0 if there is none, 2 if there is one."),
]
_CHANGES = 2


def apply(  # noqa: PLR0917, the command line's options come as parameters
    file: File,
    at: At = None,
    planner: Planner = None,
    until_done: UntilDone = False,
    fresh: Fresh = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let FILE run on a cluster in place of what runs there. Shows what would start, stop, go on, and lose its state,
    and what each link would carry; asks; and does it.
    """
    deployment(file)  # what is wrong with it is said here, with line and column
    body = {
        "text": file.read_text(encoding="utf-8-sig"), "called": file.name, "planner": planner, "until_done": until_done,
        "fresh": fresh,
    }  # fmt: skip
    client = client_of(at)
    change = client.post("/v1/difference", body)
    if not as_json:
        typer.echo("\n".join(told(change, file)))
    if dry_run or change["nothing"]:
        if as_json:
            typer.echo(json.dumps(change, indent=2))
        raise typer.Exit(_CHANGES if dry_run and not change["nothing"] else 0)
    if change["delivered"]:
        raise InputError("answers are there already.", hint="--fresh removes them; or deliver to another folder.")
    if not yes and not _agreed(as_json):
        typer.echo("nothing was changed.", err=True)
        raise typer.Exit(1)
    done = client.post("/v1/apply", {**body, "expected_epoch": change["epoch"]})
    typer.echo(json.dumps(done, indent=2) if as_json else f"epoch {done['epoch']} is wanted now.")


def _agreed(as_json: bool) -> bool:
    if as_json or not sys.stdin.isatty():
        raise InputError("nobody can be asked.", hint="--yes does it without asking; --dry-run only shows it.")
    return typer.confirm("Do it?")


def told(change: dict[str, Any], file: Path) -> list[str]:
    """A difference in words."""
    if change["nothing"]:
        return [f"{file.name}: nothing would change."]
    lines = []
    if change["anew"]:
        lines.append("everything would begin anew: nothing of the state that there is can be gone on from.")
    for verb, sign in (("starts", "+"), ("stops", "-"), ("keeps", " ")):
        lines += [f"{sign} {_fragment(one)}" for one in change[verb]]
    if change["loses_state"]:
        lines.append(f"worked out again from the beginning: {', '.join(change['loses_state'])}")
    rows = [("link", "bytes/s now", "bytes/s then", "$/h now", "$/h then")]
    for link in change["links"]:
        sizes = (f"{link[f'bytes_per_second_{when}']:,.0f}" for when in ("before", "after"))
        prices = (amount(link[f"usd_per_hour_{when}"]) for when in ("before", "after"))
        rows.append((f"{link['from']} → {link['to']}", *sizes, *prices))  # type: ignore[arg-type]
    lines += aligned(rows) if len(rows) > 1 else []
    lines += [
        f"answers of {one['query']} are at {one['site']} already: --fresh removes them" for one in change["delivered"]
    ]
    if change["waiting_for"]:
        lines.append(f"not there yet: {', '.join(change['waiting_for'])}")
    return lines


def _fragment(one: dict[str, Any]) -> str:
    return f"{one['fragment']} ({one['operators']} operators, for {', '.join(one['queries']) or 'nobody'})"
