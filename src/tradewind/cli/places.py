"""Where commands find the state of a file's runs, and the backbone of one that is going on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

State = Annotated[
    Path | None,
    typer.Option("--state", help="The folder that a later run goes on from.  [default: .tradewind/FILE beside FILE]"),
]
Backbone = Annotated[
    str | None,
    typer.Option("--backbone", metavar="URL", help="A NATS server with JetStream to use instead of an own one."),
]


def state_of(file: Path, given: Path | None) -> Path:
    """Where the state of a file's runs lies."""
    return given if given is not None else file.resolve().parent / ".tradewind" / file.stem
