"""What a site warns of is told once, where it is looked at: in the agent's log, and in the cluster's status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.backbone.servers import eventually
from tests.cluster.test_agent import FILE, working
from tradewind.frontends.deployment.check import load
from tradewind.runtime.cluster.reports import SiteReport
from tradewind.runtime.cluster.site_saving import SiteSaving
from tradewind.runtime.cluster.warned import Warned

SECRET = "Zq-hunter2-hunter2-Qz"
TABLES = """
tables: {limits: {schema: "n INT, most BIGINT", key: n}}
flow:
  kept: {box: update, in: s, table: limits, sql: "INSERT INTO limits (n, most) VALUES (:n, 1)", report: [ts, n]}
"""


def test_each_warning_is_kept_once_and_the_newest_stay():
    warned = Warned()
    warned.note(["a", "b"])
    warned.note(["b", "a", "c" * 5_000])
    assert warned.now(None) == ["a", "b", "c" * 2_000]
    warned.note(map(str, range(1_000)))
    assert warned.now(None)[-1] == "999"
    assert len(warned.now(None)) < 100


def test_a_place_is_told_of_until_it_is_there(tmp_path):
    warned, declared = Warned(), load(FILE, str(tmp_path / "d.yaml"))
    [warning] = warned.now(declared)
    assert f"there is no {tmp_path / 'data'} yet" in warning
    (tmp_path / "data").mkdir()
    assert warned.now(declared) == []


def test_status_tells_what_sites_warn_of(coordinator):
    coordinator.apply(FILE, "d.yaml")
    wanted = coordinator._desired.wanted
    assert wanted is not None

    def report(number: int, run: str) -> SiteReport:
        return SiteReport(site="ams", agent="a", number=number, epoch=1, state="running", run=run, warnings=["no k"])

    coordinator.registry.take(report(1, wanted.title), coordinator.clock())
    assert coordinator.status()["warnings"] == ["site ams: no k"]
    # What it says of a deployment that was there before is of no interest any more.
    coordinator.registry.take(report(2, "another"), coordinator.clock())
    assert coordinator.status()["warnings"] == []


class Running:
    """A run of a site that warns, and does nothing else."""

    ended, problem, restarts, refused, state = False, None, 0, 0, "running"

    def __init__(self, _, wanted, *__):
        self.wanted, self.said = wanted, ["no column k"]
        self.links = self.read = self.channels = self.origins = list
        self.saving = SiteSaving(Path())
        self.fragments = self.answers = dict

    def warnings(self):
        return list(self.said)

    def proposes(self, _):
        return []

    def look(self):
        """Nothing changes."""

    def stop(self):
        """Nothing is left."""


def test_an_agent_says_each_warning_once_in_its_log(coordinator, tmp_path, monkeypatch):
    monkeypatch.setattr("tradewind.runtime.cluster.agent.SiteRun", Running)
    said = list[str]()
    with working(coordinator, tmp_path / "ams", said) as agent:
        coordinator.apply(FILE, "d.yaml")
        eventually("status tells it", lambda: coordinator.status()["warnings"] == ["site ams: no column k"])
        run: Any = agent._run
        run.said.append("no file f")
        eventually("and what comes", lambda: len(coordinator.status()["warnings"]) == 2)
        lines = [one for one in said if "warning" in one]
        assert lines == ["site ams: warning: no column k", "site ams: warning: no file f"]


@pytest.mark.parametrize(
    "tables",
    [
        "sqlite:////nowhere/${env:NAME}/x.db",
        pytest.param("sqlite:///../${env:NAME}", marks=pytest.mark.slow),
        pytest.param("${env:NAME}", marks=pytest.mark.slow),
    ],
)
def test_what_fails_with_a_secret_in_it_tells_it_to_nobody(coordinator, tmp_path, monkeypatch, tables):
    """A real agent whose tables cannot be where they are to be: status, descriptions, log and files."""
    monkeypatch.setenv("TRADEWIND_TEST_SECRET", SECRET if tables != "${env:NAME}" else f"sqlite:////{SECRET}/x")
    place = json.dumps(tables.replace("NAME", "TRADEWIND_TEST_SECRET"))
    text = FILE.replace("{cores: 1}", f"{{cores: 1, tables: {place}}}") + TABLES
    text = text.replace("sql: SELECT n FROM s", "from: kept")
    folder, said = tmp_path / "ams", list[str]()
    (folder / "data").mkdir(parents=True)
    with working(coordinator, folder, said):
        coordinator.apply(text, "d.yaml")
        eventually("it fails", lambda: coordinator.status()["sites"]["ams"].get("problem") is not None, 30)
        shown = [coordinator.status(), coordinator.stats(), coordinator.metrics(), coordinator.streams()]
        shown += [coordinator.describe(one["name"]) for one in coordinator.entities()]
        assert coordinator.describe("limits")["table"]["key"] == ["n"]
        assert "TRADEWIND_TEST_SECRET" in coordinator.status()["sites"]["ams"]["problem"]
    kept = [path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file()]
    assert SECRET not in "\n".join([*map(repr, shown), *said, *kept])
    assert any("outside of the folder" in one for one in said)
