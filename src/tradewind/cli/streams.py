"""`tradewind streams` and `tradewind queries add`: what runs, and more of it while everything goes on."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Annotated

import typer

from tradewind.cli.check import AsJson, File
from tradewind.cli.places import Backbone, State, state_of
from tradewind.cli.plan import aligned
from tradewind.errors import InputError
from tradewind.frontends.deployment.file import deployment, deployment_with

More = Annotated[Path, typer.Argument(help="A YAML file with `queries:` alone.", show_default=False)]

queries = typer.Typer(help="The queries of a run that is going on.", no_args_is_help=True)


def streams(file: File, state: State = None, backbone: Backbone = None, as_json: AsJson = False) -> None:
    """List the streams that run between the sites of FILE just now: what they hold, where they are to be had, and whose
    answers rest on them. Queries that are added are made of them.
    """
    found = deployment(file)
    # Loaded on use: other commands do not need the backbone.
    requests, listing = (importlib.import_module(f"tradewind.runtime.{name}") for name in ("requests", "published"))
    with requests.reached(state_of(file, state), backbone) as connection:
        listed = listing.published(connection, Path(found.name).stem)
    if as_json:
        typer.echo(json.dumps([one.to_json() for one in listed], indent=2))
        return
    head = ("stream", "what", "at", "of", "rows", "bytes", "for")
    rows = [head]
    for one in listed:
        places = ", ".join(one.sites), ", ".join(one.origins)
        rows.append((one.name, one.what, *places, f"{one.rows:,}", f"{one.bytes:,}", ", ".join(one.queries)))
    typer.echo("\n".join(aligned(rows)) if listed else "nothing flows between sites.")


@queries.command()
def add(file: File, more: More, state: State = None, backbone: Backbone = None, as_json: AsJson = False) -> None:
    """Add the queries of MORE to the run of FILE that is going on: they take what streams hold that run already, and
    answer as if they had been there from the start. Later runs of FILE go on with them.
    """
    try:
        text = more.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}.", where=str(more), hint="give the path of a YAML file.") from None
    folder = state_of(file, state)
    requests, earlier = (importlib.import_module(f"tradewind.runtime.{name}") for name in ("requests", "attachments"))
    # What is wrong with it is said here, with line and column.
    found = deployment_with(file, text, str(more), added=earlier.texts(folder))
    with requests.reached(folder, backbone) as connection:
        names = requests.ask(connection, Path(found.name).stem, text, str(more))
    typer.echo(json.dumps({"added": names}) if as_json else f"added: {', '.join(names)}")
