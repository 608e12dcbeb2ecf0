"""Whether two graphs give the same answers."""

from __future__ import annotations

import math
import random
from collections import Counter

from tradewind.algebra.drawing.text import draw_text
from tradewind.algebra.graph import Graph
from tradewind.interpreter.run import Batch, Run, answer


def plain(value):
    """A value that equals those that count as the same: NaN is NaN, and zero has no sign."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return tuple(plain(part) for part in value) if isinstance(value, tuple) else value


def _plain_rows(rows: Counter) -> Counter:
    found: Counter = Counter()
    for row, weight in rows.items():
        found[plain(row)] += weight
    return found


def same_answers(before: Graph, after: Graph, data: Batch, about: str) -> None:
    """Fail, with both graphs, when the final answers differ."""
    old, new = (answer(graph, data, strict=False) for graph in (before, after))
    for name in before.names:
        if _plain_rows(old[name]) != _plain_rows(new[name]):
            raise AssertionError(
                f"{about}: {name} differs\n{draw_text(before)}\n⇒\n{draw_text(after)}\n{old[name]}\n⇒\n{new[name]}"
            )


def same_at_every_moment(before: Graph, after: Graph, data: Batch, chance: random.Random, about: str) -> None:
    """Fail when the answers differ after some batch, or what was final before is not after."""
    runs = [Run(graph, {stream: list(origins) for stream, origins in data.items()}) for graph in (before, after)]
    waiting = {(stream, origin): list(rows) for stream, origins in data.items() for origin, rows in origins.items()}
    while any(waiting.values()):
        batch: dict = {}
        for (stream, origin), rows in waiting.items():
            size = chance.randrange(4)
            batch.setdefault(stream, {})[origin] = rows[:size]
            del rows[:size]
        for run in runs:
            run.feed({stream: rows for stream, rows in batch.items() if stream in run.graph.sources()})
        for name in before.names:
            old, new = (_plain_rows(run.answer(name)) for run in runs)
            assert old == new, f"{about}: {name} differs for a moment\n{draw_text(before)}\n⇒\n{draw_text(after)}"
            lost = _plain_rows(runs[0].final(name)) - _plain_rows(runs[1].final(name))
            assert not lost, f"{about}: {name} is final later\n{draw_text(before)}\n⇒\n{draw_text(after)}"
