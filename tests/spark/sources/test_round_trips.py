"""Rows that were written come back as they were, from every format, compressed or not."""

from __future__ import annotations

import bz2
import gzip
import random

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

from tests.random_rows import rows as usual_rows
from tests.spark.sources.parsed import parsed
from tests.spark.sources.writing import ALL, FLAT, csv_lines, json_lines, plain, rows, xml_document
from tradewind.algebra.schema import Schema, parse_schema
from tradewind.spark.types import to_arrow

SEEDS = range(25)


def canonical(given):
    return [plain(row) for row in given]


@pytest.mark.parametrize("seed", SEEDS)
def test_json_lines(tmp_path, seed) -> None:
    given = rows(ALL, 60, seed)
    data = json_lines(given, ALL)
    quick = parsed(tmp_path / "a.json", "json", ALL, data)
    assert quick.letters == []
    assert quick.rows == canonical(given)
    assert parsed(tmp_path / "a.json", "json", ALL, careful=True) == quick


@pytest.mark.parametrize("seed", SEEDS)
def test_json_lines_of_types_that_are_read_whole(tmp_path, seed) -> None:
    schema = parse_schema(f"{FLAT}, a ARRAY<INT>, x ARRAY<DOUBLE>, n STRUCT<k: ARRAY<STRUCT<m: DECIMAL(10,2)>>>", "ts")
    given = rows(schema, 60, seed)
    quick = parsed(tmp_path / "a.json", "json", schema, json_lines(given, schema))
    assert (quick.rows, quick.letters) == (canonical(given), [])


@pytest.mark.parametrize("seed", SEEDS)
def test_csv(tmp_path, seed) -> None:
    # Line breaks in texts are another option's.
    given = [tuple(v.replace("\n", " ") if isinstance(v, str) else v for v in row) for row in rows(FLAT, 60, seed)]
    chance = random.Random(seed)
    delimiter, header = chance.choice(",;\t|"), chance.random() < 0.5
    data = csv_lines(given, FLAT, delimiter=delimiter, header=header)
    found = parsed(tmp_path / "a.csv", "csv", FLAT, data, delimiter=delimiter, header=header)
    assert (found.rows, found.letters) == (canonical(given), [])


@pytest.mark.parametrize("seed", SEEDS)
def test_csv_with_line_breaks_and_nested_values(tmp_path, seed) -> None:
    given = rows(ALL, 60, seed)
    found = parsed(tmp_path / "a.csv", "csv", ALL, csv_lines(given, ALL), multi_line=True)
    assert (found.rows, found.letters) == (canonical(given), [])


@pytest.mark.parametrize("seed", SEEDS)
def test_xml(tmp_path, seed) -> None:
    schema = Schema(tuple((name, type_) for name, type_ in ALL.columns if name not in ("x", "st")), ALL.times)
    # XML has no sign for most control characters, an array without elements is not there, and bytes "" are blank.
    given = [
        tuple(None if v in ((), b"") or (isinstance(v, str) and not v.isprintable()) else v for v in row)
        for row in rows(schema, 60, seed)
    ]
    found = parsed(tmp_path / "a.xml", "xml", schema, xml_document(given, schema, "r"), rowTag="r")
    assert (found.rows, found.letters) == (canonical(given), [])


@pytest.mark.parametrize("format_", ["parquet", "orc", "arrow"])
@pytest.mark.parametrize("seed", range(5))
def test_files_with_types_of_their_own(tmp_path, format_, seed) -> None:
    # ORC has no intervals and, here, no decimals of this scale beyond what Arrow writes.
    schema = Schema(tuple((n, t) for n, t in ALL.columns if format_ != "orc" or n not in ("iv", "st")), ALL.times)
    given = rows(schema, 60, seed)
    if format_ == "orc":
        # Its times are whole seconds and nanoseconds, which does not go back before 1677.
        given = [(abs(row[0]) % 10**15 if row[0] is not None else None, *row[1:]) for row in given]
    table = to_arrow(given, schema)
    path = tmp_path / "a"
    match format_:
        case "parquet":
            pq.write_table(table, path, row_group_size=17)
        case "orc":
            po.write_table(table, path)
        case "arrow":
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table, max_chunksize=17)
    found = parsed(path, format_, schema)
    assert (found.rows, found.letters) == (canonical(given), [])


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
@pytest.mark.parametrize(("format_", "write"), [("json", json_lines), ("csv", csv_lines), ("xml", xml_document)])
def test_compressed_files(tmp_path, suffix, compress, format_, write) -> None:
    schema = parse_schema("ts TIMESTAMP, v BIGINT, k STRING", "ts")
    given = usual_rows(schema, 500, random.Random(3))
    found = parsed(tmp_path / f"a.{format_}{suffix}", format_, schema, compress(write(given, schema)))
    assert (found.rows, found.letters) == (given, [])


def test_zstandard(tmp_path) -> None:
    schema = parse_schema("v BIGINT")
    data = pa.compress(b'{"v": 1}\n{"v": 2}\n', codec="zstd", asbytes=True)
    assert parsed(tmp_path / "a.json.zst", "json", schema, data).rows == [(1,), (2,)]


def test_other_line_ends_byte_order_marks_blank_lines_and_no_newline_at_the_end(tmp_path) -> None:
    schema = parse_schema("v BIGINT, k STRING")
    json_data = b'\xef\xbb\xbf{"v": 1, "k": "a"}\r\n\r\n  \n{"v": 2, "k": "b"}'
    csv_data = b"\xef\xbb\xbfk,v\r\na,1\r\n\r\nb,2"
    assert parsed(tmp_path / "a.json", "json", schema, json_data).rows == [(1, "a"), (2, "b")]
    assert parsed(tmp_path / "a.csv", "csv", schema, csv_data).rows == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("format_", "data"), [("json", b""), ("json", b"\n"), ("csv", b""), ("csv", b"v\n"), ("xml", b"")]
)
def test_empty_files_have_no_rows(tmp_path, format_, data) -> None:
    assert parsed(tmp_path / "a", format_, parse_schema("v BIGINT"), data) == ([], [])
