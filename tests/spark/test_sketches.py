"""Approximate aggregates stay near the exact ones that they approximate."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.spark.running import SparkRun
from tradewind.algebra.aggregates import parse_aggregate
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Aggregate, Combine, Finish, Functions, Merge, Partial, detached
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Source
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.windows import TimeWindow

pytestmark = pytest.mark.spark

SOURCE = Source("s", parse_schema("ts TIMESTAMP, s STRING, n BIGINT, d DOUBLE", time="ts"))
FUNCTIONS = tuple(
    (name, parse_aggregate(text, SOURCE.schema))
    for name, text in {
        "texts": "approx_count_distinct(s)",
        "numbers": "approx_count_distinct(n, 0.05)",
        "theta": "theta_count_distinct(d)",
        "median": "approx_percentile(d, 0.5)",
        "high": "approx_percentile(n, 0.95)",
        "often": "approx_top_k(s, 2)",
    }.items()
)
COUNT = 6_000


def rows(seed: int) -> list[tuple]:
    mix = random.Random(seed)
    found = []
    for number in range(COUNT):
        text = "" if number % 5 == 0 else "b" if number % 7 == 0 else f"text-{number}"
        found.append((number, text, mix.randrange(2_000), float(number)))
    mix.shuffle(found)
    return found


def aggregate(functions: Functions, parts: str) -> Operator:
    """All rows in one group: at once, from a partial per batch, or from partials of short windows."""
    if parts == "whole":
        return Aggregate(SOURCE, (), functions)
    calls = detached(functions)
    partial: Operator = Partial(SOURCE, (), functions)
    if parts == "combined":
        partial = Combine(Partial(SOURCE, (), functions, TimeWindow("ts", COUNT // 3, COUNT // 3)), (), calls)
    return Finish(Merge(partial, (), calls), calls)


@pytest.mark.parametrize("parts", ["whole", "split", "combined"])
def test_sketches_stay_within_a_few_of_their_errors(spark, tmp_path, parts) -> None:
    run = SparkRun(spark, Graph.of(answer=aggregate(FUNCTIONS, parts)), tmp_path, {"s": ["here"]})
    given = rows(1)
    for first in range(0, COUNT, 2_000):
        run.feed({"s": {"here": given[first : first + 2_000]}})
    run.end()
    ((texts, numbers, theta, median, high, often),) = run.answer("answer")
    distinct = len({row[1] for row in given})
    assert abs(texts - distinct) < 4 * 0.016 * distinct
    known = len({row[2] for row in given})
    assert abs(numbers - known) < 4 * 0.05 * known
    assert abs(theta - COUNT) < 4 * 0.016 * COUNT
    assert abs(median - COUNT / 2) < 3 * 0.0133 * COUNT
    assert abs(high - 1_900) < 3 * 0.0133 * 2_000
    assert [item for item, _ in often] == ["", "b"]


@pytest.mark.parametrize("parts", ["whole", "split", "combined"])
def test_the_most_frequent_of_many_values_are_found_in_little_room(spark, tmp_path, parts) -> None:
    mix = random.Random(4)
    given = [
        (place, f"often-{mix.randrange(4)}" if mix.random() < 0.5 else f"once-{place}", None, None)
        for place in range(COUNT)
    ]
    functions = (
        ("often", parse_aggregate("approx_top_k(s, 4, 64)", SOURCE.schema)),
        ("times", parse_aggregate("approx_top_k(ts, 2, 16)", SOURCE.schema)),
        ("none", parse_aggregate("approx_top_k(n, 3)", SOURCE.schema)),
    )
    run = SparkRun(spark, Graph.of(answer=aggregate(functions, parts)), tmp_path, {"s": ["here"]})
    for first in range(0, COUNT, 2_000):
        run.feed({"s": {"here": given[first : first + 2_000]}})
    run.end()
    ((often, times, none),) = run.answer("answer")
    known = Counter(row[1] for row in given)
    assert {item for item, _ in often} == {f"often-{n}" for n in range(4)}
    assert [count for _, count in often] == sorted((count for _, count in often), reverse=True)
    assert all(known[item] <= count <= known[item] + 2 * COUNT / 64 for item, count in often)
    assert len(times) <= 2
    assert none == ()
    states = sum(file.stat().st_size for file in (tmp_path).rglob("*.parquet"))
    assert states < 60_000


def test_values_that_spark_cannot_rank_are_counted_one_by_one(spark, tmp_path) -> None:
    source = Source("s", parse_schema("ts TIMESTAMP, b BINARY, a ARRAY<INT>", time="ts"))
    functions = tuple((name, parse_aggregate(f"approx_top_k({name}, 1)", source.schema)) for name in ("b", "a"))
    run = SparkRun(spark, Graph.of(answer=Aggregate(source, (), functions)), tmp_path, {"s": ["here"]})
    run.feed({"s": {"here": [(1, b"x", (1,)), (2, b"x", (2,))]}})
    run.feed({"s": {"here": [(3, b"y", (2,))]}})
    assert list(run.answer("answer")) == [(((b"x", 2),), (((2,), 2),))]
