"""`tradewind apply`: what a deployment would change in a cluster, and, once that is agreed to, the change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tradewind.cli.aligning import aligned, amount
from tradewind.cli.asking import Yes, agreed
from tradewind.cli.at import At, client_of
from tradewind.cli.check import AsJson, File
from tradewind.cli.run import Fresh, Planner, UntilDone
from tradewind.errors import InputError
from tradewind.frontends.deployment.file import deployment

DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Only show the difference: exit 0 if there is none, 2 if there is one."),
]
From = Annotated[str | None, typer.Option("--from", metavar="SAVEPOINT", help="Start from a savepoint of the cluster.")]
_CHANGES = 2
_HINT = "--yes does it without asking; --dry-run only shows it."


def apply(  # noqa: PLR0917, the command line's options come as parameters
    file: File,
    at: At = None,
    planner: Planner = None,
    until_done: UntilDone = False,
    fresh: Fresh = False,
    from_: From = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let FILE run on a cluster in place of what runs there. Shows what would start, stop, go on, and lose its state,
    which delivered answers would be removed, and what each link would carry; asks; and does it.
    """
    deployment(file)  # what is wrong with it is said here, with line and column
    body = {
        "text": file.read_text(encoding="utf-8-sig"), "called": file.name, "planner": planner, "until_done": until_done,
        "fresh": fresh, "savepoint": from_,
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
    if not yes and not agreed("Do it?", as_json=as_json, hint=_HINT):
        typer.echo("nothing was changed.", err=True)
        raise typer.Exit(1)
    done = client.post("/v1/apply", {**body, "expected_epoch": change["epoch"]})
    typer.echo(json.dumps(done, indent=2) if as_json else f"epoch {done['epoch']} is wanted now.")


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
    lines += outputs_told(change)
    rows = [("link", "bytes/s now", "bytes/s then", "$/h now", "$/h then")]
    for link in change["links"]:
        sizes = (f"{link[f'bytes_per_second_{when}']:,.0f}" for when in ("before", "after"))
        prices = (amount(link[f"usd_per_hour_{when}"]) for when in ("before", "after"))
        rows.append((f"{link['from']} → {link['to']}", *sizes, *prices))  # type: ignore[arg-type]
    lines += aligned(rows) if len(rows) > 1 else []
    lines += [
        f"answers of {one['query']} are at {one['site']} already ({one['path']}): --fresh removes them"
        for one in change["delivered"]
    ]
    if change["waiting_for"]:
        lines.append(f"not there yet: {', '.join(change['waiting_for'])}")
    return lines


def _fragment(one: dict[str, Any]) -> str:
    return f"{one['fragment']} ({one['operators']} operators, for {', '.join(one['queries']) or 'nobody'})"


_OUTCOMES = {
    "removed": "is removed, and worked out again",
    "restored": "becomes what it was at the savepoint; what was delivered since is removed, and delivered again",
    "kept": "stays as it is: nothing is added to it any more",
    "elsewhere": "stays as it is: the query goes on in another folder, where these answers are missing",
}


def outputs_told(change: dict[str, Any]) -> list[str]:
    """What becomes of delivered answers, a line for each query and folder."""
    return [
        f"delivered by {one['query']} at {one['site']} in {one['path']}{_amount(one)}: {_OUTCOMES[one['action']]}"
        f"{_missing(one)}"
        for one in change["outputs"]
    ]


def _amount(output: dict[str, Any]) -> str:
    if output["action"] not in {"removed", "restored"}:
        return ""
    files = output["files"]
    return (
        " (its site is not there to say how much)" if files is None else f" ({files:,} file{'s' if files != 1 else ''})"
    )


def _missing(output: dict[str, Any]) -> str:
    pushed = ", ".join(output["unrepeatable"])
    return f" without the rows that were pushed to {pushed} before: they cannot be read again" if pushed else ""
