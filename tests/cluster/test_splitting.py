"""Fragments split over the agents of a site: what is wanted, how it is led, and when a site wants it. No processes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.cluster.test_moving import FILE
from tests.cluster.test_moving_state import MORE, wanted
from tradewind.errors import InputError, RunError, UnknownNameError
from tradewind.fragments.deployed import Deployed
from tradewind.fragments.parting import places
from tradewind.frontends.deployment.check import load
from tradewind.frontends.deployment.file import deployment
from tradewind.runtime.cluster.changes import begins_anew
from tradewind.runtime.cluster.desired import Wanted, held_at
from tradewind.runtime.cluster.heat import Batch, Heat, proposals
from tradewind.runtime.cluster.members import Members
from tradewind.runtime.cluster.moving import Moved
from tradewind.runtime.cluster.moving_lead import renamed
from tradewind.runtime.cluster.moving_reports import MoveTold
from tradewind.runtime.cluster.moving_routes import Roads, resettled
from tradewind.runtime.cluster.moving_site import guests_of
from tradewind.runtime.cluster.planning import wanted_also, wanted_of, with_moves
from tradewind.runtime.cluster.recut_lead import Recuts, found_split, merge_begun, next_step, split_begun
from tradewind.runtime.cluster.workers import home_of, with_workers, workers_of

WORKERS = ["depot~2", "depot~3", "hq~2"]


def roads() -> Roads:
    return Roads.of(with_workers(load(FILE, "market.yaml"), WORKERS))


def again(one: Wanted) -> Wanted:
    """What sites read of it."""
    found = Wanted.from_json(json.loads(json.dumps(one.to_json())))
    assert found == one
    return found


def cut(asked: Wanted, recuts: Recuts | None = None) -> Wanted:
    """What is wanted once the site has done it."""
    assert asked.recut is not None
    told = {asked.recut.site: MoveTold(site=asked.recut.site, term=asked.recut.term, recut=True)}
    after = (recuts or Recuts()).next(again(asked), told, 0.0, {})
    assert after is not None
    assert after.recut is None
    return again(after)


def moved(asked: Wanted) -> Wanted:
    """What is wanted when the move under way is over."""
    move = asked.move
    assert move is not None
    fragment = next(one for one in asked.deployed.fragments if one.name == move.fragment)
    done = Moved(move.term, move.fragment, move.arrives_as, move.source, move.target, 0)
    before, now = move.fragment, move.arrives_as
    return replace(
        asked, move=None, moved=(*asked.moved, done),
        deployed=resettled(asked.deployed, fragment, move.target, roads()),
        intervals=renamed(asked.intervals, before, now), horizons=renamed(asked.horizons, before, now),
        terms={**renamed(asked.terms, before, now), now: move.term},
    )  # fmt: skip


def split_over(found: Wanted, over: int, recuts: Recuts | None = None) -> Wanted:
    """What is wanted when it is split, and all shares are where they are to be."""
    asked = cut(split_begun(found, "best", over, WORKERS), recuts)
    while (after := next_step(asked, roads)) is not None:
        asked = moved(after)
    return asked


def sites_at_work(deployed: Deployed) -> list[str]:
    return sorted({one.site for one in deployed.fragments})


def test_workers_are_places_of_their_site(tmp_path) -> None:
    found = load(FILE.replace("region: us", "workers: 2"), "market.yaml")
    more = with_workers(found, ["hq", "hq~2", "depot~12", "moon~2", "hq~x"])
    assert set(more.sites) - set(found.sites) == {"hq~2", "depot~12"}
    assert more.sites["hq~2"].region == more.sites["hq"].region is not None
    assert more.sites["depot~12"].region == "eu"
    way = Roads.of(more).links
    assert way["hq", "hq~2"] == way["hq~2", "hq"]
    assert ("depot", "hq~2") not in way, "a worker is reached by way of its site"
    assert [home_of(one) for one in ("hq~2", "hq", "a~0", "~2")] == ["hq", "hq", "a~0", "~2"]
    assert workers_of("hq", ["depot~2", "hq~12", "hq~3"]) == ["hq~3", "hq~12"]
    members = Members(tmp_path)
    assert members.token("hq~2", 60.0).startswith("tw1.")
    for wrong in ("hq~1x", "hq~0", "~2", "hq~2~3"):
        with pytest.raises(InputError, match="no name of a site"):
            members.token(wrong, 60.0)


def test_a_split_goes_there_and_back(tmp_path) -> None:
    before, _ = wanted(tmp_path)
    asked = split_begun(before, "best", None, WORKERS)
    assert asked.recut is not None
    assert asked.deployed == before.deployed, "nothing else runs before what is remembered was dealt out"
    assert held_at(asked, "depot") == {asked.recut.split.whole.name}
    assert held_at(asked, "hq") == frozenset()
    assert guests_of(asked) == {one.name for one in asked.recut.arriving}
    recuts = Recuts()
    assert [one["state"] for one in recuts.shown(asked)] == ["splitting"]
    assert recuts.next(asked, {}, 0.0, {}) is None
    stale = {"depot": MoveTold(site="depot", term=0, recut=True)}
    assert recuts.next(asked, stale, 1.0, {}) is None
    apart = cut(asked, recuts)
    # All shares begin where the fragment was, younger than it.
    assert {apart.terms[one.name] for one in apart.deployed.fragments if one.site == "depot"} == {apart.term}
    assert set(apart.intervals) == {one.name for one in apart.deployed.fragments} == set(apart.horizons)
    assert [one["state"] for one in recuts.shown(apart)] == ["moving"]
    after = split_over(before, 3)
    assert sites_at_work(after.deployed) == ["depot", "depot~2", "depot~3", "hq", "north", "south"]
    assert [one["state"] for one in recuts.shown(after)] == ["split"]
    assert next_step(after, roads) is None
    with pytest.raises(InputError, match="split already"):
        split_begun(after, "best", 2, WORKERS)
    home = merge_begun(after, "best")
    while (step := next_step(home, roads)) is not None and step.recut is None:
        home = moved(step)
    assert step is not None
    assert step.recut is not None
    assert step.recut.joining
    assert held_at(step, "depot") == {one.name for one in step.recut.before}
    whole = cut(step)
    assert {one.name for one in whole.deployed.fragments} == {one.name for one in before.deployed.fragments}
    assert whole.deployed.channels == before.deployed.channels
    assert whole.terms[step.recut.split.whole.name] == whole.term > after.term
    assert whole.splits == ()
    assert set(whole.intervals) == set(before.intervals)


def test_what_takes_too_long_is_undone(tmp_path) -> None:
    before, _ = wanted(tmp_path)
    asked = split_begun(before, "best", 2, WORKERS)
    recuts = Recuts()
    assert recuts.next(asked, {}, 0.0, {}) is None
    undone = recuts.next(asked, {"depot": MoveTold(site="depot", term=1, problem="no disk")}, 500.0, {})
    assert undone is not None
    assert (undone.recut, undone.deployed, undone.splits, undone.term) == (None, before.deployed, (), 1)
    assert [(one["state"], one["problem"]) for one in recuts.shown(undone)] == [("not split", "no disk")]
    assert recuts.later > 500.0
    apart = cut(split_begun(before, "best", 2, WORKERS))
    joining = next_step(merge_begun(apart, "best"), roads)
    assert joining is not None
    assert joining.recut is not None
    assert recuts.next(joining, {}, 0.0, {}) is None
    back = recuts.next(joining, {}, 500.0, {})
    assert back is not None
    assert (back.recut, back.deployed) == (None, apart.deployed)
    assert [one.merging for one in back.splits] == [False]


def test_what_cannot_be_split_is_refused(tmp_path) -> None:
    before, _ = wanted(tmp_path)
    with pytest.raises(UnknownNameError, match="unknown fragment or query"):
        split_begun(before, "worst", 2, WORKERS)
    with pytest.raises(InputError, match="0 free workers"):
        split_begun(before, "best", 2, ["hq~2"])
    with pytest.raises(InputError, match="cannot be split over 4"):
        split_begun(before, "best", 4, WORKERS)
    leaf = next(one.name for one in before.deployed.fragments if one.site == "north")
    with pytest.raises(InputError, match="reads streams where they arise"):
        split_begun(before, leaf, 2, ["north~2"])
    with pytest.raises(RunError, match="only until all is read"):
        split_begun(replace(before, until_done=True), "best", 2, WORKERS)
    with pytest.raises(InputError, match="is not split"):
        merge_begun(before, "best")


def test_a_changed_file_leaves_splits_as_they_are(tmp_path) -> None:
    file = tmp_path / "market.yaml"
    file.write_text(FILE)
    first = wanted_of(deployment(file), FILE, None, tmp_path / "figures")
    after = split_over(first, 2)
    anew = with_moves(first, after, roads())
    assert {one.name for one in anew.deployed.fragments} == {one.name for one in after.deployed.fragments}
    assert (anew.terms, anew.term, len(anew.splits)) == (after.terms, after.term, 1)
    assert anew.intervals == after.intervals
    assert not begins_anew(after, anew, {})
    more, added = wanted_also(after, MORE, [], tmp_path, tmp_path / "figures")
    assert added == ["often"]
    kept = {one.name for one in after.deployed.fragments}
    assert kept < {one.name for one in more.deployed.fragments}
    assert set(more.intervals) >= kept
    assert not begins_anew(after, more, {})
    found = found_split(more, "best")
    assert found is not None
    assert [one.site for one in places(more.deployed, found.parting)] == ["depot", "depot~2"]


def heated(fragment: str, seconds: float, rows: int, count: int = 12, start: float = 0.0) -> Heat:
    heat, now = Heat(), start
    for _ in range(count):
        now += max(seconds, 1.0)
        heat.note(fragment, Batch(now, seconds, rows))
    return heat


def test_a_site_splits_what_is_hot_and_merges_what_is_idle(tmp_path) -> None:
    before, _ = wanted(tmp_path)
    whole = split_begun(before, "best", 2, WORKERS).recut.split.whole.name  # type: ignore[union-attr]
    members = dict.fromkeys(["depot", *WORKERS], "x")
    hot = heated(whole, 4.0, 50_000)
    assert [one.model_dump() for one in proposals(before, "depot", members, hot, 50.0)] == [
        {"kind": "split", "fragment": whole, "over": 3}
    ]
    assert proposals(before, "hq", members, hot, 50.0) == [], "not its own"
    assert proposals(before, "depot", {"depot": "x"}, hot, 50.0) == [], "nobody is free"
    for mild in (heated(whole, 4.0, 50_000, count=9), heated(whole, 4.0, 50), heated(whole, 2.0, 50_000)):
        assert proposals(before, "depot", members, mild, 50.0) == []
    slow = replace(before, intervals=dict.fromkeys(before.intervals, 5.0))
    assert proposals(slow, "depot", members, hot, 50.0) == [], "it may take so long"
    leaf = next(one.name for one in before.deployed.fragments if one.site == "north")
    assert proposals(before, "north", {"north~2": "x"}, heated(leaf, 4.0, 50_000), 50.0) == [], "it cannot be split"

    after = split_over(before, 2)
    home = places(after.deployed, after.splits[0].parting)[0].name
    assert proposals(after, "depot", members, heated(home, 4.0, 50_000), 50.0) == [], "it is split already"
    lazy = heated(home, 0.01, 3, count=700)
    assert [one.kind for one in proposals(after, "depot", members, lazy, 700.0)] == ["merge"]
    assert proposals(after, "depot", members, heated(home, 0.01, 3, count=100), 100.0) == [], "not for long enough"
    assert proposals(merge_begun(after, "best"), "depot", members, lazy, 700.0) == [], "it is on its way"
    lazy.forget([])
    assert proposals(after, "depot", members, lazy, 700.0) == []
