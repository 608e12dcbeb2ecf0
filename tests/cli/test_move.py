"""`tradewind move` tells how far it is, ends when the move does, and undoes it when it is interrupted."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tradewind.cli import move as command
from tradewind.cli.main import app
from tradewind.errors import InputError, RunError

BEGUN = {"term": 2, "apart": 1, "fragment": "work@hq", "source": "hq", "target": "north"}
OVER = {
    **BEGUN, "arrives_as": "work@north", "problem": None, "state": "done", "handover_seconds": 0.7,
    "pause_seconds": 1.5, "state_bytes": 90, "bytes": 9,
}  # fmt: skip


class Cluster:
    """A coordinator that is made up: each look finds the next state, and the clock a few seconds later."""

    def __init__(self, *states: str | BaseException, problem: str | None = None) -> None:
        self.states, self.problem = list(states), problem
        self.posted: list[str] = []
        self.now = 0.0

    def post(self, path: str, _: dict[str, Any]) -> dict[str, Any]:
        self.posted.append(path)
        if path.endswith("cancel"):
            if self.states and self.states[0] == "taking":
                raise RunError("it was handed over already.")
            self.states = ["undone"]
        return BEGUN

    def get(self, _: str) -> dict[str, Any]:
        self.now += 4.0
        state = self.states.pop(0)
        if isinstance(state, BaseException):
            raise state
        if state == "coming apart":
            return {"moves": [], "splits": [{"term": 1, "state": state, "problem": None}]}
        return {"moves": [{**OVER, "state": state, "problem": self.problem}], "splits": []}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    def ran(cluster: Cluster, *words: str) -> Result:
        monkeypatch.setattr(command, "client_of", lambda _: cluster)
        monkeypatch.setattr(time, "sleep", lambda _: None)
        monkeypatch.setattr(time, "perf_counter", lambda: cluster.now)
        return CliRunner().invoke(app, ["move", *words], catch_exceptions=True)

    return ran


def test_phases_are_told_with_their_times(run) -> None:
    cluster = Cluster("coming apart", "preparing", "preparing", "preparing", "preparing", "handing", "taking", "done")
    done = run(cluster, "best", "north", "--json")
    assert done.exit_code == 0
    told = done.stderr.splitlines()
    assert told[1] == "   4.0 s  coming apart: its work is parted from delivering, where it is"
    assert told[2] == "   8.0 s  preparing: what it reads is brought to north; it goes on at hq"
    assert told[3].startswith("  20.0 s  still preparing")
    assert [line.split()[2].strip(":") for line in told[4:]] == ["handing", "taking"]
    found = json.loads(done.stdout)
    assert (found["state"], found["seconds"]) == ("done", 32.0)
    assert found["phases"] == {"coming apart": 4.0, "preparing": 16.0, "handing": 4.0, "taking": 4.0}


def test_a_move_that_was_undone_is_a_failure_with_its_cause(run) -> None:
    done = run(Cluster("preparing", "undone", problem="north was started again"), "best", "north", "--json")
    assert isinstance(done.exception, RunError)
    assert "north was started again" in str(done.exception)
    assert json.loads(done.stdout)["state"] == "undone"


def test_an_interrupt_undoes_it(run) -> None:
    cluster = Cluster("preparing", KeyboardInterrupt(), "undone")
    done = run(cluster, "best", "north")
    assert (done.exit_code, cluster.posted) == (130, ["/v1/move", "/v1/move/cancel"])
    assert "goes on where it was" in done.stderr


def test_an_interrupt_that_comes_too_late_is_told(run) -> None:
    done = run(Cluster("handing", KeyboardInterrupt(), "taking"), "best", "north")
    assert isinstance(done.exception, RunError)
    assert "it goes on: it was handed over already." in str(done.exception)


def test_a_move_can_be_cancelled_from_elsewhere(run) -> None:
    cluster = Cluster("preparing")
    done = run(cluster, "--cancel")
    assert (done.exit_code, cluster.posted) == (0, ["/v1/move/cancel"])
    assert done.stdout == "work@hq goes on where it was.\n"
    for words in (["best", "north", "--cancel"], ["best"], []):
        assert isinstance(run(cluster, *words).exception, InputError)
