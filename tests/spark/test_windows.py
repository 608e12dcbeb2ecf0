"""Windows over time on Spark: each row in the windows that the interpreter puts it in."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tradewind.algebra.schema import parse_schema
from tradewind.algebra.windows import TimeWindow
from tradewind.interpreter.windows import starts
from tradewind.spark.types import to_arrow
from tradewind.spark.windows import IN_WINDOW, START, at_starts, in_windows

pytestmark = pytest.mark.spark
SCHEMA = parse_schema("ts TIMESTAMP, n INT", time="ts")
WINDOWS = [
    TimeWindow("ts", 10, 10),
    TimeWindow("ts", 10, 10, 3),
    TimeWindow("ts", 10, 4, 1),
    TimeWindow("ts", 32, 4),
    TimeWindow("ts", 90, 7, 5),
    TimeWindow("ts", 3, 10),
    TimeWindow("ts", 86_400_000_000, 60_000_000),
]


@pytest.mark.parametrize("window", WINDOWS, ids=lambda w: f"{w.size}-{w.step}-{w.offset}")
def test_rows_are_in_the_windows_that_they_belong_to(spark, window) -> None:
    chance = random.Random(window.size)
    times = [None, 0, -1, 1, 10**15, -(10**15), *(chance.randrange(-200, 200) for _ in range(40))]
    given = [(time, number) for number, time in enumerate(times)]
    frame = spark.createDataFrame(to_arrow(given, SCHEMA))
    expected = Counter(
        (number, start, start + window.size)
        for time, number in given
        if time is not None
        for start in starts(window, time)
    )
    found = at_starts(frame, window, SCHEMA).selectExpr("n", START).collect()
    assert Counter((n, start, start + window.size) for n, start in found) == expected
    whole = in_windows(frame, window, SCHEMA).selectExpr(
        "n", f"unix_micros({IN_WINDOW}.start) AS s", f"unix_micros({IN_WINDOW}.end) AS e"
    )
    assert Counter(tuple(row) for row in whole.collect()) == expected
