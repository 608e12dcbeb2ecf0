"""What a site may touch on its machine: the files below its root, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import Deployment


def at_site(found: Deployment, site: str, root: Path) -> Deployment:
    """A deployment as one site sees it: its own origins of streams. Refused if it names files outside of the root."""
    for where, path in _paths(found, site):
        if not (root / path).resolve().is_relative_to(root.resolve()):
            raise InputError(
                f"{path!r} lies outside of the folder that this site may use.",
                where=where,
                hint="name files below it, or start the agent with another --root.",
            )
    streams = {
        name: replace(one, origins={site: one.origins[site]} if site in one.origins else {})
        for name, one in found.streams.items()
    }
    return replace(found, streams=streams)


def _paths(found: Deployment, site: str) -> Iterator[tuple[str, str]]:
    for name, stream in found.streams.items():
        origin = stream.origins.get(site)
        if origin is not None and origin.path is not None:
            yield f"streams.{name}.at.{site}", origin.path
    for name, query in found.queries.items():
        if query.deliver.site == site and query.deliver.path is not None:
            yield f"queries.{name}.deliver", query.deliver.path
