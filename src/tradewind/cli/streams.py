"""`tradewind streams`, `queries add` and `queries remove`: what runs, and more or less of it while everything goes on.

With a deployment file it is about the run of that file on this machine, without one about a cluster.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tradewind.cli.aligning import aligned
from tradewind.cli.at import At, client_of
from tradewind.cli.check import AsJson
from tradewind.cli.messages import plain_typer
from tradewind.cli.places import Backbone, State, state_of
from tradewind.errors import InputError
from tradewind.frontends.deployment.file import deployment, deployment_with

RunningFile = Annotated[
    Path | None,
    typer.Argument(help="The deployment file that runs here; without it, the cluster is asked.", show_default=False),
]
Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="[FILE] MORE", help="MORE is a YAML file with `queries:` alone; FILE is what runs here, if it does."
    ),
]
QueryName = Annotated[str, typer.Argument(help="The query.", show_default=False)]

queries = plain_typer(help="The queries of a run that is going on, here or on a cluster.", no_args_is_help=True)


def streams(
    file: RunningFile = None, state: State = None, backbone: Backbone = None, at: At = None, as_json: AsJson = False
) -> None:
    """List the streams that run between sites just now: what they hold, where they are to be had, and whose answers
    rest on them. Queries that are added are made of them. With FILE those of its run here, else those of a cluster.
    """
    if file is None:
        listed = client_of(at).get("/v1/streams")["streams"]
    else:
        found = deployment(file)
        # Loaded on use: other commands do not need the backbone.
        requests, listing = (importlib.import_module(f"tradewind.runtime.{name}") for name in ("requests", "published"))
        with requests.reached(state_of(file, state), backbone) as connection:
            listed = [one.to_json() for one in listing.published(connection, Path(found.name).stem)]
    typer.echo(json.dumps(listed, indent=2) if as_json else "\n".join(_told(listed)))


def _told(listed: Iterable[Mapping[str, Any]]) -> list[str]:
    rows = [("stream", "what", "at", "of", "rows", "bytes", "for")]
    for one in listed:
        places = ", ".join(one["sites"]), ", ".join(one["origins"])
        amounts = f"{one['rows']:,}", f"{one['bytes']:,}"
        rows.append((one["name"], one["what"], *places, *amounts, ", ".join(one["queries"])))
    return aligned(rows) if len(rows) > 1 else ["nothing flows between sites."]


@queries.command()
def add(files: Files, state: State = None, backbone: Backbone = None, at: At = None, as_json: AsJson = False) -> None:
    """Add the queries of MORE to what is going on: they take what streams hold that run already, and answer as if they
    had been there from the start. Later runs go on with them.
    """
    if len(files) not in {1, 2}:
        raise InputError("one or two files are wanted.", hint="queries add FILE MORE, or for a cluster: add MORE.")
    more = files[-1]
    try:
        text = more.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}.", where=str(more), hint="give the path of a YAML file.") from None
    if len(files) == 1:
        names = client_of(at).post("/v1/queries", {"text": text, "called": more.name})["added"]
    else:
        names = _added_here(files[0], more, text, state_of(files[0], state), backbone)
    typer.echo(json.dumps({"added": names}) if as_json else f"added: {', '.join(names)}")


def _added_here(file: Path, more: Path, text: str, folder: Path, backbone: str | None) -> list[str]:
    requests, earlier = (importlib.import_module(f"tradewind.runtime.{name}") for name in ("requests", "attachments"))
    # What is wrong with it is said here, with line and column.
    found = deployment_with(file, text, str(more), added=earlier.texts(folder))
    with requests.reached(folder, backbone) as connection:
        return list(requests.ask(connection, Path(found.name).stem, text, str(more)))


@queries.command()
def remove(query: QueryName, at: At = None, as_json: AsJson = False) -> None:
    """Answer QUERY no more on a cluster. What only it needs is stopped; what it delivered stays."""
    done = client_of(at).delete(f"/v1/queries/{query}")
    typer.echo(json.dumps(done) if as_json else f"removed: {query}")
