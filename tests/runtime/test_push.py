"""Rows pushed and pulled in one process, and parameters that change meanwhile."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime

import pytest

import tradewind as tw
from tests.spark.conftest import spark
from tradewind.errors import InputError
from tradewind.runtime.answers import added_up

__all__ = ["spark"]
pytestmark = pytest.mark.spark

FILE = """
sites: {here: {cores: 2}}
streams:
  ticks:
    schema: ts TIMESTAMP, k STRING, n INT
    time: ts
    at: {here: {format: push}}
"""


def pulled(live, name, schema, want, seconds=90):
    """What has been delivered once an answer holds so many rows."""
    tables = []
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        table = live.dequeue(name, timeout=0.5)
        if table is not None:
            tables.append(table)
        answer = added_up(tables, schema)
        if answer.total() >= want:
            return Counter({row[:-1]: count for row, count in answer.items()})
    raise AssertionError(f"{added_up(tables, schema)} after {seconds} s")


def test_rows_go_in_and_out_and_a_predicate_changes_on_the_way(spark, tmp_path) -> None:
    path = tmp_path / "push.yaml"
    path.write_text(FILE)
    found = tw.deployment(path)
    ticks = found.stream("ticks")
    small, large = (ticks.where(f"n < {bound}").deliver("here") for bound in (10, 100))
    schema = ticks.operator.schema
    with found.run({"some": small}, until_done=False, interval=0.1, spark=spark) as live:
        first = datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC)
        assert live.enqueue("ticks", [{"k": "a", "n": 5, "ts": first}, (2, "b", 50)]) == 2
        assert pulled(live, "some", schema, 1) == Counter({(1, "a", 5): 1})
        [row] = live.answer("some").to_pylist()
        assert row == {"ts": first, "k": "a", "n": 5, "_final": True}
        with pytest.raises(InputError, match="unknown query 'sum'"):
            live.answer("sum")
        live.change({"some": large})
        live.enqueue("ticks", [(3, "c", 50), (4, "d", 500)])
        assert pulled(live, "some", schema, 1) == Counter({(3, "c", 50): 1})
        with pytest.raises(InputError, match="another shape"):
            live.change({"some": ticks.select("k").deliver("here")})
        with pytest.raises(InputError, match="cannot be pushed"):
            live.enqueue("ticks", [(1, "a", 5)], origin="elsewhere")


def test_results_of_a_finite_run_end_with_everything_final(spark, tmp_path) -> None:
    path = tmp_path / "push.yaml"
    path.write_text(FILE)
    found = tw.deployment(path)
    counts = found.stream("ticks").group_by("k", window=tw.tumbling("1 minute")).agg(rows="count(*)")
    state = tmp_path / "state"
    live = found.run({"counts": counts.deliver("here")}, state=state, spark=spark)
    live.enqueue("ticks", [(1, "a", 5), (2, "a", 50), (3, "b", 1)])
    with live:
        tables = list(live.results("counts"))
    shown = live.answer("counts").to_pandas()
    assert shown[["k", "rows", "_final"]].values.tolist() == [["a", 2, True], ["b", 1, True]]
    answer = added_up(tables, counts.operator.schema)
    assert answer == Counter({("a", (0, 60_000_000), 2, True): 1, ("b", (0, 60_000_000), 1, True): 1})
    again = found.run({"counts": counts.deliver("here")}, state=state, spark=spark)
    with pytest.raises(InputError, match="an earlier run delivered rows of 'counts'"):
        again.answer("counts")
    again.stop()
