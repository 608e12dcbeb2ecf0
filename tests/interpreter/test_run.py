"""Marks, lateness, revisions, finality; and that batches and the order of origins do not show."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shorthand import MINUTE, SECOND, grouped, mapped, rows_of, run_of, stream, tumbling, where
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.core import Join, Top, Union
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.tables import Table
from tradewind.errors import DataError, GraphError, InputError, UnknownNameError
from tradewind.interpreter.rows import FOREVER, NEVER, bag
from tradewind.interpreter.run import Run, Weighted, answer

S = SECOND
LOG = stream("log", "ts TIMESTAMP, k STRING", late_by=10 * S, origins=("eu", "us"))
COUNTS = grouped(LOG, "k", tumbling(MINUTE), n="count(*)")


def counting() -> Run:
    return Run(Graph.of(counts=COUNTS))


def test_a_window_is_final_once_every_origins_mark_has_passed_its_end() -> None:
    run = counting()
    run.feed({"log": {"eu": [(5 * S, "x"), (70 * S, "x")]}})
    assert run.mark("counts") == NEVER
    assert not run.final("counts")
    run.feed({"log": {"us": [(6 * S, "x"), (69 * S, "y")]}})
    assert run.mark("counts") == 59 * S
    assert not run.final("counts")
    run.feed({"log": {"us": [(70 * S, "y")]}})
    assert dict(run.final("counts")) == {("x", (0, MINUTE), 2): 1}
    assert dict(run.tentative("counts")) == {("x", (MINUTE, 2 * MINUTE), 1): 1, ("y", (MINUTE, 2 * MINUTE), 2): 1}


def test_a_late_row_revises_what_was_final() -> None:
    run = counting()
    run.feed({"log": {o: [(5 * S, "x"), (100 * S, "x")] for o in ("eu", "us")}})
    assert ("x", (0, MINUTE), 2) in run.final("counts")
    deltas = run.feed({"log": {"eu": [(6 * S, "x")]}})["counts"]
    assert [(d.row.values, d.weight) for d in deltas] == [(("x", (0, MINUTE), 2), -1), (("x", (0, MINUTE), 3), 1)]
    assert run.late()["log"] == {"eu": (1, 0), "us": (0, 0)}


def test_rows_later_than_the_horizon_are_dropped_and_counted() -> None:
    run = Run(Graph.of(counts=COUNTS), horizon=30 * S)
    run.feed({"log": {"eu": [(100 * S, "x")]}})
    run.feed({"log": {"eu": [(61 * S, "x"), (59 * S, "x")]}})
    assert run.late()["log"]["eu"] == (2, 1)
    run.end()
    assert sum(n for (_, _, n) in run.answer("counts")) == 2


def test_the_rows_of_a_batch_come_together_and_none_is_late_for_another() -> None:
    rows = [(100 * S, "x"), (61 * S, "x"), (59 * S, "x"), (300 * S, "y"), (200 * S, "y")]
    whole, single = (Run(Graph.of(counts=COUNTS), horizon=30 * S) for _ in range(2))
    whole.feed({"log": {"eu": rows}})
    for row in rows:
        single.feed({"log": {"eu": [row]}})
    assert whole.late()["log"]["eu"] == (0, 0)
    assert single.late()["log"]["eu"] == (3, 2)
    assert sum(n for (_, _, n) in whole.answer("counts")) == len(rows)


def test_the_end_makes_everything_final() -> None:
    run = counting()
    run.feed({"log": {"eu": [(5 * S, "x")]}})
    run.end()
    assert run.mark("counts") == FOREVER
    assert run.final("counts") == run.answer("counts")
    assert not run.tentative("counts")


def test_revisions_take_rows_back() -> None:
    revised = stream("r", "ts TIMESTAMP, v INT", revisions=True)
    total = grouped(revised, window=tumbling(MINUTE), n="count(*)", low="min(v)", top="max(v)", mean="avg(v)")
    run = run_of(total, r=[(0, 1), (1, 5), (2, 9)])
    run.feed({"r": {"here": [Weighted((2, 9), -1), Weighted((2, 8), 1), Weighted((0, 1), -1)]}})
    assert list(run.answer("result")) == [((0, MINUTE), 2, 5, 8, 6.5)]
    run.feed({"r": {"here": [Weighted((1, 5), -1), Weighted((2, 8), -1)]}})
    assert not run.answer("result")


def test_a_stream_without_revisions_takes_nothing_back() -> None:
    with pytest.raises(DataError, match="revisions: true"):
        run_of(LOG.__class__("log", LOG.columns), log=[Weighted((0, "x"), -1)])


def test_an_origin_that_comes_later_takes_nothing_back() -> None:
    node = grouped(stream("t", "ts TIMESTAMP, v INT"), window=tumbling(MINUTE), n="count(*)")
    run = Run(Graph.of(result=node))
    run.feed({"t": {"one": [(0, 1), (2 * MINUTE, 1)]}})
    assert ((0, MINUTE), 1) in run.final("result")
    run.feed({"t": {"two": [(1, 1)]}})
    assert run.late()["t"]["two"] == (1, 0)
    assert ((0, MINUTE), 2) in run.final("result")  # a revision by a late row, and it is counted as one


def test_a_daily_report_is_final_when_the_day_is_over() -> None:
    days = mapped(stream("t", "ts TIMESTAMP, v INT"), day="CAST(ts AS DATE)", v="v")
    run = run_of(grouped(days, "day", n="count(*)"), t=[(0, 1), (23 * 60 * MINUTE, 1), (24 * 60 * MINUTE, 1)])
    assert dict(run.final("result")) == {(0, 2): 1}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("x", 1), "not of type TIMESTAMP"),
        ((1.5, 1), "whole microseconds"),
        ((2**80, 1), "not of type TIMESTAMP"),
        ((0, 2**40), "not of type INT"),
        ((0, True), "not of type INT"),
        ([0, 1], "no tuple"),
        (None, "no tuple"),
        ((0,), "1 values"),
    ],
)
def test_rows_of_the_wrong_type_are_named(row, said: str) -> None:
    with pytest.raises(DataError, match=said):
        run_of(stream("t", "ts TIMESTAMP, v INT"), t=[row])


def test_what_is_no_batch_is_refused() -> None:
    wrong: list[Any] = [None, [], {"log": []}, {"log": {"eu": 5}}]
    for batch in wrong:
        with pytest.raises(DataError, match="by stream and origin"):
            counting().feed(batch)
    with pytest.raises(DataError, match="no mark"):
        counting().feed({}, {"log": {"eu": None}})  # type: ignore[dict-item]


def test_a_batch_that_is_refused_changes_nothing() -> None:
    run = counting()
    run.feed({"log": {"eu": [(5 * S, "x")]}})
    before = run.answer("counts"), run.late(), run.mark("counts")
    wrong: list[tuple[Any, Any]] = [
        ({"log": {"eu": [(90 * S, "x"), (1 * S, "x")], "us": [(6 * S, 7)]}}, {}),
        ({"log": {"eu": [(90 * S, "x")], "moon": []}}, {}),
        ({"log": {"eu": [(90 * S, "x")]}}, {"log": {"us": "soon"}}),
    ]
    for batch, marks in wrong:
        with pytest.raises(InputError):
            run.feed(batch, marks)
        assert (run.answer("counts"), run.late(), run.mark("counts")) == before
    run.feed({"log": {"eu": [(6 * S, "x")]}})
    assert run.late()["log"]["eu"] == (0, 0)  # no refused row has moved the mark


def test_answers_do_not_drop_rows_silently() -> None:
    with pytest.raises(UnknownNameError, match="unknown origin"):
        answer(Graph.of(counts=COUNTS), {"log": {"ue": [(0, "x")]}})
    with pytest.raises(UnknownNameError, match="unknown stream"):
        answer(Graph.of(counts=COUNTS), {"logs": {"eu": [(0, "x")]}})
    assert not answer(Graph.of(counts=COUNTS), {"logs": {"eu": []}}, strict=False)["counts"]


def test_rows_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="1 values"):
        run_of(stream("log", "ts TIMESTAMP, k STRING"), log=[(1,)])
    with pytest.raises(UnknownNameError, match="moon"):
        counting().feed({"log": {"moon": []}})
    with pytest.raises(UnknownNameError, match="unknown stream"):
        counting().feed({"logs": {"eu": []}})


def test_rows_without_a_time_lie_in_no_window() -> None:
    node = grouped(stream("t", "ts TIMESTAMP, v INT"), window=tumbling(MINUTE), n="count(*)")
    assert rows_of(node, t=[(None, 1), (0, 1)]) == [((0, MINUTE), 1)]


def test_tables_that_wait_for_each_other_are_a_cycle() -> None:
    one, two = (Table(n, parse_schema("id INT"), ("id",)) for n in ("one", "two"))
    events = stream("e", "ts TIMESTAMP, v INT")
    write = "INSERT INTO {} VALUES (:v)"
    reads_one = Read(events, one, "SELECT id FROM one")
    reads_two = Read(events, two, "SELECT id FROM two")
    report = (("v", mapped(events, v="v").columns[0][1]),)
    graph = Graph.of(
        a=Update(reads_one, two, write.format("two"), report), b=Update(reads_two, one, write.format("one"), report)
    )
    with pytest.raises(GraphError, match="cycle"):
        Run(graph)


ORDERS = stream("orders", "ts TIMESTAMP, k STRING, v INT", late_by=5 * S)
NAMES = stream("names", "at TIMESTAMP, id STRING, label STRING", "at", late_by=5 * S)


def mixed_graph() -> Graph:
    big = where(ORDERS, "v > 2")
    sums = grouped(Union((big, ORDERS)), "k", tumbling(10 * S), total="sum(v)", top="max(v)", last="last(v)")
    named = Join(sums, NAMES, "left", (("k", "id"),))
    return Graph.of(
        best=Top(sums, 2, (("total", True),), ("window",)), named=named, mapped=mapped(big, x="v + 1", ts="ts")
    )


rows_st = st.lists(
    st.tuples(st.integers(0, 40).map(lambda s: s * S), st.sampled_from("xyz"), st.integers(0, 5)), max_size=12
)
names_st = st.lists(
    st.tuples(st.integers(0, 40).map(lambda s: s * S), st.sampled_from("xyz"), st.sampled_from("pq")), max_size=4
)


@given(rows_st, rows_st, names_st, st.integers(0, 2**32))
@settings(max_examples=150)
def test_the_answer_does_not_depend_on_batches_nor_on_who_comes_first(eu, us, names, seed) -> None:
    graph = mixed_graph()
    data = {"orders": {"eu": eu, "us": us}, "names": {"hq": names}}
    expected = answer(graph, data)
    mix = random.Random(seed)
    run = Run(graph, {stream: list(origins) for stream, origins in data.items()})
    queue = {(s, o): list(rows) for s, origins in data.items() for o, rows in origins.items()}
    seen: dict = {name: [] for name in graph.names}
    finals: dict = dict.fromkeys(graph.names)
    while any(queue.values()):
        stream_, origin = mix.choice(sorted(k for k, rows in queue.items() if rows))
        size = mix.randint(1, 4)
        batch, queue[stream_, origin] = queue[stream_, origin][:size], queue[stream_, origin][size:]
        for name, deltas in run.feed({stream_: {origin: batch}}).items():
            seen[name].extend(deltas)
            assert {r.values for r in bag(seen[name])} == set(run.answer(name))  # deltas add up to the answer
    for name, deltas in run.end().items():
        seen[name].extend(deltas)
        finals[name] = run.final(name)
    assert finals == expected


@given(st.lists(st.integers(0, 60), max_size=15), st.integers(0, 2**32))
@settings(max_examples=100)
def test_without_late_rows_what_is_final_stays(moments, seed) -> None:
    """With rows that keep to `late_by`, nothing that was final is ever changed."""
    mix = random.Random(seed)
    node = grouped(
        stream("t", "ts TIMESTAMP, v INT", late_by=10 * S), window=tumbling(10 * S), n="count(*)", s="sum(v)"
    )
    run = Run(Graph.of(result=node), {"t": ["here"]})
    final: set = set()
    ordered = sorted(moments, key=lambda m: m + mix.uniform(0, 9.9))
    for moment in ordered:
        run.feed({"t": {"here": [(moment * S, moment)]}})
        assert final <= set(run.final("result"))
        final = set(run.final("result"))
    assert all(late == 0 for late, _ in run.late()["t"].values())


def test_an_idle_origin_does_not_hold_back_the_mark_and_its_later_rows_are_late() -> None:
    run = counting()
    run.feed({"log": {"eu": [(5 * S, "x")], "us": [(5 * S, "x"), (100 * S, "x")]}})
    assert run.mark("counts") == -5 * S
    run.feed({}, idle={"log": ["eu"]})
    assert run.mark("counts") == 90 * S
    assert dict(run.final("counts")) == {("x", (0, MINUTE), 2): 1}
    run.feed({"log": {"us": [(200 * S, "x")]}})
    assert run.mark("counts") == 190 * S  # it follows for as long as it is idle
    deltas = run.feed({"log": {"eu": [(6 * S, "x")], "us": [(300 * S, "x")]}})["counts"]
    assert [(d.row.values, d.weight) for d in deltas][:2] == [
        (("x", (0, MINUTE), 2), -1), (("x", (0, MINUTE), 3), 1)
    ]  # fmt: skip
    assert run.late()["log"] == {"eu": (1, 0), "us": (0, 0)}
    assert run.mark("counts") == 190 * S  # it is waited for again, and nothing goes back
    run.feed({"log": {"eu": [(260 * S, "x")]}})
    assert run.mark("counts") == 250 * S


def test_rows_of_an_idle_origin_that_come_too_late_are_dropped() -> None:
    run = Run(Graph.of(counts=COUNTS), horizon=30 * S)
    run.feed({"log": {"us": [(100 * S, "x")]}}, idle={"log": ["eu"]})
    run.feed({"log": {"eu": [(59 * S, "x"), (61 * S, "x")]}})
    assert run.late()["log"]["eu"] == (2, 1)


def test_where_all_origins_are_idle_the_mark_comes_to_the_furthest_and_stays() -> None:
    run = counting()
    run.feed({"log": {"eu": [(20 * S, "x")], "us": [(100 * S, "x")]}}, idle=None)
    run.feed({}, idle={"log": ["eu", "us"]})
    assert run.mark("counts") == 90 * S
    run.feed({})
    assert run.mark("counts") == 90 * S


def test_an_origin_with_rows_is_not_idle() -> None:
    with pytest.raises(DataError, match="not idle"):
        counting().feed({"log": {"eu": [(5 * S, "x")]}}, idle={"log": ["eu"]})
    with pytest.raises(UnknownNameError):
        counting().feed({}, idle={"log": ["mars"]})
    with pytest.raises(UnknownNameError):
        counting().feed({}, idle={"nothing": ["eu"]})


EVENTS = st.lists(
    st.one_of(
        st.tuples(
            st.just("rows"), st.sampled_from(("eu", "us")), st.lists(st.integers(0, 300), min_size=1, max_size=3)
        ),
        st.tuples(st.just("idle"), st.sampled_from(("eu", "us")), st.just([])),
    ),
    max_size=20,
)


@settings(max_examples=200)
@given(EVENTS, st.one_of(st.none(), st.integers(0, 100)))
def test_idle_origins_change_when_answers_are_final_and_nothing_else(events, horizon) -> None:
    limit = None if horizon is None else horizon * S
    run = Run(Graph.of(counts=COUNTS), horizon=limit)
    final_at: dict[Any, Any] = {}
    mark = NEVER
    for kind, origin, seconds in events:
        if kind == "idle":
            run.feed({}, idle={"log": [origin]})
        else:
            run.feed({"log": {origin: [(second * S, "x") for second in seconds]}})
        assert run.mark("counts") >= mark, "the mark went back"
        mark = run.mark("counts")
        # An answer that was final may be revised, but it is never merely tentative again.
        windows = {row[1] for row in run.final("counts")}
        assert all(window in windows for window in final_at)
        final_at.update(dict.fromkeys(windows))
    run.end()
    late = run.late()["log"]
    rows = sum(len(seconds) for kind, _, seconds in events if kind == "rows")
    kept = rows - sum(dropped for _, dropped in late.values())
    assert sum(row[2] * weight for row, weight in run.answer("counts").items()) == kept
    if limit is None:
        assert kept == rows
