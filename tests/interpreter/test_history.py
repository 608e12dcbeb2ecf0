"""Connection points: what they keep, and what those who come later see."""

import pytest

from tests.shorthand import MINUTE, SECOND, grouped, run_of, stream, tumbling, where
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.core import ConnectionPoint
from tradewind.errors import GraphError, UnknownNameError
from tradewind.interpreter.history import attach, connection_point, history, tap
from tradewind.interpreter.run import Weighted

S = SECOND
T = stream("t", "ts TIMESTAMP, v INT")
ROWS = [(0, 1), (40 * S, 2), (30 * S, 3), (100 * S, 4)]


def kept(**bounds: int) -> list[int]:
    node = ConnectionPoint(where(T, "v > 0"), "recent", **bounds)
    return [delta.row.values[1] for delta in history(run_of(node, t=ROWS), "recent")]


def test_history_is_kept_by_time_by_count_by_both_or_whole() -> None:
    assert kept() == [1, 2, 3, 4]
    assert kept(keep_rows=2) == [3, 4]
    assert kept(keep_time=60 * S) == [2, 4]
    assert kept(keep_time=70 * S) == [2, 3, 4]
    assert kept(keep_time=70 * S, keep_rows=1) == [4]


def test_who_attaches_sees_the_history_and_then_the_present() -> None:
    point = ConnectionPoint(where(T, "v > 0"), "recent", keep_rows=3)
    running = run_of(point, t=ROWS)
    late = grouped(tap(point, "recent"), window=tumbling(MINUTE), n="count(*)")
    attached = attach(running, "recent", "recent", Graph.of(n=late))
    assert sum(n for _, n in attached.answer("n")) == 3
    for delta in running.feed({"t": {"here": [(101 * S, 5), (102 * S, -1)]}})["result"]:
        attached.feed({"recent": {"recent": [Weighted(delta.row.values, delta.weight)]}})
    assert sum(n for _, n in attached.answer("n")) == 4


def test_what_does_not_fit_is_refused() -> None:
    running = run_of(ConnectionPoint(T, "recent"), t=[])
    with pytest.raises(UnknownNameError, match="did you mean 'recent'"):
        connection_point(running.graph, "recen")
    with pytest.raises(GraphError, match="does not have the columns"):
        attach(running, "recent", "x", Graph.of(x=stream("x", "v INT", None)))
