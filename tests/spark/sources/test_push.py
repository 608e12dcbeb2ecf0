"""Rows that are pushed become files that are whole, numbered and in order."""

from __future__ import annotations

import threading
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.sources.writing import ALL, rows
from tradewind.algebra.schema import parse_schema
from tradewind.errors import DataError
from tradewind.interpreter.run import Weighted
from tradewind.spark.sources.footers import footer_of
from tradewind.spark.sources.push import Inbox
from tradewind.spark.types import from_arrow, to_arrow

SCHEMA = parse_schema("ts TIMESTAMP, k STRING, m DECIMAL(10,2)", "ts")


def files(folder):
    return sorted(folder.glob("rows-*.parquet"))


def test_rows_and_tables(tmp_path) -> None:
    inbox = Inbox(tmp_path / "s" / "o", SCHEMA)
    assert inbox.enqueue([(5, "x", Decimal("1.50")), (None, None, None)]) == 2
    other = {
        "M": [Decimal("2.5")],
        "m": [Decimal("2.5")],
        "ts": pa.array([6], pa.timestamp("ms")),
        "k": ["y"],
        "z": [1],
    }
    assert inbox.enqueue(pa.table({name: column for name, column in other.items() if name != "M"})) == 1
    assert inbox.enqueue([]) == inbox.enqueue(to_arrow([], SCHEMA)) == 0
    first, second = files(tmp_path / "s" / "o")
    assert from_arrow(pq.read_table(first), SCHEMA) == [(5, "x", Decimal("1.50")), (None, None, None)]
    assert from_arrow(pq.read_table(second), SCHEMA) == [(6000, "y", Decimal("2.50"))]
    assert footer_of(str(first), SCHEMA) == (2, True, True, 5, 5)


def test_every_type_can_be_pushed_and_is_read_as_it_is(tmp_path) -> None:
    place = ALL.index("iv")
    given = [(*row[:place], row[place] and row[place] % 10**15, *row[place + 1 :]) for row in rows(ALL, 50, 1)]
    assert Inbox(tmp_path, ALL).enqueue(given) == 50
    [file] = files(tmp_path)
    assert footer_of(str(file), ALL).direct


def test_files_are_in_order_whatever_pushes_them_and_whenever(tmp_path) -> None:
    schema = parse_schema("v BIGINT")
    inbox = Inbox(tmp_path, schema)
    threads = [threading.Thread(target=lambda: [inbox.enqueue([(i,)]) for i in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    Inbox(tmp_path, schema).enqueue([(99,)])
    found = files(tmp_path)
    times = [file.stat().st_mtime_ns // 1_000_000 for file in found]
    assert len(found) == 201
    assert times == sorted(set(times))
    assert pq.read_table(found[-1]).to_pylist() == [{"v": 99}]
    assert [file for file in tmp_path.iterdir() if file not in found] == []


def test_weights(tmp_path) -> None:
    schema = parse_schema("v BIGINT")
    inbox = Inbox(tmp_path, schema, revisions=True)
    inbox.enqueue([(1,), Weighted((1,), -1)])
    inbox.enqueue(pa.table({"v": [2], "_weight": [-3]}))
    inbox.enqueue(pa.table({"v": [3]}))
    assert [pq.read_table(file).to_pylist() for file in files(tmp_path)] == [
        [{"v": 1, "_weight": 1}, {"v": 1, "_weight": -1}], [{"v": 2, "_weight": -3}], [{"v": 3, "_weight": None}],
    ]  # fmt: skip
    with pytest.raises(DataError, match="the table has weights"):
        Inbox(tmp_path, schema).enqueue(pa.table({"v": [2], "_weight": [-3]}))
    with pytest.raises(DataError, match="takes a row back"):
        Inbox(tmp_path, schema).enqueue([Weighted((1,), -1)])


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (pa.table({"ts": [1]}), "the table has no column 'k'"),
        ([(5,)], "has 1 values"),
        ([("x", "y", None)], "is not of type TIMESTAMP"),
        (pa.table({"ts": ["x"], "k": ["y"], "m": [None]}), "column ts: declared TIMESTAMP, found string"),
        (pa.table({"ts": pa.array([2**62], pa.timestamp("us")), "k": ["y"], "m": [None]}), "beyond the years"),
    ],
)
def test_rows_that_do_not_fit_are_refused(tmp_path, given, what) -> None:
    inbox = Inbox(tmp_path, SCHEMA)
    with pytest.raises(DataError, match=what):
        inbox.enqueue(given)
    assert list(tmp_path.iterdir()) == []
