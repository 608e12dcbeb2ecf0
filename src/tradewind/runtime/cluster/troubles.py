"""Fragments of a site that cannot read what is there: why, and when each of them tries again. The others go on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds until the first try after a failure; each further one takes twice as long, up to the longest."""
LONGEST_TEXT = 2_000
"""Characters of a problem: what a report may hold."""


@dataclass
class _Trouble:
    problem: str
    again_at: float
    pause: float
    tried: bool = False
    """Whether it was begun again, and has neither failed again nor done a batch."""


@dataclass
class Troubles:
    """The fragments that have failed, by their names, until they have done a batch."""

    _known: dict[str, _Trouble] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self._known)

    def note(self, failed: Mapping[str, Exception], now: float) -> list[str]:
        """Note which fragments have failed by now; the problems that are new."""
        problems = []
        for name, error in failed.items():
            before = self._known.get(name)
            if before is None or before.tried:
                pause = FIRST_PAUSE if before is None else min(before.pause * 2, LONGEST_PAUSE)
                self._known[name] = _Trouble(str(error)[:LONGEST_TEXT], now + pause, pause)
                problems.append(self._known[name].problem)
        return problems

    def due(self, now: float) -> Iterator[str]:
        """The fragments that are to try again now. Each is given once, until it fails again."""
        for name, trouble in self._known.items():
            if not trouble.tried and now >= trouble.again_at:
                trouble.tried = True
                yield name

    def over(self, name: str) -> None:
        """A fragment has done a batch."""
        self._known.pop(name, None)

    def keep(self, names: Collection[str]) -> None:
        """Forget all others: they are not here any more."""
        for gone in set(self._known) - set(names):
            del self._known[gone]

    def problem_of(self, name: str) -> str | None:
        """Why a fragment does not go on."""
        trouble = self._known.get(name)
        return None if trouble is None else trouble.problem
