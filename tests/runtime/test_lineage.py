"""OpenLineage events: their shape, and a sender that never makes anybody wait."""

from __future__ import annotations

import functools
import json
import os
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

import tradewind as tw
from tests.patience import within
from tests.runtime.deployments import lay_out, rows
from tests.runtime.lineage_server import RunEvent, recording
from tradewind.errors import InputError
from tradewind.frontends.deployment.check import load
from tradewind.runtime.lineage import event, run_id, run_of
from tradewind.runtime.lineage_sender import Sender
from tradewind.runtime.lineage_story import told

KEY = "key-that-nobody-may-read"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FILE = """
sites: {ams: {cores: 1}, sin: {cores: 1}, hq: {cores: 1, tables: "postgresql://me:${env:CARDS}@db/x"}}
links:
  - {between: [ams, hq], mbps: 10, ms: 1, usd_per_gb: 0.01}
  - {between: [sin, hq], mbps: 10, ms: 1, usd_per_gb: 0.01}
streams:
  requests:
    schema: ts TIMESTAMP, domain STRING, bytes BIGINT
    time: ts
    at: {ams: {format: parquet, path: data/ams}, sin: {format: json, path: data/sin}}
  clicks: {schema: "ts TIMESTAMP, domain STRING", time: ts, at: {hq: {format: push}}}
queries:
  hits:
    sql: SELECT domain, count(*) AS hits FROM requests GROUP BY domain
    deliver: {site: hq, format: parquet, path: out/hits}
  both:
    sql: SELECT r.domain FROM requests r JOIN clicks c ON r.domain = c.domain AND r.ts = c.ts
    deliver: {site: hq, format: console}
"""


