"""What every kind of window holds."""

from decimal import Decimal

import pytest

from tests.shorthand import SECOND, grouped, mapped, rows_of, run_of, session, sliding, stream, tumbling, tuples
from tradewind.algebra.windows import TimeWindow, ValueWindow
from tradewind.errors import GraphError

S = SECOND
TICKS = stream("t", "ts TIMESTAMP, k STRING, v INT")


def ticks(*moments: int, key: str = "a") -> list:
    return [(moment * S, key, moment) for moment in moments]


def test_tumbling_windows_begin_at_multiples_of_their_size() -> None:
    node = grouped(TICKS, window=tumbling(10 * S), n="count(*)")
    assert rows_of(node, t=ticks(-1, 0, 9, 10)) == sorted(
        [((-10 * S, 0), 1), ((0, 10 * S), 2), ((10 * S, 20 * S), 1)], key=repr
    )


def test_sliding_windows_hold_a_row_size_over_step_times() -> None:
    node = grouped(TICKS, window=sliding(10 * S, 5 * S), n="count(*)")
    assert rows_of(node, t=ticks(7)) == [((0, 10 * S), 1), ((5 * S, 15 * S), 1)]


def test_an_offset_moves_the_windows() -> None:
    node = grouped(TICKS, window=TimeWindow("ts", 10 * S, 10 * S, 3 * S), n="count(*)")
    assert rows_of(node, t=ticks(2, 3)) == [((-7 * S, 3 * S), 1), ((3 * S, 13 * S), 1)]


def test_a_session_goes_on_while_rows_follow_within_the_gap() -> None:
    node = grouped(TICKS, "k", session(5 * S), n="count(*)")
    found = rows_of(node, t=[*ticks(0, 4, 9), *ticks(15, key="a"), *ticks(4, key="b")])
    # Four and nine are exactly the gap apart and stay together, as they do in Spark.
    assert found == sorted([("a", (0, 14 * S), 3), ("a", (15 * S, 20 * S), 1), ("b", (4 * S, 9 * S), 1)], key=repr)


def test_a_session_is_not_final_while_a_row_at_its_very_end_could_go_on_with_it() -> None:
    node = grouped(TICKS, window=session(5 * S), n="count(*)")
    run = run_of(node, t=ticks(0))
    run.feed({}, {"t": {"here": 5 * S}})
    assert not run.final("result")
    run.feed({}, {"t": {"here": 5 * S + 1}})
    assert list(run.final("result")) == [((0, 5 * S), 1)]


def test_a_late_row_joins_two_sessions() -> None:
    node = grouped(TICKS, window=session(5 * S), n="count(*)")
    run = run_of(node, t=ticks(0, 8))
    assert sorted(run.answer("result")) == [((0, 5 * S), 1), ((8 * S, 13 * S), 1)]
    run.feed({"t": {"here": ticks(4)}})
    assert list(run.answer("result")) == [((0, 13 * S), 3)]


def test_counted_windows_without_timeout_are_full_or_not_there() -> None:
    node = grouped(TICKS, window=tuples(2, 2), total="sum(v)")
    assert rows_of(node, t=ticks(5, 1, 3)) == [((1 * S, 3 * S, False), 4)]


def test_counted_windows_step_by_rows() -> None:
    node = grouped(TICKS, window=tuples(2, 1), total="sum(v)")
    assert [total for _, total in rows_of(node, t=ticks(1, 2, 3))] == [3, 5]


def test_a_timeout_closes_the_window_and_says_so() -> None:
    node = grouped(TICKS, "k", tuples(2, 1, timeout=5 * S), n="count(*)")
    found = rows_of(node, t=ticks(0, 4, 9, 13))
    # 4 and 9 are five seconds apart: that is too late, as it is after the last one.
    assert found == sorted(
        [
            ("a", (0, 4 * S, False), 2),
            ("a", (4 * S, 9 * S, True), 1),
            ("a", (9 * S, 13 * S, False), 2),
            ("a", (13 * S, 18 * S, True), 1),
        ],
        key=repr,
    )


def test_a_timeout_is_not_claimed_before_the_mark_has_passed_the_deadline() -> None:
    node = grouped(TICKS, "k", tuples(2, 1, timeout=5 * S), n="count(*)")
    run = run_of(node, t=[*ticks(0), *ticks(4, key="b")])
    assert not run.answer("result")
    run.feed({}, {"t": {"here": 5 * S}})
    assert list(run.final("result")) == [("a", (0, 5 * S, True), 1)]


def test_slack_drops_what_too_many_rows_overtook() -> None:
    rows = ticks(1, 4, 5, 3, 2)  # 3 was overtaken by two rows, 2 by three
    kept = grouped(TICKS, window=tuples(1, 1, slack=2), v="max(v)")
    assert [v for _, v in rows_of(kept, t=rows)] == [1, 3, 4, 5]
    strict = grouped(TICKS, window=tuples(1, 1, slack=0), v="max(v)")
    assert [v for _, v in rows_of(strict, t=rows)] == [1, 4, 5]


def test_value_windows_go_by_the_attribute() -> None:
    node = grouped(TICKS, window=ValueWindow("v", 10, 5), n="count(*)")
    assert rows_of(node, t=ticks(-1, 7)) == sorted([((-10, 0), 1), ((-5, 5), 1), ((0, 10), 1), ((5, 15), 1)], key=repr)


def test_a_value_window_that_reaches_beyond_its_type_keeps_its_rows_and_has_no_bound_there() -> None:
    numbers = stream("n", "v INT, m DECIMAL(3,1)", None)
    least, most = -(2**31), 2**31 - 1
    rows = [(least, Decimal("-99.9")), (0, Decimal("0.0")), (most, Decimal("99.9"))]
    whole = grouped(numbers, window=ValueWindow("v", 100, 100), n="count(*)")
    assert dict(rows_of(whole, n=rows)) == {
        (None, -2147483600): 1, (0, 100): 1, (2147483600, None): 1,
    }  # fmt: skip
    halved = grouped(numbers, window=ValueWindow("v", 100, 50), n="count(*)")
    assert sum(n for _, n in rows_of(halved, n=rows)) == 6  # two windows unlike in what is lost of them stay two
    tenths = grouped(numbers, window=ValueWindow("m", 40, 40), n="count(*)")
    assert [start for (start, _), _ in rows_of(tenths, n=rows)].count(None) == 1
    # The bounds are values of the type: they can be hashed, compared and sent like any other.
    hashed = mapped(whole, h="xxhash64(window)")
    assert len(rows_of(hashed, n=rows)) == 3


def test_silence_closes_a_value_window() -> None:
    node = grouped(TICKS, window=ValueWindow("v", 100, 100, timeout=10 * S), n="count(*)")
    assert rows_of(node, t=ticks(0, 5, 15)) == [((0, 100), 1), ((0, 100), 2)]


@pytest.mark.parametrize(
    ("window", "said"),
    [
        (tumbling(0), "longer than nothing"),
        (sliding(5, 10), "longer than its size"),
        (tumbling(5, "v"), "not the event time"),
        (session(-1), "longer than nothing"),
        (tuples(0), "at least one tuple"),
        (tuples(2, timeout=5, order="v"), "not the event time"),
        (tuples(2, slack=-1), "zero tuples or more"),
        (ValueWindow("k", 1, 1), "need a number"),
        (ValueWindow("v", 1.5, 1.5), "whole sizes"),
    ],
)
def test_senseless_windows_are_refused(window, said: str) -> None:
    with pytest.raises(GraphError, match=said):
        grouped(TICKS, window=window, n="count(*)")
