"""Approximate aggregates stay near the exact ones that they approximate."""

from __future__ import annotations

import random

import pytest

from tests.spark.running import SparkRun
from tradewind.algebra.aggregates import parse_aggregate
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Aggregate, Finish, Merge, Partial, detached
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Source
from tradewind.algebra.schema import parse_schema

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


@pytest.mark.parametrize("split", [False, True], ids=["whole", "split"])
def test_sketches_stay_within_a_few_of_their_errors(spark, tmp_path, split) -> None:
    aggregate: Operator = Aggregate(SOURCE, (), FUNCTIONS)
    if split:
        partial = Partial(SOURCE, (), FUNCTIONS)
        aggregate = Finish(Merge(partial, (), detached(FUNCTIONS)), detached(FUNCTIONS))
    run = SparkRun(spark, Graph.of(answer=aggregate), tmp_path, {"s": ["here"]})
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
