"""What a site may touch on its machine: the files below its root, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.frontends.deployment.model import Site
from tradewind.runtime.secrets import resolved

_SQLITE = "sqlite:///"
_PATTERN = re.compile(r"[*?\[{]")
_BRACES = {"{": "(?:", ",": "|", "}": ")"}


def at_site(found: Deployment, site: str, root: Path) -> Deployment:
    """A deployment as one site sees it: its own origins of streams, and its tables in a file below the root if they are
    in one. Refused if it names files outside of the root.
    """
    for where, path in _paths(found, site):
        _below(root, path, where)
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
    return replace(found, streams=streams, sites=_sites(found, site, root))


def _below(root: Path, path: str, where: str) -> Path:
    there = (root / path).resolve()
    if not there.is_relative_to(root.resolve()):
        raise InputError(
            f"{path!r} lies outside of the folder that this site may use.",
            where=where,
            hint="name files below it, or start the agent with another --root.",
        )
    return there


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


def _sites(found: Deployment, site: str, root: Path) -> dict[str, Site]:
    """The sites, this one with the file that its tables are in. What the environment holds may name one as well; all
    else that it holds stays there.
    """
    sites = dict(found.sites)
    declared = sites[site].tables if site in sites else None
    if declared is None:
        return sites
    where = f"sites.{site}.tables"
    url = resolved(declared, where)
    if url.startswith(_SQLITE) or "://" not in url:
        there = _below(root, url.removeprefix(_SQLITE), where)
        sites[site] = sites[site].model_copy(update={"tables": f"{_SQLITE}{there}"})
    return sites
