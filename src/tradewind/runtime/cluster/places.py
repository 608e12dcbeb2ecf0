"""What a site may touch on its machine: the files below its root, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.secrets import refuse, tables_of
from tradewind.spark.sources.bounds import Bounds

_PATTERN = re.compile(r"[*?\[{]")
_BRACES = {"{": "(?:", ",": "|", "}": ")"}


def at_site(found: Deployment, site: str, root: Path, own: Iterable[Path] = ()) -> Deployment:
    """A deployment as one site sees it: its own origins of streams. Refused if it names files outside of the root,
    also by what the environment holds, or in one of the agent's own folders.
    """
    bounds = Bounds(root, tuple(own), within=True)
    for where, path in _paths(found, site):
        refuse(bounds.pattern_refusal(path), path, where)
        if _PATTERN.search(path) and _astray(path):
            raise InputError(
                f"it cannot be told where {path!r} leads.",
                where=where,
                hint="in a pattern do without `..`, without backslashes, and without `/` between braces.",
            )
    streams = {
        name: replace(one, origins={site: one.origins[site]} if site in one.origins else {})
        for name, one in found.streams.items()
    }
    # Only checked: what the environment holds does not become part of the deployment, which is shown to others.
    tables_of(found, site, bounds)
    return replace(found, streams=streams)


def _astray(pattern: str) -> bool:
    """Whether a pattern may mean another folder than it seems to name: braces and backslashes can hide a way up."""
    if "\\" in pattern:
        return True
    for part in pattern.split("/"):
        try:
            # Braces that a part leaves open, or closes only, had a `/` between them.
            found = re.fullmatch("".join(_BRACES.get(sign) or re.escape(sign) for sign in part), "..")
        except re.error:
            return True
        if found is not None:
            return True
    return False


def _paths(found: Deployment, site: str) -> Iterator[tuple[str, str]]:
    for name, stream in found.streams.items():
        origin = stream.origins.get(site)
        if origin is not None and origin.path is not None:
            yield f"streams.{name}.at.{site}", origin.path
    for name, query in found.queries.items():
        if query.deliver.site == site and query.deliver.path is not None:
            yield f"queries.{name}.deliver", query.deliver.path
