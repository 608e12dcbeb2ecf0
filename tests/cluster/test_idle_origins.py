"""Idle origins in a cluster: what the coordinator tells sites, what status says, and that the word arrives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.backbone.servers import eventually
from tests.cluster.clusters import Cluster
from tests.cluster.lines import at_work
from tradewind.cli.status import told, waited_for
from tradewind.errors import InputError
from tradewind.frontends.deployment.check import load
from tradewind.runtime.cluster import idle
from tradewind.runtime.cluster.desired import Desired, Wanted
from tradewind.runtime.cluster.planning import wanted_of
from tradewind.runtime.cluster.registry import GONE, Registry, status_of
from tradewind.runtime.cluster.reports import AnswerTold, OriginTold, SiteReport, WaitTold
from tradewind.runtime.cluster.site_run import Place, SiteRun

S = 1_000_000.0
FILE = """
sites: {north: {}, south: {}, hq: {}}
links:
  - {between: [north, hq], mbps: 10, ms: 1, usd_per_gb: 0.01}
  - {between: [south, hq], mbps: 10, ms: 1, usd_per_gb: 0.01}
streams:
  sales:
    schema: ts TIMESTAMP, price BIGINT
    time: ts
    idle_after: 2 seconds
    at:
      north: {format: rate, rows_per_second: 5, row_bytes: 9}
      south: {format: json, path: data/south, rows_per_second: 5, row_bytes: 9}
queries:
  sold:
    sql: SELECT window.start AS since, count(*) AS sold FROM sales GROUP BY window(ts, '2 seconds')
    deliver: {site: hq, format: parquet, path: out/sold}
    fresh_within: 3 seconds