class Said:
    """Remembers what was said."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def __call__(self, text: str, *, level: str = "info", **_: object) -> None:
        self.lines.append((level, text))


@functools.cache
def run(name: str = "hits", until_done: bool = False):
    found = load(FILE, "shop/cdn.yaml")
    return run_of(found, name, namespace="tradewind", until_done=until_done, run=run_id("cdn-1", name))


def test_an_event_says_what_reads_what_and_delivers_what():
    found = RunEvent.model_validate(event("START", run(), NOW))
    assert (found.job.namespace, found.job.name) == ("tradewind", "cdn.hits")
    assert found.job.facets.job_type.processing_type == "STREAMING"
    assert found.event_time == NOW
    assert [(one.namespace, one.name) for one in found.inputs] == [
        ("tradewind://ams/parquet", "data/ams"),
        ("tradewind://sin/json", "data/sin"),
    ]
    columns = [(one.name, one.type) for one in found.inputs[0].facets.schema_.fields_]
    assert columns == [("ts", "TIMESTAMP"), ("domain", "STRING"), ("bytes", "BIGINT")]
    (answer,) = found.outputs
    assert (answer.namespace, answer.name) == ("tradewind://hq/parquet", "out/hits")
    assert [(one.name, one.type) for one in answer.facets.schema_.fields_] == [("domain", "STRING"), ("hits", "BIGINT")]


def test_streams_and_answers_without_files_go_by_their_names():
    found = RunEvent.model_validate(event("COMPLETE", run("both", until_done=True), NOW))
    assert found.job.facets.job_type.processing_type == "BATCH"
    assert ("tradewind://hq/push", "clicks") in [(one.namespace, one.name) for one in found.inputs]
    assert [(one.namespace, one.name) for one in found.outputs] == [("tradewind://hq/console", "both")]


def test_a_failure_says_why_without_secrets_and_not_at_any_length():
    found = RunEvent.model_validate(event("FAIL", run(), NOW, error=f"no way to {KEY}@db" + "x" * 9_000, secrets=[KEY]))
    assert found.run.facets.error_message is not None
    message = found.run.facets.error_message.message
    assert message.startswith("no way to …@db")
    assert len(message) == 2_000


def test_a_run_is_called_after_what_it_is_a_run_of():
    assert run().id == run().id
    assert len({run_id("a", "b"), run_id("ab", ""), run_id("b", "a"), run_id("a", "c"), run_id("a", "b", "2")}) == 5


def test_events_are_sent_in_order_with_the_key_that_is_in_none_of_them():
    said = Said()
    with recording() as server:
        sender = Sender(server.url, said, key=KEY)
        for _ in range(20):
            sender.send(event("START", run(), NOW))
            sender.send(event("COMPLETE", run(), NOW))
        sender.close()
        found = server.until(40)
    assert [one["eventType"] for one in found] == ["START", "COMPLETE"] * 20
    assert set(server.paths) == {"/api/v1/lineage"}
    assert {one["Authorization"] for one in server.headers} == {f"Bearer {KEY}"}
    assert KEY not in json.dumps(found)
    assert (sender.sent, sender.dropped, said.lines) == (40, 0, [])


def test_a_path_that_is_given_is_kept():
    with recording() as server:
        sender = Sender(f"{server.url}/into/here?team=a", Said())
        sender.send(event("START", run(), NOW))
        sender.close()
    assert server.paths == ["/into/here?team=a"]
    assert "Authorization" not in server.headers[0]


def test_what_may_be_better_in_a_moment_is_tried_again_and_the_rest_is_not():
    said = Said()
    with recording() as server:
        server.answers = [503, 429, 200, 400, 200, 500, 500, 500]
        sender = Sender(server.url, said, pause=0.01)
        for kind in ("START", "ABORT", "COMPLETE", "FAIL"):
            sender.send(event(kind, run(), NOW))
        sender.close()
    assert [kind for kind, _ in server.kinds()] == ["START", "COMPLETE"]
    assert len(server.paths) == 8
    assert (sender.sent, sender.dropped) == (2, 2)
    # Once when it happens, and how many in the end.
    assert [level for level, _ in said.lines] == ["warning", "warning"]
    assert "it answers 400" in said.lines[0][1]
    assert "2 dropped" in said.lines[1][1]


def test_a_server_that_sends_elsewhere_is_not_followed():
    with recording() as other, recording() as server:
        server.answers, server.location = [307, 302], f"{other.url}/taken"
        sender = Sender(server.url, Said(), key=KEY, pause=0.01)
        sender.send(event("START", run(), NOW))
        sender.send(event("START", run(), NOW))
        sender.close()
    assert (sender.dropped, other.paths) == (2, [])


def test_a_server_that_is_away_slows_nothing_down():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    said = Said()
    sender = Sender(url, said, pause=0.01)
    begin = time.monotonic()
    for _ in range(50):
        sender.send(event("START", run(), NOW))
    assert time.monotonic() - begin < within(1)
    while sender.dropped < 50:
        assert time.monotonic() - begin < within(30)
        time.sleep(0.05)
    begin = time.monotonic()
    sender.close()
    assert time.monotonic() - begin < within(3)
    assert sender.sent == 0
    assert len(said.lines) == 2
    assert f"cannot be sent to {url} (Connection refused)" in said.lines[0][1]
    assert "0 sent, 50 dropped (Connection refused)" in said.lines[1][1]


def test_a_server_that_is_slow_loses_events_and_holds_nobody_up():
    said = Said()
    with recording() as server:
        server.delay = 0.5
        sender = Sender(server.url, said, timeout=0.1, pause=0.01, most=10)
        begin = time.monotonic()
        for _ in range(100):
            sender.send(event("START", run(), NOW))
        assert time.monotonic() - begin < within(0.5)
        begin = time.monotonic()
        sender.close(patience=0.5)
        assert time.monotonic() - begin < within(1.5)
    assert sender.dropped >= 88
    assert len([line for line in said.lines if "cannot be sent" in line[1]]) == 1


@pytest.mark.parametrize(
    ("url", "key", "what"),
    [
        ("ftp://host/x", None, "is no URL of HTTP"),
        ("file:///etc/passwd", None, "is no URL of HTTP"),
        ("lineage.example.org", None, "is no URL of HTTP"),
        ("https://host:port/", None, "is no URL of HTTP"),
        (f"https://me:{KEY}@host/", None, "holds a name or password"),
        ("http://lineage.example.org", KEY, "for all to read"),
        ("https://host", f"{KEY}\r\nX: y", "is no key"),
    ],
)
def test_urls_and_keys_that_cannot_be_used_are_refused_without_being_shown(url, key, what):
    with pytest.raises(InputError, match=what) as refused:
        Sender(url, Said(), key=key)
    assert KEY not in str(refused.value)


def test_nothing_is_sent_unless_the_environment_says_where():
    assert Sender.of({}, Said()) is None
    assert Sender.of({"TRADEWIND_OPENLINEAGE_KEY": KEY}, Said()) is None
    found = load(FILE, "cdn.yaml")
    with told(found, None, until_done=True, now=lambda: NOW) as story:
        story.begin(found)


def test_a_run_ends_as_it_ended(monkeypatch):
    monkeypatch.setenv("CARDS", "s3cret-of-the-tables")
    found = load(FILE, "cdn.yaml")

    def outcome(error: BaseException | None, done: bool) -> list[dict]:
        with recording() as server:
            given = {"TRADEWIND_OPENLINEAGE_URL": server.url, "TRADEWIND_OPENLINEAGE_NAMESPACE": "shops"}
            sender = Sender.of(given, Said())
            try:
                with told(found, sender, until_done=True, now=lambda: NOW) as story:
                    story.begin(found)
                    story.done = done
                    if error is not None:
                        raise error
            except (RuntimeError, KeyboardInterrupt):
                assert error is not None
            return server.until(4)

    endings = {
        "COMPLETE": outcome(None, True),
        "ABORT": outcome(None, False),
        "FAIL": outcome(RuntimeError("postgresql://me:s3cret-of-the-tables@db/x is away"), False),
    }
    assert [one["eventType"] for one in outcome(KeyboardInterrupt(), False)] == ["START"] * 2 + ["ABORT"] * 2
    for kind, found_events in endings.items():
        assert [one["eventType"] for one in found_events] == ["START", "START", kind, kind]
        ids = [one["run"]["runId"] for one in found_events]
        assert ids[:2] == ids[2:]
        assert len(set(ids)) == 2
        assert found_events[0]["job"]["namespace"] == "shops"
    why = endings["FAIL"][2]["run"]["facets"]["errorMessage"]["message"]
    assert why == "postgresql://me:…@db/x is away"
    # Each time that it is run is a run of its own.
    assert endings["COMPLETE"][0]["run"]["runId"] != endings["ABORT"][0]["run"]["runId"]


def _run(file: Path, environment: dict[str, str], *options: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tradewind.cli.main", "run", str(file), "--until-done", "--json-logs", *options],
        capture_output=True, text=True, timeout=300, check=False, env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done.stderr


@pytest.mark.spark
@pytest.mark.slow
def test_a_run_on_spark_begins_and_is_complete_or_fails_and_speaks_json(tmp_path):
    path = lay_out(tmp_path, rows(60, 1), files=2)
    names = [f"shop.{name}" for name in tw.deployment(path).queries]
    with recording() as server:
        given = {"TRADEWIND_OPENLINEAGE_URL": server.url, "TRADEWIND_OPENLINEAGE_KEY": KEY}
        said = _run(path, given)
        server.until(6)
        assert server.kinds() == [*(("START", name) for name in names), *(("COMPLETE", name) for name in names)]
        (tmp_path / "data" / "requests" / "part-900.parquet").write_bytes(b"no parquet at all")
        said += _run(path, given, "--fresh", code=2)
        server.until(12)
        assert [kind for kind, _ in server.kinds()[6:]] == ["START"] * 3 + ["FAIL"] * 3
        everything = json.dumps(server.events)
    lines = [json.loads(line) for line in said.splitlines()]
    assert {line["component"] for line in lines} == {"run"}
    assert [line["level"] for line in lines if "rows in" in line["message"]] != []
    assert [line["level"] for line in lines].count("error") == 1
    assert lines[-1]["level"] == "error"
    assert KEY not in said + everything
