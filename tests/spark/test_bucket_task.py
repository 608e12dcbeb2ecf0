"""Rows of every type go to the buckets and come back as they were."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.random_rows import rows
from tests.spark.comparing import cut, same_on_spark
from tests.spark.nasty_values import value
from tests.spark.random_typed import TYPES
from tradewind.algebra.aggregates import parse_aggregate
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.operators.core import Source
from tradewind.algebra.operators.ordered import Order, Resample
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BIGINT, INTERVAL, TIMESTAMP
from tradewind.algebra.windows import CountedWindow
from tradewind.interpreter.checking import is_of
from tradewind.spark.buckets.sorting import place_order

SECOND = 1_000_000
VALUES = tuple((f"C {i}", type_) for i, type_ in enumerate(TYPES) if type_ != INTERVAL)
SCHEMA = Schema((("ts", TIMESTAMP), ("k", BIGINT), *VALUES), (("ts", 0),))


@given(st.lists(st.tuples(*[st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))] * 3), max_size=30))
def test_rows_are_put_in_the_order_of_several_numbers(found) -> None:
    words = [np.array([row[i] for row in found], dtype=np.int64) for i in range(3)]
    assert place_order(words).tolist() == sorted(range(len(found)), key=lambda place: found[place])


def graph_of(source):
    """Bounded sort, counted windows and resampling of rows of all types."""
    names = [name for name, _ in VALUES]
    newest = tuple((f"n{i}", parse_aggregate(f"last(`{name}`)", source.schema)) for i, name in enumerate(names))
    counts = (("n", parse_aggregate("count(*)", source.schema)), ("x", parse_aggregate("max(k)", source.schema)))
    return Graph.of(
        sorted=Order(source, "ts", 2),
        counted=Aggregate(source, ("k",), newest, CountedWindow("ts", 2, 1, 5 * SECOND)),
        previous=Resample(source, ("k",), tuple(names), "previous", every=3 * SECOND, max_gap=20 * SECOND),
        late=Aggregate(source, (), counts, CountedWindow("ts", 2, 2, None, 1)),
    )


def some_value(type_, chance):
    """A nasty value that a source may give."""
    found = value(type_, chance)
    return found if is_of(found, type_) else None


@pytest.mark.sampled(1)
@pytest.mark.spark
@pytest.mark.parametrize("revised", [False, True])
def test_every_type_goes_through_buckets(spark, tmp_path, revised) -> None:
    chance = random.Random(revised)
    source = Source("all", SCHEMA, SECOND, (), revised)
    plain = rows(Schema(SCHEMA.columns[:2], SCHEMA.times), 30, chance)
    given_rows = [(*row[:2], *(some_value(type_, chance) for _, type_ in VALUES)) for row in plain]
    graph = graph_of(source)
    assert same_on_spark(spark, graph, cut({"all": {"here": given_rows}}, chance), tmp_path, chance) > 0
