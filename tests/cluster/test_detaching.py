"""A fragment that delivers is moved: its work goes, delivering stays. What is wanted, and how that is led."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.cluster.test_arranging import Stage, staged
from tests.cluster.test_moving_state import MORE
from tests.cluster.test_splitting import again, cut, heated, moved, roads
from tests.fragments.test_sharing import DELIVERED
from tradewind.errors import InputError, RunError
from tradewind.fragments.deployed import Fragment
from tradewind.fragments.parting import places
from tradewind.frontends.deployment.file import deployment
from tradewind.runtime.cluster.changes import begins_anew, without
from tradewind.runtime.cluster.desired import Wanted, held_at
from tradewind.runtime.cluster.heat import proposals
from tradewind.runtime.cluster.moving_lead import begun
from tradewind.runtime.cluster.moving_reports import HandedTold, MoveTold
from tradewind.runtime.cluster.moving_routes import chosen
from tradewind.runtime.cluster.planning import wanted_also, wanted_of, with_moves
from tradewind.runtime.cluster.recut_lead import (
    Recuts,
    detach_begun,
    found_split,
    merge_begun,
    next_step,
    settles,
    split_begun,
    stayed,
)
from tradewind.runtime.cluster.reports import SiteReport


@pytest.fixture
def before(tmp_path) -> Wanted:
    file = tmp_path / "market.yaml"
    file.write_text(DELIVERED)
    return wanted_of(deployment(file), DELIVERED, None, tmp_path / "figures")


def apart_at(found: Wanted, site: str) -> Wanted:
    """What is wanted when its work is at a site."""
    asked = cut(detach_begun(found, chosen(found.deployed, "best"), site))
    step = next_step(asked, roads)
    assert step is not None
    return again(moved(step))


def work_of(found: Wanted) -> Fragment:
    return places(found.deployed, found.splits[0].parting)[0]


def test_the_work_goes_to_another_site_and_comes_home(before) -> None:
    root = chosen(before.deployed, "best")
    assert root.answers == ("best",)
    asked = detach_begun(before, root, "depot")
    assert asked.deployed == before.deployed, "nothing else runs before what is remembered was dealt out"
    assert held_at(asked, "hq") == {root.name}
    recuts = Recuts()
    assert [one["state"] for one in recuts.shown(asked)] == ["coming apart"]
    there = apart_at(before, "depot")
    assert [one["state"] for one in recuts.shown(there)] == ["apart"]
    assert work_of(there).site == "depot"
    assert next_step(there, roads) is None
    assert there.terms[work_of(there).name] == there.term == 2
    # From there to another one,
    on = begun(settles(there, there.splits[0], "south"), work_of(there).name, "south", roads())
    on = again(moved(on))
    assert (work_of(on).site, next_step(on, roads)) == ("south", None)
    # and home, where it is made one again.
    step = next_step(merge_begun(on, "best"), roads)
    assert step is not None
    home = next_step(moved(step), roads)
    assert home is not None
    assert home.recut is not None
    assert home.recut.joining
    whole = cut(home)
    assert {one.name for one in whole.deployed.fragments} == {one.name for one in before.deployed.fragments}
    assert whole.deployed.channels == before.deployed.channels
    assert (whole.splits, set(whole.intervals)) == ((), set(before.intervals))


def test_work_that_does_not_get_there_stays_where_it_is(before) -> None:
    asked = cut(detach_begun(before, chosen(before.deployed, "best"), "depot"))
    step = next_step(asked, roads)
    assert step is not None
    assert step.move is not None
    undone = stayed(replace(asked, term=step.term), step.move)
    assert undone.splits[0].merging, "at home it is one again"
    there = apart_at(before, "depot")
    move = begun(settles(there, there.splits[0], "hq"), work_of(there).name, "hq", roads())
    assert move.move is not None
    assert move.splits[0].merging
    back = stayed(replace(there, splits=move.splits), move.move)
    assert (back.splits[0].places, back.splits[0].merging) == (("depot",), False)
    assert next_step(back, roads) is None
    assert stayed(before, move.move) is before


def test_what_cannot_be_taken_apart_is_refused(before) -> None:
    root = chosen(before.deployed, "best")
    with pytest.raises(RunError, match="only until all is read"):
        detach_begun(replace(before, until_done=True), root, "depot")
    with pytest.raises(InputError, match="is at 'hq' already"):
        detach_begun(before, root, "hq")
    there = apart_at(before, "depot")
    with pytest.raises(InputError, match="in parts already, which are at depot"):
        split_begun(there, "best", 2, ["hq~2"])
    # Nobody makes it one again, or splits it, by himself.
    work = work_of(there)
    members = dict.fromkeys(["depot", "depot~2", "hq", "hq~2"], "x")
    for site in ("depot", "hq"):
        assert proposals(there, site, members, heated(work.name, 4.0, 50_000), 50.0) == []
        assert proposals(there, site, members, heated(work.name, 0.01, 3, count=700), 700.0) == []


def test_a_changed_file_and_more_queries_leave_the_work_where_it_is(before, tmp_path) -> None:
    there = apart_at(before, "depot")
    runs = {one.name for one in there.deployed.fragments}
    anew = with_moves(before, there, roads())
    assert {one.name for one in anew.deployed.fragments} == runs
    assert (anew.terms, anew.term, anew.intervals) == (there.terms, there.term, there.intervals)
    assert not begins_anew(there, anew, {})
    more, added = wanted_also(there, MORE, [], tmp_path, tmp_path / "figures")
    assert added == ["often"]
    assert runs < {one.name for one in more.deployed.fragments}
    assert not begins_anew(there, more, {})
    found = found_split(more, "best")
    assert found is not None
    assert [one.site for one in places(more.deployed, found.parting)] == ["depot"]
    assert {name: more.deployed.channels[name].hops for name in there.deployed.channels} == {
        name: one.hops for name, one in there.deployed.channels.items()
    }


BOTH = DELIVERED.replace(
    "channels:",
    DELIVERED[DELIVERED.index("  best:") : DELIVERED.index("channels:")]
    .replace("best", "also").replace("site: hq", "site: south") + "channels:",
)  # fmt: skip
"""The same question twice, and the second one's answers are delivered elsewhere."""


