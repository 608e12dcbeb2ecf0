"""Whether Spark and the interpreter say the same, batch by batch."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace

from tests.rewrites.comparing import plain
from tests.spark.running import SparkRun
from tradewind.algebra.aggregates import AGGREGATES, AggregateCall
from tradewind.algebra.drawing.text import draw_text
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Aggregate, Combine, Finish, Merge, Partial
from tradewind.algebra.operators.base import Operator
from tradewind.interpreter.run import Run

RELATIVE, ABSOLUTE = 1e-9, 1e-12
"""The one thing that may differ: the last digits of sums of doubles, which depend on the order of adding."""


def alike(left, right) -> bool:
    """Whether two values are the same but for the order in which doubles were added."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(alike(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, float) and isinstance(right, float):
        return left == right or math.isclose(left, right, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return bool(left == right)


def differences(expected: Counter, found: Counter) -> tuple[list, list]:
    """The rows that only one of two answers has."""
    one, two = ({plain(row): weight for row, weight in answer.items()} for answer in (expected, found))
    missing = [(row, weight) for row, weight in one.items() if two.get(row) != weight]
    extra = [(row, weight) for row, weight in two.items() if one.get(row) != weight]
    for row in list(missing):
        twin = next((other for other in extra if alike(row, other)), None)
        if twin is not None:
            missing.remove(row)
            extra.remove(twin)
    return missing, extra


def exactly(graph: Graph) -> Graph:
    """The graph with exact aggregates in the place of approximate ones, whose errors are tested apart."""
    done: dict[Operator, Operator] = {}
    for node in graph:
        twin = node.with_inputs(tuple(done[child] for child in node.inputs))
        if isinstance(twin, Aggregate | Partial | Combine | Merge | Finish):
            twin = replace(twin, functions=tuple((name, _exact(call)) for name, call in twin.functions))
        done[node] = twin
    return Graph(tuple((name, done[node]) for name, node in graph.results))


def _exact(call: AggregateCall) -> AggregateCall:
    twin = None if call.user else call.definition.exact_twin
    if twin is None:
        return call
    return replace(call, function=twin, parameters=call.parameters[: len(AGGREGATES[twin].parameters)])


def cut(data: dict, chance: random.Random, most: int = 9) -> list[dict]:
    """The rows in batches of random sizes, in which each origin goes at its own pace."""
    waiting = {(stream, origin): list(rows) for stream, origins in data.items() for origin, rows in origins.items()}
    batches = []
    while any(waiting.values()):
        batch: dict = {}
        for (stream, origin), rows in waiting.items():
            size = chance.randrange(most)
            batch.setdefault(stream, {})[origin] = rows[:size]
            del rows[:size]
        batches.append(batch)
    return batches


def same_on_spark(spark, graph: Graph, batches: list[dict], folder, chance: random.Random, *, horizon=None) -> int:
    """Fail when an answer differs after some batch or at the end; restarts come in between. How many rows there are."""
    origins = {stream: list(dict.fromkeys(o for b in batches for o in b.get(stream, ()))) for stream in graph.sources()}
    meant = Run(graph, origins, horizon=horizon)
    run = SparkRun(spark, graph, folder, origins, horizon=horizon)
    for number, batch in enumerate([*batches, None]):
        if batch is None:
            meant.end()
            run.end()
        else:
            meant.feed(batch)
            run.feed(batch)
        for name in graph.names:
            missing, extra = differences(meant.answer(name), run.answer(name))
            moment = "at the end" if batch is None else f"after batch {number}"
            assert (missing, extra) == ([], []), (
                f"{name} differs {moment}\n{draw_text(Graph(((name, graph[name]),)))}\nmissing {missing}\nextra {extra}"
            )
        if chance.random() < 0.3:
            run.restart()
    run.engine.release()
    return sum(sum(meant.answer(name).values()) for name in graph.names)
