"""What every operator means, on rows small enough to check by eye."""

import math

import pytest

from tests.shorthand import MINUTE, SECOND, grouped, mapped, rows_of, run_of, stream, tumbling, where
from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.expressions.typing import parse_condition
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.core import Band, ConnectionPoint, Join, Top, Union
from tradewind.algebra.operators.derived import Distinct, Sample, Split, Superbox
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor, pair_schema
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.tables import Table
from tradewind.interpreter.run import answer

S = SECOND
A = stream("a", "ts TIMESTAMP, k STRING, v INT")
B = stream("b", "ts2 TIMESTAMP, k2 STRING, w INT", "ts2")


def test_filter_keeps_what_is_true_and_drops_null() -> None:
    rows = [(0, "x", 1), (0, "y", None), (0, "z", 3)]
    assert rows_of(where(A, "v > 1"), a=rows) == [(0, "z", 3)]


def test_map_computes_columns_and_keeps_weights() -> None:
    assert rows_of(mapped(A, w="v * 2", k="k"), a=[(0, "x", 1), (1, "x", 1)]) == [(2, "x"), (2, "x")]


def test_union_adds() -> None:
    assert rows_of(Union((A, A)), a=[(0, "x", 1)]) == [(0, "x", 1)] * 2


def band(low: int | None, high: int | None) -> Band:
    return Band("ts", "ts2", low, high)


def test_inner_join_pairs_equal_keys_within_the_band() -> None:
    node = Join(A, B, "inner", (("k", "k2"),), band(0, 5 * S))
    found = rows_of(node, a=[(0, "x", 1), (0, None, 2)], b=[(5 * S, "x", 7), (6 * S, "x", 8), (0, None, 9)])
    assert found == [(0, "x", 1, 5 * S, "x", 7)]


def test_a_distance_join_needs_no_keys() -> None:
    node = Join(A, B, "inner", (), Band("v", "w", -1, 1))
    assert [(r[2], r[5]) for r in rows_of(node, a=[(0, "x", 5)], b=[(0, "y", w) for w in (3, 4, 5, 6, 7)])] == [
        (5, 4),
        (5, 5),
        (5, 6),
    ]


@pytest.mark.parametrize(("how", "alone"), [("left", {"l"}), ("right", {"r"}), ("full", {"l", "r"})])
def test_outer_joins_add_the_rows_without_a_match(how: str, alone: set) -> None:
    node = Join(A, B, how, (("k", "k2"),), band(0, 0))  # type: ignore[arg-type]
    found = rows_of(node, a=[(0, "x", 1), (0, "l", 2)], b=[(0, "x", 7), (0, "r", 8)])
    assert {r[1] or r[4] for r in found} == {"x"} | alone
    assert (0, "x", 1, 0, "x", 7) in found


def test_a_missing_match_is_only_claimed_once_it_is_settled() -> None:
    node = Join(A, B, "left", (("k", "k2"),), band(0, 5 * S))
    run = run_of(node, a=[(0, "x", 1)], b=[])
    assert not run.answer("result")
    run.feed({}, {"a": {"here": 10 * S}, "b": {"here": 5 * S}})
    assert not run.answer("result")  # a row at exactly five seconds would still match
    run.feed({}, {"b": {"here": 5 * S + 1}})
    assert list(run.final("result")) == [(0, "x", 1, None, None, None)]
    run.feed({"b": {"here": [(3 * S, "x", 9)]}})  # late: the claim is corrected
    assert list(run.answer("result")) == [(0, "x", 1, 3 * S, "x", 9)]


def test_join_multiplies_weights() -> None:
    node = Join(A, B, "inner", (("k", "k2"),))
    assert len(rows_of(node, a=[(0, "x", 1)] * 2, b=[(0, "x", 7)] * 3)) == 6


def test_join_keys_of_unlike_numbers_meet() -> None:
    node = Join(A, stream("d", "x DOUBLE", None), "inner", (("v", "x"),))
    assert rows_of(node, a=[(0, "x", 2)], d=[(2.0,), (2.5,)]) == [(0, "x", 2, 2.0)]


def test_top_takes_the_first_k_and_the_other_columns_decide_ties() -> None:
    node = Top(A, 2, (("v", True),))
    assert rows_of(node, a=[(0, "b", 5), (0, "a", 5), (0, "c", 5), (0, "d", None)]) == [(0, "a", 5), (0, "b", 5)]


def test_top_counts_copies_and_ranks_per_group() -> None:
    node = Top(A, 2, (("v", False),), ("k",), "place")
    rows = [(0, "x", 1), (0, "x", 1), (0, "x", 2), (0, "y", None), (0, "y", 3)]
    assert rows_of(node, a=rows) == sorted(
        [(0, "x", 1, 1), (0, "x", 1, 2), (0, "y", None, 1), (0, "y", 3, 2)], key=repr
    )


