"""Secrets: a file names them, and only where something runs are they taken from the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import Deployment

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


def tables_of(found: Deployment, site: str) -> dict[str, str]:
    """Where stored tables are kept at a site, if that is declared."""
    declared = found.sites[site].tables
    return {} if declared is None else {"tables_at": resolved(declared, f"sites.{site}.tables")}


def values_of(found: Deployment, environment: Mapping[str, str] = os.environ) -> list[str]:
    """The secrets that a deployment names and that the environment has."""
    named = [name for site in found.sites.values() for name in _NAMED.findall(site.tables or "")]
    return [environment[name] for name in named if environment.get(name)]
