"""Figures for planning that are measured from data: close where the data tell them, silent where they do not."""

import bz2
import gzip
import json
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.cost.declared import declared_statistics
from tradewind.cost.groups import expected_groups
from tradewind.cost.statistics import Statistics
from tradewind.frontends.deployment.check import load_bytes
from tradewind.placement.planners import choose
from tradewind.spark.packing import packed
from tradewind.spark.sources import generator
from tradewind.spark.sources.estimates import spread
from tradewind.spark.sources.excerpts import File, spans
from tradewind.spark.sources.measuring import measured

START = 1_767_225_600_000_000  # 2026-01-01
SECOND = 1_000_000
SCHEMA = "ts TIMESTAMP, domain STRING, status INT, bytes BIGINT, latency DOUBLE"
HITS = "SELECT window.start AS minute, domain, count(*) AS hits FROM requests GROUP BY window(ts, '1 minute'), domain"
RAW = "SELECT ts, domain, status, bytes, latency FROM requests"


def deployment(origins: str, sql: str = RAW, schema: str = SCHEMA, time: str = "time: ts", more: str = ""):
    return load_bytes(
        f"""
sites: {{ams: {{}}, waw: {{}}, hq: {{}}}}
links: [{{between: [ams, hq], mbps: 9, usd_per_gb: 0.1}}, {{between: [waw, hq], mbps: 9, usd_per_gb: 0.1}}]
streams: {{requests: {{schema: "{schema}", {f"{time}, " if time else ""}{more} at: {{{origins}}}}}}}
queries: {{asked: {{sql: "{sql}", deliver: {{site: hq}}}}}}
""".encode(),
        "file.yaml",
    )


def zipf(draw, rows, values, skew):
    chances = np.cumsum(np.arange(1, values + 1) ** -float(skew))
    return np.searchsorted(chances / chances[-1], draw.random(rows))


def log(rows, seconds, values=4_000, skew=1.1, seed=1):
    """Requests in the order of their times, domains by Zipf's law."""
    draw = np.random.default_rng(seed)
    names = pa.array([f"site{number * 2_654_435_761 % 2**32:x}.example" for number in range(values)])
    return pa.table({
        "ts": pa.array(START + np.sort(draw.integers(0, seconds * SECOND, rows)), pa.timestamp("us", "UTC")),
        "domain": names.take(pa.array(zipf(draw, rows, values, skew))),
        "status": pa.array(draw.choice([200, 304, 404, 500], rows, p=[0.9, 0.05, 0.04, 0.01]).astype("int32")),
        "bytes": pa.array(draw.integers(0, 1 << 40, rows)),
        "latency": pa.array(draw.random(rows)),
    })  # fmt: skip


def json_lines(table):
    times = table["ts"].cast(pa.string()).to_pylist()
    rest = zip(*(table[name].to_pylist() for name in table.column_names[1:]), strict=True)
    return "".join(
        f'{{"ts": "{ts}", "domain": "{domain}", "status": {status}, "bytes": {size}, "latency": {latency}}}\n'
        for ts, (domain, status, size, latency) in zip(times, rest, strict=True)
    ).encode()


def csv_lines(table):
    sink = pa.BufferOutputStream()
    pv.write_csv(table, sink)
    return bytes(sink.getvalue())