def test_top_per_window_is_final_with_the_window_and_over_all_only_at_the_end() -> None:
    counts = grouped(A, "k", tumbling(MINUTE), n="count(*)")
    rows = [(0, "x", 1), (61 * S, "y", 1)]
    per_window = run_of(Top(counts, 1, (("n", True),), ("window",)), a=rows)
    assert list(per_window.final("result")) == [("x", (0, MINUTE), 1)]
    assert list(per_window.tentative("result")) == [("y", (MINUTE, 2 * MINUTE), 1)]
    overall = run_of(Top(counts, 1, (("n", True),)), a=rows)
    assert not overall.final("result")


def test_order_sorts_as_far_as_its_buffer_reaches() -> None:
    node = Order(A, "v", 2)
    run = run_of(node, a=[(0, "x", v) for v in (3, 1, 2, 0, 5)])
    assert [delta.row.values[2] for delta in run.log(node)] == [1, 2]  # 0 was overtaken by three; 3 and 5 wait
    run.end()
    assert [delta.row.values[2] for delta in run.log(node)] == [1, 2, 3, 5]


def test_order_by_event_time_lets_go_what_the_mark_has_passed() -> None:
    node = Order(A, "ts", 10)
    run = run_of(node, a=[(3 * S, "x", 1), (1 * S, "x", 2)])
    assert [values[2] for values in run.answer("result")] == [2]


