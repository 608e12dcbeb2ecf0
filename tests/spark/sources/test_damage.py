"""Damaged files of every format: each row is there or a letter tells what is not, and nothing else happens."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.spark.sources.batches import simple
from tests.spark.sources.damaging import FORMATS, damage, damaged_pages, whole
from tests.spark.sources.parsed import parsed
from tests.spark.sources.writing import SIMPLE
from tradewind.errors import RunError
from tradewind.spark.sources.converters.registry import converter
from tradewind.spark.sources.damage import may_be_damage
from tradewind.spark.sources.footers import footer_of
from tradewind.spark.sources.nested import FaultError
from tradewind.spark.sources.probing import crashes_on
from tradewind.spark.types import to_arrow


@pytest.mark.parametrize("format_", [*FORMATS, "csv.gz", "json.gz", "xml.gz"])
def test_a_damaged_file_gives_rows_or_letters(tmp_path_factory, format_) -> None:
    path = tmp_path_factory.mktemp("damage") / f"a.{format_}"
    plain = format_.removesuffix(".gz")

    @settings(max_examples=60, deadline=None)
    @given(seed=st.integers(0, 2**32))
    def property_(seed: int) -> None:
        chance = random.Random(seed)
        whole(path, plain, simple(200), chance)
        damage(path, chance)
        try:
            found = parsed(path, plain, SIMPLE)
        except FaultError:  # a CSV header that cannot be read: the whole file is bad
            assert plain == "csv"
            return
        if plain in ("parquet", "orc"):
            assert len(found.rows) == 200 or found.letters
        if plain == "parquet":
            try:
                footer_of(str(path), SIMPLE)
            except FaultError:
                assert found.letters

    property_()


RECORDS: dict[str, tuple[str, dict[str, Any]]] = {
    "fixed": ("text", {"fields": "ts 0 27, k 27 4, v 31 5"}),
    "key_value": ("text", {}),
    "fixed_binary": ("binary", {"fields": "ts i8, k s4, v i8, _ x1"}),
}
"""By converter, the format that it is for and its options."""


def encoded(converter_: str, count: int) -> list[bytes]:
    """The records of simple rows, those of texts with their newlines."""
    format_, options = RECORDS[converter_]
    records = converter(converter_, options, SIMPLE).encode(to_arrow(simple(count), SIMPLE))
    return [one.encode() + b"\n" if format_ == "text" else one for one in records.to_pylist()]


@pytest.mark.parametrize("compressed", ["", ".gz", ".zst"])
@pytest.mark.parametrize("converter_", RECORDS)
def test_a_damaged_file_of_records_gives_rows_or_letters(tmp_path_factory, converter_, compressed) -> None:
    path = tmp_path_factory.mktemp("damage") / f"a.records{compressed}"
    (format_, options), records = RECORDS[converter_], encoded(converter_, 200)
    data = b"".join(records)
    packed = pa.compress(data, {".gz": "gzip", ".zst": "zstd"}[compressed], asbytes=True) if compressed else data

    @settings(max_examples=25, deadline=None)
    @given(seed=st.integers(0, 2**32))
    def property_(seed: int) -> None:
        path.write_bytes(packed)
        damage(path, random.Random(seed))
        found = parsed(path, format_, SIMPLE, converter=converter_, **options)
        assert len({number for number, _ in found.reasons}) == len(found.letters)
        if not compressed:
            assert len(found.rows) + len(found.letters) == records_in(path.read_bytes())

    def records_in(left: bytes) -> int:
        if format_ == "binary":
            return -(-len(left) // len(records[0]))
        return sum(bool(line.strip()) for line in left.removeprefix(b"\xef\xbb\xbf").split(b"\n"))

    assert len(parsed(path, format_, SIMPLE, packed, converter=converter_, **options).rows) == 200
    property_()


@pytest.mark.parametrize("converter_", RECORDS)
@given(places=st.sets(st.integers(0, 199), max_size=20), seed=st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_records_beside_a_damaged_one_are_read(tmp_path_factory, converter_, places, seed) -> None:
    (format_, options), records, chance = RECORDS[converter_], encoded(converter_, 200), random.Random(seed)
    for place in places:
        # Bytes that are no newline: a record stays one.
        least = 1 if format_ == "binary" else 128
        record = bytearray(records[place])
        for _ in range(chance.choice((1, 3, 10))):
            record[chance.randrange(len(record) - 1)] = chance.randrange(least, 256)
        records[place] = bytes(record)
    path = tmp_path_factory.mktemp("damage") / "a.records"
    found = parsed(path, format_, SIMPLE, b"".join(records), converter=converter_, **options)
    assert len(found.rows) + len(found.letters) == 200
    assert {number for number, _ in found.reasons} <= places
    rows = iter(found.rows)
    bad = {number for number, _ in found.reasons}
    read = {number: next(rows) for number in range(200) if number not in bad}
    assert all(read[number] == simple(200)[number] for number in read if number not in places)


@pytest.mark.parametrize("compressed", [".gz", ".bz2", ".zst", ".lz4"])
@pytest.mark.parametrize("converter_", RECORDS)
def test_a_file_that_is_not_compressed_as_its_name_says_is_a_letter(tmp_path, converter_, compressed) -> None:
    (format_, options), data = RECORDS[converter_], b"".join(encoded(converter_, 200))
    found = parsed(tmp_path / f"a{compressed}", format_, SIMPLE, data, converter=converter_, **options)
    assert (found.rows, len(found.letters)) == ([], 1)
    assert "cannot be read" in found.reasons[0][1]
    packed = pa.compress(data, "gzip", asbytes=True)
    assert parsed(tmp_path / "a.records", format_, SIMPLE, packed, converter=converter_, **options).letters


def test_damaged_pages_are_told_with_their_row_group(tmp_path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(to_arrow(simple(2000), SIMPLE), path, row_group_size=500)
    assert len(parsed(path, "parquet", SIMPLE).rows) == 2000
    data = bytearray(path.read_bytes())
    start = pq.read_metadata(path).row_group(2).column(0).data_page_offset
    data[start : start + 40] = bytes(40)
    path.write_bytes(data)
    found = parsed(path, "parquet", SIMPLE)
    assert len(found.rows) == 1000
    [(number, reason)] = found.reasons
    assert number == 1000
    assert reason.startswith("row group 2: the file cannot be read: ")


def test_checksums_of_pages_are_verified(tmp_path) -> None:
    path = tmp_path / "a.parquet"
    table = to_arrow(simple(2000), SIMPLE)
    pq.write_table(table, path, compression="none", use_dictionary=False, write_page_checksum=True)
    data = path.read_bytes()
    value = (1500).to_bytes(8, "little")  # a number of the last column, which is a number whatever its bytes are
    assert data.count(value) >= 1
    path.write_bytes(data.replace(value, (1501).to_bytes(8, "little"), 1))
    [(_, reason)] = parsed(path, "parquet", SIMPLE).reasons
    assert "checksum" in reason.lower() or "crc" in reason.lower()


def test_what_crashes_its_reader_is_tried_out_by_a_process_of_its_own(tmp_path, monkeypatch) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(to_arrow(simple(20), SIMPLE), path)
    assert len(parsed(path, "parquet", SIMPLE, careful=True).rows) == 20
    path.write_bytes(damaged_pages(path.read_bytes()))
    assert parsed(path, "parquet", SIMPLE, careful=True).letters
    monkeypatch.setattr("tradewind.spark.sources.probing._TRIED", "import os; os.kill(os.getpid(), 11)")
    assert crashes_on("_parquet", str(path))
    [(_, reason)] = parsed(path, "parquet", SIMPLE, careful=True).reasons
    assert reason.endswith("reading it crashes")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RuntimeError("[FAILED_READ_FILE.NO_HINT] Encountered error while reading file a.parquet."), True),
        (RuntimeError("Caused by: org.apache.parquet.io.ParquetDecodingException"), True),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), True),
        (RuntimeError("No space left on device"), False),
        (RunError("FAILED_READ_FILE in our own words"), False),
    ],
)
def test_which_failures_may_come_from_damage(error, expected) -> None:
    assert may_be_damage(error) == expected
