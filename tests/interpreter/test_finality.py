"""What is final stays, whatever the graph, as long as no row comes late; and answers do not depend on batches."""

import random
from collections import Counter

import pytest

from tests.random_data import random_data
from tests.random_graphs import random_graph
from tradewind.algebra.graph import Graph
from tradewind.algebra.properties import order_sensitive
from tradewind.interpreter.run import Run, Weighted, answer

STEP = 4_000_000
CHUNKS, CHUNK = 20, 25


def in_time(graph: Graph, chance: random.Random) -> dict:
    """Random rows without those that take back, each stream's origins in the order of event time."""
    data = random_data(graph, chance)
    found = {}
    for stream, origins in data.items():
        schema = graph.sources()[stream].schema
        place = schema.index(schema.time) if schema.time else 0
        plain = {o: [row for row in rows if not isinstance(row, Weighted)] for o, rows in origins.items()}
        found[stream] = {o: sorted(rows, key=lambda row: row[place]) for o, rows in plain.items()}
    return found


def steps(graph: Graph, data: dict) -> list[int]:
    times = [row[0] for origins in data.values() for rows in origins.values() for row in rows]
    return list(range(min(times, default=0), max(times, default=0) + STEP + 1, STEP)) or [0]


def between(data: dict, start: int, end: int) -> dict:
    """The rows with event times from start to before end."""
    return {
        stream: {origin: [row for row in rows if start <= row[0] < end] for origin, rows in origins.items()}
        for stream, origins in data.items()
    }


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_final_rows_stay_and_time_steps_lead_to_the_whole_answer(chunk: int) -> None:
    seen_final = 0
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        chance = random.Random(f"finality {seed}")
        graph = random_graph(chance)
        data = in_time(graph, chance)
        run = Run(graph, {stream: list(origins) for stream, origins in data.items()})
        final: dict[str, Counter] = {name: Counter() for name in graph.names}
        before = -(10**18)
        for now in steps(graph, data):
            run.feed(between(data, before, now), {s: dict.fromkeys(origins, now) for s, origins in data.items()})
            before = now
            for name in graph.names:
                found = run.final(name)
                assert not final[name] - found, f"seed {seed}: {name} took back what was final at {now}"
                final[name] = found
                seen_final += len(found)
        run.end()
        for name in graph.names:
            assert not final[name] - run.final(name), f"seed {seed}: {name} took back at the end"
            assert not run.tentative(name)
        if not any(order_sensitive(node) for node in graph):
            assert {name: run.answer(name) for name in graph.names} == answer(graph, data, strict=False), f"seed {seed}"
    assert seen_final > 0