def write(table, folder, format_, files=3):
    """Lay a table out as files that follow one another in time."""
    folder.mkdir(parents=True)
    step = -(-table.num_rows // files)
    for number in range(files):
        part, path = table.slice(number * step, step), folder / f"{number}.{format_}"
        if format_ == "parquet":
            pq.write_table(part, path, row_group_size=10_000)
        elif format_ == "arrow":
            with pa.ipc.new_file(path, part.schema) as writer:
                writer.write_table(part, 500)
        else:
            path.write_bytes({"csv": csv_lines, "json": json_lines}[format_](part))


def rate(found, site="ams"):
    return found.streams["requests"].origins[site].rows_per_second


# --- What data tell ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_", ["parquet", "csv", "json"])
def test_rates_values_and_skews_are_recovered(tmp_path, format_):
    """Rows/s within 3 %, the number of values within 15 %, the exponent of Zipf's law within 0.05."""
    write(log(80_000, 400, seed=1), tmp_path / "ams", format_)
    write(log(20_000, 400, seed=2), tmp_path / "waw", format_)
    found = deployment(f"ams: {{format: {format_}, path: ams}}, waw: {{format: {format_}, path: waw}}")
    filled, lines = measured(found, tmp_path)
    assert rate(filled, "ams") == pytest.approx(200, rel=0.03)
    assert rate(filled, "waw") == pytest.approx(50, rel=0.03)
    stream = filled.streams["requests"]
    assert stream.distinct["domain"] == pytest.approx(4_000, rel=0.15)
    assert stream.skew["domain"] == pytest.approx(1.1, abs=0.05)
    assert stream.distinct["status"] == 4
    assert stream.distinct["bytes"] == pytest.approx(100_000, rel=0.03)  # each row has its own
    assert "latency" not in stream.distinct
    assert "bytes" not in stream.skew
    batch = log(10_000, 50).to_batches()[0]
    assert stream.looked_at["ams"].row_bytes == pytest.approx(len(packed(batch)) / 10_000, rel=0.05)
    assert lines[0].startswith("requests at ams: 2")
    assert " rows/s over 7 minutes, " in lines[0]
    assert " values of domain (skew 1.1), 4 values of status (skew 3" in lines[-1]


def records(table):
    times = table["ts"].cast(pa.int64()).to_pylist()
    return b"".join(
        struct.pack("<q30si", ts, domain.encode(), status)
        for ts, domain, status in zip(times, table["domain"].to_pylist(), table["status"].to_pylist(), strict=True)
    )


def xml(table):
    rows = zip(table["ts"].cast(pa.string()).to_pylist(), table["domain"].to_pylist(), strict=True)
    body = "".join(f"<row><ts>{ts}</ts><domain>{domain}</domain></row>" for ts, domain in rows)
    return f"<rows>{body}</rows>".encode()


def key_values(table):
    rows = zip(table["ts"].cast(pa.string()).to_pylist(), table["domain"].to_pylist(), strict=True)
    return "".join(f'ts="{ts}" domain={domain}\n' for ts, domain in rows).encode()


FIXED = "options: {converter: fixed_binary, fields: 'ts i8, domain s30, status i4', epoch: microseconds}"


@pytest.mark.parametrize(
    ("name", "make", "origin"),
    [
        ("a.json.gz", lambda table: gzip.compress(json_lines(table), 1), "format: json"),
        ("a.csv.bz2", lambda table: bz2.compress(csv_lines(table), 1), "format: csv, options: {multi_line: true}"),
        ("a.xml", xml, "format: xml"),
        ("a.log", key_values, "format: text, options: {converter: key_value}"),
        ("a.bin", records, f"format: binary, {FIXED}"),
    ],
)
def test_other_formats_are_measured_from_what_can_be_reached(tmp_path, name, make, origin):
    """Also where only the beginning of a file can be read: it stands for the rest."""
    table = log(30_000, 300, values=50, skew=0)
    (tmp_path / name).write_bytes(make(table))
    (tmp_path / f"small-{name}").write_bytes(make(table.slice(0, 50)))
    filled, _ = measured(deployment(f"ams: {{{origin}, path: '*.{name.partition('.')[2]}'}}", HITS), tmp_path)
    assert rate(filled) == pytest.approx(100, rel=0.06)
    assert filled.streams["requests"].distinct == {"domain": 50}


def test_arrow_files_are_measured(tmp_path):
    write(log(20_000, 200, values=50, skew=0), tmp_path / "a", "arrow")
    filled, _ = measured(deployment("ams: {format: arrow, path: a}", HITS), tmp_path)
    assert rate(filled) == pytest.approx(100, rel=0.05)
    assert filled.streams["requests"].distinct == {"domain": 50}


def test_planning_by_measured_figures_has_nothing_to_assume(tmp_path):
    write(log(20_000, 200), tmp_path / "a", "parquet")
    found = deployment("ams: {format: parquet, path: a}", HITS)
    assert len(choose(found).problem.warnings) == 3
    filled, _ = measured(found, tmp_path)
    assert choose(filled).problem.warnings == ()
    aggregate = next(node for node in filled.graph() if node.kind == "aggregate")
    predicted = Statistics(declared_statistics(filled)).flow(aggregate)
    table = log(20_000, 200)
    minutes = pa.compute.floor_temporal(table["ts"], unit="minute")
    groups = pa.table({"m": minutes, "d": table["domain"]}).group_by(["m", "d"]).aggregate([])
    assert predicted.rows_per_second * 200 == pytest.approx(groups.num_rows, rel=0.05)


def test_what_is_declared_wins(tmp_path):
    write(log(5_000, 50), tmp_path / "a", "parquet")
    found = deployment(
        "ams: {format: parquet, path: a, rows_per_second: 7, row_bytes: 9}", HITS, more="distinct: {domain: 8000},"
    )
    filled, lines = measured(found, tmp_path)
    stream = filled.streams["requests"]
    assert (stream.origins, dict(stream.distinct)) == (found.streams["requests"].origins, {"domain": 8000})
    assert list(stream.skew) == ["domain"]  # the only figure that is missing
    assert lines == (f"requests: domain (skew {stream.skew['domain']:.2g})",)
    all_said = deployment(
        "ams: {format: parquet, path: a, rows_per_second: 7, row_bytes: 9}",
        HITS,
        more="distinct: {domain: 8000}, skew: {domain: 0},",
    )
    assert measured(all_said, tmp_path) == (all_said, ())


def test_generated_rows_are_as_their_options_say(tmp_path):
    found = deployment(
        "ams: {format: rate, options: {rows_per_second: 50}}, waw: {format: rate}",
        "SELECT * FROM requests",
        schema="ts TIMESTAMP, domain STRING, tiny TINYINT, ok BOOLEAN, x DOUBLE",
    )
    filled, lines = measured(found, tmp_path)
    assert (rate(filled, "ams"), rate(filled, "waw")) == (50, 1000)
    assert filled.streams["requests"].distinct == {"domain": generator._FEW, "tiny": 127, "ok": 2}
    assert lines[0] == "requests at ams: 50 rows/s, generated"


# --- What data do not tell ---------------------------------------------------------------------------------------


def times(*moments):
    return pa.table(
        {"ts": pa.array(moments, pa.timestamp("us", "UTC")), "domain": [f"d{n}" for n in range(len(moments))]}
    )


USUAL = [START + number * SECOND for number in range(1_000)]
SILENT = {
    "a folder that is missing": None,
    "a folder that is empty": [],
    "no bytes": [b""],
    "no Parquet": [b"PAR1 and nothing else PAR1"],
    "no rows": [times()],
    "one row": [times(START)],
    "no times": [times(None, None, None)],
    "one time": [times(START, START, START)],
    "a time beyond all years": [times(*USUAL, 2**60)],
    "one row in the far future": [times(*USUAL, 253_000_000_000 * SECOND)],
    "one row in the far past, in a file of its own": [times(*USUAL), times(-30_000_000_000 * SECOND)],
    "another type": [pa.table({"ts": ["2026-01-01", "2026-01-02"], "domain": ["a", "b"]})],
}


@pytest.mark.parametrize("files", SILENT.values(), ids=SILENT.keys())
def test_data_that_do_not_tell_a_rate_leave_it_undeclared(tmp_path, files):
    if files is not None:
        (tmp_path / "a").mkdir()
    for number, content in enumerate(files or []):
        path = tmp_path / "a" / f"{number}.parquet"
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            pq.write_table(content, path)
    filled, lines = measured(deployment("ams: {format: parquet, path: a}", HITS), tmp_path)
    assert rate(filled) is None
    assert not any("rows/s" in line for line in lines)


@pytest.mark.parametrize(
    "origin",
    [
        "ams: {rows_per_second: 5}",
        "ams: {format: push}",
        "ams: {format: text, path: a, options: {converter: nobody}}",
    ],
)
def test_where_there_is_nothing_to_look_at_nothing_changes(tmp_path, origin):
    write(log(1_000, 10), tmp_path / "a", "csv")
    found = deployment(origin, "SELECT * FROM requests", schema="ts TIMESTAMP, x DOUBLE")
    assert measured(found, tmp_path) == (found, ())


def test_without_event_time_values_are_counted_all_the_same(tmp_path):
    write(log(3_000, 30, values=20, skew=0), tmp_path / "a", "parquet")
    sql = "SELECT domain, count(*) AS hits FROM requests GROUP BY domain"
    filled, _ = measured(deployment("ams: {format: parquet, path: a}", sql, time=""), tmp_path)
    assert rate(filled) is None
    assert filled.streams["requests"].distinct == {"domain": 20}


def test_bad_files_and_records_are_passed_over(tmp_path):
    write(log(20_000, 200, values=50, skew=0), tmp_path / "a", "json")
    (tmp_path / "a" / "9.json").write_bytes(b"null\n[]\n\xff\xfe\n{" + b'{"a":' * 5_000 + b"\n")
    write(log(20_000, 200, values=50, skew=0), tmp_path / "c", "csv")
    (tmp_path / "c" / "9.csv").write_bytes(b"ts,domain\n1,2,3\xff\n\xfe\n" * 100)
    write(log(20_000, 200, values=50, skew=0), tmp_path / "b", "parquet")
    (tmp_path / "b" / "9.parquet").write_bytes((tmp_path / "b" / "1.parquet").read_bytes()[:-50])
    for format_, folder in (("json", "a"), ("parquet", "b"), ("csv", "c")):
        filled, _ = measured(deployment(f"ams: {{format: {format_}, path: {folder}}}", HITS), tmp_path)
        assert rate(filled) == pytest.approx(100, rel=0.05)
        assert filled.streams["requests"].distinct == {"domain": 50}


EVERY = {
    "parquet": "", "orc": "", "arrow": "", "json": "", "xml": "", "csv": "", "text": "options: {converter: key_value}",
    "binary": FIXED,
}  # fmt: skip
BYTES = st.one_of(
    st.binary(max_size=200),
    st.builds(
        lambda head, body: head + body,
        st.sampled_from([b"PAR1", b"ORC", b"ARROW1\0\0", b"\x1f\x8b", b"{"]),
        st.binary(),
    ),
    st.text(alphabet='{}[]",:\n<>/=row tsdomain0129.-TZ\\', max_size=200).map(str.encode),
)


@settings(max_examples=40)
@given(
    format_=st.sampled_from(sorted(EVERY)), data=st.lists(BYTES, max_size=3), end=st.sampled_from(["", ".gz", ".zst"])
)
def test_no_bytes_make_it_fail(tmp_path_factory, format_, data, end):
    folder = tmp_path_factory.mktemp("files")
    for number, content in enumerate(data):
        (folder / f"{number}{end}").write_bytes(content)
    origin = f"ams: {{format: {format_}, path: '{folder}'{f', {EVERY[format_]}' if EVERY[format_] else ''}}}"
    filled, lines = measured(deployment(origin), folder)
    assert rate(filled) is None or rate(filled) > 0
    assert all(isinstance(line, str) for line in lines)


# --- The estimates themselves ------------------------------------------------------------------------------------


def runs(values, length=2_000):
    return [pa.chunked_array([pa.array(values[start : start + length])]) for start in range(0, len(values), length)]


@pytest.mark.parametrize(("values", "skew"), [(300, 1.1), (20_000, 1.1), (100_000, 0.8), (50_000, 0), (1_000, 0.5)])
def test_values_that_were_not_seen_are_counted_too(values, skew):
    """20,000 of a million rows, drawn by a law: the number of values within 15 %, the skew within 0.05."""
    drawn = zipf(np.random.default_rng(7), 20_000, values, skew)
    found = spread([runs(drawn)], 1_000_000)
    assert found is not None
    assert found.values == pytest.approx(values, rel=0.15)
    assert found.skew == pytest.approx(skew, abs=0.05 if skew else 0.1)


def test_where_no_law_fits_what_was_not_seen_is_bounded_from_below():
    draw = np.random.default_rng(3)
    hot = draw.random(20_000) < 0.9
    drawn = np.where(hot, draw.integers(0, 10, 20_000), draw.integers(10, 30_010, 20_000))
    seen = len(np.unique(drawn))
    found = spread([runs(drawn)], 2_000_000)
    assert found is not None
    assert 1.5 * seen < found.values < 36_000


@pytest.mark.parametrize(
    ("drawn", "rows", "expected"),
    [
        (["a"] * 50, 500, (1, 0)),
        (list(range(1_000)), 50_000, (50_000, 0)),
        (["a", None, "b", None], 4, (2, 0)),
        ([1, 2, 3], 3, (3, 0)),
    ],
)
def test_plain_cases_are_exact(drawn, rows, expected):
    assert spread([runs(drawn)], rows) == expected


def test_columns_without_values_have_no_spread():
    assert spread([runs([None, None])], 2) is None
    assert spread([], 0) is None


def test_keys_that_come_and_go_are_planned_as_they_come():
    """Each key has ten rows, near one another: a batch has far fewer keys than the number of all would tell."""
    draw = np.random.default_rng(5)
    keys = np.arange(400_000) // 10 + draw.integers(0, 500, 400_000)
    picked = [run for start in range(0, 400_000, 20_000) for run in runs(keys[start : start + 2_000])]
    found = spread([picked], 400_000)
    assert found is not None
    batch = len(np.unique(keys[:5_000]))
    assert batch < expected_groups(5_000, [found]) < 1.7 * batch
    assert expected_groups(5_000, [(found.values, 0.0)]) > 3 * batch


@given(sizes=st.lists(st.integers(1, 10**9), min_size=1, max_size=20), budget=st.integers(1, 4_000_000))
def test_looks_are_few_and_reach_both_ends(sizes, budget):
    files = [File(str(number), size) for number, size in enumerate(sizes)]
    found = spans(files, budget)
    looked = sum(span.end - span.start for some in found.values() for span in some)
    assert looked <= max(8 * 4096, budget)
    assert found[files[0]][0].start == 0
    assert found[files[-1]][-1].end == files[-1].size
    for file, some in found.items():
        assert all(0 <= span.start < span.end <= file.size for span in some)


# --- Runs and commands -------------------------------------------------------------------------------------------


def test_a_state_folder_keeps_the_figures_that_a_run_began_with(tmp_path):
    found, state = deployment("ams: {format: parquet, path: a}", HITS), tmp_path / "state"
    nothing, _ = measured(found, tmp_path, state)
    write(log(2_000, 20), tmp_path / "a", "parquet")
    assert measured(found, tmp_path, state) == (nothing, ())
    filled, lines = measured(found, tmp_path)
    assert rate(filled) == pytest.approx(100, rel=0.05)
    other = deployment("ams: {format: parquet, path: a}", RAW)
    assert rate(measured(other, tmp_path, state)[0]) == rate(filled)
    assert measured(found, tmp_path, state) == (nothing, ())
    for broken in (
        "{",
        "[]",
        json.dumps({key: {"requests": 5} for key in json.loads((state / "measured.json").read_text())}),
    ):
        (state / "measured.json").write_text(broken)
        assert measured(found, tmp_path, state) == (filled, lines)
        assert measured(found, tmp_path, state) == (filled, lines)


_PLAN = """
import sys
from typer.testing import CliRunner
from tradewind.cli.main import app
for words in (["plan"], ["plan", "--measured"], ["explain", "--measured"]):
    done = CliRunner().invoke(app, [*words, sys.argv[1]])
    assert done.exit_code == 0, done.output
    print("pyspark" in sys.modules, "measured: requests at ams: 100 rows/s" in done.output)
"""


def test_commands_measure_if_they_are_told_to_and_load_spark_only_then(tmp_path):
    write(log(2_000, 20), tmp_path / "a", "parquet")
    file = tmp_path / "file.yaml"
    file.write_text(
        "sites: {ams: {}}\n"
        f'streams: {{requests: {{schema: "{SCHEMA}", time: ts, at: {{ams: {{format: parquet, path: a}}}}}}}}\n'
        f'queries: {{hits: {{sql: "{HITS}", deliver: {{site: ams}}}}}}\n'
    )
    done = subprocess.run(
        [sys.executable, "-c", _PLAN, file], capture_output=True, text=True, cwd=Path.cwd(), check=False
    )
    assert done.stdout.split() == ["False", "False", *["True"] * 4], done.stderr
