"""The roll: which sites belong to a cluster. A certificate that was good before a site was shut out is never so again.

Servers know a site by the name in its certificate, and nothing of serial numbers. So the name has an edition, which
changes whenever the site is shut out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tradewind.trust.keeping import damaged, keep_json, kept_json, locked
from tradewind.trust.names import principal

_FILE = "roll.json"


class Roll:
    """The sites that belong to a cluster, on disk. Other processes may use it too."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def edition(self, site: str) -> int:
        """The edition of the site's name that its next certificate bears."""
        principal(site)
        return self._read()[1].get(site, 1)

    def admit(self, site: str) -> None:
        """The site belongs to it from now on."""
        principal(site)
        with locked(self._folder, "roll"):
            members, editions = self._read()
            self._keep(members | {site}, editions)

    def shut_out(self, site: str) -> None:
        """The site belongs to it no more, and what it was certified so far is of no use."""
        with locked(self._folder, "roll"):
            members, editions = self._read()
            self._keep(members - {site}, {**editions, site: editions.get(site, 1) + 1})

    def members(self) -> dict[str, str]:
        """The sites that belong to it, each with its name in certificates."""
        members, editions = self._read()
        return {site: principal(site, editions.get(site, 1)) for site in sorted(members)}

    def _read(self) -> tuple[set[str], dict[str, int]]:
        path = self._folder / _FILE
        document: dict[str, Any] = kept_json(path) or {}
        members, editions = document.get("members", []), document.get("editions", {})
        if not isinstance(members, list) or not isinstance(editions, dict):
            raise damaged(path)
        if not all(isinstance(one, str) for one in members) or not all(isinstance(n, int) for n in editions.values()):
            raise damaged(path)
        return set(members), editions

    def _keep(self, members: set[str], editions: dict[str, int]) -> None:
        keep_json(self._folder / _FILE, {"members": sorted(members), "editions": editions})
