"""Declared columns that no file has are told, with the names that the files have."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

from tradewind.algebra.schema import parse_schema
from tradewind.frontends.deployment.formats import checked
from tradewind.spark.sources.lacking import first_files, lacking, names_in

SCHEMA = parse_schema("ts TIMESTAMP, domain STRING, bytes BIGINT", "ts")
TABLE = pa.table({"TS": pa.array([1], pa.timestamp("us")), "domian": ["a"], "bytes": [1]})


def written(path, format_) -> None:
    match format_:
        case "parquet":
            pq.write_table(TABLE, path)
        case "orc":
            po.write_table(TABLE, path)
        case "arrow":
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, TABLE.schema) as writer:
                writer.write_table(TABLE)
        case "csv":
            path.write_bytes(b"\xef\xbb\xbfTS, domian ,bytes\n1,2,3\n")
        case "json":
            path.write_text('{"TS": 1}\nno JSON\n[]\n{"domian": "a", "bytes": 3}\n')


@pytest.mark.parametrize("format_", ["parquet", "orc", "arrow", "csv", "json"])
def test_a_column_that_no_file_has_is_told_with_similar_names(tmp_path, format_) -> None:
    path = tmp_path / f"a.{format_}"
    written(path, format_)
    options = checked(format_, {})
    expected = [("domain", "did you mean 'domian'? There is: TS, domian, bytes.")]
    assert lacking([path], format_, options, SCHEMA) == expected
    (tmp_path / "b").write_bytes(b"\0\1\2 no such file \xff")
    if format_ != "csv":
        assert names_in(tmp_path / "b", format_, options) == []
    assert lacking([], format_, options, SCHEMA) == []


def test_files_without_names_lack_nothing(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n")
    assert lacking([tmp_path / "a.csv"], "csv", checked("csv", {"header": False}), SCHEMA) == []
    assert lacking([tmp_path / "a.csv"], "xml", {}, SCHEMA) == []


def test_a_few_files_are_looked_at(tmp_path) -> None:
    for name in ("e", "d", "c", "b", "_a", ".a"):
        (tmp_path / name).touch()
    assert [file.name for file in first_files(tmp_path)] == ["b", "c", "d"]
    assert [file.name for file in first_files(tmp_path / "[de]")] == ["d", "e"]
    assert first_files(tmp_path / "e") == [tmp_path / "e"]
    assert first_files(tmp_path / "none") == []