def test_resample_on_a_grid() -> None:
    rows = [(5 * S, "x", 0), (25 * S, "x", 20)]
    line = Resample(A, ("k",), ("v",), "linear", every=10 * S)
    assert rows_of(line, a=rows) == [("x", 10 * S, 5.0), ("x", 20 * S, 15.0)]
    previous = Resample(A, ("k",), ("v",), "previous", every=5 * S)
    assert {t // S: v for _, t, v in rows_of(previous, a=rows)} == {5: 0, 10: 0, 15: 0, 20: 0, 25: 20}


def test_resample_does_not_bridge_long_gaps() -> None:
    node = Resample(A, (), ("v",), "previous", every=10 * S, max_gap=20 * S)
    assert [t // S for t, _ in rows_of(node, a=[(0, "x", 1), (20 * S, "x", 2), (50 * S, "x", 3)])] == [0, 10, 20, 50]


def test_resample_at_the_times_of_another_stream() -> None:
    at = mapped(B, ts2="ts2", k="k2")
    node = Resample(A, ("k",), ("v",), "previous", at=at)
    found = rows_of(node, a=[(0, "x", 1), (10 * S, "x", 2)], b=[(5 * S, "x", 0), (10 * S, "x", 0), (5 * S, "y", 0)])
    assert found == sorted([(5 * S, "x", 1), (10 * S, "x", 2), (5 * S, "y", None)], key=repr)


def test_wait_for_lets_a_row_through_when_its_signal_comes_in_time() -> None:
    predicate = parse_condition("k = k2", pair_schema(A.schema, B.schema))
    node = WaitFor(A, B, predicate, 5 * S)
    rows = [(0, "x", 1), (0, "y", 2), (10 * S, "x", 3)]
    assert rows_of(node, a=rows, b=[(4 * S, "x", 0), (4 * S, "x", 0), (5 * S, "y", 0), (9 * S, "x", 0)]) == [
        (0, "x", 1)
    ]


ACCOUNTS = Table("accounts", parse_schema("id STRING, total BIGINT"), ("id",))


def test_updates_up_to_a_rows_own_time_are_seen_by_its_read() -> None:
    add = Update(
        A, ACCOUNTS, "INSERT INTO accounts (id, total) VALUES (:k, :v)", (("k", Column("k")), ("ts", Column("ts")))
    )
    look = Read(B, ACCOUNTS, "SELECT total + 1 AS more FROM accounts WHERE id = :k2")
    both = Join(add, look, "inner", (("k", "k2"),))
    rows = rows_of(
        both, a=[(1 * S, "x", 5), (3 * S, "x", 7)], b=[(0, "x", 0), (1 * S, "x", 1), (2 * S, "x", 2), (3 * S, "x", 3)]
    )
    assert {(row[2] // S, row[5]) for row in rows} == {(1, 6), (2, 6), (3, 8)}


def test_update_statements_compute_with_the_table_and_deletes_remove() -> None:
    change = Update(A, ACCOUNTS, "UPDATE accounts SET total = total + :v WHERE id = :k", (("k", Column("k")),))
    insert = Update(B, ACCOUNTS, "INSERT INTO accounts VALUES (:k2, :w)", (("k2", Column("k2")),))
    remove = Update(
        stream("c", "ts3 TIMESTAMP, k3 STRING", "ts3"),
        ACCOUNTS,
        "DELETE FROM accounts WHERE id = :k3",
        (("k3", Column("k3")),),
    )
    look = Read(
        stream("d", "ts4 TIMESTAMP", "ts4"),
        ACCOUNTS,
        "SELECT id, total FROM accounts ORDER BY total DESC LIMIT 2",
        keep=True,
    )
    seen = Join(
        look,
        Join(change, Join(insert, remove, "full", (("k2", "k3"),)), "full", (("k", "k2"),)),
        "left",
        (("id", "k"),),
    )
    rows = rows_of(
        seen,
        b=[(0, "x", 1), (0, "y", 10), (0, "z", 5)],
        a=[(1 * S, "x", 100)],
        c=[(2 * S, "y")],
        d=[(0,), (1 * S,), (2 * S,)],
    )
    table = {(row[0] // S, row[1], row[2]) for row in rows}
    assert table == {(0, "y", 10), (0, "z", 5), (1, "x", 101), (1, "y", 10), (2, "x", 101), (2, "z", 5)}


def test_at_equal_times_what_is_done_decides_the_order_and_not_how_the_rows_came() -> None:
    """Two boxes update one row at one time; filtering their input before changes nothing."""
    report = (("k", Column("k")),)
    add, double = (f"UPDATE accounts SET total = {change} WHERE id = :k" for change in ("total + :v", "total * 2 + :v"))
    seed = Update(B, ACCOUNTS, "INSERT INTO accounts VALUES (:k2, :w)", (("k2", Column("k2")),))
    look = Read(stream("d", "ts4 TIMESTAMP", "ts4"), ACCOUNTS, "SELECT id, total FROM accounts")
    data: dict = {"a": {"": [(S, "x", 1)]}, "b": {"": [(0, "x", 3)]}, "d": {"": [(2 * S,)]}}
    found = set()
    for node in (A, where(A, "v >= 0"), where(A, "v >= 1")):
        graph = Graph.of(a=Update(node, ACCOUNTS, add, report), b=Update(A, ACCOUNTS, double, report), c=look, d=seed)
        found.add(tuple(answer(graph, data)["c"]))
    assert len(found) == 1


def test_there_is_one_zero_and_one_nan() -> None:
    doubles = stream("n", "x DOUBLE", None)
    rows = [(-0.0,), (0.0,), (math.nan,), (-math.nan,)]
    assert rows_of(mapped(doubles, t="CAST(x AS STRING)"), n=rows) == [("0.0",), ("0.0",), ("NaN",), ("NaN",)]
    assert len(rows_of(Distinct(doubles), n=rows)) == 2


def test_read_keeps_rows_without_an_answer_when_asked_to() -> None:
    read = Read(A, ACCOUNTS, "SELECT total FROM accounts WHERE id = :k", keep=True)
    assert rows_of(read, a=[(0, "x", 1)]) == [(0, "x", 1, None)]
    assert not rows_of(Read(A, ACCOUNTS, "SELECT total FROM accounts WHERE id = :k"), a=[(0, "x", 1)])


def test_distinct_gives_each_row_once_however_often_it_comes() -> None:
    node = Distinct(mapped(A, k="k"))
    assert rows_of(node, a=[(0, "x", 1), (1, "x", 2), (2, "y", 3)]) == [("x",), ("y",)]


def test_a_sample_by_key_takes_all_rows_of_a_key_or_none() -> None:
    rows = [(i, f"k{i % 50}", i) for i in range(500)]
    found = rows_of(Sample(A, 0.3, ("k",)), a=rows)
    taken = {k for _, k, _ in found}
    assert len(found) == 10 * len(taken)
    assert 5 <= len(taken) <= 25
    assert rows_of(Sample(A, 0.3, ("k",), seed=1), a=rows) != found


def test_a_sample_of_rows_draws_about_its_share() -> None:
    rows = [(i, "k", i) for i in range(2000)]
    assert 500 <= len(rows_of(Sample(A, 0.3), a=rows)) <= 700
    assert rows_of(Sample(A, 0.0), a=rows) == []
    assert len(rows_of(Sample(A, 1.0), a=rows)) == 2000


def test_split_sends_each_row_one_way_and_null_goes_on() -> None:
    routes = (parse_condition("v > 5", A.schema), parse_condition("v > 1", A.schema))
    rows = [(0, "x", 9), (0, "x", 3), (0, "x", 0), (0, "x", None)]
    taken = [[v for _, _, v in rows_of(Split(A, routes, i), a=rows)] for i in range(3)]
    assert taken == [[9], [3], [0, None]]


def test_connection_points_and_superboxes_change_nothing() -> None:
    body = where(A, "v > 1")
    node = ConnectionPoint(Superbox(body, (A,), "big", (("limit", "1"),)), "tap", keep_rows=10)
    assert rows_of(node, a=[(0, "x", 1), (0, "x", 2)]) == [(0, "x", 2)]
