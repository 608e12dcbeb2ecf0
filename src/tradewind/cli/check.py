"""`tradewind check`: is this deployment file right?"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from tradewind.cost.growing_joins import refuse_full
from tradewind.errors import DeploymentError, Problem
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.frontends.deployment.file import deployment, placed

File = Annotated[Path, typer.Argument(help="The deployment file (YAML).", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def check(file: File, as_json: AsJson = False) -> None:
    """Validate FILE: names, types, SQL, flows, network; all problems at once, and warnings of joins whose state grows
    for ever. Exit 0 when it is right, 2 when not.
    """
    try:
        found = deployment(file)
        warnings = _warnings(file, found)
    except DeploymentError as error:
        if as_json:
            data = {"ok": False, "problems": problems(error.problems), "more": error.more}
            typer.echo(json.dumps(data, indent=2))
            raise typer.Exit(2) from None
        raise
    # Loaded on use: other commands look at no data.
    of_data: list[str] = importlib.import_module("tradewind.runtime.looking").warnings_of(found)
    if as_json:
        queries = {name: str(query.operator.schema) for name, query in found.queries.items()}
        data = {"ok": True, "problems": [], "warnings": [*problems(warnings), *({"what": one} for one in of_data)]}
        typer.echo(json.dumps({**data, "queries": queries}, indent=2))
        return
    told = [*map(str, warnings), *of_data]
    for warning in told:
        typer.echo(f"warning: {warning}", err=True)
    more = f", {_counted(len(told), 'warning')}" if told else ""
    typer.echo(f"{file}: {summary(found)}; no problems{more}.")


def _warnings(file: Path, found: Deployment) -> tuple[Problem, ...]:
    """What is right but will not go on for ever; raises when it will not go on for a day."""
    joins = refuse_full(found, lambda findings: placed(file, findings))
    return placed(file, [one.finding for one in joins])


def problems(some: Iterable[Problem]) -> list[dict[str, object]]:
    """The problems of a file as plain data."""
    return [{"where": p.where, "line": p.line, "column": p.column, "what": p.what, "hint": p.hint} for p in some]


def summary(found: Deployment) -> str:
    """How much a deployment declares, in words."""
    parts = {"site": found.sites, "link": found.links, "stream": found.streams, "query": found.queries}
    return ", ".join(_counted(len(things), word) for word, things in parts.items())


def _counted(number: int, word: str) -> str:
    many = "queries" if word == "query" else f"{word}s"
    return f"{number} {word if number == 1 else many}"
