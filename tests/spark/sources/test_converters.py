"""Converters turn records into rows and rows into records, and say which records they cannot read."""

from __future__ import annotations

import random
import struct

import pyarrow as pa
import pytest

from tests.random_rows import rows as usual_rows
from tests.spark.sources.parsed import parsed
from tests.spark.sources.writing import plain
from tradewind.algebra.schema import parse_schema
from tradewind.errors import DataError, InputError, UnknownNameError
from tradewind.spark.sources.converters.registry import converter
from tradewind.spark.types import to_arrow

LOG = parse_schema("ts TIMESTAMP, status INT, url STRING", "ts")


def test_key_value(tmp_path) -> None:
    data = (
        b'ts=2026-01-02T03:04:05Z status=200 url=/a\nurl="/b c"  other=1 status=404\r\n\nstatus=x\nbroken\n'
        b'status=1 status=2\nurl="open\nstatus=\xff\nurl="" status=\n'
    )  # fmt: skip
    found = parsed(tmp_path / "a.log", "text", LOG, data, converter="key_value")
    assert found.rows == [(1767323045000000, 200, "/a"), (None, 404, "/b c")]
    assert found.reasons == [
        (3, "column status: 'x' is no INT"), (4, "'broken' has no '='"), (5, "a key stands there twice"),
        (6, "the quote after 'url' is not closed"), (7, "not valid UTF-8"), (8, "column status: '' is no INT"),
    ]  # fmt: skip
    found = parsed(
        tmp_path / "a.log", "text", LOG, b"status:5|url:a b", converter="key_value", separator="|", assign=":"
    )
    assert found.rows == [(None, 5, "a b")]


def test_fixed(tmp_path) -> None:
    data = "2026-01-02 200é/b\n2026-01-03   5\n2026-01-04   x/d\nshort\n".encode()
    found = parsed(tmp_path / "a.txt", "text", LOG, data, converter="fixed", fields="ts 0 10, status 11 3, URL 14 4")
    assert found.rows == [(1767312000000000, 200, "é/b")]
    assert found.reasons == [
        (1, "the line ends before its last field, which begins at 14"), (2, "column status: 'x' is no INT"),
        (3, "the line ends before its last field, which begins at 14"),
    ]  # fmt: skip


@pytest.mark.parametrize(("endian", "sign"), [("big", ">"), ("little", "<")])
def test_fixed_binary(tmp_path, endian, sign) -> None:
    schema = parse_schema("t TIMESTAMP, d DATE, n BIGINT, u INT, f FLOAT, x DOUBLE, s STRING, b BINARY", "t")
    layout = struct.Struct(f"{sign}qiqHfd6s2x3s")
    given = [
        (1_700_000_000, 5, -(2**63), 65535, 0.5, -0.0, "é\0".encode(), b"\1\2\3"),
        (2**60, 0, 0, 0, 0.0, 0.0, b"", b""),
        (-1, -1, 7, 1, float("inf"), float("nan"), b" ab ", b"\xff\0\0"),
        (0, 0, 0, 0, 0.0, 0.0, b"\xff\xfe", b""),
        (0, 2**31 - 1, 0, 0, 0.0, 0.0, b"", b""),
    ]
    data = b"".join(layout.pack(*row) for row in given) + b"rest"
    fields = "t i8, d i4, n i8, u u2, f f4, x f8, s s6, _ x2, b b3"
    found = parsed(
        tmp_path / "a.bin",
        "binary",
        schema,
        data,
        converter="fixed_binary",
        fields=fields,
        endian=endian,
        epoch="seconds",
    )
    assert found.rows == [
        (1_700_000_000 * 10**6, 5, -(2**63), 65535, 0.5, 0.0, "é", b"\1\2\3"),
        (-(10**6), -1, 7, 1, float("inf"), "NaN", "ab", b"\xff\0\0"),
    ]
    assert found.reasons == [
        (1, "column t: a time beyond the years 1 to 9999"),
        (3, "column s: not valid UTF-8"),
        (4, "column d: a time beyond the years 1 to 9999"),
        (5, f"the file ends after 4 of a record's {layout.size} bytes"),
    ]


def test_what_a_converter_writes_it_reads(tmp_path) -> None:
    schema = parse_schema("ts TIMESTAMP, n BIGINT, k STRING", "ts")
    given = [(ts, n, k or "x") for ts, n, k in usual_rows(schema, 200, random.Random(1)) if n is not None]
    table = to_arrow(given, schema)
    for name, options, format_ in (
        ("key_value", {"assign": "="}, "text"),
        ("fixed", {"fields": "ts 0 30, n 31 20, k 51 20"}, "text"),
        ("fixed_binary", {"fields": "k s20, n i8, ts i8"}, "binary"),
    ):
        records = converter(name, options, schema).encode(table).to_pylist()
        data = b"".join(records) if format_ == "binary" else "\n".join(records).encode()
        found = parsed(tmp_path / "a", format_, schema, data, careful=False, converter=name, **options)
        assert (found.rows, found.letters) == ([plain(row) for row in given], []), name


def test_what_cannot_be_written_is_refused() -> None:
    schema = parse_schema("n INT, k STRING")
    table = to_arrow([(300, 'a "b"')], schema)
    for name, options, what in (
        ("key_value", {}, "cannot be written as a key's value"),
        ("fixed", {"fields": "n 0 2, k 3 9"}, "is longer than field 'n', 2 characters"),
        ("fixed_binary", {"fields": "n i1, k s9"}, "does not fit into i1"),
        ("fixed_binary", {"fields": "n i4, k s2"}, "is longer than its field, 2 bytes"),
    ):
        with pytest.raises(DataError, match=what):
            converter(name, options, schema).encode(table)
    with pytest.raises(DataError, match="NULL"):
        converter("fixed_binary", {"fields": "n i4"}, schema).encode(to_arrow([(None, None)], schema))


@pytest.mark.parametrize(
    ("name", "options", "what"),
    [
        ("fixd", {}, "unknown converter 'fixd'.*did you mean 'fixed'"),
        ("fixed", {}, "converter fixed: '' is no field"),
        ("fixed", {"fields": "status 0 x"}, "is no field"),
        ("fixed", {"fields": "nope 0 1"}, "unknown column 'nope'"),
        ("fixed", {"fields": "url 0 1", "size": 3}, "unknown option 'size'"),
        ("key_value", {"assign": ""}, "two different texts"),
        ("fixed_binary", {"fields": "status i8"}, "'i8' cannot hold column 'status' of type INT"),
        ("fixed_binary", {"fields": "status i3"}, "cannot hold"),
        ("fixed_binary", {"fields": "status"}, "is no field"),
        ("fixed_binary", {"fields": "status i4", "endian": "middle"}, "not known"),
    ],
)
def test_wrong_options_are_told(name, options, what) -> None:
    with pytest.raises((InputError, UnknownNameError), match=what):
        converter(name, options, LOG)


def test_the_values_of_a_converter_may_be_texts_or_typed() -> None:
    made = converter("fixed_binary", {"fields": "status i4"}, LOG)
    assert made.record_bytes == 4
    assert made.convert(pa.array([b"\1\0\0\0"], pa.binary(4))).table.schema.field("status").type == pa.int32()
