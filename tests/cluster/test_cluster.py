"""Agents and a coordinator as processes: the answers are those of one place."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.cluster.clusters import Cluster
from tests.listening import public
from tests.sites.shops import Shops
from tradewind.errors import InputError, UnknownNameError
from tradewind.runtime.cluster.footprint import family

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

SITES = ("north", "south", "depot", "hq")
TAPS = """
sites: {here: {cores: 1}}
streams:
  taps: {schema: "ts TIMESTAMP, n BIGINT", time: ts, at: {here: {format: push}}}
queries:
  odd:
    sql: SELECT ts, n FROM taps WHERE n % 2 = 1
    deliver: {site: here, format: parquet, path: out/odd}
"""


@pytest.mark.slow
def test_four_sites_answer_as_one_place(tmp_path):
    shops = Shops(tmp_path, 3)
    with Cluster(tmp_path) as cluster:
        cluster.serve(str(shops.file), "--until-done")
        for site in SITES:
            cluster.agent(site)
        status = cluster.until_state("ended")
        shops.check()
        assert {one["state"] for one in status["sites"].values()} == {"alive"}
        assert sum(link["rows"] for link in status["links"]) > 0
        rows = json.loads(cluster.command("stats"))["read"]["sales"]
        assert {site: one["rows"] for site, one in rows.items()} == {"north": 60, "south": 60}
        told = cluster.command("status")
        assert "ended" in told


def test_rows_are_asked_for_and_pushed_from_afar(tmp_path):
    file = tmp_path / "taps.yaml"
    file.write_text(TAPS)
    with Cluster(tmp_path) as cluster:
        cluster.serve(str(file))
        cluster.agent("here")
        cluster.until_state("running")
        rows = [{"ts": f"2026-01-01T00:00:{n:02}Z", "n": n} for n in range(30)]
        assert cluster.client.post("/v1/streams/taps/rows", {"rows": rows}) == {"pushed": 30}
        cluster.until(lambda: cluster.status()["queries"]["odd"]["final"] == 15, 240, "all rows are there")
        found = cluster.client.get("/v1/queries/odd/rows?limit=3")["rows"]
        assert found == [{"ts": f"2026-01-01T00:00:{n}Z", "n": n, "_final": True} for n in (25, 27, 29)]
        oldest = cluster.client.get("/v1/queries/odd/rows?limit=1&oldest=true")
        assert (oldest["rows"][0]["n"], oldest["left_out"]) == (1, 14)
        with pytest.raises(InputError, match="is no BIGINT"):
            cluster.client.post("/v1/streams/taps/rows", {"rows": [{"ts": "2026-01-01T00:00:00Z", "n": "x"}]})
        with pytest.raises(UnknownNameError):
            cluster.client.get("/v1/queries/even/rows")
        # The coordinator and the agent, with Spark at work, listen on loopback and nowhere else.
        every = [pid for one in cluster.processes.values() for pid in family(one.pid)]
        assert public(every) == []
        assert json.loads(cluster.command("describe", "odd"))["query"]["final"] == 15
        assert "tradewind: unknown entity" in cluster.failing("describe", "nothing")
        # A Java that stands still keeps nobody: its agent ends when it is told to, and takes it along.
        (java,) = cluster.started_by("here", "org.apache.spark")
        os.kill(java, signal.SIGSTOP)
        cluster.end("here")
        assert "is killed" in cluster.said("here")
        assert not Path(f"/proc/{java}").exists()


def test_a_difference_is_shown_before_it_is_made(tmp_path):
    file = tmp_path / "taps.yaml"
    file.write_text(TAPS)
    with Cluster(tmp_path) as cluster:
        cluster.serve()
        assert "+ here-" in cluster.command("apply", str(file), "--dry-run", code=2)
        assert cluster.status()["deployment"] is None
        assert "nobody can be asked" in cluster.failing("apply", str(file))
        assert json.loads(cluster.command("apply", str(file), "--yes", "--json"))["waiting_for"] == ["here"]
        assert "nothing would change" in cluster.command("apply", str(file), "--dry-run")
        file.write_text(TAPS.replace("n % 2 = 1", "n % 2 = 0"))
        told = cluster.command("apply", str(file), "--dry-run", code=2)
        assert "worked out again from the beginning: odd" in told
        file.write_text(TAPS.replace("n % 2", "m % 2"))
        assert "unknown column 'm'" in cluster.failing("apply", str(file), "--yes")
        assert "nobody can be asked" in cluster.failing("stop")
        assert json.loads(cluster.command("stop", "--yes", "--json"))["lost"]["deployment"] == "taps"
        assert cluster.status()["state"] == "stopped"
