"""Damaged Parquet files in runs: what can be read is delivered, and a single file stops nobody."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tradewind as tw
from tests.runtime.deployments import delivered, lay_out, meant, rows
from tests.spark.sources.batches import Site, bag, declared, parquet, simple
from tests.spark.sources.damaging import damage, damaged_pages, whole
from tests.spark.sources.writing import SIMPLE
from tradewind.algebra.schema import parse_schema
from tradewind.errors import DataError, RunError
from tradewind.runtime.live import Live
from tradewind.spark.memory import Memory
from tradewind.spark.query import Running
from tradewind.spark.sources.damage import may_be_damage
from tradewind.spark.sources.survey import arrivals

pytestmark = pytest.mark.spark

FILE = """
sites: {here: {cores: 2}}
streams:
  requests:
    schema: ts TIMESTAMP, domain STRING, bytes BIGINT, status INT
    time: ts
    late_by: 10 seconds
    on_bad: ON_BAD
    at: {here: {format: parquet, path: data/requests}}
queries:
  per_domain:
    sql: SELECT domain, count(*) AS hits, sum(bytes) AS bytes, max(ts) AS last, max(status) AS s FROM requests GROUP BY domain
    deliver: {site: here, format: parquet, path: out/per_domain}
"""  # noqa: E501 - as people write it


def laid_out(folder: Path, given: list[tuple], on_bad: str) -> Path:
    """Rows in four files, of which the second is damaged."""
    path = lay_out(folder, given, FILE.replace("ON_BAD", on_bad), files=4)
    bad = folder / "data" / "requests" / "part-001.parquet"
    bad.write_bytes(damaged_pages(bad.read_bytes()))
    return path


def test_a_damaged_file_is_a_dead_letter_and_the_run_goes_on(spark, tmp_path) -> None:
    given = rows(8000, 1)
    path = laid_out(tmp_path, given, "dead_letter")
    state = tmp_path / "state"
    with Live(tw.deployment(path), state=state, spark=spark) as live:
        live.wait()
        read = live.read()["requests", "here"]
    assert (read.rows, read.bad) == (6000, 1)
    assert delivered(path) == meant(path, [*given[:2000], *given[4000:]])
    [letter] = [json.loads(line) for one in state.rglob("*.jsonl") for line in one.read_text().splitlines()]
    assert letter["file"].endswith("part-001.parquet")
    assert letter["reason"].startswith("row group 0: the file cannot be read: ")


def test_a_damaged_file_is_named_where_it_ends_the_run(spark, tmp_path) -> None:
    path = laid_out(tmp_path, rows(8000, 1), "fail")
    with (
        pytest.raises(DataError, match=r"part-001.parquet.*row group 0"),
        Live(tw.deployment(path), state=tmp_path / "state", spark=spark) as live,
    ):
        live.wait()


KILLED = """
import os, signal, sys
from pathlib import Path
import tradewind as tw
from tradewind.spark.memory import Memory
from tradewind.spark.query import Running

attempt, commit, reading_again = Running._attempt, Memory.commit, []

def attempted(self, query, batch, *, direct):
    reading_again[:] = [] if direct else [True]
    return attempt(self, query, batch, direct=direct)

def committed(self, notes):
    if reading_again:
        if sys.argv[3] == "after":
            commit(self, notes)
        os.kill(os.getpid(), signal.SIGKILL)
    commit(self, notes)

Running._attempt, Memory.commit = attempted, committed
with tw.deployment(sys.argv[1]).run(state=Path(sys.argv[2])) as live:
    live.wait()
