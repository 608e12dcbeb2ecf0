"""A coordinator and an agent as they are seen from outside: metrics at both, logs as JSON, and OpenLineage events.

Where nothing is computed, no Spark is started.
"""

from __future__ import annotations

import json
import ssl
import time

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.cluster.clusters import Cluster
from tests.runtime.lineage_server import recording
from tradewind.runtime.cluster.metrics import METRICS

KEY = "key-that-nobody-may-read"
FILE = """
sites: {ams: {cores: 1}}
streams:
  requests: {schema: "ts TIMESTAMP, domain STRING", time: ts, at: {ams: {format: json, path: data}}}
queries:
  hits: {sql: "SELECT domain, count(*) AS n FROM requests GROUP BY domain", deliver: {site: ams, path: out}}
"""


class Scraper:
    """Prometheus, as it would ask an agent."""

    def __init__(self, cluster: Cluster, site: str) -> None:
        state = cluster.folder / "agents" / site
        said = [json.loads(line) for line in cluster.said(site).splitlines()]
        (self.told,) = [one for one in said if "metrics at" in one["message"]]
        self.secret = (state / "metrics-secret").read_text()
        self.path = state / "metrics-secret"
        self._url = f"https://127.0.0.1:{self.told['port']}/metrics"
        self._ca = ssl.create_default_context(cafile=str(state / "identity" / "ca.pem"))

    def __call__(self, secret: str | None = None, **headers: str) -> httpx.Response:
        given = {"Authorization": f"Bearer {secret or self.secret}", **headers}
        return httpx.get(self._url, headers=given, verify=self._ca, timeout=30)

    def value(self, name: str) -> float | None:
        for family in text_string_to_metric_families(self().text):
            for one in family.samples:
                if one.name == name:
                    return one.value
        return None


def test_a_cluster_is_seen_from_outside(tmp_path, monkeypatch):
    with recording() as server, Cluster(tmp_path) as cluster:
        monkeypatch.setenv("TRADEWIND_OPENLINEAGE_URL", server.url)
        monkeypatch.setenv("TRADEWIND_OPENLINEAGE_KEY", KEY)
        cluster.serve("--json-logs")
        _joined(cluster, "ams", "--metrics", "0", "--json-logs")
        agent = Scraper(cluster, "ams")
        cluster.until(lambda: agent.value("tradewind_coordinator_up") == 1.0, 60, "the agent reaches its coordinator")
        cluster.until(lambda: agent.value("tradewind_site_memory_bytes") is not None, 60, "the agent has reported")
        _check_agent(agent)
        _check_lineage(cluster, server)
        cluster.end("coordinator")
        end = time.monotonic() + 60
        while agent.value("tradewind_coordinator_up") != 0.0:
            assert time.monotonic() < end, "the agent believes that its coordinator is there"
            time.sleep(0.2)
        said = cluster.said("ams") + cluster.said("coordinator")
        secrets = [agent.secret, (cluster.state / "secret").read_text(), KEY]
    lines = [json.loads(line) for line in said.splitlines()]
    assert {one["component"] for one in lines} == {"ams", "coordinator"}
    assert any("epoch" in one for one in lines)
    assert all({"time", "level", "component", "message"} <= set(one) for one in lines)
    assert [secret for secret in secrets if secret in said + json.dumps(server.events)] == []


@pytest.mark.slow
@pytest.mark.spark
def test_what_a_site_computes_is_counted_and_complete(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    given = [{"ts": f"2026-01-01T00:00:0{n}Z", "domain": "ab"[n % 2]} for n in range(6)]
    (tmp_path / "data" / "rows.json").write_text("\n".join(map(json.dumps, given)))
    with recording() as server, Cluster(tmp_path) as cluster:
        monkeypatch.setenv("TRADEWIND_OPENLINEAGE_URL", server.url)
        cluster.serve("--json-logs")
        _joined(cluster, "ams", "--metrics", "127.0.0.1:0", "--json-logs")
        cluster.client.post("/v1/apply", {"text": FILE, "called": "cdn.yaml", "until_done": True})
        assert [one["eventType"] for one in server.until(2, 480)] == ["START", "COMPLETE"]
        agent = Scraper(cluster, "ams")
        counted = {
            "tradewind_fragment_rows_total": 6.0, "tradewind_stream_rows_total": 6.0, "tradewind_query_rows": 2.0,
            "tradewind_site_problem": 0.0,
        }  # fmt: skip
        assert {name: agent.value(name) for name in counted} == counted
        assert (agent.value("tradewind_fragment_batches_total") or 0) >= 1
        for name in ("ams", "coordinator"):
            assert all(json.loads(line)["level"] == "info" for line in cluster.said(name).splitlines())


def _joined(cluster: Cluster, site: str, *options: str) -> None:
    (cluster.state / "tokens").mkdir(exist_ok=True)
    token = cluster.command("token", site, "--host", "127.0.0.1").strip()
    (cluster.state / "tokens" / site).write_text(token.rpartition("@")[0] or token)
    cluster.agent(site, *options)
    cluster.until(lambda: "metrics at" in cluster.said(site), 120, "the agent says where its metrics are")


def _check_agent(agent: Scraper) -> None:
    assert agent.path.stat().st_mode & 0o777 == 0o600
    assert str(agent.path) in agent.told["message"]
    got = agent()
    families = list(text_string_to_metric_families(got.text))
    names = {f"{one.name}_total" if one.type == "counter" else one.name for one in families}
    assert "tradewind_site_memory_bytes" in names
    assert names <= {name for name, one in METRICS.items() if one.at != "coordinator"}
    assert all(one.documentation and one.type in {"counter", "gauge"} for one in families)
    assert got.headers["x-content-type-options"] == "nosniff"
    assert agent("a-secret-of-somebody-else").status_code == 401
    assert agent(Host="evil.example").status_code == 421


def _check_lineage(cluster: Cluster, server) -> None:
    cluster.client.post("/v1/apply", {"text": FILE, "called": "cdn.yaml"})
    assert server.until(1)[0]["job"]["name"] == "cdn.hits"
    cluster.client.post("/v1/stop", {})
    started, ended = server.until(2)
    assert (started["eventType"], ended["eventType"]) == ("START", "ABORT")
    assert started["run"]["runId"] == ended["run"]["runId"]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    contact = cluster.contact
    context = ssl.create_default_context(cadata=contact.ca)
    got = httpx.get(
        f"{contact.url}/metrics", headers={"Authorization": f"Bearer {contact.secret}"}, verify=context, timeout=30
    )
    assert 'tradewind_lineage_events_total{result="sent"} 2.0' in got.text
    assert 'tradewind_site_up{site="ams"} 1.0' in got.text
