"""When a measurement contradicts a plan, and what is said then. No Spark, no clock."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tradewind as tw
from tests.sites.joined import FILE, RATE, RIGHT
from tradewind.fragments.cut import cut
from tradewind.fragments.triggers import intervals
from tradewind.placement.approximating import choose_within_errors
from tradewind.placement.report import Report
from tradewind.runtime.deviations import (
    FACTOR,
    LEAST_BYTES,
    LEAST_ROWS,
    LEAST_SECONDS,
    Comparison,
    Measured,
    deviation,
    deviations,
)
from tradewind.runtime.expected import Account, Read, Span, rates_on
from tradewind.runtime.planned import Planned

EXAMPLES = sorted(Path(__file__).parents[2].glob("examples/*.yaml"))
LEAST = {"rows": LEAST_ROWS, "bytes": LEAST_BYTES}
amounts = st.floats(0.0, 1e9)


def planned_of(path: Path) -> Planned:
    found = tw.deployment(path)
    report = Report(choose_within_errors(found))
    deployed = cut(report.plan, report.network, report.contents)
    return Planned(report, deployed, intervals(deployed, {}))


@given(st.sampled_from(["rows", "bytes"]), amounts, amounts, st.floats(0.0, 1e5), st.floats(0.0, 1.0))
def test_only_more_than_twice_of_enough_contradicts_a_plan(unit, predicted, measured, seconds, share):
    due = predicted * share
    told = deviation(Comparison("rows", "x", unit, predicted, due, measured, seconds))
    much = measured > FACTOR * predicted and measured >= LEAST[unit]
    little = FACTOR * measured < due and due >= LEAST[unit]
    assert (told is not None) == (seconds >= LEAST_SECONDS and predicted > 0 and (much or little))
    if told is not None:
        assert told.measured == measured
        assert told.predicted == (predicted if much else due)
        json.dumps(told.to_json())


@given(amounts, st.floats(0.5, 2.0), st.floats(LEAST_SECONDS, 1e5))
def test_what_is_within_twice_is_never_told(predicted, factor, seconds):
    assert deviation(Comparison("link", "a → b", "bytes", predicted, predicted, predicted * factor, seconds)) is None


@given(st.floats(1.0, 1e6), st.floats(LEAST_SECONDS, 1e5), st.floats(0.01, 100.0))
def test_rates_need_as_many_rows_as_counts_do(rate, seconds, factor):
    told = deviation(Comparison("stream", "s at a", "rows/s", rate, rate, rate * factor, seconds))
    enough = max(rate, rate * factor) * seconds >= LEAST_ROWS
    assert (told is not None) == (enough and not 1 / FACTOR <= factor <= FACTOR)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_channels_carry_adds_up_to_the_plans_links(path):
    """Whoever compares channels with a plan compares the same figures as `plan` prints for links."""
    planned = planned_of(path)
    expected = planned.expected
    assert set(expected.channels) == set(planned.deployed.channels)
    assert set(expected.answers) == {name for one in planned.deployed.fragments for name in one.answers}
    links = {(one.start, one.end): one.bytes_per_second for one in planned.links()}
    assert rates_on(planned.deployed, expected) == pytest.approx(links)


class Joined:
    """The plan of a join, and what a run of it would measure."""

    def __init__(self, folder: Path, text: str) -> None:
        path = folder / "joined.yaml"
        path.write_text(text)
        self.found = tw.deployment(path)
        self.planned = planned_of(path)
        self.deployed = self.planned.deployed

    def told(self, seconds: float, *, rows=1.0, reads=1.0, size=1.0, account=None, **more):
        """What is said if so many times the rows, of streams and answers, and bytes are measured as are expected."""
        expected, end = self.planned.expected, int(seconds * 1e6)
        read = {(name, "west"): Read(int(RATE * seconds * reads), 0, end) for name in ("orders", "ships")}
        sources = [one.name for one in self.deployed.fragments if one.sources]
        measured = Measured(
            read,
            dict.fromkeys(sources, Span(0, end)),
            {name: int(one.rows_per_second * seconds * rows) for name, one in expected.channels.items()},
            {name: int(one.rows_per_second * seconds * rows) for name, one in expected.answers.items()},
            {hop: int(rate * seconds * size) for hop, rate in rates_on(self.deployed, expected).items()},
        )
        measured = replace(measured, **more)
        return deviations(self.found, self.deployed, expected, account or Account(), measured)


@pytest.fixture(params=[RIGHT, 0.001], ids=["joined at hq", "joined at west"])
def joined(tmp_path, request):
    return Joined(tmp_path, FILE.format(selectivity=request.param, rate=RATE))


@pytest.mark.parametrize("seconds", [1.0, LEAST_SECONDS, 3600.0])
def test_a_plan_that_comes_true_is_not_contradicted(joined, seconds):
    assert joined.told(seconds) == joined.told(seconds, ended=True) == []


def test_nothing_is_said_in_the_first_moments(joined):
    assert joined.told(LEAST_SECONDS - 0.1, rows=50.0, reads=50.0, size=50.0) == []


def test_a_wrong_rate_is_the_cause_that_is_named(joined):
    told = joined.told(60.0, rows=9.0, reads=3.0, size=9.0)
    assert [one.name for one in told if one.kind == "stream"] == ["orders at west", "ships at west"]
    assert {one.kind for one in told} >= {"stream", "answer", "link"}
    assert all("rows_per_second" in one.hint for one in told)
    first = told[0]
    assert first.message == (
        "stream orders at west: 300 rows/s measured, 100 predicted; correct rows_per_second of stream orders at west."
    )


def test_rates_that_nobody_declared_are_not_wrong(tmp_path):
    text = FILE.format(selectivity=RIGHT, rate=RATE).replace(f", rows_per_second: {RATE}", "")
    told = Joined(tmp_path, text).told(60.0, reads=5.0)
    assert [one for one in told if one.kind == "stream"] == []


def test_a_wrong_selectivity_is_told_in_both_directions(joined):
    for rows, ended in ((3.0, False), (0.3, True)):
        (told,) = [one for one in joined.told(60.0, rows=rows, ended=ended) if one.kind == "answer"]
        assert (told.name, told.queries, told.hint) == ("sent", ("sent",), "correct selectivity of query sent.")


def test_what_is_still_on_its_way_is_not_missing(joined):
    """Too little is told of what must have come by now: up to the time to which queries are settled."""
    late = {"rows": 0.3, "reads": 1.0, "size": 0.3}
    assert joined.told(600.0, **late) == []
    assert joined.told(600.0, **late, settled={"sent": 200e6}) == []
    assert {one.kind for one in joined.told(600.0, **late, settled={"sent": 599e6})} >= {"answer", "link"}


def test_links_are_compared_since_the_plan_holds(joined):
    """What crossed a link under another plan is not this one's fault."""
    hop = ("west", "hq")
    rate = rates_on(joined.deployed, joined.planned.expected)[hop]
    crossed = {hop: int(rate * 600)}
    assert [one.kind for one in joined.told(60.0, links=crossed)] == ["link"]
    assert joined.told(60.0, links=crossed, account=Account(measured={hop: int(rate * 540)})) == []