def test_a_query_that_needs_the_work_keeps_it_in_its_parts(tmp_path) -> None:
    file = tmp_path / "market.yaml"
    file.write_text(BOTH)
    first = wanted_of(deployment(file), BOTH, None, tmp_path / "figures")
    root = chosen(first.deployed, "best")
    assert (root.answers, len(root.outputs)) == (("best",), 1)
    there = apart_at(first, "depot")
    # Whoever asks for the other one means the same work.
    assert found_split(there, "also") == found_split(there, "best") == there.splits[0]
    rest = without(there.deployed, ["best"], there.splits)
    assert {one.name for one in rest.fragments} == {one.name for one in there.deployed.fragments}
    fewer = replace(there, removed=("best",), deployed=rest)
    assert next_step(fewer, roads) is None
    more, added = wanted_also(fewer, MORE, [], tmp_path, tmp_path / "figures")
    assert added == ["often"]
    assert {one.name for one in rest.fragments} < {one.name for one in more.deployed.fragments}
    nothing = without(there.deployed, ["best", "also"], there.splits)
    assert not nothing.fragments


def test_work_to_whose_goal_no_way_leads_any_more_is_made_one_again(before) -> None:
    asked = cut(detach_begun(before, chosen(before.deployed, "best"), "depot"))
    nowhere = replace(roads(), links={})
    home = next_step(asked, lambda: nowhere)
    assert home is not None
    assert (home.move, home.splits[0].merging) == (None, True)
    joining = next_step(home, lambda: nowhere)
    assert joining is not None
    assert joining.recut is not None
    assert joining.recut.joining


