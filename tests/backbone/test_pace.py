"""The imitation of a link, without a clock: rate, latency, turns, cuts; and what is written to disturb it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.backbone.disturbances import Disturbance, parse_cut, parse_throttle, schedule
from tradewind.backbone.pace import Line, Parcel
from tradewind.errors import InputError, UnknownNameError

MBIT = 125_000


class Story:
    """A line that is stepped through time, and when each message left and arrived."""

    def __init__(self, mbps: float | None, ms: float = 0.0) -> None:
        self.line = Line(mbps, ms)
        self.now = 0.0
        self.left: dict[Parcel, float] = {}
        self.arrived: dict[Parcel, float] = {}

    def send(self, lane, size, *, urgent=False):
        parcel = Parcel(lane, urgent)
        self.line.join(parcel)
        self.line.ready(parcel, size)
        return parcel

    def until(self, end: float, late: float = 0.0) -> None:
        """Goes on to a time, each step so much later than it was asked for."""
        while True:
            step = self.line.step(self.now)
            for parcel in step.left:
                self.left[parcel] = parcel.left
            for parcel in step.arrived:
                assert parcel not in self.arrived
                self.arrived[parcel] = self.now
            if step.again is None or step.again + late > end:
                break
            self.now = max(step.again + late, self.now)
        self.now = end


def test_bytes_leave_one_after_the_other_and_arrive_later():
    story = Story(8.0, ms=100)
    lane = story.line.open()
    sent = [story.send(lane, MBIT) for _ in range(3)]
    story.until(10.0)
    assert [story.left[one] for one in sent] == pytest.approx([0.125, 0.25, 0.375])
    assert [story.arrived[one] for one in sent] == pytest.approx([0.225, 0.35, 0.475])
    # A rest is not saved up.
    last = story.send(lane, MBIT)
    story.until(20.0)
    assert story.left[last] == pytest.approx(10.125)


def test_late_steps_do_not_slow_the_line_down():
    story = Story(40.0)
    lane = story.line.open()
    sent = [story.send(lane, 10_000) for _ in range(1000)]
    story.until(3.0, late=0.0015)
    assert story.left[sent[-1]] == pytest.approx(2.0, rel=0.001)


def test_without_imitation_all_passes_at_once():
    story = Story(None)
    sent = [story.send(story.line.open(), 10**9) for _ in range(3)]
    story.until(0.0)
    assert list(story.arrived) == sent


def test_channels_take_turns_and_urgent_messages_go_first():
    story = Story(8.0)
    big, small, marks = (story.line.open() for _ in range(3))
    many = [story.send(big, MBIT) for _ in range(100)]
    few = [story.send(small, 1000), story.send(small, 1000, urgent=True)]
    story.until(0.05)
    mark = story.send(marks, 500, urgent=True)
    story.until(20.0)
    order = list(story.left)
    assert order[:5] == [many[0], mark, few[0], few[1], many[1]]
    assert [one for one in order if one.lane is big] == many


def test_an_urgent_message_does_not_overtake_its_own_channel():
    story = Story(8.0)
    lane, other = story.line.open(), story.line.open()
    story.send(other, MBIT)
    sent = [story.send(lane, MBIT), story.send(lane, MBIT), story.send(lane, 10, urgent=True)]
    story.until(9.0)
    assert [one for one in story.left if one.lane is lane] == sent


def test_a_message_that_is_not_ready_holds_up_only_its_own_channel():
    story = Story(8.0)
    lane, other = story.line.open(), story.line.open()
    slow = Parcel(lane, urgent=False)
    story.line.join(slow)
    behind, free = story.send(lane, MBIT), story.send(other, MBIT)
    story.until(1.0)
    assert list(story.left) == [free]
    story.line.ready(slow, MBIT)
    story.until(2.0)
    assert list(story.left) == [free, slow, behind]


def test_what_is_under_way_when_the_line_is_cut_leaves_again():
    story = Story(8.0, ms=1000)
    lane = story.line.open()
    sent = [story.send(lane, MBIT) for _ in range(20)]
    story.until(1.3)  # ten have left, two have arrived, the eleventh is leaving
    story.line.cut(1.3)
    story.until(7.0)
    assert list(story.arrived) == sent[:2]
    assert story.line.cut_since == 1.3
    story.line.heal(7.0)
    story.until(20.0)
    assert list(story.arrived) == sent
    assert story.arrived[sent[2]] == pytest.approx(7.0 + 0.125 + 1)


def test_a_throttle_holds_for_what_is_leaving_too():
    story = Story(8.0)
    parcel = story.send(story.line.open(), 8 * MBIT)
    story.until(0.5)
    story.line.throttle(0.5, 1.0)
    story.until(2.5)
    story.line.throttle(2.5, 8.0)
    story.until(9.0)
    assert story.left[parcel] == pytest.approx(0.5 + 2.0 + 0.25)


def test_a_closed_lane_is_forgotten():
    story = Story(8.0, ms=500)
    lane, other = story.line.open(), story.line.open()
    story.send(lane, MBIT)
    rest = story.send(other, MBIT)
    story.send(lane, MBIT)
    story.until(0.2)
    story.line.close(lane)
    story.until(0.3)
    story.line.cut(0.3)
    story.line.heal(0.4)
    story.until(9.0)
    assert list(story.arrived) == [rest]


events = st.one_of(
    st.tuples(st.just("send"), st.integers(0, 3), st.integers(1, 400_000), st.booleans()),
    st.tuples(st.just("cut")),
    st.tuples(st.just("heal")),
    st.tuples(st.just("throttle"), st.sampled_from([None, 0.5, 8.0, 100.0])),
)


@given(
    st.lists(st.tuples(st.floats(0.0, 0.3), events), max_size=40), st.sampled_from([0.0, 30.0]), st.floats(0.0, 0.01)
)
def test_whatever_happens_each_message_arrives_once_and_in_order(happenings, ms, late):
    story = Story(8.0, ms)
    lanes = [story.line.open() for _ in range(4)]
    sent = []
    for pause, (what, *given_) in happenings:
        story.until(story.now + pause, late)
        if what == "send":
            lane, size, urgent = given_
            sent.append(story.send(lanes[lane], size, urgent=urgent))
        elif what == "cut":
            story.line.cut(story.now)
            story.until(story.now, late)
            before = len(story.arrived)
            story.until(story.now + 0.5, late)
            assert len(story.arrived) == before
        elif what == "heal":
            story.line.heal(story.now)
        else:
            story.line.throttle(story.now, *given_)
    story.line.heal(story.now)
    story.line.throttle(story.now, 8.0)
    story.until(story.now + 100, late)
    for lane in lanes:
        assert [one for one in story.arrived if one.lane is lane] == [one for one in sent if one.lane is lane]


def test_cuts_and_throttles_as_they_are_written():
    assert parse_cut("eu-dc:hq@20s+30s") == Disturbance("eu-dc", "hq", None, 20.0, 30.0)
    assert parse_cut("eu-dc : hq @ 1 minute") == Disturbance("eu-dc", "hq", None, 60.0, None)
    assert parse_throttle("eu-dc:hq@10mbps") == Disturbance("eu-dc", "hq", 10.0)
    assert parse_throttle("eu-dc:hq@0.5 Mbit/s@0s+2m") == Disturbance("eu-dc", "hq", 0.5, 0.0, 120.0)
    known = [("dc:1", "hq"), ("a@b", "dc")]
    assert parse_cut("hq:dc:1@5s", known) == Disturbance("hq", "dc:1", None, 5.0)
    assert parse_throttle("a@b:dc@1mbps", known) == Disturbance("a@b", "dc", 1.0)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_cut, "eu-dc:hq"),
        (parse_cut, "eu-dc@20s"),
        (parse_cut, ":hq@20s"),
        (parse_cut, "a:b:c@20s"),
        (parse_cut, "eu-dc:hq@soon"),
        (parse_cut, "eu-dc:hq@-5s"),
        (parse_cut, "eu-dc:hq@5s+0s"),
        (parse_cut, "eu-dc:hq@5s+"),
        (parse_cut, ""),
        (parse_throttle, "eu-dc:hq@20s"),
        (parse_throttle, "eu-dc:hq@0mbps"),
        (parse_throttle, "eu-dc:hq@fast@20s"),
        (parse_throttle, "@1mbps"),
        (parse_throttle, ""),
    ],
)
def test_what_cannot_be_understood_is_told_with_the_form(parse, text):
    with pytest.raises(InputError) as error:
        parse(text)
    assert "eu-dc:hq@" in (error.value.hint or "")


def test_a_link_that_does_not_exist_is_told_with_those_that_do():
    with pytest.raises(UnknownNameError, match="eu-dc:hq"):
        parse_cut("eu-cd:hq@5s", [("eu-dc", "hq")])


def test_what_happens_when():
    long, short = Disturbance("a", "b", None, 1.0, 5.0), Disturbance("a", "b", 2.0, 2.0)
    assert schedule([short, long]) == [(1.0, True, long), (2.0, True, short), (6.0, False, long)]
