"""Tries a deployment out at one site: the same streams and questions, with nothing between them but that site."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tradewind.errors import InputError, unknown
from tradewind.frontends.deployment.deployment import Deployment


def at_one_site(found: Deployment, site: str) -> Deployment:
    """The deployment with all its streams read, its questions answered and its answers delivered at one of its sites.

    Origins keep their names. Each is still read by itself and has a mark of its own, so the questions and what they
    mean stay as they are; the names tell origins apart and no longer say where they are. In a deployment of one site,
    everything is there.
    """
    if site not in found.sites:
        raise unknown("site", site, found.sites, where=found.name)
    _refuse_shared_paths(found)
    queries = {
        name: replace(query, deliver=query.deliver.model_copy(update={"site": site}))
        for name, query in found.queries.items()
    }
    return replace(found, sites={site: found.sites[site]}, links=(), queries=queries)


def _refuse_shared_paths(found: Deployment) -> None:
    """A path that stands at two sites leads to two places; at one site it would lead to one."""
    origins = ((at, origin.path) for stream in found.streams.values() for at, origin in stream.origins.items())
    deliveries = ((query.deliver.site, query.deliver.path) for query in found.queries.values())
    _refuse_twins(found.name, origins, "are read")
    _refuse_twins(found.name, deliveries, "are delivered to")


def _refuse_twins(name: str, places: Iterable[tuple[str, str | None]], verb: str) -> None:
    seen: dict[str, str] = {}
    for site, path in places:
        if path is None:
            continue
        other = seen.setdefault(path.rstrip("/"), site)
        if other != site:
            what = f"files at {path!r} {verb} both at {other!r} and at {site!r}: at one site they would be the same."
            raise InputError(what, where=name, hint="give each site a path of its own.")
