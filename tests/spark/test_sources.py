"""Sources on Spark: every format read by batches, late rows counted, bad records judged."""

from __future__ import annotations

import gzip
import math
import os
import random
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

from tests.spark.sources.batches import SECOND, Site, bag, declared, parquet, simple, written
from tests.spark.sources.writing import ALL, SIMPLE, csv_lines, json_lines, rows, xml_document
from tradewind.algebra.operators.ordered import Order
from tradewind.algebra.schema import parse_schema
from tradewind.errors import DataError
from tradewind.spark.sources.survey import Survey
from tradewind.spark.types import to_arrow

pytestmark = pytest.mark.spark


def test_all_types_from_all_formats_at_once(spark, tmp_path) -> None:
    given = {name: rows(ALL, 80, seed) for seed, name in enumerate(("p", "j", "c", "g"))}
    stream = declared(
        ALL, p={"format": "parquet", "path": "p"}, j={"format": "json", "path": "j"},
        c={"format": "csv", "path": "c", "options": {"multi_line": True}}, g={"format": "json", "path": "g"},
    )  # fmt: skip
    halves = {name: (many[:40], many[40:]) for name, many in given.items()}
    files = {
        "p": [parquet(tmp_path / f"p/{i}.parquet", half, ALL) for i, half in enumerate(halves["p"])],
        "j": [written(tmp_path / f"j/{i} é%.json", json_lines(half, ALL)) for i, half in enumerate(halves["j"])],
        "c": [written(tmp_path / f"c/[{i}].csv", csv_lines(half, ALL)) for i, half in enumerate(halves["c"])],
        "g": [
            written(tmp_path / f"g/{i}.gz", gzip.compress(json_lines(half, ALL))) for i, half in enumerate(halves["g"])
        ],
    }
    read = Site(spark, stream, tmp_path).read(**files)
    for name, many in given.items():
        times = [row[0] for row in many if row[0] is not None]
        assert bag(read.rows[name]) == bag(many), name
        assert read.surveys[name] == Survey(80, 0, 0, 0, min(times), max(times))
        assert read.found.arrived["s"][name].mark == max(times)
        assert not read.found.arrived["s"][name].late


def test_xml_orc_arrow_and_converted_lines(spark, tmp_path) -> None:
    given = simple(30)
    table = to_arrow(given, SIMPLE)
    stream = declared(
        SIMPLE,
        x={"format": "xml", "path": "x", "options": {"rowTag": "r"}},
        o={"format": "orc", "path": "o"},
        a={"format": "arrow", "path": "a"},
        t={"format": "text", "path": "t", "options": {"converter": "key_value"}},
        b={"format": "binary", "path": "b", "options": {"converter": "fixed_binary", "fields": "ts i8, k s4, v i8"}},
    )
    po.write_table(table, tmp_path / "o.orc")
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    lines = "".join(f"ts={ts // SECOND} k={k} v={v}\n" for ts, k, v in given)
    packed = b"".join(ts.to_bytes(8, "little") + k.encode().ljust(4) + v.to_bytes(8, "little") for ts, k, v in given)
    with pytest.raises(DataError, match=r"column ts: '0' is no TIMESTAMP\. It is the first of 30 bad records"):
        Site(spark, stream, tmp_path).read(t=[written(tmp_path / "t/a.log", lines.encode())])
    lines = "".join(f"v={v} ts=1970-01-01T00:00:{ts // SECOND:02}Z k={k}\n" for ts, k, v in given)
    read = Site(spark, stream, tmp_path).read(
        x=[written(tmp_path / "x/a.xml", xml_document(given, SIMPLE, "r"))],
        o=[tmp_path / "o.orc"],
        a=[tmp_path / "a.arrow"],
        t=[written(tmp_path / "t/a.log", lines.encode())],
        b=[written(tmp_path / "b/a.bin", packed)],
    )
    for name in "xoatb":
        assert bag(read.rows[name]) == bag(given), name
        assert read.surveys[name] == Survey(30, 0, 0, 0, 0, 29 * SECOND)


