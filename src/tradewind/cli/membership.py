"""`tradewind token` and `tradewind revoke`: who belongs to a cluster."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tradewind.algebra.durations import parse_duration
from tradewind.cli.at import At, client_of
from tradewind.cli.check import AsJson

SiteArgument = Annotated[str, typer.Argument(help="The site, as deployments call it.", show_default=False)]
DialledAt = Annotated[
    list[str] | None,
    typer.Option(
        "--host", metavar="HOST", help="A name or address under which others dial the site. May be given again."
    ),
]
Worker = Annotated[
    int | None, typer.Option("--worker", min=2, max=999, help="For a further agent of the site; they count from 2.")
]
For = Annotated[str, typer.Option("--for", metavar="DURATION", help="How long it is good for.")]


def token(  # noqa: PLR0917, the command line's options come as parameters
    site: SiteArgument,
    worker: Worker = None,
    for_: For = "1 hour",
    host: DialledAt = None,
    at: At = None,
    as_json: AsJson = False,
) -> None:
    """Print a token by which SITE may join the cluster, once. A site that others dial needs `--host`: its certificate
    will be good for that name or address.
    """
    place = site if worker is None else f"{site}~{worker}"
    body = {"site": place, "seconds": parse_duration(for_) / 1e6, "hosts": list(host or ())}
    found = client_of(at).post("/v1/tokens", body)["token"]
    typer.echo(json.dumps({"site": place, "token": found}) if as_json else found)
    which = f"--site {site}" if worker is None else f"--site {site} --worker {worker}"
    typer.echo(f"good once, within {for_}: tradewind agent {which} --join TOKEN@HOST", err=True)


def revoke(site: SiteArgument, at: At = None) -> None:
    """Shut SITE out of the cluster at once. What it had sent stays; to come back it needs a new token."""
    client_of(at).post(f"/v1/sites/{site}/revoke", {})
    typer.echo(f"{site} is shut out.")
