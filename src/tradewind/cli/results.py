"""`tradewind results`: a query's answer as it is now, from files here or from a cluster."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console

from tradewind.algebra.plain import as_object
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BOOLEAN, parse_type
from tradewind.cli.at import At, client_of
from tradewind.cli.places import State, state_of
from tradewind.cli.rows import show
from tradewind.errors import InputError, unknown
from tradewind.frontends.deployment.file import deployment

FileAndQuery = Annotated[
    list[str],
    typer.Argument(
        metavar="[FILE] QUERY", show_default=False,
        help="The query, and the deployment file that runs here; without it, the cluster is asked.",
    ),
]  # fmt: skip
AsList = Annotated[bool, typer.Option("--json", help="Print a JSON list of all rows instead of a table.")]
Limit = Annotated[int, typer.Option("--limit", min=1, help="Rows to print as a table.")]
_MOST = 10_000
"""Rows that a cluster gives at once."""
_FINAL = ("_final", BOOLEAN)


def results(
    words: FileAndQuery, limit: Limit = 50, state: State = None, at: At = None, as_json: AsList = False
) -> None:
    """Print the answer of QUERY now: the rows that are left of everything delivered, and which of them are final. With
    FILE from what was delivered here, else from the site of a cluster where it is delivered.
    """
    if len(words) not in {1, 2}:
        raise InputError("a query is wanted.", hint="results FILE QUERY, or for a cluster: results QUERY.")
    if len(words) == 1:
        _far(words[0], limit, at, as_json)
    else:
        _here(Path(words[0]), words[1], limit, state, as_json)


def _here(file: Path, query: str, limit: int, state: Path | None, as_json: bool) -> None:
    found = deployment(file)
    if query not in found.queries:
        found = importlib.import_module("tradewind.runtime.attachments").with_added(file, state_of(file, state))
    if query not in found.queries:
        raise unknown("query", query, found.queries)
    asked = found.queries[query]
    # Loaded on use: other commands do not need what reads files.
    answers = importlib.import_module("tradewind.runtime.answers")
    answer = answers.answer_of(query, asked, Path(found.name).resolve().parent)
    schema = Schema((*asked.operator.schema.columns, _FINAL))
    rows = answers.in_order(answer, schema)
    shown = [as_object(row, schema) for row in (rows if as_json else rows[:limit])]
    if as_json:
        typer.echo(json.dumps(shown, indent=2))
        return
    title = _titled(query, len(rows), sum(1 for row in rows if row[-1]))
    _table(title, shown, schema, len(rows) - len(shown), "--json for all")


def _far(query: str, limit: int, at: Path | None, as_json: bool) -> None:
    client, name = client_of(at), quote(query, safe="")
    wanted = _MOST if as_json else min(limit, _MOST)
    rows: list[dict[str, Any]] = client.get(f"/v1/queries/{name}/rows?limit={wanted}")["rows"]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        if len(rows) == _MOST:
            typer.echo(f"a cluster gives {_MOST:,} rows at most: there may be more.", err=True)
        return
    known = client.get(f"/v1/describe/{name}")["query"]
    schema = Schema((*((column, parse_type(type_)) for column, type_ in known["columns"].items()), _FINAL))
    total, final = len(rows), sum(1 for row in rows if row["_final"])
    if total == wanted:
        # There may be more; of these the site tells how many they are, each second.
        total, final = max(total, known["final"] + known["tentative"]), max(final, known["final"])
    _table(_titled(query, total, final), rows, schema, total - len(rows), f"--json for the first {_MOST:,}")


def _table(title: str, shown: Sequence[dict[str, Any]], schema: Schema, more: int, rest: str) -> None:
    console = Console(highlight=False)
    show(shown, schema, title, console)
    if more > 0:
        console.print(f"… and {more:,} more (--limit, or {rest})", style="dim")


def _titled(query: str, total: int, final: int) -> str:
    return f"{query}: {total:,} rows, {final:,} of them final"