@pytest.fixture
def stage(tmp_path, monkeypatch) -> Iterator[Stage]:
    yield from staged(tmp_path, monkeypatch, DELIVERED)


def taken(stage: Stage) -> None:
    """All sites have done their part in the move that is under way, and tell so until it is heard."""
    move, channels = stage.wanted.move, stage.wanted.deployed.channels
    assert move is not None
    work = next(one for one in stage.wanted.deployed.fragments if one.name == move.fragment)
    read: dict[str, int | None] = dict.fromkeys(work.inputs, 4)
    heads: dict[str, int | None] = dict.fromkeys(work.outputs)
    handed = HandedTold(digest="0" * 64, size=10, pieces=1, state_bytes=20, said=heads)
    copies = {site for name in work.outputs for site in channels[name].sites} - {move.source}
    told = [
        MoveTold(site=site, term=move.term, heads=heads, kept=read, begun_ago=0.5, batch_ago=0.1)
        for site in copies | {move.target}
    ]
    told.append(MoveTold(site=move.source, term=move.term, read=read, handed=handed))

    def over() -> bool:
        for one in told:
            stage.coordinator._lead.take(one)
        return stage.wanted.move is None

    stage.until(over, "it is there")
    stage.tell()


def test_what_delivers_is_taken_apart_moved_and_made_one_again(stage) -> None:
    runs = {one.name for one in stage.wanted.deployed.fragments}
    told = stage.coordinator.move("best", "depot")
    assert (told["source"], told["target"], told["apart"], told["term"]) == ("hq", "depot", 1, 2)
    assert stage.state() == "coming apart"
    with pytest.raises(RunError, match="is being taken apart"):
        stage.coordinator.move("best", "south")
    stage.cut()
    stage.until(lambda: stage.wanted.move is not None, "the work is on its way")
    assert (stage.wanted.move.term, stage.wanted.move.fragment) == (told["term"], told["fragment"])
    taken(stage)
    assert stage.state() == "apart"
    assert stage.coordinator.status()["moves"][-1]["arrives_as"] == told["arrives_as"]
    with pytest.raises(InputError, match="is at 'depot' already"):
        stage.coordinator.move("best", "depot")
    # A coordinator that starts again knows where it is.
    stage.restart()
    home = stage.coordinator.move("best", "hq")
    assert (home["source"], home["target"]) == ("depot", "hq")
    assert "apart" not in home
    taken(stage)
    stage.until(lambda: stage.wanted.recut is not None, "it is made one again")
    stage.cut()
    assert ({one.name for one in stage.wanted.deployed.fragments}, stage.wanted.splits) == (runs, ())


def test_a_move_that_is_undone_leaves_it_as_it_was(stage) -> None:
    runs = {one.name for one in stage.wanted.deployed.fragments}
    stage.coordinator.move("best", "depot")
    stage.cut()
    stage.until(lambda: stage.wanted.move is not None, "the work is on its way")
    stage.until(lambda: stage.coordinator._lead._term == stage.wanted.move.term, "its time is taken")
    stage.now += 301
    stage.tell()
    stage.until(lambda: stage.wanted.move is None, "the move is undone")
    stage.now += 31
    stage.tell()
    stage.until(lambda: stage.wanted.recut is not None, "it is made one again")
    stage.cut()
    assert ({one.name for one in stage.wanted.deployed.fragments}, stage.wanted.splits) == (runs, ())


def test_work_whose_goal_is_away_for_too_long_is_made_one_again(stage) -> None:
    stage.coordinator.move("best", "depot")
    with stage.coordinator._lock:
        del stage.coordinator.registry.heard["depot"]
    recut = stage.wanted.recut
    stage.coordinator._lead.take(MoveTold(site=recut.site, term=recut.term, recut=True))
    stage.until(lambda: stage.wanted.recut is None, "it is cut")
    stage.until(lambda: stage.coordinator._waits, "it is waited for")
    with pytest.raises(InputError, match="is at 'hq' already") as told:
        stage.coordinator.move("best", "hq")
    assert "tradewind merge best" in str(told.value)
    stage.now += 301
    stage.until(lambda: stage.wanted.recut is not None, "it is made one again")
    assert stage.wanted.recut.joining


