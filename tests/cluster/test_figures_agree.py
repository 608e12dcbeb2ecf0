"""Page, `status`, `stats`, metrics and `run --json` tell the same of the same work; totals cover the same time after an
`apply`; and a query of a real cluster is late, and why. All of it with one cluster.
"""

from __future__ import annotations

import json
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.cluster.clusters import COMMAND, Cluster
from tests.sites.joined import FILE, RATE, RIGHT, SECONDS, WRONG, laid_out

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

COUNTED = ("bytes", "rows", "messages", "batches", "control_bytes")
TAPS = """
sites: {west: {cores: 1}, hq: {cores: 1}}
links: [{between: [west, hq], mbps: 100, ms: 1, usd_per_gb: 0.05}]
streams:
  near: {schema: "ts TIMESTAMP, n BIGINT", time: ts, at: {hq: {format: push}}}
  far: {schema: "ts TIMESTAMP, n BIGINT", time: ts, at: {west: {format: push}}}
queries:
  both:
    sql: SELECT ts, n FROM near UNION ALL SELECT ts, n FROM far
    fresh_within: 10 seconds
    deliver: {site: hq, format: parquet, path: out/both}
"""


@dataclass(frozen=True)
class Seen:
    """A run of a cluster, as it is seen from everywhere at its end; and a `run` of the same file."""

    cluster: Cluster
    page: dict[str, Any]
    status: dict[str, Any]
    stats: dict[str, Any]
    text: str
    metrics: dict[str, str]
    run: dict[str, Any]
    said: str


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """All figures of a run whose plan rests on a wrong selectivity."""
    folder, beside = tmp_path_factory.mktemp("cluster"), tmp_path_factory.mktemp("run")
    for place in (folder, beside):
        laid_out(place, WRONG)
    with Cluster(folder) as cluster:
        cluster.serve("joined.yaml", "--until-done")
        for site in ("west", "hq"):
            cluster.agent(site, "--metrics", "0", "--json-logs")
        command = [*COMMAND, "run", "joined.yaml", "--until-done", "--json", "--full-speed"]
        done = subprocess.run(command, cwd=beside, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        cluster.until_state("ended")
        # Reports come every second, so a look may fall between two of them: all have to be of the same one.
        cluster.until(lambda: len({_links(one) for one in _told(cluster)}) == 1, 120, "all tell of the same report")
        page, status, stats = _told(cluster)
        metrics = {"coordinator": _of_coordinator(cluster)}
        metrics |= {site: _of_agent(cluster, site) for site in ("west", "hq")}
        text = cluster.command("status")
        yield Seen(cluster, page, status, stats, text, metrics, json.loads(done.stdout), done.stderr)


def _told(cluster: Cluster) -> list[dict[str, Any]]:
    """What the page draws, and what `status` and `stats` print, one right after the other."""
    with closing(cluster.client.events()) as events:
        drawn = next(events)
    return [drawn, cluster.status(), cluster.client.get("/v1/stats")]


def _links(told: dict[str, Any]) -> str:
    return json.dumps(told["links"])


def _of_coordinator(cluster: Cluster) -> str:
    """What the coordinator tells Prometheus."""
    contact = cluster.contact
    given = {"Authorization": f"Bearer {contact.secret}"}
    trusted = ssl.create_default_context(cadata=contact.ca)
    return httpx.get(f"{contact.url}/metrics", headers=given, verify=trusted, timeout=60).text


def _of_agent(cluster: Cluster, site: str) -> str:
    """What an agent tells Prometheus."""
    state = cluster.folder / "agents" / site
    said = [json.loads(line) for line in cluster.said(site).splitlines()]
    (port,) = [one["port"] for one in said if "metrics at" in one["message"]]
    given = {"Authorization": f"Bearer {(state / 'metrics-secret').read_text()}"}
    trusted = ssl.create_default_context(cafile=str(state / "identity" / "ca.pem"))
    return httpx.get(f"https://127.0.0.1:{port}/metrics", headers=given, verify=trusted, timeout=60).text


def _value(text: str, name: str, **labels: str) -> float:
    (value,) = [
        one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
        if one.name == name and labels.items() <= one.labels.items()
    ]
    return value


def test_all_tell_the_same_of_links(seen: Seen) -> None:
    (link,) = seen.status["links"]
    assert seen.page["links"] == seen.stats["links"] == seen.status["links"]
    for who in ("coordinator", "hq"):  # whoever receives counts
        told = {name: _value(seen.metrics[who], f"tradewind_link_{name}_total") for name in COUNTED}
        assert told == {name: link[name] for name in COUNTED}
    assert f"{link['bytes']:,}" in seen.text
    (local,) = seen.run["links"]
    assert (local["from"], local["to"]) == (link["from"], link["to"])
    same = ("rows", "predicted_bytes", "bytes_per_second", "shipped_bytes")
    assert {name: local[name] for name in same} == pytest.approx({name: link[name] for name in same}, rel=1e-9)
    # Channels have longer names in a cluster, and micro-batches may be others.
    assert local["bytes"] == pytest.approx(link["bytes"], rel=0.1)
    assert link["predicted_bytes_per_second"] == link["bytes_per_second"]
    seconds = seen.status["seconds_read"]
    assert link["predicted_bytes"] == pytest.approx(link["predicted_bytes_per_second"] * seconds, abs=1)


def test_all_tell_the_same_of_streams_and_answers(seen: Seen) -> None:
    for stream in ("orders", "ships"):
        rows = seen.stats["read"][stream]["west"]["rows"]
        assert rows == seen.run["streams"][stream]["west"]["rows"] == SECONDS * RATE
        for who in ("coordinator", "west"):
            assert _value(seen.metrics[who], "tradewind_stream_rows_total", stream=stream) == rows
    answer = seen.status["queries"]["sent"]
    assert answer == seen.page["queries"]["sent"] == seen.stats["queries"]["sent"]
    for who in ("coordinator", "hq"):
        assert _value(seen.metrics[who], "tradewind_query_rows", final="true") == answer["final"]
    assert (answer["final"], answer["tentative"]) == (seen.run["queries"]["sent"]["final"], 0)


def test_a_cluster_and_a_run_warn_of_the_same(seen: Seen) -> None:
    assert [(one["kind"], one["name"]) for one in seen.status["deviations"]] == [
        ("answer", "sent"),
        ("link", "west → hq"),
    ]
    hints = {one["hint"] for one in [*seen.status["deviations"], *seen.run["deviations"]]}
    assert hints == {"correct selectivity of query sent."}
    answer, link = (one["message"] for one in seen.status["deviations"])
    assert seen.status["warnings"] == seen.status["queries"]["sent"]["warnings"] == [answer, link]
    assert seen.status["links"][0]["warnings"] == [link]
    assert f"warning: {answer}" in seen.text
    # Of a run each is told once, as soon as it is seen: one may be before the other, and before all rows have come.
    assert {(one["kind"], one["name"]) for one in seen.run["deviations"]} == {("answer", "sent"), ("link", "west → hq")}
    assert len(seen.run["warnings"]) == 2
    assert all(seen.said.count(f"warning: {line}\n") == 1 for line in seen.run["warnings"])


@pytest.mark.slow
def test_totals_after_an_apply_cover_the_same_time(seen: Seen) -> None:
    """What the first plan had expected, and what crossed for it, counts on beside what the second one does."""
    (before,) = seen.status["links"]
    text = FILE.format(selectivity=RIGHT, rate=RATE)
    seen.cluster.client.post("/v1/apply", {"text": text, "called": "joined.yaml", "until_done": True})
    status = seen.cluster.until_state("ended")
    assert status["generation"] == seen.status["generation"]
    (after,) = status["links"]
    more = after["predicted_bytes_per_second"] * status["seconds_read"]
    assert after["predicted_bytes"] == pytest.approx(before["predicted_bytes"] + more, abs=2)
    assert before["bytes"] < after["bytes"] < before["bytes"] + 2 * more
    # The plan that holds now is right, whatever the one before was.
    assert status["deviations"] == []


@pytest.mark.slow
def test_a_query_is_late_and_why(seen: Seen) -> None:
    cluster = seen.cluster
    cluster.client.post("/v1/apply", {"text": TAPS, "called": "taps.yaml"})
    # For a moment sites tell of the deployment before: nothing of that is this one's.
    assert sum(link["bytes"] for link in cluster.status()["links"]) < seen.status["links"][0]["bytes"]
    cluster.until_state("running")

    def push(stream: str, minute: int) -> None:
        rows = [{"ts": f"2026-01-01T00:{minute:02}:00Z", "n": minute}]
        assert cluster.client.post(f"/v1/streams/{stream}/rows", {"rows": rows}) == {"pushed": 1}

    def both() -> dict[str, Any]:
        shown: dict[str, Any] = cluster.status()["queries"]["both"]
        return shown

    push("near", 0)
    push("far", 0)
    cluster.until(lambda: both()["behind_seconds"] == 0.0, 240, "both streams have come equally far")
    assert (both()["state"], both()["cause"], both()["fresh_within_seconds"]) == ("running", None, 10.0)
    push("near", 20)
    cluster.until(lambda: both()["state"] == "late", 240, "the query is late")
    assert both()["cause"] == "waits for far/west"
    assert both()["behind_seconds"] == 1200.0
    assert "both is late: waits for far/west" in cluster.command("status")
    push("far", 20)
    cluster.until(lambda: both()["state"] == "running", 240, "the query is as fresh as it is to be")
    assert (both()["cause"], both()["behind_seconds"]) == (None, 0.0)
