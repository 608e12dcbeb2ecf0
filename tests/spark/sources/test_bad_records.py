"""Records that cannot be read are told, each with its place and its reason, and never become NULLs."""

from __future__ import annotations

import gzip
import random
from itertools import pairwise

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

from tests.spark.sources.parsed import of_part, parsed
from tests.spark.sources.writing import ALL, SIMPLE, csv_lines, json_lines, plain, rows
from tradewind.algebra.schema import parse_schema
from tradewind.frontends.deployment.formats import checked
from tradewind.spark.sources.csv_records import header_of
from tradewind.spark.sources.footers import footer_of
from tradewind.spark.sources.json_lines import _at_once
from tradewind.spark.sources.nested import FaultError
from tradewind.spark.sources.parsing import Reading
from tradewind.spark.sources.records import SHOWN, Part, blocks

NUMBERS = parse_schema(
    "t TINYINT, i INT, l BIGINT, d DOUBLE, m DECIMAL(6,2), ts TIMESTAMP, dt DATE, b BOOLEAN, x BINARY, s STRING"
)

SHAPES = (NUMBERS, ALL, parse_schema("s STRING, m DECIMAL(5,1), a ARRAY<INT>, n STRUCT<k: ARRAY<STRUCT<z: DOUBLE>>>"))
WRONG = {
    "t": ["128", "-129", "1.0", "1e2", '"x"', "true", "{}", "[]", '""'],
    "i": ["2147483648", "-2147483649", '"abc"', "1.5", "[1]"],
    "l": ["9223372036854775808", "1e30"],
    "d": ['"abc"', "true", '""'],
    "m": ["10000", "-99999.999", '"1.2.3"', "1e30000000", "1e9", "9999.995"],
    "ts": ['"x"', '"12:34"', '"2026-02-30"', '"0000-01-01"', "1700000000", '"10000-01-01"', '"2026-01-02 25:00:00"'],
    "dt": ['"x"', '"2026-13-01"', "5", '"0000-12-31"'],
    "b": ['"maybe"', "2"],
    "x": ['"%"', '"AQ"', "false", '"é"'],
    "s": ["{}", "[1]", '"\\ud83d"'],
}
RIGHT = [
    ("t", "-128", -128),
    ("t", '"7"', 7),
    ("t", " 7 ", 7),
    ("i", "2147483647", 2**31 - 1),
    ("l", "-9223372036854775808", -(2**63)),
    ("d", "1e400", float("inf")),
    ("d", '"NaN"', "NaN"),
    ("d", "NaN", "NaN"),
    ("d", "-0.0", 0.0),
    ("d", "5", 5.0),
    ("d", "4.9e-324", 5e-324),
    ("m", "9999.99", "9999.99"),
    ("m", '"1.10"', "1.1"),
    ("m", "1.005", "1.01"),
    ("m", "1e-30000000", "0"),
    ("ts", '"1970-01-01T00:00:01Z"', 10**6),
    ("ts", '"1970-01-01T01:00:00+01:00"', 0),
    ("ts", '"1970-01-01"', 0),
    ("ts", '"1970-01-01 00:00:00.000001"', 1),
    ("ts", '"1970-01-01T00:00:00.1234567-00:30"', 1800_123_456),
    ("dt", '"1970-01-02"', 1),
    ("b", "true", True),
    ("x", '"AQID"', b"\1\2\3"),
    ("x", '""', b""),
    ("s", "5", "5"),
    ("s", "1.10", "1.10"),
    ("s", '"\\u00e9\\ud83d\\ude00"', "é😀"),
    ("s", '""', ""),
    ("i", "null", None),
]


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize(("column", "given"), [(c, g) for c, many in WRONG.items() for g in many])
def test_a_json_value_of_another_type_is_bad(tmp_path, column, given, careful) -> None:
    line = f'{{"{column}": {given}}}'
    data = f'{{"i": 1}}\n{line}\n{{"i": 3}}\n'.encode()
    found = parsed(tmp_path / "a.json", "json", NUMBERS, data, careful=careful)
    assert [row[1] for row in found.rows] == [1, 3]
    [(number, reason, record)] = found.letters
    assert (number, record) == (1, line.encode())
    assert reason.startswith(f"column {column}: ")
    assert reason.endswith(f"is no {NUMBERS.type_of(column)}")


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize(("column", "given", "value"), RIGHT)
def test_a_json_value_that_converts_is_good(tmp_path, column, given, value, careful) -> None:
    found = parsed(tmp_path / "a.json", "json", NUMBERS, f'{{"{column}": {given}}}\n'.encode(), careful=careful)
    [row] = found.rows
    got = row[NUMBERS.index(column)]
    assert (str(got) if column == "m" else got) == value
    assert found.letters == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"oops", "broken JSON"),
        (b'{"i": 1', "broken JSON"),
        (b'{"i": 1}{"i": 2}', "broken JSON: Extra data"),
        (b'{"i": 1}}', "broken"),
        (b'{"i": 1} null', "broken"),
        (b'{"i": 1},{"i": 2}', "broken"),
        (b"{'i': 1}", "broken"),
        (b'{"i": 01}', "broken"),
        (b'{"s": "\t"}', "broken"),
        (b'{"i": 1,}', "broken"),
        (b"null", "not an object"),
        (b"[1]", "not an object"),
        (b'[{"i": 1}]', "not an object"),
        (b"5", "not an object"),
        (b'{"s": "\xff"}', "not valid UTF-8"),
        (b'{"i": 1, "i": 2}', "field i stands there twice"),
        (b"{" * 100_000, "broken"),
        (b"[" * 100_000 + b"]" * 100_000, "nested"),
    ],
)
@pytest.mark.parametrize("before", [b"", b'{"i": 0}\n'])
def test_broken_json(tmp_path, line, reason, before) -> None:
    found = parsed(tmp_path / "a.json", "json", NUMBERS, before + line + b'\n{"i": 3}\n')
    assert [row[1] for row in found.rows] == [0, 3] if before else [3]
    [letter] = found.letters
    assert letter.number == (1 if before else 0)
    assert letter.reason.startswith(reason)
    assert letter.record == line[:SHOWN]


