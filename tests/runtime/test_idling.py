"""Who is idle, whom idle origins follow, and who is waited for: by clocks that tests set."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shorthand import grouped, stream, tumbling
from tradewind.algebra.graph import Graph
from tradewind.algebra.idleness import Place
from tradewind.interpreter.rows import NEVER
from tradewind.interpreter.run import Run
from tradewind.runtime.assembling import StandsStillError
from tradewind.runtime.idling import Idling
from tradewind.runtime.waiting import Waiting
from tradewind.spark.silence import Silence

S = 1_000_000
LOG = stream("log", "ts TIMESTAMP, k STRING", late_by=2 * S, origins=("eu", "us"))
COUNTS = Graph.of(counts=grouped(LOG, "k", tumbling(10 * S), n="count(*)"))
EU, US = ("log", "eu"), ("log", "us")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Fragment:
    """Reads one origin; its marks are what was committed."""

    def __init__(self, place: Place, clock: Clock) -> None:
        self.place, self.clock = place, clock
        self.mark = NEVER
        self.ended = False
        self.brake = False
        self.restart()

    def restart(self) -> None:
        """What is only remembered is forgotten."""
        self.silence = Silence(self.clock)

    @property
    def places(self) -> tuple[Place, ...]:
        return (self.place,)

    @property
    def marks(self) -> Mapping[str, Mapping[str, float]]:
        return {self.place[0]: {self.place[1]: self.mark}}

    def look(self) -> None:
        self.silence.looked((), self.places)

    def rows(self, *seconds: int) -> None:
        self.silence.looked(self.places, ())
        self.mark = max(self.mark, max(seconds) * S - LOG.late_by)

    def follow(self, due: Callable[[], Mapping[Place, float]]) -> bool:
        if self.brake:
            raise StandsStillError("it stands still.")
        moved = due()
        self.mark = max(self.mark, *moved.values()) if moved else self.mark
        return bool(moved)


class Watching:
    """Two fragments, each with an origin, and who watches them."""

    def __init__(self, *, alone: bool = True, every: float = 0.0) -> None:
        self.clock = Clock()
        self.fragments = {"f": Fragment(EU, self.clock), "g": Fragment(US, self.clock)}
        self.eu, self.us = self.fragments["f"], self.fragments["g"]
        self.idling = self.watch(alone=alone, every=every)

    def watch(self, *, alone: bool = True, every: float = 0.0) -> Idling:
        some: Any = self.fragments
        idling = Idling(lambda: some, lambda _: every, alone=alone, clock=self.clock)
        found: Any = SimpleNamespace(
            streams={"log": SimpleNamespace(idle_after=10 * S)}, queries={"counts": 1}, graph=lambda: COUNTS
        )
        idling.declare(found)
        return idling

    def restart(self) -> None:
        self.eu.restart()
        self.us.restart()
        self.idling = self.watch()

    def wait(self, seconds: float) -> None:
        self.idling.look()
        self.clock.now += seconds
        self.idling.look()


def test_silence_counts_from_the_first_look_that_finds_nothing() -> None:
    clock = Clock()
    silence = Silence(clock)
    assert silence.seconds(EU) is None
    assert not silence.lasts(EU, 0.0)
    silence.looked([EU], [])
    clock.now = 100.0  # nobody has looked since: rows may be there
    assert silence.seconds(EU) == 100.0
    assert not silence.lasts(EU, 1.0)
    silence.looked([], [EU])
    assert not silence.lasts(EU, 1.0)
    clock.now = 101.0
    assert silence.lasts(EU, 1.0)
    silence.looked([EU], [])
    assert not silence.lasts(EU, 0.0)


def test_an_origin_follows_the_others_once_it_is_idle_and_until_it_speaks() -> None:
    run = Watching()
    run.eu.rows(5)
    run.us.rows(100)
    run.wait(9.0)
    assert run.eu.mark == 3 * S
    run.us.rows(101)
    run.wait(1.0)
    assert (run.eu.mark, run.idling.origins()[EU].idle, run.idling.origins()[US].idle) == (99 * S, True, False)
    run.us.rows(200)
    run.wait(0.0)
    assert run.eu.mark == 198 * S
    run.eu.rows(50)
    run.us.rows(300)
    run.wait(5.0)
    assert (run.eu.mark, run.idling.origins()[EU].idle) == (198 * S, False)


def test_an_origin_that_never_spoke_and_a_whole_run_that_is_silent() -> None:
    run = Watching()
    run.wait(20.0)
    assert (run.eu.mark, run.us.mark) == (NEVER, NEVER)
    run.us.rows(100)
    run.wait(0.0)
    assert run.eu.mark == 98 * S
    run.wait(1000.0)
    run.wait(1000.0)
    assert (run.eu.mark, run.us.mark) == (98 * S, 98 * S)


def test_what_was_said_of_the_end_holds_while_all_are_silent() -> None:
    run = Watching()
    run.eu.rows(5)
    run.us.rows(100)
    run.eu.ended = run.us.ended = True
    run.wait(20.0)
    assert run.eu.mark == 3 * S
    run.us.ended = False
    run.us.rows(200)
    run.wait(1.0)
    assert run.eu.mark == 198 * S


def test_a_site_of_a_cluster_follows_what_it_is_told_and_only_while_it_is_idle() -> None:
    run = Watching(alone=False)
    run.us.rows(100)
    run.idling.told({EU: 77.0 * S})
    run.wait(9.0)
    assert run.eu.mark == NEVER
    run.wait(1.0)
    assert run.eu.mark == 77 * S
    run.eu.rows(10)
    run.idling.told({EU: 90.0 * S})
    run.wait(5.0)
    assert run.eu.mark == 77 * S


def test_a_fragment_that_stands_still_does_not_follow_and_nobody_does_too_often() -> None:
    run = Watching(every=3.0)
    run.us.rows(100)
    run.eu.brake = True
    run.wait(10.0)
    assert run.eu.mark == NEVER
    run.eu.brake = False
    run.us.rows(101)
    run.wait(0.0)
    assert run.eu.mark == 99 * S
    run.us.rows(110)
    run.wait(2.0)
    assert run.eu.mark == 99 * S
    run.wait(1.0)
    assert run.eu.mark == 108 * S


def test_what_goes_wrong_is_raised_to_who_waits() -> None:
    run = Watching()

    def fails() -> None:
        raise OSError("no space")

    run.eu.look = fails  # type: ignore[method-assign]
    run.idling.start()
    assert run.idling._thread is not None
    run.idling._thread.join()
    with pytest.raises(OSError, match="no space"):
        run.idling.raise_failure()
    run.idling.stop()


HAPPENS = st.lists(
    st.one_of(
        st.tuples(
            st.just("rows"), st.sampled_from(("eu", "us")), st.lists(st.integers(0, 200), min_size=1, max_size=3)
        ),
        st.tuples(st.just("wait"), st.just(""), st.lists(st.sampled_from((1, 5, 10)), min_size=1, max_size=1)),
        st.tuples(st.just("restart"), st.just(""), st.just([])),
    ),
    max_size=25,
)


@settings(max_examples=200)
@given(HAPPENS)
def test_marks_are_those_of_the_interpreter_whenever_a_run_is_begun_again(events) -> None:
    """What the run decides is told to the interpreter as idle origins; restarts forget who was silent, no mark."""
    run, meant = Watching(), Run(COUNTS)
    for kind, origin, given_ in events:
        if kind == "rows":
            fragment = run.eu if origin == "eu" else run.us
            fragment.rows(*given_)
            run.idling.look()
            meant.feed({"log": {origin: [(second * S, "x") for second in given_]}}, idle=idle_in(run))
        elif kind == "wait":
            run.wait(float(given_[0]))
            meant.feed({}, idle=idle_in(run))
        else:
            run.restart()
            # Whoever was idle is waited for again, until it is idle again.
            for state in meant._origins["log"].values():
                state.idle = False
        marks = {name: state.mark for name, state in meant._origins["log"].items()}
        assert marks == {"eu": run.eu.mark, "us": run.us.mark}, events


def idle_in(run: Watching) -> dict[str, list[str]]:
    return {"log": [site for (_, site), one in run.idling.origins().items() if one.idle]}


def test_who_is_waited_for_and_since_when() -> None:
    seconds = itertools.count(0.0, 10.0)
    waiting = Waiting(lambda: next(seconds))
    marks: dict[str, dict[str, float]] = {"q": {"s/eu": 5.0, "s/us": 9.0}, "r": {"s/us": 9.0}}
    assert waiting.look(marks, {}, ()) == {"q": {"s/eu": 0.0}}
    marks["q"]["s/us"] = 20.0
    assert waiting.look(marks, {}, ()) == {"q": {"s/eu": 10.0}}
    marks["q"]["s/eu"] = 6.0
    assert waiting.look(marks, {"q": ["s/eu"]}, ()) == {"q": {"s/eu": 0.0}}
    marks["q"] |= {"s/ap": 6.0}
    assert waiting.look(marks, {}, {"s/eu"}) == {"q": {"s/ap": 0.0}}
    marks["q"] = dict.fromkeys(marks["q"], 30.0)
    assert waiting.look(marks, {}, ()) == {}
