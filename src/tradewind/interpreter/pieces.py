"""Runs a graph cut into pieces, as sites would: each piece alone, its deltas carried to the next in any order and any
batches.

The answer must be the one of the whole graph. (Not so for operators that depend on the order of arrival: these may
not be cut from their input.)
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator, walk
from tradewind.algebra.operators.core import Source
from tradewind.algebra.operators.stored import Read, Update
from tradewind.interpreter.rows import Delta, Values
from tradewind.interpreter.run import Batch, Run, Weighted

_CHANNEL = "channel"


def answer_in_pieces(
    graph: Graph, cuts: Iterable[Operator], data: Batch, mix: random.Random
) -> dict[str, Counter[Values]]:
    """The final answer when everything below each cut runs on its own and sends its deltas shuffled, in random
    batches.
    """
    wanted = set(cuts)
    channels: dict[str, dict[str, list[Weighted]]] = {}
    done: dict[Operator, Operator] = {}
    for node in graph:
        done[node] = node.with_inputs(tuple(done[child] for child in node.inputs))
        if node in wanted and not isinstance(node, Source) and not _uses_table(node):
            name = f"{_CHANNEL} {len(channels)}"
            sent = _sent(done[node], {**data, **channels}, mix)
            channels[name] = {_CHANNEL: [Weighted(row.values, weight) for row, weight in sent]}
            done[node] = Source(name, node.schema, origins=(_CHANNEL,), revisions=True)
    rest = Graph(tuple((name, done[node]) for name, node in graph.results))
    run = _run(rest, {**data, **channels}, mix)
    return {name: run.answer(name) for name in graph.names}


def _uses_table(node: Operator) -> bool:
    """Whether a read or an update is at or below the node: a table is in one place, and so must be all who use it."""
    return any(isinstance(one, Read | Update) for one in walk(node))


def _sent(node: Operator, data: Batch, mix: random.Random) -> list[Delta]:
    """All deltas that a piece gives out, shuffled."""
    piece = Graph.of(piece=node)
    deltas = _run(piece, data, mix).log(node)
    mix.shuffle(deltas)
    return deltas


def _run(graph: Graph, data: Batch, mix: random.Random) -> Run:
    """A run over all the rows, in batches of random size from randomly chosen origins."""
    run = Run(graph, {stream: list(origins) for stream, origins in data.items()})
    waiting = {
        (stream, origin): list(rows)
        for stream, origins in data.items()
        if stream in graph.sources()
        for origin, rows in origins.items()
        if rows
    }
    while waiting:
        stream, origin = mix.choice(sorted(waiting))
        rows = waiting[stream, origin]
        size = mix.randint(1, len(rows))
        run.feed({stream: {origin: rows[:size]}})
        del rows[:size]
        if not rows:
            del waiting[stream, origin]
    run.end()
    return run
