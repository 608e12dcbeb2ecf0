"""`tradewind check`: is this deployment file right?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tradewind.errors import DeploymentError
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.frontends.deployment.file import deployment

File = Annotated[Path, typer.Argument(help="The deployment file (YAML).", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def check(file: File, as_json: AsJson = False) -> None:
    """Validate FILE: names, types, SQL, flows, network; all problems at once. Exit 0 when it is right, 2 when not."""
    try:
        found = deployment(file)
    except DeploymentError as error:
        if as_json:
            typer.echo(json.dumps({"ok": False, "problems": problems(error)}, indent=2))
            raise typer.Exit(2) from None
        raise
    if as_json:
        queries = {name: str(query.operator.schema) for name, query in found.queries.items()}
        typer.echo(json.dumps({"ok": True, "problems": [], "queries": queries}, indent=2))
    else:
        typer.echo(f"{file}: {summary(found)}; no problems.")


def problems(error: DeploymentError) -> list[dict[str, object]]:
    """The problems of a file as plain data."""
    return [
        {"where": p.where, "line": p.line, "column": p.column, "what": p.what, "hint": p.hint} for p in error.problems
    ]


def summary(found: Deployment) -> str:
    """How much a deployment declares, in words."""
    parts = {"site": found.sites, "link": found.links, "stream": found.streams, "query": found.queries}
    return ", ".join(_counted(len(things), word) for word, things in parts.items())


def _counted(number: int, word: str) -> str:
    many = "queries" if word == "query" else f"{word}s"
    return f"{number} {word if number == 1 else many}"
