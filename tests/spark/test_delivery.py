"""Deliveries are counted by what was written; the numbers of a batch are handed to a plan, not written into it."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.algebra.aggregates import AggregateCall
from tradewind.algebra.expressions.tree import Column, Field
from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.operators.core import Map, Source, Top
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.windows import TimeWindow
from tradewind.errors import InputError
from tradewind.runtime.answers import Answers
from tradewind.spark.columns import is_final_sql, passing, reaches_sql
from tradewind.spark.delivery import Totals, totals_in
from tradewind.spark.sinks import Nowhere, Pulled
from tradewind.spark.weights import exchanges

DELTAS = st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), max_size=12)


@given(st.lists(DELTAS, max_size=3), st.sampled_from([1, 2, 100]))
def test_totals_are_sums_of_weights(tmp_path_factory, files, group) -> None:
    folder = tmp_path_factory.mktemp("delivered")
    for number, deltas in enumerate(files):
        table = pa.table(
            {
                "_final": pa.array([final for final, _ in deltas], pa.bool_()),
                "_weight": pa.array([weight for _, weight in deltas], pa.int64()),
            }
        )
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=group)
    every = [delta for deltas in files for delta in deltas]
    assert totals_in(folder) == Totals(
        sum(weight for final, weight in every if final), sum(weight for final, weight in every if not final)
    )


@pytest.mark.spark
def test_a_number_that_changes_is_compared_as_any_other(spark) -> None:
    frame = spark.range(-3, 4).selectExpr("nullif(id, 0L) AS t")
    known = [row.t for row in frame.collect()]
    for mark in (-3, 0, 2, 4):
        final = [row.t for row in frame.where(is_final_sql("t", mark)).collect()]
        assert final == [t for t in known if t is not None and t < mark]
        reached = [row.t for row in frame.where(reaches_sql("t", mark)).collect()]
        assert reached == [t for t in known if t is None or t >= mark]


@pytest.mark.spark
def test_a_number_that_changes_does_not_make_spark_compile_anew(spark) -> None:
    settings = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
    before = {name: spark.conf.get(name) for name in settings}
    compiled = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()

    def compiles(condition):
        count = compiled.getCount()
        spark.range(50).selectExpr("id * 3 AS t").where(condition).collect()
        return compiled.getCount() - count

    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        assert compiles(f"t < {passing(41, 't')}") > 0
        assert compiles(f"t < {passing(97, 't')}") == 0
        # Which is not so by itself.
        assert compiles("t < 1041L") > 0
        assert compiles("t < 1097L") > 0
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def test_which_operators_only_exchange_answers() -> None:
    source = Source("s", parse_schema("ts TIMESTAMP, k STRING, v INT", time="ts"), 0)
    counted = Aggregate(source, ("k",), (("n", AggregateCall("count", ())),), TimeWindow("ts", 10, 10))
    window = Column("window")
    assert exchanges(counted)
    assert exchanges(Map(counted, (("k", Column("k")), ("s", Field(window, "start")), ("n", Column("n")))))
    assert not exchanges(Map(counted, (("k", Column("k")), ("s", Field(window, "start")))))
    assert not exchanges(Map(counted, (("s", Field(window, "start")), ("n", Column("n")))))
    assert not exchanges(source)
    assert not exchanges(Top(counted, 1, (("n", True),), ("k",)))


def test_each_dequeuer_gets_every_table_and_the_first_misses_nothing() -> None:
    sink = Pulled()
    early = pa.table({"_final": [True], "_weight": [1]})

    def deliver(table):
        sink._staged = table
        sink.publish({})

    deliver(early)
    first, second = sink.another(), sink.another()
    assert first is sink.first()
    deliver(early)
    sink.finish()
    assert [first.pull(timeout=0) for _ in range(3)] == [early, early, None]
    assert [second.pull(timeout=0) for _ in range(2)] == [early, None]


def delivered_by(sink, *rows) -> None:
    """Publish rows of one column, with whether they are final and their weights."""
    sink._staged = pa.table(
        {"v": [v for v, _, _ in rows], "_final": [f for _, f, _ in rows], "_weight": [w for _, _, w in rows]}
    )
    sink.publish({})


def pulled_rows(sink) -> int:
    return len(sink.first().pull(timeout=0))


ONE = parse_schema("v BIGINT")


def test_a_pulled_answer_is_added_up_whoever_has_pulled_its_rows() -> None:
    sink, answers = Pulled(), Answers()
    assert answers.table("q", sink, ONE).to_pylist() == []
    delivered_by(sink, (2, False, 1), (1, False, 2))
    assert pulled_rows(sink) == 2
    expected = [{"v": 1, "_final": False}, {"v": 1, "_final": False}, {"v": 2, "_final": False}]
    assert answers.table("q", sink, ONE).to_pylist() == expected
    assert answers.table("q", sink, ONE).to_pylist() == expected
    delivered_by(sink, (2, False, -1), (1, False, -1), (2, True, 1))
    assert answers.table("q", sink, ONE).to_pylist() == [{"v": 1, "_final": False}, {"v": 2, "_final": True}]
    assert answers.table("q", sink, ONE).to_pandas()["v"].tolist() == [1, 2]
    assert pulled_rows(sink) == 3


def test_a_pulled_answer_that_is_too_large_is_refused_and_held_no_more() -> None:
    sink, answers = Pulled(most_bytes=40), Answers()
    delivered_by(sink, (1, True, 1))
    assert answers.table("q", sink, ONE).num_rows == 1
    delivered_by(sink, (2, True, 1), (3, True, 1), (4, True, 1))
    for _ in range(2):
        with pytest.raises(
            InputError, match=r"more rows of 'q' were delivered than are held.*Hint: deliver it to files"
        ):
            answers.table("q", sink, ONE)
        delivered_by(sink, (5, True, 1))
    assert sink.taken() is None
    assert pulled_rows(sink) == 1


def test_answers_that_nobody_keeps_are_refused() -> None:
    with pytest.raises(InputError, match="the rows of 'q' are not kept"):
        Answers().table("q", Nowhere(), ONE)
