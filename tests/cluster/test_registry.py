"""What a coordinator makes of what sites tell it, and of what strangers do."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.errors import DataError
from tradewind.runtime.cluster.desired import Desired
from tradewind.runtime.cluster.orders import Questions, obeyed
from tradewind.runtime.cluster.registry import GONE, LATE, Registry, _site, status_of
from tradewind.runtime.cluster.reports import FragmentTold, LinkTold, SiteReport, report_of


def report(number: int, *, agent: str = "a", rows: int = 0) -> SiteReport:
    return SiteReport(
        site="ams", agent=agent, number=number, epoch=1, state="running",
        fragments={"f": FragmentTold(state="running", rows=rows)},
    )  # fmt: skip


def test_a_site_is_alive_late_and_gone():
    registry = Registry()
    assert registry.state_of("ams", 0.0) == "never"
    registry.admit("ams")
    assert registry.state_of("ams", 0.0) == "joined"
    registry.take(report(1), 100.0)
    assert [registry.state_of("ams", 100.0 + wait) for wait in (0.5, LATE, GONE)] == ["alive", "late", "gone"]
    registry.forget("ams")
    assert registry.state_of("ams", 100.0) == "never"


def test_a_site_that_is_gone_has_no_rate():
    registry = Registry()
    registry.take(report(1, rows=100), 1.0)
    registry.take(report(2, rows=300), 2.0)
    shown = [_site(registry, "ams", 2.0 + wait)["fragments"]["f"]["rows_per_second"] for wait in (0.1, GONE)]
    assert shown == [200.0, 0.0]


def test_reports_that_were_overtaken_are_passed_over():
    registry = Registry()
    registry.take(report(5, rows=500), 1.0)
    registry.take(report(4, rows=400), 2.0)
    assert registry.heard["ams"].report.number == 5
    registry.take(report(6, rows=700), 3.0)
    assert registry.heard["ams"].rates == {"f": 100.0}
    # A process that was started again counts from one.
    registry.take(report(1, agent="b", rows=10), 4.0)
    assert registry.heard["ams"].report.agent == "b"
    assert registry.heard["ams"].rates == {}


@given(st.lists(st.tuples(st.floats(0.2, 4.0), st.integers(0, 500)), min_size=1, max_size=40))
def test_rows_a_second_are_those_of_the_last_ten(steps):
    """Whatever the pace of reports and batches, what is told is what was read in the last ten seconds or a bit more."""
    registry, now, rows, known = Registry(), 100.0, 0, [(100.0, 0)]
    registry.take(report(1), now)
    for number, (pause, more) in enumerate(steps, 2):
        now, rows = now + pause, rows + more
        registry.take(report(number, rows=rows), now)
        begin = max((one for one in known if now - one[0] >= 10.0), default=known[0])
        assert registry.heard["ams"].rates["f"] == pytest.approx((rows - begin[1]) / (now - begin[0]))
        assert len(registry.heard["ams"].earlier) <= 52
        known.append((now, rows))


def test_a_batch_each_five_seconds_is_no_standstill():
    registry, told = Registry(), []
    for second in range(60):
        registry.take(report(second + 1, rows=second // 5 * 500), float(second))
        told.append(registry.heard["ams"].rates.get("f", 0.0))
    assert min(told[15:]) == max(told[15:]) == 100.0
    # A fragment that was begun again counts from nothing.
    registry.take(report(61, rows=20), 60.0)
    assert registry.heard["ams"].rates == {}
    registry.take(report(62, rows=70), 61.0)
    assert registry.heard["ams"].rates == {"f": 50.0}


@given(st.lists(st.tuples(st.floats(0.5, 4.0), st.integers(0, 10**6)), min_size=2, max_size=30))
def test_bytes_a_second_are_measured_by_who_receives_and_not_the_plans(steps):
    """Over the last ten seconds or so, whatever the plan says; and nothing is measured once the site is gone."""
    registry, now, total, counts = Registry(), 0.0, 0, []
    for number, (seconds, size) in enumerate(steps, 1):
        now, total = now + seconds, total + size
        counts.append((now, total))
        link = LinkTold(start="ams", end="hq", bytes=total, reached=True)
        registry.take(SiteReport(site="hq", agent="a", number=number, epoch=1, state="running", links=[link]), now)
    (shown,) = status_of(registry, Desired(3), (), now)["links"]
    since, before = max((one for one in counts if now - one[0] >= 10.0), default=counts[0])
    assert shown["measured_bytes_per_second"] == pytest.approx((total - before) / (now - since), abs=0.1)
    assert (shown["predicted_bytes_per_second"], shown["bytes_per_second"]) == (0.0, 0.0)
    (later,) = status_of(registry, Desired(3), (), now + GONE + 1.0)["links"]
    assert later["measured_bytes_per_second"] == 0.0


def test_nothing_wanted_is_stopped():
    status = status_of(Registry(), Desired(3), (), 0.0)
    assert (status["state"], status["epoch"], status["queries"], status["links"]) == ("stopped", 3, {}, [])
    json.dumps(status)


def test_a_report_is_read_as_it_was_written():
    assert report_of("ams", report(3, rows=7).encoded()) == report(3, rows=7)


@pytest.mark.parametrize(
    "change", [{"site": "hq"}, {"epoch": -1}, {"state": "happy"}, {"more": 1}, {"fragments": {"f": {"rows": 1}}}]
)
def test_reports_that_speak_for_others_or_make_no_sense_are_refused(change):
    data = {**json.loads(report(1).encoded()), **change}
    with pytest.raises(DataError):
        report_of("ams", json.dumps(data).encode())


@given(
    st.binary()
    | st.text().map(str.encode)
    | st.recursive(st.none() | st.integers(), st.lists).map(lambda x: json.dumps(x).encode())
)
def test_anything_else_is_no_report(payload):
    with pytest.raises(DataError):
        report_of("ams", payload)


@given(
    st.binary()
    | st.recursive(st.none() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)).map(
        lambda x: json.dumps(x).encode()
    )
)
def test_answers_that_nobody_waits_for_do_no_harm(payload):
    Questions(lambda _subject, _payload: None).answered("ams", payload)
    assert isinstance(obeyed(payload, lambda _: 1), bytes)


def test_a_question_gets_its_own_sites_answer_only():
    asked: list[bytes] = []
    questions = Questions(lambda _, payload: asked.append(payload))

    def answer(subject: str, payload: bytes) -> None:
        reply = obeyed(payload, lambda question: question["n"] + 1)
        questions.answered("hq", reply.replace(b"2", b"9"))
        questions.answered("ams", reply)

    questions._publish = answer
    assert questions.ask("ams", {"n": 1}) == 2
