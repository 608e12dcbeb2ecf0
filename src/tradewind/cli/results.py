"""`tradewind results`: a query's answer as it is now."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tradewind.algebra.plain import as_object
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BOOLEAN
from tradewind.cli.check import File
from tradewind.cli.places import State, state_of
from tradewind.cli.rows import show
from tradewind.errors import unknown
from tradewind.frontends.deployment.file import deployment

QueryName = Annotated[str, typer.Argument(help="The query.", show_default=False)]
AsList = Annotated[bool, typer.Option("--json", help="Print a JSON list of all rows instead of a table.")]
Limit = Annotated[int, typer.Option("--limit", min=1, help="Rows to print as a table.")]


def results(file: File, query: QueryName, limit: Limit = 50, state: State = None, as_json: AsList = False) -> None:
    """Print the answer of QUERY now: the rows that are left of everything delivered, and which of them are final."""
    found = deployment(file)
    if query not in found.queries:
        found = importlib.import_module("tradewind.runtime.attachments").with_added(file, state_of(file, state))
    if query not in found.queries:
        raise unknown("query", query, found.queries)
    asked = found.queries[query]
    # Loaded on use: other commands do not need what reads files.
    answers = importlib.import_module("tradewind.runtime.answers")
    answer = answers.answer_of(query, asked, Path(found.name).resolve().parent)
    schema = Schema((*asked.operator.schema.columns, ("_final", BOOLEAN)))
    rows = answers.in_order(answer, schema)
    if as_json:
        typer.echo(json.dumps([as_object(row, schema) for row in rows], indent=2))
        return
    console = Console(highlight=False)
    final = sum(1 for row in rows if row[-1])
    show(rows[:limit], schema, f"{query}: {len(rows):,} rows, {final:,} of them final", console)
    if len(rows) > limit:
        console.print(f"… and {len(rows) - limit:,} more (--limit, or --json for all)", style="dim")
