"""Which files of a machine a deployment may touch: none that Tradewind keeps for itself, and none beyond a root."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

KEPT = ".tradewind"
"""The folder in which agents, coordinators and runs keep state, keys and tokens unless they are told otherwise."""

_OWN = "lies in a folder that Tradewind keeps for itself"
_OUTSIDE = "lies outside of the folder that this site may use"
_PATTERN = re.compile(r"[*?\[{]")


@dataclass(frozen=True)
class Bounds:
    """Paths are relative to `base`. With `within` they stay below it; `own` are folders that nobody may name."""

    base: Path
    own: tuple[Path, ...] = ()
    within: bool = False

    def refusal(self, path: str | Path) -> str | None:
        """Why a file or folder may not be touched, by where it leads now, links followed; None if it may."""
        try:
            base, there = self.base.resolve(), (self.base / path).resolve()
            own = [folder.resolve() for folder in self.own]
        except (OSError, ValueError, RuntimeError):
            return "leads nowhere"
        inside = there.is_relative_to(base)
        if self.within and not inside:
            return _OUTSIDE
        below = there.relative_to(base) if inside else there
        return _OWN if KEPT in below.parts or any(map(there.is_relative_to, own)) else None

    def pattern_refusal(self, pattern: str) -> str | None:
        """Why a path that may be a pattern may not be read, as far as that can be told before files are found."""
        if not _PATTERN.search(pattern):
            return self.refusal(pattern)
        for one in alternatives(pattern):
            plain = one.replace("\\", "").replace("[^", "[!")
            if any(part[:1] not in {"*", "?"} and fnmatchcase(KEPT, part) for part in plain.split("/")):
                return _OWN
            # What stands before the first sign of a pattern may be a link.
            parts = plain.split("/")
            first = next((place for place, part in enumerate(parts) if _PATTERN.search(part)), len(parts))
            start = "/".join(parts[:first]) or ("/" if one.startswith("/") else ".")
            refused = self.refusal(start)
            if refused is not None:
                return refused
            if self._leads_into_own((self.base / start).resolve(), [part for part in parts[first:] if part]):
                return _OWN
        return None

    def _leads_into_own(self, start: Path, parts: list[str]) -> bool:
        for folder in self.own:
            there = folder.resolve()
            if not there.is_relative_to(start):
                continue
            names = there.relative_to(start).parts
            if len(parts) >= len(names) and all(map(fnmatchcase, names, parts)):
                return True
        return False


def alternatives(pattern: str) -> list[str]:
    """Patterns without braces for one that may have some.

    >>> alternatives("data/{ams,waw}/*.json")
    ['data/ams/*.json', 'data/waw/*.json']
    """
    return list(_alternatives(pattern))


def _alternatives(pattern: str) -> Iterator[str]:
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None:
        yield pattern
        return
    before, after = pattern[: found.start()], pattern[found.end() :]
    for one in found[1].split(","):
        yield from _alternatives(f"{before}{one}{after}")
