"""Rows that are pushed become files that are whole, numbered and in order."""

from __future__ import annotations

import threading
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given as given_values
from hypothesis import strategies as st

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


TIMES = parse_schema("ts TIMESTAMP, day DATE, took INTERVAL, m DECIMAL(10,2), n INT", "ts")
NOON = 1_704_110_400_000_000


def taken(tmp_path, schema, given):
    """The rows that an inbox makes of what it is given."""
    return from_arrow(Inbox(tmp_path / "s" / "o", schema).fitting(given), schema)


def test_times_are_pythons_own(tmp_path) -> None:
    rest = (date(1970, 1, 3), timedelta(seconds=-1, microseconds=1), Decimal("1.5"), 3)
    noon = datetime(2024, 1, 1, 12)  # noqa: DTZ001 - that is the point
    same = [
        noon,  # without a zone: UTC
        noon.replace(tzinfo=UTC),
        datetime(2024, 1, 1, 7, tzinfo=ZoneInfo("America/New_York")),
        datetime(2024, 1, 1, 17, 30, tzinfo=timezone(timedelta(hours=5, minutes=30))),
        pd.Timestamp("2024-01-01 13:00:00.000000999", tz="Europe/Berlin"),
        NOON,
    ]
    expected = (NOON, 2, -999_999, Decimal("1.50"), 3)
    assert taken(tmp_path, TIMES, [(time, *rest) for time in same]) == [expected] * len(same)
    assert taken(tmp_path, TIMES, [(pd.NaT, pd.NaT, None, None, None)]) == [(None,) * 5]


@given_values(st.datetimes(timezones=st.timezones()))
def test_a_datetime_is_the_microseconds_that_arrow_has_for_it(tmp_path_factory, time) -> None:
    schema = parse_schema("ts TIMESTAMP", "ts")
    # Arrow itself takes only times that lie within the years 1 to 9999 in UTC as well.
    try:
        utc = time.astimezone(UTC)
    except OverflowError:
        return
    [(found,)] = taken(tmp_path_factory.getbasetemp(), schema, [(time,)])
    assert found == pa.scalar(utc, pa.timestamp("us", "UTC")).value


def test_rows_by_the_names_of_their_columns(tmp_path) -> None:
    given = [{"n": 3, "ts": datetime(2024, 1, 1, 12, tzinfo=UTC)}, (NOON, None, None, None, 4), {}]
    assert taken(tmp_path, TIMES, given) == [
        (NOON, None, None, None, 3), (NOON, None, None, None, 4), (None,) * 5,
    ]  # fmt: skip
    inbox = Inbox(tmp_path / "s" / "o", parse_schema("v BIGINT"), revisions=True)
    by_name: Any = {"v": 2}
    found = inbox.fitting([{"v": 1}, {"v": 1, "_weight": -1}, Weighted(by_name, -3)])
    assert found.to_pylist() == [{"v": 1, "_weight": 1}, {"v": 1, "_weight": -1}, {"v": 2, "_weight": -3}]


def test_nested_values_are_pythons_own(tmp_path) -> None:
    schema = parse_schema("times ARRAY<TIMESTAMP>, span STRUCT<start: TIMESTAMP, days: ARRAY<DATE>>")
    noon = datetime(2024, 1, 1, 12, tzinfo=UTC)
    given = [
        ([noon, None, 5], {"start": noon, "days": [date(1970, 1, 2)]}),
        ((noon,), (noon, (1,))),
        {"span": {"start": noon}},
    ]
    assert taken(tmp_path, schema, given) == [
        ((NOON, None, 5), (NOON, (1,))), ((NOON,), (NOON, (1,))), (None, (NOON, None)),
    ]  # fmt: skip


def test_data_frames(tmp_path) -> None:
    frame = pd.DataFrame(
        {
            "n": [1, None],  # pandas makes fractions of it
            "extra": ["x", "y"],
            "ts": pd.to_datetime(["2024-01-01 12:00", None]),
            "day": [date(1970, 1, 3), None],
            "took": [pd.Timedelta(seconds=1), pd.NaT],
            "m": [Decimal("1.5"), None],
        },
        index=["a", "b"],
    )
    expected = [(NOON, 2, 1_000_000, Decimal("1.50"), 1), (None,) * 5]
    assert taken(tmp_path, TIMES, frame) == expected
    aware = frame.assign(ts=frame["ts"].dt.tz_localize("UTC").dt.tz_convert("Asia/Kolkata"), n=[1, 2])
    assert taken(tmp_path, TIMES, aware) == [expected[0], (None, None, None, None, 2)]
    assert Inbox(tmp_path / "s" / "o", TIMES).enqueue(aware) == 2
    assert taken(tmp_path, TIMES, pa.RecordBatch.from_pandas(aware)) == taken(tmp_path, TIMES, aware)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ([{"ts": 1, "N": 3}], "stream s: row 0 has a column 'N'.*Hint: .*did you mean 'n'"),
        ([{"ts": 1, "_weight": 3}], "row 0 has a column '_weight'.*Hint: .*revisions: true"),
        ([("2024-01-01", None, None, None, 3)], "is not of type TIMESTAMP.*Hint: .*a datetime.datetime or whole"),
        ([(1, datetime(2024, 1, 1, tzinfo=UTC), None, None, 3)], "column day: .* is not of type DATE"),
        ([(date(2024, 1, 1), None, None, None, 3)], "column ts: .* is not of type TIMESTAMP"),
        ([(None, None, None, Decimal("1.555"), 3)], "does not fit DECIMAL"),
        ({"ts": 1}, "expected rows, not {'ts': 1}"),
        ("rows", "expected rows, not 'rows'"),
        (5, "expected rows, not 5"),
        (pd.DataFrame({"n": [1]}), "the table has no column 'ts'"),
        (pd.DataFrame({"ts": [1, "x"]}), "the table does not fit"),
        (
            pd.DataFrame({"ts": [None], "day": [None], "took": [None], "m": [None], "n": [2**31]}),
            "column n: declared INT, found int64.*2147483648",
        ),
        (
            pd.DataFrame({"ts": [None], "day": [None], "took": [None], "m": [None], "n": [0.5]}),
            "column n: declared INT",
        ),
    ],
)
def test_python_rows_that_do_not_fit_are_refused(tmp_path, given, what) -> None:
    with pytest.raises(DataError, match=what):
        Inbox(tmp_path / "s" / "o", TIMES).fitting(given)
