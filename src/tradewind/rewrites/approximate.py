"""Other graphs whose answers are not those of a query, but within the error that it allows: for a planner to weigh.

Two things are left out of what has to travel.

**Light groups of a top.** Of the groups whose greatest values are wanted, each input gives only its own first n, where
n is one over the error. A group that an input does not give has less than any of these n, and so less than an n-th of
what all its groups have together. Over all inputs, a group lacks less than that share of the whole: no value is more
than the error, as a share of its window's total, below the exact one, and none is above. That is the promise of the
frequent-items sketches (Misra and Gries, 1982), kept by a top of exact counts: a site can count its own.

**Values of an aggregate.** Different values, quantiles and most frequent values are found by sketches, which do not
grow with what they have seen.

Both need rows that are never taken back.

>>> from tradewind.algebra.aggregates import parse_aggregate
>>> from tradewind.algebra.drawing.text import draw_text
>>> from tradewind.algebra.operators.core import Source
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.algebra.windows import TimeWindow
>>> schema = parse_schema("ts TIMESTAMP, url STRING", time="ts")
>>> ams, nyc = (Source("hits", schema, origins=(name,)) for name in ("ams", "nyc"))
>>> count, minute = (("n", parse_aggregate("count(*)", schema)),), TimeWindow("ts", 60_000_000, 60_000_000)
>>> top = Top(Aggregate(Union((ams, nyc)), ("url",), count, minute), 3, (("n", True),), ("window",))
>>> found = approximate(Graph.of(first=top), 0.01)
>>> found.words
('of the groups of top 3 by n DESC per window, each input gives its first 100',)
>>> print(draw_text(found.graph["first"]))
top 3 by n DESC per window
└─ aggregate by url per 1 minute of last: n = sum(n)
   └─ union of 2
      ├─ map url, last = window.`end` - INTERVAL '1' MICROSECOND, n
      │  └─ top 100 by n DESC per window
      │     └─ aggregate by url per 1 minute of ts: n = count(*)
      │        └─ stream hits at ams
      └─ map url, last = window.`end` - INTERVAL '1' MICROSECOND, n
         └─ top 100 by n DESC per window
            └─ aggregate by url per 1 minute of ts: n = count(*)
               └─ stream hits at nyc
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tradewind.algebra.drawing.labels import label
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Map, Top, Union
from tradewind.algebra.precision import sketched
from tradewind.algebra.properties import append_only
from tradewind.rewrites.invariants import broken
from tradewind.rewrites.split_by_key import exchanged
from tradewind.rewrites.threshold_top import rounds_of


@dataclass(frozen=True, slots=True)
class Approximated:
    """A graph with answers within an error, and in words what was done to it."""

    graph: Graph
    words: tuple[str, ...]


def approximate(graph: Graph, error: float) -> Approximated | None:
    """The graph with all that an error allows for; None if there is nothing."""
    if error <= 0:
        return None
    words: list[str] = []
    results = tuple((name, _approximated(node, error, words)) for name, node in graph.results)
    return Approximated(Graph(results), tuple(dict.fromkeys(words))) if words else None


def _approximated(node: Operator, error: float, words: list[str]) -> Operator:
    """A node, or what it takes its rows from one by one: what is made of answers otherwise has errors of its own."""
    new = _lighter(node, error) or _by_sketches(node, error)
    if new is not None:
        words.append(new[1])
        return new[0]
    if not isinstance(node, Map | Filter | Top | Union):
        return node
    return node.with_inputs(tuple(_approximated(child, error, words) for child in node.inputs))


def _lighter(node: Operator, error: float) -> tuple[Operator, str] | None:
    rounds = rounds_of(node)
    if rounds is None or not isinstance(node, Top) or not rounds.from_answers:
        return None
    value = dict(rounds.whole.functions)[rounds.value]
    if any(call != value for _, call in rounds.whole.functions):
        return None  # nothing bounds what a light group has of something else
    count = max(node.k, math.ceil(1 / error))
    found = exchanged(node, {rounds.whole: rounds.heaviest(count)})
    if broken(node.schema, found.schema) is not None:
        return None
    return found, f"of the groups of {label(node)}, each input gives its first {count:,}"


def _by_sketches(node: Operator, error: float) -> tuple[Operator, str] | None:
    if not isinstance(node, Aggregate) or not append_only(node.input):
        return None
    found = [(name, call, sketched(call, error)) for name, call in node.functions]
    taken = [(call, sketch) for _, call, sketch in found if sketch is not None]
    new = replace(node, functions=tuple((name, sketch or call) for name, call, sketch in found))
    if not taken or broken(node.schema, new.schema) is not None:
        return None
    return new, "; ".join(f"{call} by {sketch}" for call, sketch in taken)