def test_what_is_read_at_once_is_what_is_read_line_by_line(tmp_path) -> None:
    """Lines changed at random: blocks that Arrow takes as a whole are the same rows read with care."""
    pieces = [
        b"null",
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b",",
        b":",
        b"\\",
        b"1e-30",
        b"1e99",
        b"-",
        b"\n",
        b"{}",
        b"\xff",
        b"NaN",
        b"0x1",
    ]
    chance = random.Random(7)
    whole = 0
    for turn in range(600):
        schema = SHAPES[turn % 3]
        line = bytearray(json_lines(rows(schema, 1, turn), schema)[:-1])
        for _ in range(chance.choice((0, 1, 1, 2))):
            at = chance.randrange(len(line) + 1)
            line[at : at + chance.choice((0, 0, 1, 3))] = (
                chance.choice(pieces) if chance.random() < 0.7 else bytes([chance.randrange(256)])
            )
        reading = Reading(schema, checked("json", {}))
        path = tmp_path / "a.json"
        path.write_bytes(bytes(line) + b"\n" + b'{"s": "after"}\n')
        at_once = all(_at_once(block, reading) is not None for block in blocks(Part(str(path)), 10**8) if block.data)
        whole += at_once
        assert parsed(path, "json", schema) == parsed(path, "json", schema, careful=True), line
    assert whole > 100


def test_bad_csv(tmp_path) -> None:
    schema = parse_schema("i INT, s STRING, d DOUBLE")
    data = (
        b"i,s,d\n1,a,1\n2,b\n3,c,3,4\nx,d,4\n5,\xff,5\n6,\"open,6\n7,a\rb,7\n8,x\"y,8\n2147483648,h,8\n9,i,abc\n"
        b'10,"q,""r""",1e400\n,,\n"12","","12"\n0x1F,a,1\n'
    )  # fmt: skip
    found = parsed(tmp_path / "a.csv", "csv", schema, data)
    assert found.rows == [(1, "a", 1.0), (10, 'q,"r"', float("inf")), (None, None, None), (12, "", 12.0)]
    assert found.reasons == [
        (2, "2 fields, 3 columns"),
        (3, "4 fields, 3 columns"),
        (4, "column i: 'x' is no INT"),
        (5, "column s: not valid UTF-8"),
        (6, "a quote is not closed"),
        (7, "a line break or a quote where none can be"),
        (8, "a quote is not closed"),
        (9, "column i: '2147483648' is no INT"),
        (10, "column d: 'abc' is no DOUBLE"),
        (14, "column i: '0x1F' is no INT"),
    ]
    assert [letter.record for letter in sorted(found.letters)][:2] == [b"2,b", b"3,c,3,4"]


