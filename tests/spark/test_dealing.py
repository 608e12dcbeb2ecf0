"""A fragment that is split by key, or taken apart from its answers, while it works, and made whole again, gives the
answer that it would have given.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.spark.comparing import cut, differences
from tests.spark.running import SparkRun
from tests.spark.test_conformance import SECOND, WINDOWS, readings
from tradewind.algebra.aggregates import parse_aggregate
from tradewind.algebra.expressions.typing import parse_expression
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Aggregate, Finish, Merge, Partial, detached
from tradewind.algebra.operators.core import Band, Join, Map, Source, Top, Union
from tradewind.algebra.schema import parse_schema
from tradewind.fragments.deployed import Channel, Fragment
from tradewind.fragments.detaching import Detaching
from tradewind.fragments.parting import Parting, channels
from tradewind.fragments.sharing import Sharing
from tradewind.interpreter.run import Run
from tradewind.runtime.recut import gathered, parted
from tradewind.spark.columns import WEIGHT
from tradewind.spark.delivery import FINAL, Wish, deliverable
from tradewind.spark.engine import NEVER, Arrived, Engine
from tradewind.spark.types import from_arrow

pytestmark = pytest.mark.spark

ORIGINS = ("ams", "nyc")
SCHEMA = "ts TIMESTAMP, k STRING, i INT, b BIGINT, d DOUBLE, m DECIMAL(10,2), s STRING, f BOOLEAN"


def source(origin: str, *, revised: bool) -> Source:
    return Source("readings", parse_schema(SCHEMA, time="ts"), SECOND, (origin,), revised)


def calls(node, *texts):
    return tuple((f"a{n}", parse_aggregate(text, node.schema)) for n, text in enumerate(texts))


def merged(window, *, top=False):
    """Partials of two sites are merged, and the best are taken."""
    leaves = tuple(source(origin, revised=False) for origin in ORIGINS)
    functions = calls(leaves[0], "count(*)", "sum(b)", "max(d)")
    partials = tuple(Partial(leaf, ("k", "f"), functions, WINDOWS[window]) for leaf in leaves)
    keys = ("k", "f") if WINDOWS[window] is None else ("k", "f", "window")
    node = Finish(Merge(Union(partials), keys, detached(functions)), detached(functions))
    per = () if WINDOWS[window] is None else ("window",)
    return partials, Top(node, 2, (("a0", True),), per) if top else node


def grouped(window, *texts, revised=True, keys=("k", "i"), top=False):
    """Rows of two sites are grouped."""
    leaves = tuple(source(origin, revised=revised) for origin in ORIGINS)
    node = Aggregate(Union(leaves), keys, calls(leaves[0], *texts), WINDOWS[window])
    return leaves, Top(node, 3, (("a0", True),), ()) if top else node


def twice():
    """Groups of groups: the second ones are not split."""
    leaves, node = grouped("tumbling", "count(*)", "sum(b)")
    return leaves, Aggregate(node, ("k",), calls(node, "sum(a0)", "max(a1)"), None)


def partly():
    """Partials are made where they are merged: rows are chosen before."""
    leaves = tuple(source(origin, revised=False) for origin in ORIGINS)
    functions = calls(leaves[0], "count(*)", "sum(b)")
    columns = {"ts": "ts", "b": "b", "word": "k"}
    renamed = tuple((name, parse_expression(text, leaves[0].schema)) for name, text in columns.items())
    partials = tuple(Partial(Map(leaf, renamed), ("word",), functions, WINDOWS["tumbling"]) for leaf in leaves)
    return leaves, Finish(Merge(Union(partials), ("word", "window"), detached(functions)), detached(functions))


CASES = {
    "made where they are merged": partly,
    "merged": lambda: merged("tumbling", top=True),
    "merged without windows": lambda: merged("none"),
    "best of all": lambda: grouped("none", "sum(b)", "count(*)", top=True),
    "sliding and taken back": lambda: grouped("sliding", "sum(b)", "count_distinct(s)", "min(d)"),
    "sessions": lambda: grouped("session", "count(*)", "max(b)", keys=("k",)),
    "values": lambda: grouped("values", "count(*)", revised=False, keys=("k",)),
    "groups of groups": twice,
}


def counted():
    """Neighbours are remembered in files of buckets, which cannot be dealt out by key."""
    return grouped("counted with timeout", "count(*)", "sum(b)", keys=("k",), revised=False)


def paired():
    """Rows of one site meet those of the other."""
    one, two = (source(origin, revised=True) for origin in ORIGINS)
    renamed = tuple((f"r_{name}", parse_expression(name, two.schema)) for name in ("ts", "k", "b"))
    return (one, two), Join(
        one, Map(two, renamed), "left", (("k", "r_k"),), Band("ts", "r_ts", -5 * SECOND, 5 * SECOND)
    )


APART = {name: CASES[name] for name in ("merged", "best of all", "sliding and taken back")} | {
    "counted": counted,
    "joined": paired,
}


class Sent(NamedTuple):
    """What a fragment said on a channel in one batch."""

    rows: pa.Table | None
    marks: Mapping[str, float]
    late: bool


class Piece:
    """A fragment at work on what comes by channels."""

    def __init__(self, spark, fragment, channels, folder):
        self.spark, self.fragment, self.folder = spark, fragment, folder
        origins = {name: tuple(f"{s}/{o}" for s, o in channels[name].origins) for name in fragment.inputs}
        self.engine = Engine.at(spark, fragment.graph, folder, origins, given=dict(fragment.inputs))
        self.told: Counter = Counter()

    def feed(self, news: Mapping[str, list[Sent]]) -> dict[str, Sent]:
        arrived: dict[str, dict[str, Arrived]] = {}
        for channel, some in news.items():
            tables = [one.rows for one in some if one.rows is not None and one.rows.num_rows]
            rows = self.spark.createDataFrame(pa.concat_tables(tables)) if tables else None
            late = any(one.late for one in some)
            for number, origin in enumerate(self.engine.origins[channel]):
                mark = max((one.marks.get(origin, NEVER) for one in some), default=NEVER)
                arrived.setdefault(channel, {})[origin] = Arrived(None if number else rows, mark, late)
        found: dict[str, Sent] = {}

        def deliver(deltas, step):
            for name, node in self.fragment.graph.results:
                rows = None if deltas[name] is None else deltas[name].toArrow()
                found[name] = Sent(rows, {}, step.clocks[node].late)
                if name == "answer":
                    self._tell(node, deliverable(Wish(name, node), step, deltas[name]))
            return {"positions": {}}

        self.engine.advance(self.engine.memory.committed.batch + 1, arrived, deliver)
        return {
            name: one._replace(marks=self.engine.marks_of(self.fragment.graph[name])) for name, one in found.items()
        }

    def _tell(self, node, rows):
        if rows is not None:
            table = rows.toArrow()
            assert FINAL in table.column_names
            plain = from_arrow(table.select(list(node.schema.names)), node.schema)
            for row, weight in zip(plain, table[WEIGHT].to_pylist(), strict=True):
                self.told[row] += weight


class Leaf(SparkRun):
    """A site where rows arise: what it says on its channel."""

    def __init__(self, spark, node, origin, folder):
        super().__init__(spark, Graph.of(said=node), folder, {"readings": [origin]})
        self.said: list[Sent] = []

    def _advance(self, go):
        found: list = []

        def deliver(deltas, step):
            node = self.graph["said"]
            found.extend([None if deltas["said"] is None else deltas["said"].toArrow(), step.clocks[node].late])
            return {}

        go(deliver)
        self.said.append(Sent(found[0], self.engine.marks_of(self.graph["said"]), found[1]))


class Site:
    """One fragment, or its shares and what brings them together, each at a pace of its own."""

    def __init__(self, spark, leaves, node, folder, chance):
        self.spark, self.folder, self.chance = spark, folder, chance
        self.inputs = dict(zip((f"from-{origin}" for origin in ORIGINS), leaves, strict=True))
        self.channels = {
            name: Channel(name, leaf, origin, (("readings", origin),))
            for (name, leaf), origin in zip(self.inputs.items(), ORIGINS, strict=True)
        }
        self.whole = Fragment("hq", Graph.of(answer=node), self.inputs, (), ("answer",))
        self.pieces = [self._piece(self.whole, "whole-0")]
        self.waiting: dict[tuple[int, str], list[Sent]] = {}
        self.parting: Parting | None = None
        self.answer: Counter = Counter()
        self.changes = 0

    def _piece(self, fragment, folder):
        return Piece(self.spark, fragment, self.channels, self.folder / folder / "memory")

    def take(self, news: Mapping[str, Sent]) -> None:
        readers = range(max(1, len(self.pieces) - 1))
        for reader in readers:
            for name, one in news.items():
                self.waiting.setdefault((reader, name), []).append(one)
        for number in range(len(self.pieces)):
            if self.chance.random() < 0.6:
                self.work(number)

    def work(self, number: int) -> None:
        """Let a piece take what waits for it."""
        piece = self.pieces[number]
        news = {name: self.waiting.pop((number, name), []) for name in piece.fragment.inputs}
        if any(news.values()):
            said = piece.feed(news)
            for name, one in said.items():
                if self.parting is not None and name in self.parting.channel_names:
                    self.waiting.setdefault((len(self.pieces) - 1, name), []).append(one)

    def drain(self) -> None:
        for number in range(len(self.pieces)):
            self.work(number)

    def split(self, count: int) -> None:
        self.changes += 1
        apart = count == 1
        self.parting = Detaching(self.whole, self.changes) if apart else Sharing(self.whole, count, self.changes)
        self.channels |= {one.name: one for one in channels(self.parting, self.channels)}
        target = self.folder / f"split-{self.changes}"
        folders = parted(self.spark, self.parting, self.pieces[0].folder, self.channels, target)
        self._gather()
        self.waiting = {(n, name): list(some) for (_, name), some in self.waiting.items() for n in range(count)}
        fragments = [*self.parting.shares, self.parting.together]
        self.pieces = [self._piece(one, folders[one.name].relative_to(self.folder)) for one in fragments]

    def merge(self) -> None:
        self.drain()
        assert self.parting is not None
        self.changes += 1
        memories = {piece.fragment.name: piece.folder for piece in self.pieces}
        folder = gathered(self.spark, self.parting, memories, self.folder / f"merged-{self.changes}")
        self._gather()
        self.parting = None
        self.pieces = [self._piece(self.whole, folder.relative_to(self.folder))]

    def _gather(self) -> None:
        for piece in self.pieces:
            self.answer.update(piece.told)
            piece.told = Counter()

    def told(self) -> Counter:
        self._gather()
        return Counter({row: weight for row, weight in self.answer.items() if weight})


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", CASES)
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 1 << 32))
def test_a_split_changes_no_answer(spark, tmp_path_factory, case, seed):
    _changes_nothing(spark, tmp_path_factory.mktemp("split"), CASES[case], seed, (2, 3))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", APART)
@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 1 << 32))
def test_work_set_apart_from_its_answers_changes_none(spark, tmp_path_factory, case, seed):
    _changes_nothing(spark, tmp_path_factory.mktemp("apart"), APART[case], seed, (1,))


def _changes_nothing(spark, folder, made, seed, counts):
    chance = random.Random(seed)
    leaves, node = made()
    revised = any(one.revisions for one in Graph.of(answer=node).sources().values())
    kind = Source("readings", parse_schema(SCHEMA, time="ts"), SECOND, (), revised)
    batches = cut(readings(kind, seed, 14), chance, most=12)
    meant = Run(Graph.of(answer=node), {"readings": list(ORIGINS)})
    ends = [Leaf(spark, leaf, origin, folder / origin) for leaf, origin in zip(leaves, ORIGINS, strict=True)]
    site = Site(spark, leaves, node, folder, chance)
    begin, end = sorted(chance.sample(range(len(batches) + 1), 2))
    for number, batch in enumerate([*batches, {}]):
        if number == begin:
            site.split(chance.choice(counts))
        if number == end:
            site.merge()
        meant.feed(batch)
        said = {}
        for origin, leaf in zip(ORIGINS, ends, strict=True):
            leaf.feed({"readings": {origin: batch.get("readings", {}).get(origin, ())}})
            said[f"from-{origin}"] = leaf.said[-1]
        site.take(said)
        if chance.random() < 0.3:
            site.drain()
            assert differences(meant.answer("answer"), site.told()) == ([], [])
    site.drain()
    assert differences(meant.answer("answer"), site.told()) == ([], [])
    assert site.told()