"""
"""A run that is killed when it has read files again, just before or after the commit of their batch."""


def letters_of(state: Path) -> list[dict]:
    return [json.loads(line) for one in state.rglob("*.jsonl") for line in one.read_text().splitlines()]


def test_a_run_that_ends_while_files_are_read_again_leaves_one_letter(spark, tmp_path, monkeypatch) -> None:
    given, state = rows(8000, 1), tmp_path / "state"
    path = laid_out(tmp_path, given, "dead_letter")
    attempt, commit, reading_again = Running._attempt, Memory.commit, list[bool]()

    def attempted(self, query, batch, *, direct):
        reading_again[:] = [] if direct else [True]
        return attempt(self, query, batch, direct=direct)

    def committed(self, notes):
        if reading_again:
            raise OSError("the run ends here")
        commit(self, notes)

    with monkeypatch.context() as patched:
        patched.setattr(Running, "_attempt", attempted)
        patched.setattr(Memory, "commit", committed)
        with pytest.raises(RunError), Live(tw.deployment(path), state=state, spark=spark) as live:
            live.wait()
    assert len(letters_of(state)) == 1
    with Live(tw.deployment(path), state=state, spark=spark) as live:
        live.wait()
    assert len(letters_of(state)) == 1
    assert delivered(path) == meant(path, [*given[:2000], *given[4000:]])


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_run_that_is_killed_while_files_are_read_again_leaves_one_letter(spark, tmp_path, moment) -> None:
    given, state = rows(8000, 1), tmp_path / "state"
    path = laid_out(tmp_path, given, "dead_letter")
    killed = subprocess.run([sys.executable, "-c", KILLED, path, state, moment], timeout=300, check=False)
    assert killed.returncode == -signal.SIGKILL
    sockets = state / "tmp" / "sockets"
    if sockets.is_symlink():  # a run that starts its own Spark here would remove what it leads to
        shutil.rmtree(sockets.readlink())
    with Live(tw.deployment(path), state=state, spark=spark) as live:
        live.wait()
    [letter] = letters_of(state)
    assert letter["file"].endswith("part-001.parquet")
    assert delivered(path) == meant(path, [*given[:2000], *given[4000:]])


def test_any_damage_is_found_and_found_again(spark, tmp_path) -> None:
    chance = random.Random(7)
    stream = declared(SIMPLE, on_bad="dead_letter", a={"format": "parquet", "path": "p"})
    good = parquet(tmp_path / "p" / "good.parquet", simple(30))
    for number in range(12):
        site = Site(spark, stream, tmp_path / str(number))
        bad = tmp_path / "p" / f"bad-{number}.parquet"
        whole(bad, "parquet", simple(200), chance)
        damage(bad, chance)
        try:
            read = site.read(a=[good, bad])
        except Exception as error:  # noqa: BLE001 - whatever Spark makes of it
            assert may_be_damage(error), error  # noqa: PT017 - most damage is none that Spark notices
            again = []
            for _ in range(2):
                found = arrivals(
                    spark, site.readers, [[good, bad]], site.engine, site.folder, site.batch, [0], arrival=False,
                    direct=False,
                )  # fmt: skip
                letters = (site.folder / "dead_letters" / "s" / f"batch-{site.batch:08}.jsonl").read_text()
                again.append((bag(site._rows(found.arrived["s"]["a"].rows)), letters))
                assert len(letters.splitlines()) == 1
            assert again[0] == again[1]
            assert not bag(simple(30)) - again[0][0]
        else:
            assert len(read.rows["a"]) == 230 or read.surveys["a"].bad == 1


def test_a_file_that_is_gone_before_it_is_read_is_counted_and_named(spark, tmp_path) -> None:
    stream = declared(SIMPLE, a={"format": "parquet", "path": "p"}, b={"format": "json", "path": "q"})
    there = parquet(tmp_path / "p" / "a.parquet", simple(30))
    site = Site(spark, stream, tmp_path)
    read = site.read(a=[there, tmp_path / "p" / "gone.parquet"], b=[tmp_path / "q" / "gone.json"])
    assert [read.surveys[origin].missing_files for origin in ("a", "b")] == [1, 1]
    assert len(read.rows["a"]) == 30
    [first, second] = read.found.warnings
    assert f"'a': {tmp_path}/p/gone.parquet was there and is gone" in first
    assert "q/gone.json" in second
    assert site.read(a=[there]).found.warnings == []


def test_a_run_tells_of_files_that_spark_leaves_out_without_a_word(spark, tmp_path) -> None:
    """Spark lists a file, and it is gone when the batch that should hold it is planned."""
    given = rows(400, 2)
    path = lay_out(tmp_path, given, FILE.replace("ON_BAD", "fail"), files=4)
    gone = tmp_path / "data" / "requests" / "part-002.parquet"
    text = path.read_text().replace("path: data/requests", "path: data/requests, options: {max_files_per_batch: 1}")
    path.write_text(text)
    reports = []

    def on_batch(report) -> None:
        reports.append(report)
        gone.unlink(missing_ok=True)

    with Live(tw.deployment(path), state=tmp_path / "state", spark=spark, on_batch=on_batch) as live:
        live.wait()
        read = live.read()["requests", "here"]
    assert (read.rows, read.missing_files) == (300, 1)
    [warning] = [one for report in reports for one in report.warnings]
    assert str(gone) in warning
    assert delivered(path) == meant(path, [*given[:200], *given[300:]])


def test_a_column_that_the_first_file_lacks_is_told_once(spark, tmp_path) -> None:
    schema = parse_schema("ts TIMESTAMP, key STRING, v BIGINT", "ts")
    files = [parquet(tmp_path / "p" / f"{number}.parquet", simple(5)) for number in range(3)]
    site = Site(spark, declared(schema, a={"format": "parquet", "path": "p"}), tmp_path)
    [warning] = site.read(a=files[:2]).found.warnings
    assert warning.startswith(f"stream 's' at 'a': {files[0]} has no column 'key', which is NULL then. Hint: ")
    assert site.read(a=files[2:]).found.warnings == []