def test_a_header_names_columns_in_any_order(tmp_path) -> None:
    schema = parse_schema("i INT, s STRING, d DOUBLE")
    found = parsed(tmp_path / "a.csv", "csv", schema, b"S , other,I\nx,y,1\n")
    assert found.rows == [(1, "x", None)]
    reading = Reading(schema, checked("csv", {}))
    for first, what in ((b"1,2,3\n", "names none of the columns"), (b"i,I,s\n", "names a column twice")):
        (tmp_path / "b.csv").write_bytes(first)
        with pytest.raises(FaultError, match=what):
            header_of(str(tmp_path / "b.csv"), reading)


def test_csv_options(tmp_path) -> None:
    schema = parse_schema("i INT, s STRING")
    data = b"1;'a;''b'\nNA;NA\n2;'NA'\n"
    found = parsed(tmp_path / "a.csv", "csv", schema, data, header=False, delimiter=";", quote="'", null_value="NA")
    assert found == ([(1, "a;'b"), (None, None), (2, "NA")], [])
    found = parsed(tmp_path / "a.csv", "csv", schema, b'1,"a\\"b"\n2,"open\n', header=False, escape="\\")
    assert (found.rows, found.reasons) == ([(1, 'a"b')], [(1, "a quote is not closed")])
    found = parsed(tmp_path / "a.csv", "csv", schema, b'1,"a\nb"\n2,"open\n3,x\n', header=False, multi_line=True)
    assert (found.rows, found.reasons) == ([(1, "a\nb")], [(2, "a quote is not closed")])


def test_bad_xml(tmp_path) -> None:
    schema = parse_schema("i INT, s STRING, n STRUCT<a: INT>")
    inner = (b"<i>x</i>", b"<i>1</i><i>2</i>", b"<s><b/></s>", b"<n><a>z</a></n>", b"<i> 6 </i><s/>")
    data = b'<r><row i="1"/>' + b"".join(b"<row>%s</row>" % one for one in inner) + b"</r>"
    found = parsed(tmp_path / "a.xml", "xml", schema, data)
    assert found.rows == [(1, None, None), (6, "", None)]
    assert found.reasons == [
        (1, "column i: 'x' is no INT"),
        (2, "column i: 2 elements, and it is no ARRAY"),
        (3, "column s: elements where a STRING is declared"),
        (4, 'column n: \'{"a": "z"}\' is no STRUCT<a: INT>'),
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<r><row i='1'/><row></r>", "broken XML: mismatched tag"),
        (b"<r><row i='1'/>", "broken XML: no element found"),
        (b"<r><row i='1'/>&nbsp;</r>", "broken XML: undefined entity"),
        (b"<r><row i='1'/><row><s>\xff</s></row></r>", "broken XML"),
        (b"<r><row i='1'/></r><r/>", "broken XML: junk after document element"),
        (b"<r><row i='1'/><row>" + b"x" * 200_000, "the record is longer than 100"),
    ],
)
def test_a_document_is_read_as_far_as_it_goes(tmp_path, data, reason) -> None:
    found = parsed(tmp_path / "a.xml", "xml", parse_schema("i INT, s STRING"), data, max_record_bytes=100)
    assert found.rows == [(1, None)]
    [letter] = found.letters
    assert letter.reason.startswith(reason)
    assert letter.reason.endswith("the rest of the file was not read")
    assert len(letter.record) <= SHOWN


