"""`tradewind experiment`: published figures made again, with what was measured beside what was published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tradewind.cli.check import AsJson
from tradewind.errors import unknown
from tradewind.experiments.registry import EXPERIMENTS
from tradewind.experiments.result import Result

Name = Annotated[str | None, typer.Argument(help="Which experiment; without a name, all are listed.")]
Out = Annotated[Path, typer.Option("--out", help="The folder for pictures.")]
Seeds = Annotated[int, typer.Option("--seeds", min=1, max=1000, help="How many random workloads.")]


def experiment(
    name: Name = None, out: Out = Path("experiments-out"), seeds: Seeds = 10, as_json: AsJson = False
) -> None:
    """Run an experiment and set its figures beside the published ones."""
    known = {one.name: one for one in EXPERIMENTS}
    if name is None:
        _list(as_json)
        return
    if name not in known:
        raise unknown("experiment", name, known)
    result = known[name].run(seeds, out)
    if as_json:
        typer.echo(json.dumps({"experiment": name} | result.json(), indent=2))
    else:
        _show(result)


def _list(as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps([{"name": one.name, "shows": one.shows} for one in EXPERIMENTS], indent=2))
        return
    width = max(len(one.name) for one in EXPERIMENTS)
    for one in EXPERIMENTS:
        typer.echo(f"{one.name:{width}}  {one.shows}")


def _show(result: Result) -> None:
    console = Console(highlight=False)
    console.rule(result.title, align="left")
    if result.chart:
        console.print(result.chart, markup=False, soft_wrap=True)
        console.print()
    if result.rows:
        table = Table(*result.header)
        for row in result.rows:
            table.add_row(*row)
        console.print(table)
    for line in (*result.caption, *(f"wrote {path}" for path in result.files)):
        console.print(line, markup=False, soft_wrap=True)
