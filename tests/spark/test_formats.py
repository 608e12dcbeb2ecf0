"""What is delivered in any format reads back as it was."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from tests.rewrites.comparing import plain
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.times import HIGHEST, LOWEST
from tradewind.runtime.answers import added_up
from tradewind.spark.sinks import Files
from tradewind.spark.types import to_arrow

pytestmark = pytest.mark.spark

SCHEMA = parse_schema(
    "ts TIMESTAMP, t STRING, b BIGINT, d DOUBLE, m DECIMAL(20,5), f BOOLEAN, day DATE, z BINARY, "
    "a ARRAY<STRING>, p STRUCT<q: STRING, r: INT>",
    time="ts",
)
TEXTS = (
    "", " b ", "\tt\t", "\x01ctl", "a,b", 'say "x"', "two\nlines", "ü 😀", None, "null", "NaN", "<a>&amp;</a>", "]]>",
    "back\\slash", "\\n", "'", "true", "1", " ",
)  # fmt: skip
MOMENT = 1_772_323_200_123_456


def rows() -> list[tuple]:
    """Texts that formats trip over, and one row of nothing."""
    found = []
    for place, text in enumerate(TEXTS):
        double = (0.1, -0.0, 1e300, math.nan, math.inf, -math.inf)[place % 6]
        found.append(
            (
                MOMENT + place, text, 2**63 - 1 - place, double, Decimal("-12345.67891"), place % 2 == 0,
                20_500 + place, bytes([0, 255, place]), (text, "x"), (text, place),
            )
        )  # fmt: skip
    return [*found, (MOMENT, *[None] * 9)]


def expected(format_: str, row: tuple) -> tuple:
    """A row as a format can hold it: XML has no control characters, and no NULLs in arrays."""
    if format_ != "xml":
        return row

    def cleaned(text):
        return text.replace("\x01", "\ufffd") if isinstance(text, str) else text

    *others, array, pair = row
    known = None if array is None else tuple(cleaned(part) for part in array if part is not None)
    return (*map(cleaned, others), known, None if pair is None else tuple(map(cleaned, pair)))


@pytest.mark.parametrize("format_", ["parquet", "orc", "json", "csv", "xml"])
def test_rows_come_back_as_they_were(spark, tmp_path, format_) -> None:
    sink = Files(tmp_path / "out", format_, {}, SCHEMA)
    table = to_arrow(rows(), SCHEMA)
    frame = spark.createDataFrame(table).selectExpr("*", "true AS _final", "1L AS _weight")
    sink.publish(sink.stage(frame, "batch-00000000"))
    found = added_up(sink.read(sink.published()), SCHEMA)
    assert sorted(map(repr, map(plain, found.elements()))) == sorted(
        repr(plain((*expected(format_, row), True))) for row in rows()
    )


TIMES = parse_schema("ts TIMESTAMP, w STRUCT<start: TIMESTAMP, end: TIMESTAMP>, day DATE, a ARRAY<TIMESTAMP>")
ENDS = (LOWEST, LOWEST - 1, HIGHEST, HIGHEST + 1, HIGHEST + 86_400_000_000, 0, 1)


@pytest.mark.parametrize("format_", ["parquet", "json", "csv", "xml"])
def test_times_beyond_the_bounds_of_streams_come_back(spark, tmp_path, format_) -> None:
    """A window over a valid time may begin before the year 1 and end after 9999."""
    sink = Files(tmp_path / "out", format_, {}, TIMES)
    expected = [(t, (t, t + 60_000_001), t // 86_400_000_000, (t,)) for t in ENDS]
    frame = spark.createDataFrame(to_arrow(expected, TIMES)).selectExpr("*", "true AS _final", "1L AS _weight")
    sink.publish(sink.stage(frame, "batch-00000000"))
    found = added_up(sink.read(sink.published()), TIMES)
    assert sorted(found.elements()) == sorted((*row, True) for row in expected)
