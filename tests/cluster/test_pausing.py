"""A deployment that stands still for a while: what the coordinator signs, says and refuses; sites are made up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.test_arranging import Stage, staged
from tests.cluster.test_moving import FILE, SITES
from tradewind.cli import pause as pausing
from tradewind.errors import InputError, RunError
from tradewind.runtime.cluster.desired import Desired
from tradewind.runtime.cluster.reports import SiteReport


@pytest.fixture
def stage(tmp_path, monkeypatch) -> Iterator[Stage]:
    yield from staged(tmp_path, monkeypatch, FILE)


def told(stage: Stage, state: str, sites: tuple[str, ...] = (*SITES,)) -> str:
    """Sites report that they are so; how the cluster is then."""
    for site in sites:
        stage.number += 1
        epoch = stage.coordinator._desired.epoch
        own = [one.name for one in stage.wanted.deployed.fragments if one.site == site]
        report = SiteReport.model_validate({
            "site": site, "agent": "made up", "number": stage.number, "epoch": epoch, "state": state,
            "run": stage.wanted.title, "listens": "127.0.0.1:7",
            "fragments": {name: {"state": state} for name in own},
        })  # fmt: skip
        stage.coordinator.registry.take(report, stage.now)
    return str(stage.coordinator.status()["state"])


def test_it_is_paused_once_all_sites_stand_still_and_goes_on_from_there(stage) -> None:
    assert told(stage, "running") == "running"
    done = stage.coordinator.pause()
    assert (done["deployment"], done["changed"]) == ("market", True)
    first, *others = SITES
    assert told(stage, "paused", (first,)) == "pausing"
    assert told(stage, "paused", (*others,)) == "paused"
    # Twice is once.
    assert stage.coordinator.pause() == {**done, "changed": False}
    # It stays so when the coordinator is started again.
    stage.restart()
    assert told(stage, "paused") == "paused"
    status = stage.coordinator.status()
    assert status["paused"]
    assert {one["state"] for one in status["queries"].values()} == {"paused"}
    done = stage.coordinator.resume()
    assert done["changed"]
    assert told(stage, "running") == "running"
    assert stage.coordinator.resume() == {**done, "changed": False}


def test_what_is_paused_is_not_changed_but_may_begin_anew(stage) -> None:
    stage.coordinator.pause()
    epoch = stage.coordinator._desired.epoch
    changed = f"{FILE}# in other words\n"
    for refused in (
        lambda: stage.coordinator.move("best", "hq"),
        lambda: stage.coordinator.split("best"),
        lambda: stage.coordinator.remove("best"),
        lambda: stage.coordinator.apply(changed, "market.yaml"),
    ):
        with pytest.raises(RunError, match="market is paused") as why:
            refused()
        assert why.value.hint == "let it go on before: tradewind resume."
    assert stage.coordinator.apply(FILE, "market.yaml")["nothing"]
    assert (stage.coordinator._desired.epoch, stage.wanted.paused) == (epoch, True)
    stage.coordinator.apply(FILE, "market.yaml", fresh=True)
    assert not stage.wanted.paused


def test_what_moves_or_has_ended_or_does_not_run_is_not_paused(stage) -> None:
    stage.tell()
    stage.coordinator.move("best", "hq")
    with pytest.raises(RunError, match="is on its way"):
        stage.coordinator.pause()
    stage.coordinator.stop()
    for refused in (stage.coordinator.pause, stage.coordinator.resume):
        with pytest.raises(InputError, match="nothing runs"):
            refused()
    stage.coordinator.apply(FILE, "market.yaml", until_done=True)
    assert told(stage, "ended") == "ended"
    with pytest.raises(RunError, match="has come to its end"):
        stage.coordinator.pause()


def test_documents_of_before_are_not_paused(stage) -> None:
    data = stage.coordinator._desired.to_json()
    del data["wanted"]["paused"], data["wanted"]["recomputed"]
    assert Desired.from_json(data) == stage.coordinator._desired


class Client:
    """Answers with one state after the other."""

    def __init__(self, changed: bool, *states: str) -> None:
        self.changed, self.states = changed, list(states)

    def post(self, path: str, body: object) -> dict:
        return {"epoch": 5, "deployment": "shop", "changed": self.changed}

    def get(self, path: str) -> dict:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return {"state": state, "sites": {"hq": {"state": "alive"}}}


@pytest.mark.parametrize(
    ("command", "client", "said"),
    [
        (pausing.pause, Client(True, "pausing", "paused"), "shop is paused.\n"),
        (pausing.pause, Client(False, "paused"), "shop is paused already.\n"),
        (pausing.resume, Client(True, "starting", "running"), "shop goes on.\n"),
        (pausing.resume, Client(False, "running"), "shop is not paused.\n"),
    ],
)
def test_commands_say_what_is_so(command, client, said, monkeypatch, capsys) -> None:
    monkeypatch.setattr(pausing, "client_of", lambda _: client)
    monkeypatch.setattr(pausing, "_LOOK", 0.0)
    command()
    assert capsys.readouterr().out == said
    command(as_json=True)
    assert '"state": "' in capsys.readouterr().out