"""


@pytest.fixture
def wanted(tmp_path) -> Wanted:
    return wanted_of(load(FILE, str(tmp_path / "shop.yaml")), FILE, None, tmp_path / "figures")


def origin(site: str, mark: float | None, *, silent: bool = False, seconds: float = 1.0) -> OriginTold:
    return OriginTold(stream="sales", origin=site, mark=mark, idle=silent, silent_seconds=seconds)


def heard(wanted: Wanted, *origins: OriginTold, run: str | None = None, answers: Any = None) -> Registry:
    """What has been heard at second 100, of all sites."""
    registry = Registry()
    for site in ("north", "south", "hq"):
        registry.take(
            SiteReport(
                site=site, agent="a", number=1, epoch=1, state="running", run=run or wanted.title,
                origins=[one for one in origins if one.origin == site],
                answers=answers if site == "hq" and answers is not None else {},
            ),
            100.0,
        )  # fmt: skip
    return registry


def test_an_idle_origin_is_told_how_far_the_others_are(wanted) -> None:
    registry = heard(wanted, origin("north", 9 * S), origin("south", None, silent=True))
    order = {"kind": "follow", "run": wanted.title, "marks": [["sales", "south", 9 * S]]}
    assert idle.orders(registry, wanted, 100.0) == {"south": order}
    assert idle.marks_in(json.loads(json.dumps(order))) == {("sales", "south"): 9 * S}


@pytest.mark.parametrize(
    "origins",
    [
        [origin("north", 9 * S), origin("south", 4 * S)],  # it is not idle
        [origin("north", 4 * S), origin("south", 4 * S, silent=True)],  # it is as far
        [origin("north", None), origin("south", 4 * S, silent=True)],  # the other one has not begun
        [origin("south", 4 * S, silent=True)],  # nothing is known of the other one
    ],
)
def test_others_are_told_nothing(wanted, origins) -> None:
    assert idle.orders(heard(wanted, *origins), wanted, 100.0) == {}


def test_an_origin_whose_site_is_gone_is_waited_for_and_another_deployment_does_not_count(wanted) -> None:
    registry = heard(wanted, origin("north", 5 * S, silent=True), origin("south", 4 * S, silent=True))
    assert idle.orders(registry, wanted, 100.0)["south"]["marks"] == [["sales", "south", 5 * S]]
    later = 100.0 + GONE
    for site in ("south", "hq"):
        report = registry.heard[site].report
        registry.take(report.model_copy(update={"number": 2}), later)
    assert idle.orders(registry, wanted, later)["south"]["marks"] == [["sales", "south", 5 * S]]
    assert not idle.statuses(registry, wanted, later)["sales", "north"].idle
    other = heard(wanted, origin("north", 9 * S), origin("south", None, silent=True), run="other-1")
    assert idle.orders(other, wanted, 100.0) == {}


@pytest.mark.parametrize("mark", [float("nan"), float("inf"), float("-inf")])
def test_a_mark_that_is_no_time_is_refused(mark) -> None:
    with pytest.raises(InputError, match="no time"):
        idle.marks_in({"marks": [["sales", "south", mark]]})


def test_status_says_who_is_waited_for_and_who_is_idle(wanted) -> None:
    waits = [WaitTold(origin="sales/north", seconds=41.6), WaitTold(origin="sales/south", seconds=41.6)]
    registry = heard(
        wanted, origin("north", 9 * S), origin("south", 9 * S, silent=True, seconds=73.0),
        answers={"sold": AnswerTold(final=3, missing=["sales/north"], waits_for=waits)},
    )  # fmt: skip
    status = status_of(registry, Desired(1, wanted), ["north", "south", "hq"], 100.0)
    query = status["queries"]["sold"]
    assert query["waits_for"] == [{"origin": "sales/north", "seconds": 41.6}]
    assert status["origins"]["sales/south"] == {"idle": True, "silent_seconds": 73.0, "mark": 9 * S}
    assert not status["origins"]["sales/north"]["idle"]
    assert waited_for(query) == ["sales/north for 42 s"]
    for one in status["origins"].values():
        one["silent_since"] = "2026-01-01T00:00:00Z"
    text = "\n".join(told({**status, "splits": [], "warnings": [], "links": []}))
    assert "sales/north for 42 s" in text
    assert "sales/south is idle and not waited for: nothing came since 2026-01-01T00:00:00Z" in text
    assert "sales/north is idle" not in text


def test_a_moment_is_not_worth_a_word() -> None:
    shown = {"missing": [], "waits_for": [{"origin": "a/x", "seconds": 2.0}, {"origin": "b/y", "seconds": 30.0}]}
    assert waited_for(shown) == ["b/y for 30 s"]
    assert waited_for({"missing": ["a/x"]}) == ["a/x"]


def test_what_a_coordinator_tells_reaches_the_site(coordinator, tmp_path) -> None:
    """The coordinator, the line and the site's side are real; the site only lacks a Spark."""
    (tmp_path / "data" / "south").mkdir(parents=True)
    coordinator.apply(FILE, "shop.yaml")
    title = coordinator._running().title
    heard_of: list[dict[str, Any]] = []
    with at_work(coordinator, "south", tmp_path / "south", heard_of.append) as agent:
        number = iter(range(1, 10_000))

        def reported() -> bool:
            for site, one in (("north", origin("north", 9 * S)), ("south", origin("south", None, silent=True))):
                coordinator.registry.take(
                    SiteReport(
                        site=site, agent="b", number=next(number), epoch=1, state="running", run=title, origins=[one]
                    ),
                    coordinator.clock(),
                )
            return bool(heard_of)

        assert agent.epoch == -1
        eventually("the site is told", reported)
    run = SiteRun(
        Place("south", tmp_path, tmp_path / "state"), coordinator._running(), "", repr, lambda: pytest.fail("no Spark"),
        lambda *_: None, lambda: 0.0,
    )  # fmt: skip
    taken: list[Any] = []
    run._sites = type("Sites", (), {"idling": type("Idling", (), {"told": staticmethod(taken.append)})})  # type: ignore[assignment]
    run.asked(heard_of[0])
    run.asked({**heard_of[0], "run": "other-1"})
    assert taken == [{("sales", "south"): 9 * S}]


@pytest.mark.slow
def test_a_silent_site_of_a_cluster_holds_nobody_back(tmp_path) -> None:
    (tmp_path / "shop.yaml").write_text(FILE)
    (tmp_path / "data" / "south").mkdir(parents=True)
    with Cluster(tmp_path) as cluster:
        cluster.serve("shop.yaml")
        for site in ("north", "south", "hq"):
            cluster.agent(site)
        cluster.until(lambda: cluster.status()["queries"]["sold"]["final"] >= 3, 480, "windows are final")
        status = cluster.status()
        assert status["origins"]["sales/south"]["idle"]
        assert "sales/south is idle and not waited for" in cluster.command("status")
