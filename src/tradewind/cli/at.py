"""Where commands find a coordinator."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tradewind.runtime.cluster.client import Client

FOLDER = Path(".tradewind") / "coordinator"

At = Annotated[
    Path | None,
    typer.Option(
        "--at",
        help="The coordinator's folder, or a copy of its client.json.  "
        "[default: $TRADEWIND_AT, else .tradewind/coordinator]",
    ),
]


def place_of(at: Path | None) -> Path:
    """Where the way to the coordinator is written down."""
    return at or Path(os.environ.get("TRADEWIND_AT") or FOLDER)


def client_of(at: Path | None) -> Client:
    """A way to ask the coordinator."""
    # Loaded on use: other commands do not need it.
    module = importlib.import_module("tradewind.runtime.cluster.client")
    found: Client = module.Client(module.Contact.load(place_of(at)))
    return found