def test_xml_looks_up_nothing(tmp_path) -> None:
    (tmp_path / "secret").write_text("secret")
    data = f'<!DOCTYPE r [<!ENTITY e SYSTEM "file://{tmp_path}/secret">]><r><row><s>&e;</s></row></r>'
    found = parsed(tmp_path / "a.xml", "xml", parse_schema("s STRING"), data.encode())
    assert (found.rows, found.reasons) == ([], [(0, "a DOCTYPE is not allowed; the rest of the file was not read")])


@pytest.mark.parametrize("format_", ["json", "csv", "xml"])
def test_a_record_that_is_too_long_is_passed_over(tmp_path, format_) -> None:
    schema = parse_schema("s STRING")
    write = {"json": '{{"s":"{}"}}\n', "csv": "{}\n", "xml": "<row><s>{}</s>"}[format_]
    around = {"xml": ("<r>", "</row>", "</r>")}.get(format_, ("", "", ""))
    for length in range(80, 120):
        lines = [write.format("x" * n) for n in (3, length, 5)]
        data = (around[0] + "".join(line + around[1] for line in lines) + around[2]).encode()
        options = {"header": False} if format_ == "csv" else {}
        found = parsed(tmp_path / "a", format_, schema, data, max_record_bytes=100, **options)
        record = lines[1].rstrip("\n").encode()
        long = len(record) > 100
        assert [len(s) for (s,) in found.rows] == ([3, 5] if long else [3, length, 5])
        assert found.letters == ([(1, "the record is longer than 100 bytes", record)] if long else [])


def test_parts_of_a_file_make_the_whole(tmp_path) -> None:
    given = rows(SIMPLE, 300, 5)
    data = json_lines(given, SIMPLE).replace(b"\n", b"\nbad\n", 7)
    path = tmp_path / "a.json"
    path.write_bytes(data)
    reading = Reading(SIMPLE, checked("json", {}))
    chance = random.Random(1)
    for _ in range(20):
        cuts = sorted({0, len(data), *(chance.randrange(len(data)) for _ in range(chance.randrange(1, 9)))})
        parts = [of_part(Part(str(path), a, b), "json", reading) for a, b in pairwise(cuts)]
        assert [row for part in parts for row in part.rows] == [plain(row) for row in given]
        assert sum(len(part.letters) for part in parts) == 7


