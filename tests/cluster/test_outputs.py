"""What is said before delivered answers are removed, and before state is: by query and folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tradewind.cli import apply as applying
from tradewind.cli import stop as stopping
from tradewind.errors import InputError
from tradewind.frontends.deployment.check import load
from tradewind.runtime.cluster.changes import Changes, begins_anew
from tradewind.runtime.cluster.desired import Wanted
from tradewind.runtime.cluster.outputs import foreign, outputs, recomputed
from tradewind.runtime.cluster.planning import wanted_of

FILE = """
sites: {hq: {cores: 1}}
streams:
  sales:
    schema: ts TIMESTAMP, n INT
    time: ts
    at: {hq: {format: json, path: data, rows_per_second: 1, row_bytes: 9}}
queries:
  all_of_it: {sql: SELECT n FROM sales, deliver: {site: hq, format: json, path: out/all}}
  large: {sql: SELECT n FROM sales WHERE n > 1, deliver: {site: hq, format: json, path: out/large}}
"""
CHANGED = FILE.replace("n > 1", "n > 2")
BOTH = [
    {"query": "all_of_it", "site": "hq", "path": "out/all", "files": 3},
    {"query": "large", "site": "hq", "path": "out/large", "files": 2},
]


@pytest.fixture
def wanted(tmp_path: Path):
    (tmp_path / "data").mkdir()

    def made(text: str) -> Wanted:
        return wanted_of(load(text, str(tmp_path / "shop.yaml")), text, None, tmp_path / "figures")

    return made


def goal(changes: Changes) -> Wanted:
    assert changes.after is not None
    return changes.after


def changed(before: Wanted | None, after: Wanted, *, fresh: bool = False) -> Changes:
    anew = fresh or begins_anew(before, after, {})
    after = replace(after, fresh=fresh)
    if before is not None and not anew:
        after = replace(after, recomputed=recomputed(before, after))
    return Changes(before, after, anew)


def shown(changes: Changes, tmp_path: Path, alive: tuple[str, ...] = ("hq",)) -> dict[str, tuple[str, int | None]]:
    assert changes.after is not None
    old = None if changes.before is None else changes.before.declared(tmp_path)
    found = outputs(changes, old, changes.after.declared(tmp_path), BOTH, alive)
    return {one["query"]: (one["action"], one["files"]) for one in found}


def test_what_is_worked_out_again_is_removed_before(wanted, tmp_path):
    both = changed(wanted(FILE), wanted(CHANGED))
    # Both queries are one fragment, which is another one when one of them changes.
    assert shown(both, tmp_path) == {"all_of_it": ("removed", 3), "large": ("removed", 2)}
    assert goal(both).recomputed == ("all_of_it", "large")
    assert foreign(both, BOTH) == []
    assert shown(changed(wanted(FILE), wanted(FILE)), tmp_path) == {}
    # It counts on until a site that is away has seen to it, but not for queries that are not there any more.
    again = recomputed(goal(both), goal(both))
    assert again == ("all_of_it", "large")


def test_rows_that_were_pushed_cannot_be_read_again(wanted, tmp_path):
    pushed = FILE.replace("format: json, path: data, ", "format: push, ")
    change = changed(wanted(pushed), wanted(pushed.replace("n > 1", "n > 2")))
    found = outputs(change, None, goal(change).declared(tmp_path), BOTH, ("hq",))
    assert [one["unrepeatable"] for one in found] == [["sales"], ["sales"]]
    assert "without the rows that were pushed to sales before" in applying.outputs_told({"outputs": found})[0]


def test_sites_that_are_away_cannot_say_how_much_there_is(wanted, tmp_path):
    change = changed(wanted(FILE), wanted(CHANGED))
    found = outputs(change, wanted(FILE).declared(tmp_path), goal(change).declared(tmp_path), [], ())
    assert [one["files"] for one in found] == [None, None]
    assert "its site is not there to say how much" in applying.outputs_told({"outputs": found})[0]


def test_answers_of_others_are_in_the_way_unless_they_are_removed(wanted, tmp_path):
    first = changed(None, wanted(FILE))
    assert foreign(first, BOTH) == BOTH
    assert shown(first, tmp_path) == {}
    fresh = changed(None, wanted(FILE), fresh=True)
    assert foreign(fresh, BOTH) == []
    assert shown(fresh, tmp_path) == {"all_of_it": ("removed", 3), "large": ("removed", 2)}


def test_what_nobody_adds_to_any_more_stays(wanted, tmp_path):
    less = FILE[: FILE.index("  large:")]
    assert shown(changed(wanted(FILE), wanted(less)), tmp_path)["large"] == ("kept", None)
    elsewhere = FILE.replace("out/large", "out/other")
    assert shown(changed(wanted(FILE), wanted(elsewhere)), tmp_path) == {"large": ("elsewhere", None)}


STATUS = {
    "epoch": 7, "deployment": "shop",
    "sites": {"hq": {"fragments": {"hq-1": {}, "hq-2": {}}}, "north": {"fragments": {"north-1": {}}},
              "south": {"fragments": {}}},
    "queries": {"best": {"site": "hq", "path": "out/best", "final": 1200, "tentative": 8}},
}  # fmt: skip


def test_stopping_says_what_is_lost_and_asks(monkeypatch, capsys):
    asked = []

    class Client:
        def get(self, path: str):
            return STATUS

        def post(self, path: str, body: object):
            asked.append(path)
            return {"epoch": 8}

    monkeypatch.setattr(stopping, "client_of", lambda _: Client())
    with pytest.raises(InputError, match="nobody can be asked") as refused:
        stopping.stop()
    assert "tradewind pause" in str(refused.value.hint)
    said = capsys.readouterr().out
    assert "discards its state: of 3 fragments at hq, north" in said
    assert "best at hq, out/best: 1,200 final rows, 8 tentative ones, which never become final" in said
    assert asked == []
    stopping.stop(yes=True)
    assert asked == ["/v1/stop"]
    assert "epoch 8" in capsys.readouterr().out


def test_stopping_nothing_asks_nothing(monkeypatch, capsys):
    class Client:
        def get(self, path: str):
            return {"epoch": 7, "deployment": None}

    monkeypatch.setattr(stopping, "client_of", lambda _: Client())
    stopping.stop()
    assert capsys.readouterr().out == "nothing runs.\n"
