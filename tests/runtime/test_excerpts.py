"""A part of an answer is its newest rows, by their times, or its oldest; times are told whatever year they are in."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from tradewind.algebra.plain import plain
from tradewind.algebra.schema import Schema, parse_schema
from tradewind.algebra.times import HIGHEST, LOWEST, format_date, format_timestamp
from tradewind.algebra.types import TIMESTAMP, window_of
from tradewind.interpreter.time_text import parse_date, parse_timestamp
from tradewind.runtime.answers import added_up, excerpt, time_column
from tradewind.spark.sinks import Files

TIMED = parse_schema("item STRING, ts TIMESTAMP", time="ts")
TIMES = st.none() | st.sampled_from(range(0, 6_000_000, 1_000_000))
ROWS = st.lists(
    st.tuples(st.text("ab", max_size=2), TIMES, st.booleans()),
    max_size=12,
)
MICROS = st.sampled_from([LOWEST, LOWEST - 1, HIGHEST, HIGHEST + 1, 2**63 - 1, -(2**63)]) | st.integers(
    -(2**63), 2**63 - 1
)


@given(ROWS, st.integers(1, 12), st.booleans())
def test_the_newest_rows_are_those_with_the_latest_times(rows, limit, oldest) -> None:
    given_rows = Counter(rows)
    every = excerpt(given_rows, TIMED)
    some = excerpt(given_rows, TIMED, limit, oldest=oldest)
    assert (every.which, every.total, every.final) == ("all", len(rows), sum(final for *_, final in rows))
    assert (some.total, some.final, some.told()["left_out"]) == (every.total, every.final, max(0, len(rows) - limit))
    assert some.which == ("all" if len(rows) <= limit else "oldest" if oldest else "newest")
    kept, left_out = list(some.rows), list(every.rows)
    for row in kept:
        left_out.remove(row)
    assert [row["item"] for row in kept] == sorted(row["item"] for row in kept)
    times = [row["ts"] or "" for row in kept], [row["ts"] or "" for row in left_out]
    if all(times):
        assert max(times[0]) <= min(times[1]) if oldest else min(times[0]) >= max(times[1])


def test_rows_without_a_time_are_the_first_by_their_columns() -> None:
    schema = parse_schema("shop STRING, hits BIGINT")
    some = excerpt(Counter({("b", 1, True): 1, ("a", 2, True): 1, ("c", 3, False): 1}), schema, 2)
    assert [row["shop"] for row in some.rows] == ["a", "b"]
    assert some.which == "first"


def test_a_window_tells_the_time_too() -> None:
    schema = Schema((("shop", TIMED.type_of("item")), ("window", window_of(TIMESTAMP))))
    assert time_column(schema) == "window"
    some = excerpt(Counter({("a", (60, 120), True): 1, ("b", (0, 60), True): 1}), schema, 1)
    assert some.rows[0]["shop"] == "a"


@given(MICROS)
def test_every_time_has_a_text_that_reads_back(micros) -> None:
    text = format_timestamp(micros)
    assert parse_timestamp(text) == micros
    assert parse_date(format_date(micros // 86_400_000_000)) == micros // 86_400_000_000
    assert plain((micros, micros), window_of(TIMESTAMP)) == {"start": text, "end": text}
    if LOWEST <= micros <= HIGHEST:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
        assert text == moment.isoformat().replace("+00:00", "Z")


@given(st.lists(st.tuples(MICROS, st.integers(0, 10**12)), min_size=1, max_size=5))
@example([(HIGHEST, 1), (LOWEST, 10**9)])
def test_windows_at_the_ends_of_time_are_read_from_files(tmp_path_factory, windows) -> None:
    """Whatever window a valid time lies in can be looked up from what was delivered, in the texts that Spark writes."""
    bounds = [(start, min(start + length, 2**63 - 1)) for start, length in windows]
    schema = Schema((("start", TIMESTAMP), ("w", window_of(TIMESTAMP))), (("start", 0),))
    expected = Counter((start, (start, end), True) for start, end in bounds)
    folder = Path(tmp_path_factory.mktemp("delivered"))
    lines = [plain(pair, window_of(TIMESTAMP)) for pair in bounds]
    as_json, as_csv = folder / "batch-00000000-0.json", folder / "batch-00000000-0.csv"
    as_json.write_text(
        "".join(json.dumps({"start": w["start"], "w": w, "_final": True, "_weight": 1}) + "\n" for w in lines)
    )
    doubled = [json.dumps(w).replace('"', '""') for w in lines]
    records = [f'{w["start"]},"{text}",true,1' for w, text in zip(lines, doubled, strict=True)]
    as_csv.write_text("\n".join(["start,w,_final,_weight", *records]) + "\n")
    for file in (as_json, as_csv):
        answer = added_up(Files(folder, file.suffix[1:], {}, schema).read([file]), schema)
        assert answer == expected
        told = [row["w"]["end"] for row in excerpt(answer, schema).rows]
        assert sorted(told) == sorted(format_timestamp(end) for _, end in bounds)
