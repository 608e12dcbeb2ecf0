"""Who holds back the answers of a run, and since when."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping


class Waiting:
    """Notes when the mark of each origin moved last, as each query sees it."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._moved: dict[tuple[str, str], tuple[float, float]] = {}

    def look(
        self, marks: Mapping[str, Mapping[str, float]], behind: Mapping[str, Collection[str]], idle: Collection[str]
    ) -> dict[str, dict[str, float]]:
        """For each query that waits: the origins that are behind the others, the slowest among them, with the seconds
        for which their marks have not moved. Those that are idle are not waited for, if others are as slow.
        """
        now = self._clock()
        waits = {}
        for query, origins in marks.items():
            for origin, mark in origins.items():
                if self._moved.get((query, origin), (None, 0.0))[0] != mark:
                    self._moved[query, origin] = mark, now
            held = {*holders(origins, idle), *behind.get(query, ())}
            if held:
                waits[query] = {origin: now - self._moved[query, origin][1] for origin in sorted(held)}
        return waits


def holders(marks: Mapping[str, float], idle: Collection[str]) -> list[str]:
    """The origins that are behind all others; nobody is where all are equally far.

    >>> holders({"eu": 5, "us": 9}, ()), holders({"eu": 5, "us": 5}, ()), holders({"eu": 5, "us": 5, "ap": 9}, ["us"])
    (['eu'], [], ['eu'])
    """
    slowest = min(marks.values(), default=0)
    if slowest == max(marks.values(), default=0):
        return []
    slow = [origin for origin, mark in marks.items() if mark == slowest]
    return [origin for origin in slow if origin not in idle] or slow
