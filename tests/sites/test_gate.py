"""Commits are held back until they are worth a batch, and no longer than that."""

from __future__ import annotations

from tradewind.backbone.commits import Commit, Placed
from tradewind.runtime.gate import Gate


class Watched:
    """A gate with a clock that is set by hand."""

    def __init__(self, *ended: str) -> None:
        self.now = 0.0
        self.through: list[tuple[str, int]] = []
        self.gate = Gate("ab", ended, self.passed, patience=3.0, clock=lambda: self.now)

    def passed(self, channel: str, placed: Placed) -> None:
        self.through.append((channel, placed.number))

    def told(self, channel: str, number: int, *, closing: bool = False) -> None:
        self.gate.told(channel, Placed(number, Commit("f", 1, number, closing=closing)))


def test_commits_of_one_channel_wait_for_the_other() -> None:
    one = Watched()
    one.told("a", 1)
    one.told("a", 2)
    assert one.through == []
    one.told("b", 7)
    assert one.through == [("a", 1), ("a", 2), ("b", 7)]
    one.told("b", 8)
    assert len(one.through) == 3, "each round anew"


def test_they_do_not_wait_longer_than_they_may() -> None:
    one = Watched()
    one.told("a", 1)
    one.now = 2.9
    one.gate.look()
    assert one.through == []
    one.told("a", 2)
    one.now = 3.0
    one.gate.look()
    assert one.through == [("a", 1), ("a", 2)]


def test_a_channel_that_has_ended_is_not_waited_for_until_it_goes_on() -> None:
    one = Watched()
    one.told("a", 1)
    one.told("b", 2, closing=True)
    one.told("a", 3)
    assert one.through == [("a", 1), ("b", 2), ("a", 3)]
    one.told("b", 4)
    one.told("b", 5)
    assert len(one.through) == 3
    one.told("a", 6)
    assert one.through[3:] == [("b", 4), ("b", 5), ("a", 6)]
    known = Watched("b")
    known.told("a", 1)
    assert known.through == [("a", 1)], "it had ended before this run"
