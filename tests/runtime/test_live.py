"""Deployments run on Spark from files to delivered files, are stopped, killed, changed and started again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import tradewind as tw
from tests.runtime.deployments import FILE, SECOND, delivered, lay_out, meant, rows, write

pytestmark = pytest.mark.spark

COMMAND = [sys.executable, "-m", "tradewind.cli.main"]


AWAY = {"TRADEWIND_OPENLINEAGE_URL": "http://127.0.0.1:9", "TRADEWIND_OPENLINEAGE_KEY": "a-key-that-nobody-sees"}


def tradewind(*arguments: str, code: int = 0, more: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    done = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, **(more or {})},
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done


def test_a_run_is_interrupted_goes_on_reads_everything_and_refuses_another_query(tmp_path) -> None:
    given = rows(300, 1)
    path = lay_out(tmp_path, given)
    command = [*COMMAND, "run", str(path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as run:
        assert run.stderr is not None
        for line in run.stderr:
            if " batch " in line:
                break
        # As terminals and supervisors do: to all processes of the group.
        os.killpg(run.pid, signal.SIGINT)
        rest = run.stderr.read()
        assert run.wait(timeout=60) == 0
    assert "stopped; the next run goes on from here" in rest
    assert "Traceback" not in rest

    more = rows(100, 2, start=200 * SECOND)
    schema = tw.deployment(path).streams["requests"].source.schema
    write(tmp_path / "data" / "requests", more, schema, 6, 2)
    done = tradewind("run", str(path), "--until-done", "--json", "--json-logs", more=AWAY)
    expected = meant(path, [*given, *more])
    assert delivered(path) == expected
    told = json.loads(done.stdout)
    assert told["links"] == []
    assert {name: one["rows"] for name, one in told["queries"].items()} == {
        name: answer.total() for name, answer in expected.items()
    }
    assert all(one["tentative"] == 0 for one in told["queries"].values())
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert any("everything read: 100 rows" in line["message"] for line in lines)
    # A lineage server that is away changes nothing about a run.
    about = [line for line in lines if "OpenLineage" in line["message"]]
    assert [line["level"] for line in about] == ["warning", "warning"]
    assert about[-1]["dropped"] == 6
    assert AWAY["TRADEWIND_OPENLINEAGE_KEY"] not in done.stderr

    answer = json.loads(tradewind("results", str(path), "per_minute", "--json").stdout)
    assert Counter((row["minute"], row["hits"]) for row in answer) == Counter(
        (iso(minute), hits) for minute, _, hits, _ in expected["per_minute"].elements()
    )

    path.write_text(FILE.replace("status < 500", "status < 400"))
    refused = tradewind("run", str(path), "--until-done", code=2)
    assert "query 'per_minute' changed in the filter" in refused.stderr
    assert "--fresh" in refused.stderr


def iso(micros: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(micros / SECOND))


@pytest.mark.slow
@pytest.mark.faults
def test_runs_that_are_killed_lose_and_repeat_nothing(tmp_path) -> None:
    given = rows(400, 3)
    one_by_one = "path: data/requests, options: {max_files_per_batch: 1}}"
    path = lay_out(tmp_path, given, FILE.replace("path: data/requests}", one_by_one), files=8)
    chance = random.Random(4)
    log = tmp_path / "log"
    for _ in range(2):
        with log.open("a") as output:
            run = subprocess.Popen(
                [*COMMAND, "run", str(path), "--until-done"], stdout=output, stderr=output, start_new_session=True
            )
        wait_for_batch(run, log, chance)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    tradewind("run", str(path), "--until-done")
    assert delivered(path) == meant(path, given)


def wait_for_batch(run: subprocess.Popen, log: Path, chance: random.Random) -> None:
    """Until the run has done a batch of its own, and a little longer, into the middle of the next."""
    before = log.read_text().count("batch ")
    limit = time.monotonic() + 120
    while log.read_text().count("batch ") == before and run.poll() is None and time.monotonic() < limit:
        time.sleep(0.05)
    time.sleep(chance.random() * 1.5)


def test_streams_whose_folders_are_missing_are_named_before_anything_starts() -> None:
    refused = tradewind("run", "examples/clickstream.yaml", "--until-done", code=2)
    assert "streams.clicks.at.shop_eu: there is no" in refused.stderr
    assert "Hint: create it" in refused.stderr
    assert "Traceback" not in refused.stderr
