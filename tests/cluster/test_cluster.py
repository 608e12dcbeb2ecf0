"""Agents and a coordinator as processes: the answers are those of one place."""

from __future__ import annotations

import json

import pytest

from tests.cluster.clusters import Cluster
from tests.sites.shops import Shops

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SITES = ("north", "south", "depot", "hq")


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
