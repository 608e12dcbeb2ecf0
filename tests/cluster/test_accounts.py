"""What is expected of links covers the same time as what was measured there, however often the plan changes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sites.joined import FILE, RATE, RIGHT
from tradewind.frontends.deployment.check import load
from tradewind.runtime.cluster.comparing import accounted, with_deviations
from tradewind.runtime.cluster.desired import Desired, Wanted
from tradewind.runtime.cluster.planning import wanted_of
from tradewind.runtime.cluster.registry import Registry, status_of
from tradewind.runtime.cluster.reports import FragmentTold, LinkTold, ReadTold, SiteReport
from tradewind.runtime.expected import Expectations, Expected, rates_on

HOP = ("west", "hq")
MICROS = 1_000_000


class Sites:
    """Two sites that report what they have read and what has crossed their link, at made-up times."""

    def __init__(self) -> None:
        self.registry = Registry()
        self.number = 0

    def tell(self, wanted: Wanted, seconds: float, size: int, run: str | None = None) -> None:
        self.number += 1
        span = {"earliest": 0, "latest": int(seconds * MICROS)}
        rows = {"rows": int(RATE * seconds), **span}
        read = [ReadTold.model_validate({"stream": name, **rows}) for name in ("orders", "ships")]
        for site, links, some in (("west", [], read), ("hq", [LinkTold(start="west", end="hq", bytes=size)], [])):
            fragments = {
                one.name: FragmentTold.model_validate({"state": "running", **(span if one.sources else {})})
                for one in wanted.deployed.fragments
                if one.site == site
            }
            self.registry.take(
                SiteReport(
                    site=site, agent="a", number=self.number, epoch=1, state="running", run=run or wanted.title,
                    fragments=fragments, links=links, read=some,
                ),
                float(self.number),
            )  # fmt: skip

    def link(self, wanted: Wanted) -> Any:
        status = status_of(self.registry, Desired(1, wanted), ("west", "hq"), float(self.number))
        (shown,) = [one for one in status["links"] if (one["from"], one["to"]) == HOP]
        return shown


def faster(wanted: Wanted, times: float) -> Wanted:
    """The same, of which so many times as much is expected."""
    channels = {name: Expected(*(one * times for one in each)) for name, each in wanted.expected.channels.items()}
    flows = tuple(replace(one, shipped=one.shipped * times) for one in wanted.flows)
    return replace(wanted, expected=Expectations(channels, wanted.expected.answers), flows=flows)


@pytest.fixture(scope="module")
def wanted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("joined")
    text = FILE.format(selectivity=RIGHT, rate=RATE)
    return wanted_of(load(text, str(folder / "joined.yaml")), text, None, folder / "figures")


def rate_of(wanted: Wanted) -> float:
    return rates_on(wanted.deployed, wanted.expected)[HOP]


@given(st.lists(st.tuples(st.floats(0.0, 100.0), st.floats(0.1, 10.0)), min_size=1, max_size=6))
def test_totals_add_up_over_all_plans(wanted, periods):
    """Each plan counts for as long as it held, beside bytes that were measured all the time."""
    sites, now, seconds, size, predicted, shipped = Sites(), wanted, 0.0, 0, 0.0, 0.0
    everything = next(one.shipped for one in wanted.flows if (one.start, one.end) == HOP)
    times = 1.0
    for more, next_times in periods:
        seconds, size = seconds + more, size + int(more * 1000)
        predicted, shipped = predicted + rate_of(now) * more, shipped + everything * times * more
        sites.tell(now, seconds, size)
        shown = sites.link(now)
        assert shown["bytes"] == size
        assert shown["predicted_bytes"] == pytest.approx(predicted, rel=1e-3, abs=2)
        assert shown["shipped_bytes"] == pytest.approx(shipped, rel=1e-3, abs=2)
        assert shown["predicted_bytes_per_second"] == rate_of(now)
        now, times = accounted(now, faster(wanted, next_times), sites.registry), next_times
        assert now is not None
        # What it is a moment later, and in the eyes of a coordinator that was started again.
        assert sites.link(now)["predicted_bytes"] == shown["predicted_bytes"]
        assert Wanted.from_json(json.loads(json.dumps(now.to_json()))) == now


def test_another_generation_begins_from_nothing(wanted):
    """Sites tell of the one before for a moment: that is not measured of this one."""
    sites = Sites()
    sites.tell(wanted, 100.0, 1_000_000)
    anew = accounted(wanted, replace(wanted, generation=wanted.generation + 1), sites.registry)
    assert anew is not None
    shown = sites.link(anew)
    assert (shown["bytes"], shown["predicted_bytes"], shown["shipped_bytes"]) == (0, 0, 0)
    sites.tell(anew, 10.0, 5)
    assert sites.link(anew)["predicted_bytes"] == round(rate_of(anew) * 10.0)


def test_what_moves_is_expected_where_it_goes_from_then_on(wanted):
    """A channel that takes another way is expected on its links for the time that it goes there."""
    sites = Sites()
    sites.tell(wanted, 100.0, 7_000)
    channels = {name: replace(one, hops=()) for name, one in wanted.deployed.channels.items()}
    elsewhere = replace(wanted.deployed, channels=channels)
    away = accounted(wanted, replace(wanted, deployed=elsewhere, term=1), sites.registry)
    assert away is not None
    sites.tell(away, 150.0, 7_000)
    assert sites.link(away)["predicted_bytes"] == round(rate_of(wanted) * 100.0)
    back = accounted(away, replace(wanted, moved=("moved",)), sites.registry)  # what is told of a move does not matter
    assert back is not None
    sites.tell(back, 160.0, 8_000)
    assert sites.link(back)["predicted_bytes"] == round(rate_of(wanted) * 110.0)


def test_a_status_names_what_contradicts_the_plan(wanted, tmp_path):
    sites = Sites()
    found = load(wanted.text, str(tmp_path / wanted.called))

    def status(size: float) -> dict:
        sites.tell(wanted, 600.0, int(size))
        known = status_of(sites.registry, Desired(1, wanted), ("west", "hq"), float(sites.number))
        return with_deviations(known, found, wanted, sites.registry)

    assert status(rate_of(wanted) * 600.0)["deviations"] == []
    told = status(rate_of(wanted) * 6000.0)
    (one,) = told["deviations"]
    assert (one["kind"], one["name"], one["measured"]) == ("link", "west → hq", int(rate_of(wanted) * 6000.0))
    assert [link["warnings"] for link in told["links"]] == [[one["message"]]]
    assert told["queries"]["sent"]["warnings"] == [one["message"]]
    json.dumps(told)


def test_what_ended_before_is_not_the_end_of_what_is_wanted_now(wanted):
    """A site that has heard of the next plan, and not begun with it, still tells that the one before has ended."""
    sites = Sites()
    sites.tell(wanted, 30.0, 10)

    def state(fragments: dict[str, FragmentTold]) -> str:
        for site, heard in list(sites.registry.heard.items()):
            own = {name: one for name, one in fragments.items() if name.startswith(f"{site}-")}
            change = {"state": "ended", "fragments": own, "number": heard.report.number + 1}
            sites.registry.take(heard.report.model_copy(update=change), float(sites.number))
        return str(status_of(sites.registry, Desired(1, wanted), ("west", "hq"), float(sites.number))["state"])

    told = FragmentTold(state="ended")
    assert state({"west-before": told, "hq-before": told}) == "running"
    assert state({one.name: told for one in wanted.deployed.fragments}) == "ended"


def test_documents_of_earlier_versions_are_read(wanted):
    """They know links only, so their rates count for all that was read."""
    data = wanted.to_json()
    del data["expected"], data["account"]
    old, sites = Wanted.from_json(data), Sites()
    sites.tell(old, 50.0, 10)
    assert sites.link(old)["predicted_bytes"] == pytest.approx(rate_of(wanted) * 50.0, rel=1e-6, abs=1)
