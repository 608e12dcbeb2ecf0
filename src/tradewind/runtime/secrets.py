"""Secrets: a file names them, and only where something runs are they taken from the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.spark.sources.bounds import Bounds
from tradewind.spark.tables.address import Address

_SQLITE = "sqlite:///"
_PASSWORD = re.compile(r"[a-z]+://[^/@]*?:([^/]*)@")
_NAMED = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")


def resolved(text: str, where: str, environment: Mapping[str, str] = os.environ) -> str:
    """A text with what the environment holds in place of the names of it.

    >>> resolved("postgresql://me:${env:PASSWORD}@db/x", "sites.hq.tables", {"PASSWORD": "s3cret"})
    'postgresql://me:s3cret@db/x'
    """

    def value(found: re.Match[str]) -> str:
        if found[1] not in environment:
            raise InputError(f"{found[1]} is not set here.", where=where, hint=f"export {found[1]}=… where this runs.")
        return environment[found[1]]

    return _NAMED.sub(value, text)


def tables_of(found: Deployment, site: str, bounds: Bounds | None = None) -> dict[str, Address]:
    """Where stored tables are kept at a site, if that is declared. Where bounds are those of a site, paths of files are
    relative to its root.
    """
    declared = found.sites[site].tables if site in found.sites else None
    if declared is None:
        return {}
    where = f"sites.{site}.tables"
    address = Address(resolved(declared, where), declared, hidden=_NAMED.search(declared) is not None)
    path = sqlite_path(address.url)
    if path is not None and bounds is not None:
        there = bounds.base / path if bounds.within else Path(path).absolute()
        shown = declared if address.hidden else path
        refuse(bounds.refusal(there), shown, where)
        leads_to, within_bounds = there.resolve(), bounds

        def allowed() -> None:
            refuse(within_bounds.refusal(leads_to), shown, where)

        address = replace(address, url=f"{_SQLITE}{leads_to}", allowed=allowed)
    return {"tables_at": address}


def sqlite_path(url: str) -> str | None:
    """The path of the file that tables are in; None if a server has them."""
    return url.removeprefix(_SQLITE) if url.startswith(_SQLITE) or "://" not in url else None


def refuse(why: str | None, shown: str, where: str) -> None:
    """Raise that a path may not be touched, if there is a reason; messages call it as it is shown."""
    if why is not None:
        hint = "name other files; a site's are below the agent's --root, and what it keeps is its own."
        raise InputError(f"{shown!r} {why}.", where=where, hint=hint)


def without_secrets(text: str, found: Deployment, environment: Mapping[str, str] = os.environ) -> str:
    """A message, with the names of secrets in place of what a deployment's databases may have quoted of them."""
    for value, name in sorted(_values(found, environment).items(), key=lambda one: -len(one[0])):
        text = text.replace(value, f"${{env:{name}}}")
    return text


def values_of(found: Deployment, environment: Mapping[str, str] = os.environ) -> list[str]:
    """The secrets that a deployment names and that the environment has, the longest first."""
    return sorted(_values(found, environment), key=len, reverse=True)


def _values(found: Deployment, environment: Mapping[str, str]) -> dict[str, str]:
    """Names by secret: whole, as it is once a URL is taken apart, and the password of a URL that is one."""
    named = [name for site in found.sites.values() for name in _NAMED.findall(site.tables or "")]
    values: dict[str, str] = {}
    for name in named:
        whole = environment.get(name, "")
        password = _PASSWORD.match(whole)
        for value in (whole, password[1] if password else ""):
            values |= {one: name for one in (value, unquote(value)) if one}
    return values
