"""Fragments split by key: what the parts do, that their union means the same, and what is refused."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest

from tests.cluster.test_moving import FILE
from tests.fragments.test_cut import planned
from tests.rewrites.comparing import same_answers
from tradewind.algebra.graph import Graph
from tradewind.errors import InputError
from tradewind.fragments.deployed import Deployed, Fragment
from tradewind.fragments.parting import merged, places, split
from tradewind.fragments.sharing import MOST, Sharing
from tradewind.fragments.written import fragment_from_data, fragment_to_data, from_data, to_data

SECOND = 1_000_000
DELIVERED = FILE.replace("pin: {partial: depot, merge: depot}", "pin: {partial: hq, merge: hq}")
GROUPS = {
    "by a fraction": ("count(*) AS n", "amount / 3"),
    "by nothing": ("count(*) AS n", "window(ts, '20 seconds')"),
}


def market(folder, text=FILE) -> Deployed:
    file = folder / "market.yaml"
    file.write_text(text)
    return planned(file)


def merging(deployed: Deployed) -> Fragment:
    return next(one for one in deployed.fragments if "merge" in [node.kind for node in one.operators])


@pytest.mark.parametrize(("text", "home"), [(FILE, "depot"), (DELIVERED, "hq")], ids=["sent on", "delivered"])
def test_shares_and_what_brings_them_together_fit(tmp_path, text, home) -> None:
    before = market(tmp_path, text)
    whole = merging(before)
    sharing = Sharing(whole, 3, 7)
    after = split(before, sharing)
    assert from_data(json.loads(json.dumps(to_data(after)))) == after
    assert sharing.keys == ("item",)
    assert [one.site for one in (*sharing.shares, sharing.together)] == [home] * 4
    # Rows are chosen before anything is done with them, and a row is in one share.
    for one in sharing.shares:
        assert [node.kind for node in one.operators][:2] == ["filter", "partial"]
    assert [node.kind for node in sharing.together.operators] == ["union", "top", "map"]
    assert (sharing.together.outputs, sharing.together.answers) == (whole.outputs, whole.answers)
    assert places(after, sharing) == sharing.shares
    # Nobody else notices.
    others = [one for one in before.fragments if one != whole]
    assert [one for one in after.fragments if one in others] == others
    assert {name: after.channels[name] for name in before.channels} == before.channels
    assert merged(after, sharing) == before
    assert len({one.name for one in (*sharing.shares, *Sharing(whole, 3, 8).shares)}) == 6, "each time others"


def test_what_is_split_means_the_same(tmp_path) -> None:
    found = market(tmp_path)
    whole = merging(found)
    chance = random.Random(3)
    data = {
        "sales": {
            shop: [(chance.randrange(60) * SECOND, f"i{chance.randrange(9)}", chance.randrange(5)) for _ in range(60)]
            for shop in ("north", "south")
        }
    }
    for count in (2, 5):
        sharing = Sharing(whole, count, 1)
        for name in whole.outputs:
            one, two = whole.graph[name], sharing.together.graph[name]
            same_answers(Graph.of(answer=one), Graph.of(answer=two), data, "split")
        rows: Counter = Counter()
        for number, share in enumerate(sharing.shares):
            rows[number] = len(share.graph.results)
        assert set(rows.values()) == {1}


def test_a_fragment_is_written_down_by_itself(tmp_path) -> None:
    for one in market(tmp_path).fragments:
        again = fragment_from_data(json.loads(json.dumps(fragment_to_data(one))))
        assert again == one
        assert again.name == one.name


def test_what_cannot_be_split_is_refused(tmp_path) -> None:
    found = market(tmp_path)
    whole = merging(found)
    for one in found.fragments:
        if one.sources:
            with pytest.raises(InputError, match="reads streams where they arise"):
                Sharing(one, 2, 1)
        elif one != whole:
            with pytest.raises(InputError, match="no grouping"):
                Sharing(one, 2, 1)
    for count in (0, 1, MOST + 1):
        with pytest.raises(InputError, match="2 to 32 shares"):
            Sharing(whole, count, 1)
    for select, by in GROUPS.values():
        start = FILE.index("      SELECT")
        text = FILE[:start] + f"      SELECT {select} FROM sales GROUP BY {by}\n" + FILE[FILE.index("    deliver") :]
        with pytest.raises(InputError, match="cannot be split"):
            Sharing(merging(market(tmp_path, text)), 2, 1)


def test_a_split_plan_is_still_a_plan(tmp_path) -> None:
    found = market(tmp_path)
    after = split(found, Sharing(merging(found), 2, 1))
    given: set[str] = set()
    for one in after.fragments:
        assert given.issuperset(one.inputs)
        given.update(one.outputs)
    assert given == set(after.channels)
    assert all(after.readers(name) for name in after.channels)
