"""`tradewind prepare`: let Spark start faster on this machine."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Annotated

import typer

from tradewind.cli.check import AsJson
from tradewind.spark import archive

IfNeeded = Annotated[bool, typer.Option("--if-needed", help="Do nothing where it has been done.")]


def prepare(if_needed: IfNeeded = False, as_json: AsJson = False) -> None:
    """Let Spark start in half the time here: the Java classes that it needs are kept in one file, of 200 MB.

    The file is for the Java and the Spark that are there now, and goes with the environment that they are in.
    """
    found = archive.place()
    made = not (if_needed and found is not None and found.exists())
    if made:
        typer.echo("Spark runs a bit of everything, and Java keeps what it has loaded; this takes a minute.", err=True)
        # Loaded on first use: all that a run needs.
        found = importlib.import_module("tradewind.runtime.preparing").prepare()
    file = Path(str(found))
    if as_json:
        typer.echo(json.dumps({"file": str(file), "bytes": file.stat().st_size, "made": made}, indent=2))
    else:
        typer.echo(f"{file}: {file.stat().st_size / 1e6:.0f} MB{'' if made else ', made before'}.")