def test_a_move_is_cancelled_in_each_phase_before_its_state_is_handed_over(stage) -> None:
    runs = {one.name for one in stage.wanted.deployed.fragments}
    with pytest.raises(InputError, match="nothing moves"):
        stage.coordinator.cancel_move()
    # While what delivers is taken apart:
    begun = stage.coordinator.move("best", "depot")
    assert stage.coordinator.cancel_move()["term"] == begun["apart"]
    assert (stage.wanted.recut, stage.wanted.splits) == (None, ())
    assert stage.coordinator.status()["splits"][-1]["problem"] == "it was cancelled"
    stage.tell()
    # While its work waits for a site that is late,
    begun = stage.coordinator.move("best", "depot")
    stage.now += 4
    stage.tell()
    with stage.coordinator._lock:
        stage.coordinator.registry.heard["depot"] = replace(stage.coordinator.registry.heard["depot"], at=0.0)
    recut = stage.wanted.recut
    stage.coordinator._recuts.later = float("-inf")
    stage.coordinator._lead.take(MoveTold(site=recut.site, term=recut.term, recut=True))
    stage.until(lambda: stage.coordinator._waits, "it is waited for")
    stage.coordinator._recuts.later = float("inf")
    assert stage.coordinator.cancel_move()["term"] == begun["term"]
    assert stage.wanted.splits[0].merging
    assert [one["state"] for one in stage.coordinator.status()["moves"]] == ["undone"]
    stage.tell()
    # and while it is prepared:
    begun = stage.coordinator.move("best", "depot")
    assert stage.coordinator.cancel_move()["fragment"] == begun["fragment"]
    assert stage.wanted.move is None
    last = stage.coordinator.status()["moves"][-1]
    assert (last["term"], last["state"], last["problem"]) == (begun["term"], "undone", "it was cancelled")
    stage.coordinator._recuts.later = float("-inf")
    stage.tell()
    stage.until(lambda: stage.wanted.recut is not None, "it is made one again")
    stage.cut()
    assert ({one.name for one in stage.wanted.deployed.fragments}, stage.wanted.splits) == (runs, ())


def test_a_move_whose_state_was_handed_over_is_not_cancelled(stage) -> None:
    stage.coordinator.move("best", "depot")
    stage.cut()
    stage.until(lambda: stage.wanted.move is not None, "the work is on its way")
    with stage.coordinator._lock:
        stage.coordinator._want(wanted=replace(stage.wanted, move=replace(stage.wanted.move, phase="taking")))
    with pytest.raises(RunError, match="was handed over to 'depot' already"):
        stage.coordinator.cancel_move()


@pytest.mark.parametrize("apart", [True, False])
def test_a_move_is_undone_at_once_when_an_agent_was_killed(stage, apart) -> None:
    """While it is taken apart, and while it is on its way."""
    stage.coordinator.move("best", "depot")
    if not apart:
        stage.cut()
        stage.until(lambda: stage.wanted.move is not None, "the work is on its way")
        stage.until(lambda: stage.coordinator._lead._term == stage.wanted.move.term, "its time is taken")
    else:
        stage.until(lambda: stage.coordinator._recuts._term == stage.wanted.recut.term, "its time is taken")
    again = SiteReport(
        site="depot", agent="another", number=1, epoch=stage.coordinator._desired.epoch, state="starting"
    )
    stage.coordinator.registry.take(again, stage.now)
    stage.until(lambda: (stage.wanted.move, stage.wanted.recut) == (None, None), "the move is undone")
    told = stage.coordinator.status()["splits" if apart else "moves"]
    assert "depot was started again" in [one["problem"] for one in told]