@pytest.mark.parametrize("format_", ["json", "csv", "xml"])
def test_a_damaged_compressed_file_is_read_as_far_as_it_goes(tmp_path, format_) -> None:
    schema = parse_schema("v BIGINT")
    line = {"json": '{{"v": {}}}\n', "csv": "{}\n", "xml": "<row><v>{}</v></row>\n"}[format_]
    text = {"csv": "v\n", "xml": "<r>"}.get(format_, "") + "".join(line.format(i) for i in range(100_000))
    data = gzip.compress(text.encode())
    found = parsed(tmp_path / "a.gz", format_, schema, data[: len(data) // 2])
    assert [v for (v,) in found.rows] == list(range(len(found.rows)))
    [letter] = found.letters
    assert "read" in letter.reason


@pytest.mark.parametrize("format_", ["parquet", "orc", "arrow"])
def test_files_that_are_none_of_their_format(tmp_path, format_) -> None:
    path = tmp_path / "a"
    for data in (b"", b"x", b"PAR1 and more that is no Parquet PAR1", b"ORC", b"ARROW1\0\0", bytes(range(256)) * 9):
        found = parsed(path, format_, SIMPLE, data)
        assert found.rows == []
        assert len(found.letters) == 1
        assert found.letters[0].reason.startswith("the file cannot be read")


@pytest.mark.parametrize(
    ("found", "declared"),
    [
        (pa.int32(), "TINYINT"),
        (pa.int64(), "INT"),
        (pa.int64(), "DOUBLE"),
        (pa.uint64(), "BIGINT"),
        (pa.float64(), "FLOAT"),
        (pa.string(), "INT"),
        (pa.int64(), "STRING"),
        (pa.int64(), "TIMESTAMP"),
        (pa.date32(), "TIMESTAMP"),
        (pa.decimal128(10, 2), "DECIMAL(10,3)"),
        (pa.binary(), "STRING"),
        (pa.list_(pa.field("element", pa.string())), "ARRAY<INT>"),
        (pa.struct([("x", pa.string())]), "STRUCT<x: INT>"),
        (pa.int64(), "STRUCT<x: INT>"),
        (pa.time64("us"), "BIGINT"),
        (pa.bool_(), "INT"),
    ],
)
def test_a_file_whose_type_could_lose_something_is_bad_as_a_whole(tmp_path, found, declared) -> None:
    schema = parse_schema(f"ts TIMESTAMP, v {declared}", "ts")
    table = pa.table({"V": pa.nulls(3, found), "ts": pa.nulls(3, pa.timestamp("us"))})
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    reason = f"column v: declared {schema.type_of('v')}, found {found}"
    assert parsed(path, "parquet", schema).reasons == [(0, reason)]
    with pytest.raises(FaultError) as error:
        footer_of(str(path), schema)
    assert str(error.value) == reason
    if not pa.types.is_time(found):
        po.write_table(
            table.select(["ts"]).append_column("v", table["V"]) if found != pa.uint64() else table.select(["ts"]), path
        )
        told = parsed(path, "orc", schema).letters
        assert len(told) == (0 if found == pa.uint64() else 1)


def test_csv_and_json_say_the_same_of_the_same_texts(tmp_path) -> None:
    """A text is a value of a type or it is not, whatever file it stands in."""
    texts = [
        "1",
        " 1",
        "+1",
        "1.0",
        "1e2",
        "128",
        "0x1",
        "NaN",
        "inf",
        "-nan",
        "1d",
        "",
        "true",
        "T",
        "no",
        "2026-01-02",
        "12:34",
    ]
    texts += ["2026-01-02T03:04:05+19:00", "2026-01-02 03:04:05 Europe/Paris", "1e-30000000", "١", "AQID", "1 02:03:04"]
    for name, type_ in NUMBERS.columns:
        schema = parse_schema(f"v {type_}")
        for text in texts:
            if text == "":
                continue
            as_json = parsed(tmp_path / "a", "json", schema, b'{"v": "%s"}\n' % text.encode())
            as_csv = parsed(tmp_path / "a", "csv", schema, b'"%s"\n' % text.encode(), header=False)
            assert as_json.rows == as_csv.rows, (name, text)
            assert [r for _, r in as_json.reasons] == [r for _, r in as_csv.reasons]


def test_times_as_numbers(tmp_path) -> None:
    schema = parse_schema("ts TIMESTAMP", "ts")
    data = b'{"ts": 1700000000}\n{"ts": 1700000001}\n'
    assert parsed(tmp_path / "a", "json", schema, data, epoch="seconds").rows == [
        (1700000000 * 10**6,),
        (1700000001 * 10**6,),
    ]
    data = b'{"ts": 1.5}\n{"ts": "1970-01-01T00:00:01Z"}\n{"ts": "7"}\n{"ts": 99999999999999999999}\n'
    found = parsed(tmp_path / "a", "json", schema, data, epoch="milliseconds")
    assert found.rows == [(1500,), (10**6,), (7000,)]
    assert found.reasons == [(3, "column ts: '99999999999999999999' is no TIMESTAMP")]
    found = parsed(tmp_path / "a", "csv", schema, b"ts\n5\n", epoch="microseconds")
    assert found == ([(5,)], [])


def test_csv_of_many_rows_has_the_right_line_numbers(tmp_path) -> None:
    given = rows(SIMPLE, 2000, 9)
    lines = csv_lines(
        [tuple(v.replace("\n", "") if isinstance(v, str) else v for v in row) for row in given], SIMPLE
    ).split(b"\n")
    for place in (5, 77, 1500):
        lines.insert(place, b"x,y,z")
    found = parsed(tmp_path / "a.csv", "csv", SIMPLE, b"\n".join(lines))
    assert [letter.number for letter in found.letters] == [5, 77, 1500]
    assert len(found.rows) == 2000


def test_a_header_that_cannot_be_read_is_told(tmp_path) -> None:
    reading = Reading(SIMPLE, checked("csv", {}))
    for name, data in (("a.gz", b"no gzip"), ("a.csv", b'"' + b"x" * 200_000)):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(FaultError, match="the file cannot be read"):
            header_of(str(tmp_path / name), reading)
