"""Queries that come while others run: they take what runs already, and answer as if they had always been there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import pytest

import tradewind as tw
from tests.sites.shops import Shops
from tradewind.errors import DeploymentError, InputError
from tradewind.frontends.deployment.file import deployment_with
from tradewind.interpreter.run import Run
from tradewind.runtime.answers import answer_of
from tradewind.runtime.serving import restore, serve

pytestmark = pytest.mark.spark

MORE = """
queries:
  busiest:
    sql: |
      SELECT window.start AS begin, sum(amount) AS sold, count(*) AS sales FROM sales WHERE amount > 0
      GROUP BY window(ts, '20 seconds')
    deliver: {site: depot, format: parquet, path: out/busiest}
  cheap:
    sql: SELECT ts, item, amount FROM sales WHERE amount = 1
    deliver: {site: hq, format: parquet, path: out/cheap}
"""


def deployed_by(live):
    assert live.planned is not None
    return live.planned.deployed


def told_by(command: str, shops: Shops, *more) -> subprocess.Popen[str]:
    """A command about a run that is going on, in a process of its own."""
    words = [command, *more[:1], shops.file, *more[1:]] if command == "queries" else [command, shops.file, *more]
    line = [sys.executable, "-m", "tradewind.cli.main", *map(str, words), "--state", str(shops.folder / "state")]
    return subprocess.Popen([*line, "--json"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def meant(shops: Shops, wanted) -> dict[str, Counter]:
    run = Run(wanted.graph(), {stream: list(origins) for stream, origins in shops.rows.items()})
    run.feed(shops.rows)
    run.end()
    return {name: run.answer(name) for name in wanted.queries}


def told(shops: Shops, wanted) -> dict[str, Counter]:
    found = {name: answer_of(name, query, shops.folder) for name, query in wanted.queries.items()}
    assert all(row[-1] for rows in found.values() for row in rows)
    return {name: Counter({row[:-1]: weight for row, weight in rows.items()}) for name, rows in found.items()}


def test_queries_that_come_later_answer_as_if_they_had_been_there(spark, tmp_path) -> None:
    shops = Shops(tmp_path, 21)
    wanted = deployment_with(shops.file, MORE, "more.yaml")
    with shops.found.run(state=tmp_path / "state", spark=spark) as live:
        before = {one.name: one for one in live.streams()}
        fragments = {one.name for one in deployed_by(live).fragments}
        assert before
        assert all(set(one.queries) <= {"best", "dear"} for one in before.values())
        listed = json.loads(told_by("streams", shops).communicate()[0])
        assert {one["name"]: one["columns"] for one in listed} == {one.name: one.columns for one in before.values()}
        (tmp_path / "more.yaml").write_text(MORE)
        asking = told_by("queries", shops, "add", tmp_path / "more.yaml")
        said: list[str] = []
        while asking.poll() is None:
            said += serve(live)
        assert json.loads(asking.communicate()[0]) == {"added": ["busiest", "cheap"]}
        assert said == [f"added busiest, cheap from {tmp_path / 'more.yaml'}"]
        live.wait()
        after = {one.name: one for one in live.streams()}
        deployed = deployed_by(live)
        assert fragments <= {one.name for one in deployed.fragments}, "what ran goes on"
        new = [one for one in deployed.fragments if one.name not in fragments]
        assert any(name in before for one in new for name in one.inputs), "they take what was there"
        assert any("busiest" in after[name].queries for name in before)
        assert all(one.rows and one.batches for one in after.values())
    assert told(shops, wanted) == meant(shops, wanted)

    # Another run of the same state goes on with them, and has nothing to do.
    with shops.found.run(state=tmp_path / "state", spark=spark) as live:
        assert list(restore(live)) == ["busiest", "cheap"]
        assert {one.name for one in deployed_by(live).fragments} == {one.name for one in deployed.fragments}
        live.wait()
    assert told(shops, wanted) == meant(shops, wanted)
    assert len(json.loads(told_by("results", shops, "busiest").communicate()[0])) == len(told(shops, wanted)["busiest"])
    refused = told_by("streams", shops)
    assert refused.wait() == 2
    assert "nothing runs there" in refused.communicate()[1]


@pytest.mark.slow
def test_what_a_channel_has_forgotten_is_made_anew(spark, tmp_path) -> None:
    """Channels that keep nothing are of no use to who comes later: the streams themselves are read again."""
    shops = Shops(tmp_path, 22)
    shops.file.write_text(shops.file.read_text() + "channels: {keep_megabytes: 0}\n")
    wanted = deployment_with(shops.file, MORE, "more.yaml")
    shops.found = tw.deployment(shops.file)
    with shops.found.run(state=tmp_path / "state", spark=spark) as live:
        live.wait()
        live.wiring.tidy()
        before = len(deployed_by(live).fragments)
        streams = {one.name for one in live.streams()}
        with live.wiring.held() as whole:
            assert whole < streams
        live.add(wanted)
        live.wait()
        new = deployed_by(live).fragments[before:]
        assert not any(name in streams - whole for one in new for name in one.inputs)
    assert told(shops, wanted) == meant(shops, wanted)


def test_what_cannot_be_added_is_said_with_its_place(spark, tmp_path) -> None:
    shops = Shops(tmp_path, 23)
    with pytest.raises(DeploymentError) as raised:
        deployment_with(shops.file, "queries:\n  best: {sql: SELECT ts FROM sales, deliver: {site: hq}}\n", "m.yaml")
    assert [(one.where, one.what) for one in raised.value.problems] == [
        ("m.yaml:2:3 queries.best", "query 'best' runs already.")
    ]
    with pytest.raises(DeploymentError, match="has 3 problems"):
        deployment_with(shops.file, "sites: {x: {}}\nqueries:\n  b: {sql: SELECT no FROM sales}\n", "m.yaml")
    wanted = deployment_with(shops.file, MORE, "more.yaml")
    live = shops.found.run(state=tmp_path / "state", spark=spark)
    with pytest.raises(InputError, match="nothing is running"):
        live.add(wanted)
    live.stop()


def test_a_stream_that_cannot_be_read_is_refused_and_what_runs_goes_on(spark, tmp_path) -> None:
    shops = Shops(tmp_path, 24)
    unread = (
        "  visits:\n    schema: at TIMESTAMP, shop STRING\n    time: at\n    at: {hq: {format: parquet, path: gone}}\n"
    )
    shops.file.write_text(shops.file.read_text().replace("queries:\n", unread + "queries:\n", 1))
    shops.found = tw.deployment(shops.file)
    more = "queries: {seen: {sql: SELECT at FROM visits, deliver: {site: depot, path: out/seen}}}\n"
    with shops.found.run(state=tmp_path / "state", spark=spark) as live:
        with pytest.raises(InputError, match=r"streams.visits.at.hq: there is no .*gone"):
            live.add(deployment_with(shops.file, more))
        live.wait()
        assert set(live.totals) == {"best", "dear"}
    shops.check()


@pytest.mark.slow
def test_what_was_added_is_gone_after_a_fresh_start(spark, tmp_path) -> None:
    shops = Shops(tmp_path, 25)
    state = tmp_path / "state"
    with shops.found.run(state=state, spark=spark) as live:
        live.add(deployment_with(shops.file, MORE), text=MORE, called="more.yaml")
        live.wait()
    assert (tmp_path / "out" / "cheap").exists()
    with shops.found.run(state=state, spark=spark, fresh=True) as live:
        assert list(restore(live)) == []
        assert not list((tmp_path / "out").glob("cheap/*"))
        live.wait()
    shops.check()
