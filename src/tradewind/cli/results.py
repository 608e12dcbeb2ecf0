"""`tradewind results`: a query's answer as it is now, from files here or from a cluster."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BOOLEAN, parse_type
from tradewind.cli.at import At, client_of
from tradewind.cli.places import State, state_of
from tradewind.cli.rows import show
from tradewind.errors import InputError, unknown
from tradewind.frontends.deployment.file import deployment

_SHOWN = 50
"""Rows of a table, unless said otherwise."""
FileAndQuery = Annotated[
    list[str],
    typer.Argument(
        metavar="[FILE] QUERY", show_default=False,
        help="The query, and the deployment file that runs here; without it, the cluster is asked.",
    ),
]  # fmt: skip
AsList = Annotated[
    bool,
    typer.Option(
        "--json", help="Print a JSON list of rows instead of a table; all of them, or as many as --limit says."
    ),
]
Limit = Annotated[
    int | None,
    typer.Option("--limit", min=1, help="Rows to print: those with the latest times.", show_default=str(_SHOWN)),
]
Oldest = Annotated[bool, typer.Option("--oldest", help="Print the rows with the earliest times instead.")]
Every = Annotated[bool, typer.Option("--all", help="Print all rows.")]
_MOST = 10_000
"""Rows that a cluster gives at once."""
_FINAL = ("_final", BOOLEAN)


def results(
    words: FileAndQuery,
    *,
    limit: Limit = None,
    oldest: Oldest = False,
    every: Every = False,
    state: State = None,
    at: At = None,
    as_json: AsList = False,
) -> None:
    """Print the answer of QUERY now: the rows that are left of everything delivered, and which of them are final. With
    FILE from what was delivered here, else from the site of a cluster where it is delivered.
    """
    if len(words) not in {1, 2}:
        raise InputError("a query is wanted.", hint="results FILE QUERY, or for a cluster: results QUERY.")
    if every and limit is not None:
        raise InputError("--all and --limit are two wishes.", hint="give one of them.")
    # A list of JSON is read by programs, which want all.
    most = limit if every or as_json or limit is not None else _SHOWN
    if len(words) == 1:
        told, schema = _far(words[0], most, oldest, at, wants_schema=not as_json)
    else:
        told, schema = _here(Path(words[0]), words[1], most, oldest, state)
    if as_json:
        typer.echo(json.dumps(told["rows"], indent=2))
        if told["left_out"]:
            typer.echo(f"{_part(told)}; {told['left_out']:,} are left out.", err=True)
        return
    console = Console(highlight=False)
    title = f"{words[-1]}: {told['total']:,} rows, {told['final']:,} of them final"
    show(told["rows"], schema, title, console)
    if told["left_out"]:
        console.print(f"{_part(told)} (--limit, --oldest, --all)", style="dim")


Told = Mapping[str, Any]
"""An excerpt of an answer, as a cluster tells it."""


def _here(file: Path, query: str, most: int | None, oldest: bool, state: Path | None) -> tuple[Told, Schema]:
    found = deployment(file)
    if query not in found.queries:
        found = importlib.import_module("tradewind.runtime.attachments").with_added(file, state_of(file, state))
    if query not in found.queries:
        raise unknown("query", query, found.queries)
    asked = found.queries[query]
    # Loaded on use: other commands do not need what reads files.
    answers = importlib.import_module("tradewind.runtime.answers")
    answer = answers.answer_of(query, asked, Path(found.name).resolve().parent)
    told = answers.excerpt(answer, asked.operator.schema, most, oldest=oldest).told()
    return told, Schema((*asked.operator.schema.columns, _FINAL))


def _far(query: str, most: int | None, oldest: bool, at: Path | None, *, wants_schema: bool) -> tuple[Told, Schema]:
    client, name = client_of(at), quote(query, safe="")
    limit = _MOST if most is None else min(most, _MOST)
    told = client.get(f"/v1/queries/{name}/rows?limit={limit}{'&oldest=true' if oldest else ''}")
    if not wants_schema:
        return told, Schema(())
    known = client.get(f"/v1/describe/{name}")["query"]["columns"]
    return told, Schema((*((column, parse_type(type_)) for column, type_ in known.items()), _FINAL))


def _part(told: Told) -> str:
    why = ", since no column tells a time" if told["which"] == "first" else ""
    return f"showing the {told['which']} {len(told['rows']):,} of {told['total']:,} rows{why}"
