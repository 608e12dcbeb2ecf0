"""Fragments that cannot read what is there try again, each by itself and ever more seldom."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tradewind.errors import BadRecordsError
from tradewind.runtime.cluster.troubles import FIRST_PAUSE, LONGEST_PAUSE, LONGEST_TEXT, Troubles

FAILED = {"ams-1": BadRecordsError("data/a.parquet is damaged.")}


def test_a_fragment_tries_again_after_a_pause_that_doubles_and_others_are_left_alone() -> None:
    troubles, now = Troubles(), 0.0
    pauses = []
    for _ in range(8):
        assert troubles.note(FAILED, now) == ["data/a.parquet is damaged."]
        assert troubles.note(FAILED, now) == []
        begin = now
        while not (due := list(troubles.due(now))):
            now += 0.5
        assert due == ["ams-1"]
        assert list(troubles.due(now + 100)) == []
        pauses.append(now - begin)
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    assert (pauses[0], pauses[-1]) == (FIRST_PAUSE, LONGEST_PAUSE)


def test_a_batch_ends_the_trouble_and_so_does_leaving() -> None:
    troubles = Troubles()
    troubles.note({**FAILED, "ams-2": BadRecordsError("x" * 5_000)}, 0.0)
    assert len(troubles.problem_of("ams-2") or "") == LONGEST_TEXT
    assert troubles.problem_of("ams-3") is None
    troubles.over("ams-1")
    assert troubles.problem_of("ams-1") is None
    assert troubles
    troubles.keep({"ams-1", "ams-3"})
    assert not troubles
    assert list(troubles.due(1_000.0)) == []


@given(st.lists(st.sampled_from(["fails", "tries", "works"]), max_size=40))
def test_nobody_tries_who_has_not_failed_since(events) -> None:
    troubles, failing, now = Troubles(), False, 0.0
    for event in events:
        now += LONGEST_PAUSE
        match event:
            case "fails":
                failing = bool(troubles.note(FAILED, now)) or failing
            case "tries":
                assert (list(troubles.due(now + LONGEST_PAUSE)) == ["ams-1"]) is failing
                failing = False
            case "works":
                troubles.over("ams-1")
                failing = False
