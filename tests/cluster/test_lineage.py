"""What a coordinator tells of what runs, as OpenLineage events: queries begin, end, are taken away, and fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.runtime.lineage_server import Recorder, recording
from tradewind.frontends.deployment.check import load
from tradewind.runtime.cluster.changes import without
from tradewind.runtime.cluster.desired import Wanted
from tradewind.runtime.cluster.lineage import Chronicle
from tradewind.runtime.cluster.planning import wanted_of
from tradewind.runtime.cluster.reports import FragmentTold, SiteReport
from tradewind.runtime.lineage_sender import Sender

FILE = """
sites: {ams: {cores: 1}, hq: {cores: 1}}
links: [{between: [ams, hq], mbps: 10, ms: 1, usd_per_gb: 0.01}]
streams:
  requests:
    schema: ts TIMESTAMP, domain STRING, status INT
    time: ts
    at: {ams: {format: parquet, path: data/ams, rows_per_second: 100, row_bytes: 30}}
queries:
  hits: {sql: "SELECT domain, count(*) AS n FROM requests GROUP BY domain", deliver: {site: hq, path: out/hits}}
  bad: {sql: "SELECT ts, domain FROM requests WHERE status > 499", deliver: {site: hq, path: out/bad}}
"""
OTHER = FILE.replace("> 499", "> 399")


def planned(folder, text: str = FILE, generation: int = 1) -> Wanted:
    found = load(text, str(folder / "cdn.yaml"))
    return replace(wanted_of(found, text, None, folder / "figures"), generation=generation, until_done=True)


def reports(wanted: Wanted, state: str, *, run: str | None = None, problem: str | None = None) -> dict[str, SiteReport]:
    """What all sites say when all that they do is in a state."""
    whole = "running" if state == "starting" else state
    return {
        site: SiteReport.model_validate({
            "site": site, "agent": "a", "number": 1, "epoch": 1, "state": whole, "problem": problem,
            "run": run or wanted.title,
            "fragments": {
                one.name: FragmentTold.model_validate({"state": state})
                for one in wanted.deployed.fragments if one.site == site
            },
        })
        for site in ("ams", "hq")
    }  # fmt: skip


class Counting(Sender):
    """Knows how many events it was given."""

    given = 0

    def send(self, event: Mapping[str, Any]) -> None:
        self.given += 1
        super().send(event)


class Watched:
    """A chronicle, and what came of it."""

    def __init__(self, folder, server: Recorder) -> None:
        self.folder, self.server = folder, server
        self.clock = 0.0
        self.sender = Counting(server.url, lambda *_, **__: None)
        self.again()

    def again(self) -> None:
        """A coordinator that starts again."""
        self.chronicle = Chronicle(
            self.folder / "lineage.json", "cluster", self.sender, lambda: datetime(2026, 1, 1, tzinfo=UTC)
        )

    def look(self, wanted: Wanted | None, told: dict[str, SiteReport] | None = None) -> None:
        self.chronicle.look(wanted, lambda one: one.declared(self.folder), told or {}, self.clock)

    def events(self) -> list[tuple[str, str]]:
        """What has come by now, as kinds and queries."""
        self.server.until(self.sender.given)
        return [(kind, name.removeprefix("cdn.")) for kind, name in self.server.kinds()]

    def ids(self, query: str) -> list[str]:
        return [one["run"]["runId"] for one in self.server.events if one["job"]["name"] == f"cdn.{query}"]


@pytest.fixture
def watched(tmp_path):
    with recording() as server:
        one = Watched(tmp_path, server)
        yield one
        one.sender.close()


BEGUN = [("START", "hits"), ("START", "bad")]


def test_queries_begin_once_and_are_complete_when_all_their_fragments_are(watched, tmp_path):
    wanted = planned(tmp_path)
    watched.look(wanted)
    watched.look(wanted, reports(wanted, "starting"))
    watched.look(wanted, reports(wanted, "running"))
    assert sorted(watched.events()) == sorted(BEGUN)
    half = reports(wanted, "ended")
    watched.look(wanted, {"ams": half["ams"]})
    assert len(watched.events()) == 2
    watched.look(wanted, half)
    watched.look(wanted, half)
    assert sorted(watched.events()[2:]) == [("COMPLETE", "bad"), ("COMPLETE", "hits")]
    # What has ended is not aborted by taking it away.
    watched.look(None)
    assert len(watched.events()) == 4
    assert len(set(watched.ids("hits"))) == 1


def test_what_sites_tell_of_the_deployment_before_does_not_count(watched, tmp_path):
    first = planned(tmp_path)
    watched.look(first, reports(first, "ended"))
    again = planned(tmp_path, generation=2)
    watched.look(again, reports(again, "ended", run=first.title))
    assert sorted(watched.events()[4:]) == sorted(BEGUN)
    watched.look(again, reports(again, "ended"))
    assert [kind for kind, _ in watched.events()[6:]] == ["COMPLETE"] * 2
    assert len(set(watched.ids("hits"))) == 2


def test_what_is_removed_changed_or_stopped_before_its_end_is_aborted(watched, tmp_path):
    wanted = planned(tmp_path)
    watched.look(wanted)
    fewer = replace(wanted, removed=("bad",), deployed=without(wanted.deployed, ["bad"]))
    watched.look(fewer)
    assert watched.events()[2:] == [("ABORT", "bad")]
    watched.look(wanted)
    assert watched.events()[3:] == [("START", "bad")]
    assert watched.ids("bad")[0] == watched.ids("bad")[1] != watched.ids("bad")[2]
    other = planned(tmp_path, OTHER)
    watched.look(other)
    assert watched.events()[4:] == [("ABORT", "bad"), ("START", "bad")]
    watched.look(None)
    assert sorted(watched.events()[6:]) == [("ABORT", "bad"), ("ABORT", "hits")]


def test_a_site_that_fails_for_long_fails_its_queries_and_they_begin_again_when_it_is_well(watched, tmp_path):
    wanted = planned(tmp_path)
    watched.look(wanted)
    failing = reports(wanted, "failed", problem="the disk is full.")
    watched.look(wanted, failing)
    watched.clock = 5.0
    watched.look(wanted, reports(wanted, "running", problem="the disk is full."))
    watched.clock = 12.0
    watched.look(wanted, failing)
    assert len(watched.events()) == 2
    watched.clock = 22.0
    watched.look(wanted, failing)
    assert sorted(watched.events()[2:]) == [("FAIL", "bad"), ("FAIL", "hits")]
    message = watched.server.events[2]["run"]["facets"]["errorMessage"]["message"]
    assert message in {f"site {site}: the disk is full." for site in ("ams", "hq")}
    watched.look(wanted, reports(wanted, "running", problem="the disk is full."))
    assert len(watched.events()) == 4
    watched.look(wanted, reports(wanted, "running"))
    assert sorted(watched.events()[4:]) == sorted(BEGUN)
    first, failed, begun = watched.ids("hits")
    assert first == failed != begun


def test_a_coordinator_that_starts_again_goes_on_with_its_story(watched, tmp_path):
    wanted = planned(tmp_path)
    watched.look(wanted)
    watched.again()
    watched.look(wanted)
    assert len(watched.events()) == 2
    watched.again()
    watched.look(None)
    assert [kind for kind, _ in watched.events()[2:]] == ["ABORT", "ABORT"]
    assert len(set(watched.ids("bad"))) == 1


def test_a_story_that_cannot_be_read_begins_anew(watched, tmp_path):
    (tmp_path / "lineage.json").write_text('{"hits": {"title": 3}}')
    watched.again()
    watched.look(planned(tmp_path))
    assert len(watched.events()) == 2
