"""Idle origins: where the marks of those stand that nobody waits for any more.

An origin that has been silent for its stream's `idle_after` follows the slowest origin of its stream that is not idle,
so that it does not hold it back. A stream whose origins are all idle follows the slowest stream with which a query
combines it. Where all of them are idle nothing goes on: they come to where the furthest of them is, and stay there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Source
from tradewind.algebra.operators.stored import Read, Update

Place = tuple[str, str]
"""A stream, and a site at which it arises."""


class OriginStatus(NamedTuple):
    """Where an origin stands: its mark, whether it is idle, and for how many seconds nothing has come from it, where
    that is known.
    """

    mark: float = -math.inf
    idle: bool = False
    silent: float | None = None


def combined(graph: Graph) -> list[frozenset[str]]:
    """For each result the streams that it rests on; whoever reads a table rests on those that update it."""
    updates = [node for node in graph if isinstance(node, Update)]
    found = []
    for _, result in graph.results:
        streams, waiting, seen = set[str](), [result], set[Operator]()
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            if isinstance(node, Source):
                streams.add(node.stream)
            if isinstance(node, Read):
                waiting.extend(one for one in updates if one.table.name == node.table.name)
            waiting.extend(node.inputs)
        found.append(frozenset(streams))
    return found


def followed(origins: Mapping[Place, OriginStatus], queries: Iterable[Iterable[str]]) -> dict[Place, float]:
    """The marks that idle origins go on to, of those that do; queries are given by the streams that each combines.

    >>> eu, us, ap = ("s", "eu"), ("s", "us"), ("s", "ap")
    >>> followed({eu: OriginStatus(5, idle=True), us: OriginStatus(20), ap: OriginStatus(10)}, [["s"]])
    {('s', 'eu'): 10}
    >>> followed({eu: OriginStatus(5, idle=True), us: OriginStatus(20, idle=True)}, [["s"]])
    {('s', 'eu'): 20}
    """
    beside: dict[str, set[str]] = {stream: set() for stream, _ in origins}
    for streams in map(set, queries):
        for stream in streams & beside.keys():
            beside[stream] |= streams & beside.keys()
    active: dict[str, float] = {}
    furthest: dict[str, float] = {}
    for (stream, _), one in origins.items():
        furthest[stream] = max(furthest.get(stream, -math.inf), one.mark)
        if not one.idle:
            active[stream] = min(active.get(stream, math.inf), one.mark)

    def goal(stream: str) -> float:
        if stream in active:
            return active[stream]
        waited_for = [active[other] for other in beside[stream] if other in active]
        return min(waited_for) if waited_for else max(furthest[other] for other in {stream, *beside[stream]})

    goals = {place: goal(place[0]) for place, one in origins.items() if one.idle}
    return {place: mark for place, mark in goals.items() if mark > origins[place].mark}
