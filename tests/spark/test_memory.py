"""What a run remembers: rows by how long they matter, commits, attempts that died."""

from __future__ import annotations

import math

import pytest

from tradewind.spark.memory import Memory

pytestmark = pytest.mark.spark


def frame(spark, *rows):
    return spark.createDataFrame(list(rows), "k STRING, _weight BIGINT, _until BIGINT")


def held(memory, threshold=-math.inf):
    found = memory.read("t", threshold)
    return sorted((row.k, row._weight) for row in found.collect()) if found is not None else []


def test_appended_rows_are_found_as_far_as_they_matter(spark, tmp_path) -> None:
    memory = Memory(spark, tmp_path)
    memory.begin(0)
    memory.append("t", frame(spark, ("a", 1, 10), ("b", 1, 20)))
    memory.append("t", frame(spark, ("c", 1, None)))
    assert held(memory) == [("a", 1), ("b", 1), ("c", 1)]
    assert held(memory, 15) == [("b", 1), ("c", 1)]
    assert held(memory, math.inf) == [("c", 1)]


def test_rewriting_replaces_only_what_reaches_the_threshold(spark, tmp_path) -> None:
    memory = Memory(spark, tmp_path)
    memory.begin(0)
    memory.rewrite("t", frame(spark, ("a", 1, 10), ("b", 1, 20), ("c", 1, None)), -math.inf)
    memory.rewrite("t", frame(spark, ("b", 2, 20), ("c", 2, None)), 15)
    assert held(memory) == [("a", 1), ("b", 2), ("c", 2)]
    memory.rewrite("t", frame(spark, ("c", 3, None)), 25)
    assert held(memory) == [("a", 1), ("b", 2), ("c", 3)]
    memory.rewrite("t", frame(spark, ("d", 1, None)), math.inf)
    assert held(memory) == [("a", 1), ("b", 2), ("d", 1)]
    memory.rewrite("t", frame(spark, ("z", 1, 5)), -math.inf)
    assert held(memory) == [("z", 1)]


def test_what_was_not_committed_does_not_count(spark, tmp_path) -> None:
    memory = Memory(spark, tmp_path)
    memory.begin(0)
    memory.append("t", frame(spark, ("a", 1, 10)))
    memory.commit({"note": 1})
    memory.begin(1)
    memory.append("t", frame(spark, ("b", 1, 10)))
    again = Memory(spark, tmp_path)
    assert again.committed.batch == 0
    assert again.committed.notes == {"note": 1}
    again.begin(1)
    assert held(again) == [("a", 1)]
    again.append("t", frame(spark, ("c", 1, 10)))
    again.commit({})
    last = Memory(spark, tmp_path)
    last.begin(2)
    assert held(last) == [("a", 1), ("c", 1)]


def test_many_segments_become_few_and_weights_are_added_up(spark, tmp_path) -> None:
    memory = Memory(spark, tmp_path)
    for batch in range(15):
        memory.begin(batch)
        memory.append("t", frame(spark, ("a", 1, 10), (f"k{batch}", 1, 10 + batch)))
        memory.compact()
        memory.commit({})
    assert [row for row in held(memory) if row[0] != "a"] == sorted((f"k{batch}", 1) for batch in range(15))
    assert sum(weight for key, weight in held(memory) if key == "a") == 15
    assert len(memory.committed.tables["t"]) <= 12
    files = {path.parent.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.parquet")}
    assert files == {segment.path for segment in memory.committed.tables["t"]}


def test_what_nothing_can_touch_is_forgotten(spark, tmp_path) -> None:
    memory = Memory(spark, tmp_path)
    memory.begin(0)
    memory.append("t", frame(spark, ("a", 1, 10)))
    memory.append("t", frame(spark, ("b", 1, 30)))
    memory.forget("t", 20)
    assert held(memory) == [("b", 1)]