def test_parquet_files_of_other_types_are_converted_and_wrong_ones_set_aside(spark, tmp_path) -> None:
    given = simple(20)
    table = to_arrow(given, SIMPLE)
    as_pandas = table.set_column(0, "TS", table["ts"].cast(pa.timestamp("ns"))).set_column(
        2, "V", table["v"].cast(pa.int32())
    )
    folder = tmp_path / "p"
    folder.mkdir()
    pq.write_table(table, folder / "a.parquet")
    pq.write_table(as_pandas, folder / "b.parquet")
    pq.write_table(table.drop(["v"]), folder / "c.parquet")
    pq.write_table(table.set_column(2, "v", table["v"].cast(pa.float64())), folder / "d.parquet")
    pq.write_table(table.slice(0, 0), folder / "e.parquet")
    pq.write_table(table.select(["ts", "k", "v"]), folder / "f.parquet", use_deprecated_int96_timestamps=True)
    (folder / "g.parquet").write_bytes((folder / "a.parquet").read_bytes()[:-9])
    stream = declared(SIMPLE, on_bad="dead_letter", p={"format": "parquet", "path": "p"})
    read = Site(spark, stream, tmp_path).read(p=sorted(folder.iterdir()))
    assert bag(read.rows["p"]) == bag([*given * 3, *((ts, k, None) for ts, k, _ in given)])
    assert read.surveys["p"] == Survey(80, 2, 0, 0, 0, 19 * SECOND)
    assert [(Path(letter["file"]).name, letter["offset"]) for letter in read.letters] == [
        ("d.parquet", 0),
        ("g.parquet", 0),
    ]
    assert read.letters[0]["reason"] == "column v: declared BIGINT, found double"
    assert read.letters[1]["reason"].startswith("the file cannot be read")


def test_late_rows_are_counted_and_marks_follow(spark, tmp_path) -> None:
    stream = declared(
        SIMPLE,
        late_by=5 * SECOND,
        p={"format": "parquet", "path": "p"},
        q={"format": "parquet", "path": "q"},
        j={"format": "json", "path": "j"},
    )
    site = Site(spark, stream, tmp_path, horizon=10 * SECOND)
    given = [*simple(20, 10), (None, "n", 1)]
    site.set_marks(p=15 * SECOND, q=25 * SECOND, j=25 * SECOND)
    files = {
        "p": [parquet(tmp_path / "p.parquet", given)],
        "q": [parquet(tmp_path / "q.parquet", given, write_statistics=False)],
        "j": [written(tmp_path / "j.json", json_lines(given, SIMPLE))],
    }
    read = site.read(**files)
    assert read.surveys == {
        "p": Survey(21, 0, 5, 0, 10 * SECOND, 29 * SECOND),
        "q": Survey(21, 0, 15, 5, 10 * SECOND, 29 * SECOND),
        "j": Survey(21, 0, 15, 5, 10 * SECOND, 29 * SECOND),
    }
    assert all(one.mark == 24 * SECOND and one.late for one in read.found.arrived["s"].values())
    site.set_marks(p=math.inf, q=-math.inf, j=math.inf)
    assert {name: one.late for name, one in site.read(**files).surveys.items()} == {"p": 20, "q": 0, "j": 20}


def test_footers_make_a_second_look_needless(spark, tmp_path) -> None:
    stream = declared(SIMPLE, p={"format": "parquet", "path": "p"})
    site = Site(spark, stream, tmp_path)
    file = parquet(tmp_path / "p.parquet", simple(20, 10))
    site.set_marks(p=10 * SECOND)
    status = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("footers", "")
    site.read(p=[file])
    assert len(status.getJobIdsForGroup("footers")) == 1  # the test's own, which looks at the rows
    spark.sparkContext.setJobGroup("", "")


def test_bad_records_end_the_run_before_anything_is_written(spark, tmp_path) -> None:
    stream = declared(SIMPLE, p={"format": "parquet", "path": "p"}, j={"format": "json", "path": "j"})
    bad = written(tmp_path / "j" / "a.json", b'{"v": 1}\n{"v": "x"}\n\noops\n')
    site = Site(spark, stream, tmp_path)
    with pytest.raises(DataError) as error:
        site.read(p=[parquet(tmp_path / "p.parquet", simple(3))], j=[bad])
    assert error.value.where == f"{bad}, line 2"
    assert (
        error.value.what
        == "stream 's' at 'j': column v: 'x' is no BIGINT. It is the first of 2 bad records in this batch."
    )
    assert "on_bad: dead_letter" in str(error.value.hint)
    assert not (site.folder / "dead_letters").exists()
    with pytest.raises(DataError, match="declared BIGINT, found string") as error:
        Site(spark, stream, tmp_path).read(p=[parquet(tmp_path / "q.parquet", [("a",)], parse_schema("v STRING"))])
    assert error.value.where == str(tmp_path / "q.parquet")


