"""Panes summed in their bucket: what the interpreter says of the same members, whatever they are."""

from __future__ import annotations

import math
import random
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rewrites.comparing import plain
from tests.spark.nasty_values import value
from tradewind.algebra.aggregates import parse_aggregate
from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.operators.core import Source
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.windows import CountedWindow
from tradewind.interpreter.aggregates import meaning
from tradewind.interpreter.checking import canonical
from tradewind.spark.buckets.summing import summed, sums_of
from tradewind.spark.types import arrow_type, from_arrow

SCHEMA = parse_schema("ts TIMESTAMP, t TINYINT, i INT, b BIGINT, d DOUBLE, s STRING", "ts")
TEXTS = [
    "count(*)", "count(s)", "sum(t)", "sum(b)", "sum(d)", "avg(i)", "avg(d)",
    *(f"{end}({column})" for end in ("min", "max") for column in ("ts", "t", "b", "d")),
]  # fmt: skip
CALLS = [parse_aggregate(text, SCHEMA) for text in TEXTS]
NODE = Aggregate(
    Source("s", SCHEMA, 0), (), tuple((f"a{i}", call) for i, call in enumerate(CALLS)), CountedWindow("ts", 3, 1)
)


def expected(call, members):
    """The interpreter's answer over rows that are each there so often."""
    if not call.arguments:
        return sum(often for _, often in members)
    place = SCHEMA.index(call.arguments[0].name)
    means = meaning(call, SCHEMA.columns[place][1])
    state = None
    for row, often in members:
        if row[place] is not None:
            one = means.lift(row[place], row[0], often)
            state = one if state is None else means.merge(state, one)
    return means.empty if state is None else means.finish(state)


def some_row(chance):
    """Odd values, but doubles whose totals do not depend on the order of adding."""
    row = [value(type_, chance) for _, type_ in SCHEMA.columns]
    row[4] = chance.choice((None, 0.0, 0.5, -2.25, 4096.0, -7.0, math.nan, math.inf, -math.inf))
    return canonical(tuple(row), SCHEMA)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9))
def test_panes_are_summed_as_the_interpreter_does(seed) -> None:
    chance = random.Random(seed)
    panes = [
        [(some_row(chance), chance.choice((1, 1, 1, 2, 5))) for _ in range(chance.randrange(1, 6))]
        for _ in range(chance.randrange(6))
    ]
    members = [(number, row, often) for number, pane in enumerate(panes) for row, often in pane]
    columns = {
        name: pa.array([row[i] for _, row, _ in members], arrow_type(type_))
        for i, (name, type_) in enumerate(SCHEMA.columns)
    }
    table = pa.table(
        {
            "_pane": pa.array([number for number, _, _ in members], pa.int64()),
            "_sign": pa.array([1] * len(members), pa.int64()),
            "_count": pa.array([often for _, _, often in members], pa.int64()),
            "_window": pa.array([None] * len(members), pa.int64()),
            "_pane_due": pa.array([number for number, _, _ in members], pa.int64()),
        }
        | columns
    )
    sums = sums_of(NODE)
    assert sums is not None
    found = summed(table, ["s"], sums)
    assert found["_pane_due"].to_pylist() == list(range(len(panes)))
    assert found["s"].to_pylist() == [pane[0][0][5] for pane in panes]
    for i, (text, call) in enumerate(zip(TEXTS, CALLS, strict=True)):
        column = pa.table({"a": found[f"_answer{i}"]})
        answers = [row[0] for row in from_arrow(column, parse_schema(f"a {call.type(SCHEMA)}"))]
        for answer, pane in zip(answers, panes, strict=True):
            wanted = expected(call, pane)
            assert plain((answer,)) == plain((wanted,)), (text, pane, answer, wanted)


@pytest.mark.parametrize("text", ["first(i)", "sum(i + 1)", "avg(b)", "min(s)", "median(d)", "count_distinct(i)"])
def test_what_is_left_to_spark(text) -> None:
    node = Aggregate(NODE.input, (), (("a", parse_aggregate(text, SCHEMA)),), NODE.window)
    assert sums_of(node) is None


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9))
def test_what_goes_and_comes_again_is_left_out(seed) -> None:
    chance = random.Random(seed)
    some = [some_row(chance) for _ in range(3)]
    panes = [(chance.choice((-1, 1)), chance.randrange(2), chance.choice(some)) for _ in range(chance.randrange(12))]
    columns = {
        name: pa.array([row[i] for _, _, row in panes], arrow_type(type_))
        for i, (name, type_) in enumerate(SCHEMA.columns)
    }
    table = pa.table(
        {
            "_pane": pa.array(range(len(panes)), pa.int64()),
            "_sign": pa.array([sign for sign, _, _ in panes], pa.int64()),
            "_count": pa.array([1] * len(panes), pa.int64()),
            "_window": pa.array([[due] for _, due, _ in panes], pa.list_(pa.int64())),
            "_pane_due": pa.array([due for _, due, _ in panes], pa.int64()),
        }
        | columns
    )
    sums = sums_of(NODE)
    assert sums is not None
    found = summed(table, ("s",), sums)
    wanted: Counter = Counter()
    total: Counter = Counter()
    for sign, due, row in panes:
        wanted[due, plain(row)] += sign
    shown = [one.cast(pa.int64()) if pa.types.is_timestamp(one.type) else one for one in found.drop("_sign").columns]
    signs = found["_sign"].to_pylist()
    for sign, answer in zip(signs, zip(*(one.to_pylist() for one in shown), strict=True), strict=True):
        assert sign * total[str(plain(answer))] >= 0
        total[str(plain(answer))] += sign
    assert sorted(filter(None, total.values())) == sorted(filter(None, wanted.values()))
    assert 0 not in signs
