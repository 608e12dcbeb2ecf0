"""Answers that are taken from pushed files are the interpreter's, and only those that may be are taken from there."""

from __future__ import annotations

import random
import time
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tradewind as tw
from tests.spark.sources.writing import ALL, rows
from tests.tiers import TIER, Tier
from tradewind.algebra.graph import Graph
from tradewind.algebra.schema import Schema, parse_schema
from tradewind.interpreter.run import answer
from tradewind.runtime.answers import added_up
from tradewind.spark.carrying import carried
from tradewind.spark.sinks import Pulled
from tradewind.spark.sources.push import Inbox, Kept
from tradewind.spark.types import to_arrow

SCHEMA = Schema(tuple(column for column in ALL.columns if column[0] != "iv"), ALL.times)
FILE = f"""
sites: {{here: {{cores: 2}}}}
streams:
  a: {{schema: '{SCHEMA}', time: ts, at: {{here: {{format: push}}}}}}
  b: {{schema: '{SCHEMA}', time: ts, at: {{here: {{format: push}}}}}}
"""


def questions(found):
    """Answers by name: those that hold nothing new, and those that do."""
    a, b = found.stream("a"), found.stream("b")
    old = {
        "all": a,
        "some": a.where("l % 2 = 0 OR s IS NULL"),
        "none": a.where("i > 5 AND i < 5"),
        "renamed": a.select("x", "d", when="ts", twice="st", again="st"),
        "swapped": a.where("t < 100").select("ts", p="f", q="d").select("ts", "q", r="p"),
        "both": a.select("ts", "s", n="l").where("n > 0").union(b.select("ts", "s", n="l")),
    }
    new = {
        "made": a.select("ts", one="l + 1"),
        "self": a.where("l > 0").union(a.where("i > 0")),
        "counted": a.group_by("b", window=tw.tumbling("1 day")).agg(n="count(*)"),
    }
    return old, new


@pytest.fixture
def found(tmp_path):
    path = tmp_path / "push.yaml"
    path.write_text(FILE)
    return tw.deployment(path)


def test_what_holds_nothing_new(found) -> None:
    old, new = questions(found)
    assert {name: carried(one.operator) is not None for name, one in {**old, **new}.items()} == {
        **dict.fromkeys(old, True),
        **dict.fromkeys(new, False),
    }
    assert carried(old["swapped"].operator) == {"a": ("ts", "d", "f")}
    assert carried(old["both"].operator) == {"a": ("ts", "s", "l"), "b": ("ts", "s", "l")}


@pytest.mark.spark
@settings(max_examples=3 if TIER is Tier.ALL else 1)
@given(seed=st.integers(0, 10**6), sizes=st.lists(st.sampled_from([1, 63, 64, 65, 300]), min_size=2, max_size=4))
def test_pulled_rows_are_the_interpreters(spark, tmp_path_factory, seed, sizes) -> None:
    folder = tmp_path_factory.mktemp("carrying")
    (folder / "push.yaml").write_text(FILE)
    found = tw.deployment(folder / "push.yaml")
    old, new = questions(found)
    asked = {**old, **new}
    wanted = {name: one.deliver("here") for name, one in asked.items()}
    chance = random.Random(seed)
    held: Counter[str] = Counter()
    tables: dict[str, list[pa.Table]] = {name: [] for name in asked}
    pushed: dict[str, list] = {"a": [], "b": []}
    for half in (sizes[: len(sizes) // 2], sizes[len(sizes) // 2 :]):
        live = found.run(wanted, state=folder / "state", spark=spark)
        for size in half:
            for stream, gone in pushed.items():
                some = rows(SCHEMA, size, chance.randrange(10**6))
                gone += some
                live.enqueue(stream, some if chance.random() < 0.5 else to_arrow(some, SCHEMA))
        with pytest.MonkeyPatch.context() as patch, live:
            patch.setattr(Pulled, "hold", counting(Pulled.hold, held))
            for name, found_here in tables.items():
                found_here += list(live.results(name))
    graph = Graph.of(**{name: one.operator for name, one in asked.items()})
    right = answer(graph, {stream: {"here": some} for stream, some in pushed.items()})
    for name, one in asked.items():
        rows_of = added_up(tables[name], one.operator.schema)
        assert Counter({row[:-1]: n for row, n in rows_of.items()}) == right[name], name
        assert all(row[-1] for row in rows_of), name
    assert held["batches"] == 2 * len(old)


def counting(hold, held):
    def counted(self, table, label):
        held["batches"] += 1
        return hold(self, table, label)

    return counted


@pytest.mark.spark
@settings(max_examples=2)
@given(seed=st.integers(0, 10**6), sizes=st.lists(st.sampled_from([1, 64, 65, 300]), min_size=2, max_size=3))
def test_rows_that_are_in_the_process_still_are_the_interpreters(spark, tmp_path_factory, seed, sizes) -> None:
    folder = tmp_path_factory.mktemp("kept")
    (folder / "push.yaml").write_text(FILE)
    found = tw.deployment(folder / "push.yaml")
    asked, _ = questions(found)
    chance = random.Random(seed)
    pushed: dict[str, list] = {"a": [], "b": []}
    taken: Counter[str] = Counter()
    graph = Graph.of(**{name: one.operator for name, one in asked.items()})
    wanted = {name: one.deliver("here") for name, one in asked.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kept, "get", noting(Kept.get, taken))
        with found.run(wanted, until_done=False, interval=0.2, spark=spark) as live:
            for size in sizes:
                for stream, gone in pushed.items():
                    some = rows(SCHEMA, size, chance.randrange(10**6))
                    gone += some
                    live.enqueue(stream, some if chance.random() < 0.5 else to_arrow(some, SCHEMA))
            live.flush()
            right = answer(graph, {stream: {"here": some} for stream, some in pushed.items()})
            limit = time.monotonic() + 120
            while any(live.totals[name].final < right[name].total() for name in asked):
                assert time.monotonic() < limit, live.totals
                live.wait(0.1)
            pulling = {name: live.dequeuer(name) for name in asked}
    for name, one in asked.items():
        delivered = added_up(list(iter(pulling[name].pull, None)), one.operator.schema)
        assert Counter({row[:-1]: n for row, n in delivered.items()}) == right[name], name
    assert taken["here"]
    assert not taken["gone"]


def noting(get, taken):
    def noted(self, file):
        table = get(self, file)
        taken["gone" if table is None else "here"] += 1
        return table

    return noted


def test_the_oldest_are_let_go_for_what_does_not_fit(tmp_path) -> None:
    kept = Kept(most_bytes=10)
    table = pa.table({"v": [1]})
    files = [tmp_path / f"rows-{n}" for n in range(4)]
    kept.put(files[0], table, 4)
    assert kept.get(files[0]) is None, "nobody wants it"
    kept.wanted = True
    for file in files:
        kept.put(file, table, 4)
    assert [kept.get(file) is not None for file in files] == [False, False, True, True]
    kept.put(tmp_path / "rows-9", table, 11)
    assert kept.get(files[3]) is not None
    kept.forget(files[2])
    assert [kept.get(file) is not None for file in files] == [False, False, False, True]


def test_many_rows_are_written_as_two_files_in_order(tmp_path) -> None:
    table = pa.table({"v": pa.array(range(600_000), pa.int64())})
    inbox = Inbox(tmp_path / "s" / "o", parse_schema("v BIGINT"))
    assert inbox.enqueue(table) == 600_000
    files = sorted((tmp_path / "s" / "o").iterdir())
    assert len(files) == 2
    assert pa.concat_tables([pq.read_table(file) for file in files])["v"].to_pylist() == list(range(600_000))