def test_dead_letters_are_written_once_however_often_a_batch_is_read(spark, tmp_path) -> None:
    stream = declared(
        SIMPLE,
        on_bad="dead_letter",
        j={"format": "json", "path": "j", "options": {"max_record_bytes": 200}},
        c={"format": "csv", "path": "c"},
        b={"format": "binary", "path": "b", "options": {"converter": "fixed_binary", "fields": "v i8"}},
    )
    long = b'{"k": "' + b"x" * 30_000 + b'"}'
    files = {
        "j": [
            written(tmp_path / "j/a.json", b'{"v": 1}\noops \xff\n' + long + b'\n{"v": 2}\n'),
            written(tmp_path / "j/b.json", b"[]\n"),
        ],
        "c": [written(tmp_path / "c/a.csv", b"v\n1\nx\n3\n"), written(tmp_path / "c/b.csv", b"1\n2\n")],
        "b": [written(tmp_path / "b/a.bin", bytes(19))],
    }
    site = Site(spark, stream, tmp_path)
    first = site.read(**files)
    assert {name: (one.rows, one.bad) for name, one in first.surveys.items()} == {"j": (2, 3), "c": (2, 2), "b": (2, 1)}
    assert [
        (letter["origin"], Path(letter["file"]).name, letter["offset"], letter["reason"]) for letter in first.letters
    ] == [
        ("j", "a.json", 2, "not valid UTF-8"),
        ("j", "a.json", 3, "the record is longer than 200 bytes"),
        ("j", "b.json", 1, "not an object"),
        (
            "c",
            "b.csv",
            0,
            "its first line names none of the columns: '1' (without one, say `header: false`)",
        ),
        ("c", "a.csv", 3, "column v: 'x' is no BIGINT"),
        ("b", "a.bin", 3, "the file ends after 3 of a record's 8 bytes"),
    ]
    assert [letter["record"] for letter in first.letters] == [
        "oops \ufffd",
        long.decode()[:10_240],
        "[]",
        "",
        "x",
        "AAAA",
    ]
    site.batch = 0
    assert site.read(**files).letters == first.letters
    assert len(list((site.folder / "dead_letters" / "s").iterdir())) == 1
    site.batch = 0
    assert site.read(b=[written(tmp_path / "b/a.bin", bytes(16))]).letters == []


def test_many_small_files_are_landed_together(spark, tmp_path) -> None:
    given = simple(60)
    stream = declared(SIMPLE, on_bad="dead_letter", j={"format": "json", "path": "j"}, c={"format": "csv", "path": "c"})
    lines = [json_lines([row], SIMPLE) + (b"bad\n" if row[2] == 7 else b"") for row in given]
    files = {"j": [written(tmp_path / f"j/{i}", data) for i, data in enumerate(lines)]}
    files["c"] = [written(tmp_path / f"c/{i}", csv_lines([row], SIMPLE)) for i, row in enumerate(given)]
    site = Site(spark, stream, tmp_path)
    read = site.read(**files)
    assert bag(read.rows["j"]) == bag(read.rows["c"]) == bag(given)
    assert [(Path(letter["file"]).name, letter["offset"]) for letter in read.letters] == [("7", 2)]
    assert len(list((site.folder / "landed").rglob("rows/*.parquet"))) <= 8


