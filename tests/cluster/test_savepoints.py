"""Savepoints: what the coordinator signs, keeps and refuses, with sites that are made up; and what a site copies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.backbone.servers import batch, connected, served
from tests.cluster.test_arranging import Stage, staged
from tests.cluster.test_moving import FILE, SITES
from tradewind.algebra.schema import parse_schema
from tradewind.backbone.channels import Limits, Reader, create
from tradewind.backbone.names import Address
from tradewind.cli import savepoint as saving_command
from tradewind.errors import InputError, RunError, UnknownNameError
from tradewind.runtime.cluster import site_saving
from tradewind.runtime.cluster.desired import Desired
from tradewind.runtime.cluster.reports import SiteReport
from tradewind.runtime.cluster.saving import Restoring, Saving
from tradewind.runtime.savepoints import copied, rebased, uri_of
from tradewind.spark.sinks import Files


@pytest.fixture
def stage(tmp_path, monkeypatch) -> Iterator[Stage]:
    yield from staged(tmp_path, monkeypatch, FILE)


def told(stage: Stage, sites: tuple[str, ...] = (*SITES,), **said: Any) -> None:
    for site in sites:
        stage.number += 1
        report = SiteReport(
            site=site, agent="made up", number=stage.number, epoch=stage.coordinator._desired.epoch, state="paused",
            run=stage.wanted.title, listens="127.0.0.1:7", **said,
        )  # fmt: skip
        stage.coordinator.registry.take(report, stage.now)


def taken(stage: Stage, name: str) -> None:
    stage.tell()
    stage.coordinator.savepoint(name)
    assert stage.wanted.saving is not None
    told(stage, saving=stage.wanted.saving.key, saved=True)
    stage.until(lambda: stage.wanted.saving is None, "all go on")


def states(stage: Stage) -> dict[str, str]:
    return {one["name"]: one["state"] for one in stage.coordinator.savepoints()}


def test_all_stand_still_until_every_site_has_saved_its_part(stage) -> None:
    begun = stage.coordinator.savepoint("noon")
    assert (begun["name"], begun["deployment"]) == ("noon", "market")
    key = stage.wanted.saving.key
    assert stage.wanted.paused
    assert Desired.from_json(stage.coordinator._desired.to_json()) == stage.coordinator._desired
    with pytest.raises(RunError, match="'noon' is being taken"):
        stage.coordinator.savepoint("later")
    with pytest.raises(RunError, match="'noon' is being taken"):
        stage.coordinator.resume()
    first, *others = SITES
    told(stage, (first,), saving=key, saved=True)
    # What a site tells of another one does not count.
    told(stage, (*others,), saving="another", saved=True)
    stage.coordinator._lead_on()
    assert states(stage) == {"noon": "saving"}
    # A coordinator that starts again goes on from there.
    stage.restart()
    told(stage, saving=key, saved=True)
    stage.until(lambda: stage.wanted.saving is None, "all go on")
    assert not stage.wanted.paused
    assert states(stage) == {"noon": "taken"}
    stage.tell()
    with pytest.raises(InputError, match="there is a savepoint 'noon' already"):
        stage.coordinator.savepoint("noon")
    with pytest.raises(InputError, match="no name for a savepoint"):
        stage.coordinator.savepoint("../noon")


def test_what_was_paused_stays_so(stage) -> None:
    stage.coordinator.pause()
    taken(stage, "noon")
    assert stage.wanted.paused


def test_a_savepoint_that_a_site_cannot_take_is_given_up(stage) -> None:
    stage.coordinator.savepoint("noon")
    told(stage, ("hq",), saving=stage.wanted.saving.key, unsaved="the disk is full")
    stage.until(lambda: stage.wanted.saving is None, "all go on")
    (shown,) = stage.coordinator.savepoints()
    assert (shown["state"], shown["problem"], stage.wanted.paused) == ("failed", "site hq: the disk is full", False)
    stage.tell()
    stage.coordinator.savepoint("noon")
    stage.coordinator._lead_on()
    stage.now += 601
    told(stage)
    stage.until(lambda: stage.wanted.saving is None, "all go on")
    assert "did not save within 600 s" in stage.coordinator.savepoints()[0]["problem"]


def test_a_deployment_that_does_not_fit_is_refused_with_what_differs(stage, monkeypatch) -> None:
    for module in ("coordinator", "savepoints"):  # nobody answers here
        monkeypatch.setattr(f"tradewind.runtime.cluster.{module}._PATIENCE", 0.1)
    taken(stage, "noon")
    known = stage.coordinator.known_savepoint("noon")
    generation = stage.wanted.generation
    apply, difference = stage.coordinator.apply, stage.coordinator.difference
    # Sites that are made up hold nothing.
    stage.tell()
    with pytest.raises(RunError, match="does not answer"):
        apply(FILE, "market.yaml", savepoint="noon")
    monkeypatch.setattr(stage.coordinator, "_require_saved", lambda _: None)
    with pytest.raises(UnknownNameError, match="unknown savepoint 'non'"):
        apply(FILE, "market.yaml", savepoint="non")
    with pytest.raises(InputError, match="exclude each other"):
        apply(FILE, "market.yaml", savepoint="noon", fresh=True)
    with pytest.raises(InputError, match="query 'best' has fragments that are not in the savepoint"):
        difference(FILE.replace("<= 3", "<= 4"), "market.yaml", savepoint="noon")
    with pytest.raises(InputError, match="without --until-done"):
        difference(FILE, "market.yaml", savepoint="noon", until_done=True)
    renamed = FILE.replace("  best:", "  better:")
    with pytest.raises(InputError, match="'better' is not in the savepoint; query 'best' is in the savepoint only"):
        difference(renamed, "market.yaml", savepoint="noon")
    shown = difference(FILE, "market.yaml", savepoint="noon")
    assert shown["anew"]
    assert "restored" in {one["action"] for one in shown["outputs"]}
    # Words may be others, and what runs may be anything.
    stage.coordinator.stop()
    apply(f"{FILE}# in other words\n", "market.yaml", savepoint="noon")
    assert stage.wanted.restores == Restoring("noon", known.key)
    assert stage.wanted.generation > generation
    assert {one.name for one in stage.wanted.deployed.fragments} == {
        one.name for one in known.wanted.deployed.fragments
    }
    # It stays so for a site that was away when it began, whatever changes.
    apply(FILE, "market.yaml")
    assert stage.wanted.restores == Restoring("noon", known.key)
    assert stage.coordinator.remove_savepoint("noon")["removed"] == "noon"
    assert stage.coordinator.savepoints() == []


def test_a_site_saves_and_puts_back_state_channels_and_answers(tmp_path) -> None:
    run, place, out = tmp_path / "runs" / "d-1", tmp_path / "savepoints", tmp_path / "out"
    fragment = run / "fragments" / "f"
    own = fragment / "sources" / "s" / "hq"
    log = fragment / "offsets" / "sources" / "0" / "0"
    for folder in (own, log.parent, out, run / "inbox" / "s" / "hq" / ".readers"):
        folder.mkdir(parents=True)
    (own / "rows-1.parquet").write_text("rows")
    log.write_text(f'v1\n{{"path":"{uri_of(own / "rows-1.parquet")}","timestamp":5,"batchId":0}}')
    (run / "inbox" / "s" / "hq" / ".readers" / "x").symlink_to(own)
    (run / "spark.log").write_text("long")
    (out / "batch-00000000-0.json").write_text("{}")
    sink = Files(out, "json", {}, parse_schema("n INT"))
    with served(tmp_path / "server") as server, connected(server.url) as connection:
        address = Address("d-1", "hq", "c")
        create(connection, address)
        first = batch(connection, address, 0)
        site_saving.save(
            place / "noon", Saving("noon", "k1"), title="d-1", run=run, backbone=server.url, sinks={"q": sink}
        )
        assert site_saving.keys_in(place) == {"noon": "k1"}
        # It all goes on.
        batch(connection, address, 1)
        (out / "batch-00000000-0.json").unlink()
        (out / "batch-00000001-0.json").write_text("{}")
        (own / "rows-1.parquet").unlink()
        again = tmp_path / "runs" / "d-2"
        anew: dict[str, Any] = {"title": "d-2", "run": again, "backbone": server.url, "limits": Limits()}
        with pytest.raises(InputError, match="is another one here"):
            site_saving.restore(place, Restoring("noon", "k2"), sinks={}, **anew)
        site_saving.restore(place, Restoring("noon", "k1"), sinks={"q": sink}, **anew)
        assert Reader(connection, Address("d-2", "hq", "c")).commits(0) == [first]
    assert [file.name for file in sink.published()] == ["batch-00000000-0.json"]
    moved = again / "fragments" / "f"
    (version, line) = (moved / "offsets" / "sources" / "0" / "0").read_text().splitlines()
    assert (version, json.loads(line)["path"]) == ("v1", uri_of(moved / "sources" / "s" / "hq" / "rows-1.parquet"))
    assert (moved / "sources" / "s" / "hq" / "rows-1.parquet").read_text() == "rows"
    (reader,) = (again / "inbox" / "s" / "hq" / ".readers").iterdir()
    assert reader.readlink() == moved / "sources" / "s" / "hq"
    assert not (again / "spark.log").exists()
    # What was saved is as it was, and can be put back again.
    assert str(own) in (place / "noon" / "state" / log.relative_to(run)).read_text()
    assert site_saving.asked({"kind": site_saving.REMOVING, "name": "noon", "key": "k2"}, place) == {"noon": "k1"}
    assert site_saving.asked({"kind": site_saving.REMOVING, "name": "noon", "key": "k1"}, place) == {}


def test_state_that_stays_where_it_is_is_not_touched(tmp_path) -> None:
    log = tmp_path / "a" / "offsets" / "sources" / "0" / "0"
    log.parent.mkdir(parents=True)
    log.write_text('v1\n{"path":"file:///elsewhere/x","timestamp":5,"batchId":0}')
    copied(tmp_path / "a", tmp_path / "b")
    rebased(tmp_path / "b", tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b" / log.relative_to(tmp_path / "a")).samefile(log)


class Client:
    """Answers with one state of a savepoint after the other."""

    def __init__(self, *states: str) -> None:
        self.states = list(states)

    def post(self, path: str, body: object) -> dict:
        return {"epoch": 5, "deployment": "shop", "name": "noon"}

    def get(self, path: str) -> dict:
        if path == "/v1/status":
            return {"state": "pausing"}
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        known = {"name": "noon", "state": state, "created": None, "deployment": "shop", "queries": ["q"]}
        return {"savepoints": [{**known, "sites": ["hq"], "problem": "no room" if state == "failed" else None}]}


def test_the_command_waits_and_says_how_it_went(monkeypatch, capsys) -> None:
    client = Client("saving", "taken")
    monkeypatch.setattr(saving_command, "client_of", lambda _: client)
    monkeypatch.setattr(saving_command, "_LOOK", 0.0)
    saving_command.savepoint("noon")
    assert capsys.readouterr().out == "savepoint noon of shop at hq.\n"
    saving_command.savepoint(listing=True)
    assert "noon" in capsys.readouterr().out
    client.states = ["failed"]
    with pytest.raises(RunError, match="no savepoint was taken: no room"):
        saving_command.savepoint("noon")
    with pytest.raises(InputError, match="give the name of a savepoint"):
        saving_command.savepoint()


def test_names_are_checked_when_they_are_read() -> None:
    good = Saving("noon", "k1", resumes=False)
    assert Saving.from_json(good.to_json()) == good
    for bad in ("", "../x", ".hidden", "a/b", "x" * 65):
        with pytest.raises(InputError):
            Restoring.from_json({**Restoring("a", "b").to_json(), "name": bad})
    assert replace(good, name="later").name == "later"


def test_paths_are_written_as_spark_writes_them() -> None:
    assert uri_of(Path("/a b/50%/#?[x]/ä")) == "file:///a%20b/50%25/%23%3F%5Bx%5D/ä"