def test_long_files_are_read_in_parts(spark, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tradewind.spark.sources.readers.SPLIT", 1000)
    given = simple(2000)
    lines = json_lines(given, SIMPLE).split(b"\n")
    places = [3, 500, 501, 1999]
    for place in places:
        lines.insert(place, b"bad")
    stream = declared(
        SIMPLE,
        on_bad="dead_letter",
        j={"format": "json", "path": "j"},
        z={"format": "json", "path": "z"},
        c={"format": "csv", "path": "c"},
    )
    data = b"\n".join(lines)
    files = {
        "j": [written(tmp_path / "a.json", data)],
        "z": [written(tmp_path / "a.gz", gzip.compress(data))],
        "c": [written(tmp_path / "a.csv", csv_lines(given, SIMPLE))],
    }
    site = Site(spark, stream, tmp_path, node=Order(declared(SIMPLE, j={}, z={}, c={}).source, "ts", 3))
    read = site.read(**files)
    for name in "jzc":
        # Asked for the order of arrival, so they come as they stand in the file.
        assert read.rows[name] == given
    for name in "jz":
        assert [letter["offset"] for letter in read.letters if letter["origin"] == name] == [
            place + 1 for place in places
        ]


def test_the_order_of_arrival(spark, tmp_path) -> None:
    given = simple(300)
    random.Random(2).shuffle(given)
    stream = declared(
        SIMPLE,
        p={"format": "parquet", "path": "p"},
        j={"format": "json", "path": "j"},
        r={"format": "rate", "options": {"rows": 9}},
    )
    site = Site(spark, stream, tmp_path, node=Order(stream.source, "ts", 3))
    names = [f"{(7 * i) % 30:02}" for i in range(30)]
    parts = [given[i * 10 : (i + 1) * 10] for i in range(30)]
    files = {"p": [parquet(tmp_path / f"p/{n}", part) for n, part in zip(names, parts, strict=True)]}
    files["j"] = [written(tmp_path / f"j/{n}", json_lines(part, SIMPLE)) for n, part in zip(names, parts, strict=True)]
    for many in files.values():
        for moment, file in enumerate(many):
            os.utime(file, (10**9 + moment, 10**9 + moment))
    read = site.read(**files)
    assert read.rows == {"p": given, "j": given}
    mixed = to_arrow(given[:10], SIMPLE)
    pq.write_table(mixed.set_column(0, "ts", mixed["ts"].cast(pa.timestamp("ns"))), files["p"][0])
    assert site.read(p=files["p"]).rows == {"p": given}


def test_weights(spark, tmp_path) -> None:
    schema = parse_schema("v BIGINT")
    stream = declared(
        schema,
        revisions=True,
        p={"format": "parquet", "path": "p"},
        j={"format": "json", "path": "j"},
        r={"format": "rate", "options": {"rows": 2}},
    )
    pq.write_table(pa.table({"v": [1, 2], "_weight": pa.array([-1, None], pa.int32())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"v": [3]}), tmp_path / "b.parquet")
    json_file = written(tmp_path / "a.json", b'{"v": 1, "_weight": -2}\n{"v": 2}\n')
    read = Site(spark, stream, tmp_path).read(p=[tmp_path / "a.parquet", tmp_path / "b.parquet"], j=[json_file])
    assert bag(read.rows["p"]) == bag([(1, -1), (2, 1), (3, 1)])
    assert bag(read.rows["j"]) == bag([(1, -2), (2, 1)])
    plain_stream = declared(schema, j={"format": "json", "path": "j"})
    assert Site(spark, plain_stream, tmp_path / "other").read(j=[json_file]).rows["j"] == [(1,), (2,)]


def test_there_is_one_zero(spark, tmp_path) -> None:
    schema = parse_schema("d DOUBLE, f FLOAT, a ARRAY<DOUBLE>, n STRUCT<x: FLOAT, y: ARRAY<DOUBLE>>, k STRING")
    given = [(-0.0, -0.0, (-0.0, None), (-0.0, (-0.0,)), "x"), (None, None, None, None, None)]
    stream = declared(schema, p={"format": "parquet", "path": "p"})
    read = Site(spark, stream, tmp_path).read(p=[parquet(tmp_path / "a.parquet", given, schema)])
    frame = read.found.arrived["s"]["p"].rows
    assert frame is not None
    texts = frame.selectExpr("CAST(struct(d, f, a, n) AS STRING) AS t", "d IS NULL AS e").orderBy("e").collect()
    assert [row.t for row in texts] == ["{0.0, 0.0, [0.0, null], {0.0, [0.0]}}", "{null, null, null, null}"]


PLUG_IN = """
import os, signal
import pyarrow as pa, pyarrow.compute as pc
from tradewind.spark.sources.converters.protocol import Converted, good

class Shout:
    record_bytes = None
    def __init__(self, options, schema):
        self.options = options
    def convert(self, records):
        once = self.options.get("dies_once")
        if once and not os.path.exists(once):
            open(once, "w").close()
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.options.get("fails"):
            raise RuntimeError("no")
        return Converted(pa.table({"k": pc.utf8_upper(records)}), good(len(records)))
"""


@pytest.fixture
def plug_in(spark, tmp_path_factory):
    """A package with a converter, installed where both this process and Spark's workers find it."""
    path = tmp_path_factory.mktemp("plug") / "shouting.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("shouting.py", PLUG_IN)
        archive.writestr("shouting-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n")
        archive.writestr("shouting-1.0.dist-info/entry_points.txt", "[tradewind.converters]\nshout = shouting:Shout\n")
    spark.sparkContext.addPyFile(str(path))
    sys.path.insert(0, str(path))
    yield
    sys.path.remove(str(path))


@pytest.mark.usefixtures("plug_in")
def test_a_converter_of_ones_own(spark, tmp_path) -> None:
    def site(**options) -> Site:
        stream = declared(
            SIMPLE,
            on_bad="dead_letter",
            t={"format": "text", "path": "t", "options": {"converter": "shout", **options}},
        )
        return Site(spark, stream, tmp_path)

    file = written(tmp_path / "a.txt", b"hello\nworld\n")
    assert site().read(t=[file]).rows["t"] == [(None, "HELLO", None), (None, "WORLD", None)]
    failed = site(fails=True).read(t=[file])
    assert [letter["reason"] for letter in failed.letters] == ["converter shout failed: RuntimeError: no"] * 2
    # A worker that crashes is no reason to give up: once.
    marker = tmp_path / "died"
    assert site(dies_once=str(marker)).read(t=[file]).rows["t"] == [(None, "HELLO", None), (None, "WORLD", None)]
    assert marker.exists()
