"""A coordinator that leads splits, with a server of its own and sites that are made up: what it signs, and what not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.test_moving import FILE, SITES
from tradewind.errors import InputError, RunError, UnknownNameError
from tradewind.runtime.cluster.coordinator import Coordinator, Office
from tradewind.runtime.cluster.desired import Wanted
from tradewind.runtime.cluster.moving_reports import MoveTold
from tradewind.runtime.cluster.reports import Proposal, SiteReport
from tradewind.trust.identity import Identity

WORKER = "depot~2"


class Stage:
    """A coordinator, its sites, and the time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now, self.number = folder, 0.0, 0
        self.coordinator = self._started()
        for site in (*SITES, WORKER):
            token = self.coordinator.token(site, 600)
            _, csr = Identity.requested(folder / site, site)
            self.coordinator.join(token, csr.decode())
        self.tell()
        self.until(lambda: set(self.coordinator._desired.addresses) == {*SITES}, "addresses are known")

    def _started(self) -> Coordinator:
        office = Office(self.folder / "coordinator", ("127.0.0.1", 0), root=self.folder)
        made = Coordinator(office, clock=lambda: self.now)
        made.start()
        return made

    def restart(self) -> None:
        self.coordinator.stop_leading()
        self.coordinator = self._started()
        self.tell()

    def tell(self, site: str | None = None, *proposes: Proposal) -> None:
        """All sites report, and one of them wants something to be done."""
        self.number += 1
        for one in (*SITES, WORKER):
            told = SiteReport(
                site=one, agent="made up", number=self.number, epoch=self.coordinator._desired.epoch, state="running",
                listens=None if one == WORKER else "127.0.0.1:7", proposes=list(proposes) if one == site else [],
            )  # fmt: skip
            self.coordinator.registry.take(told, self.now)

    def until(self, holds, what: str) -> None:
        end = time.monotonic() + 20
        while not holds():
            assert time.monotonic() < end, what
            time.sleep(0.02)

    @property
    def wanted(self) -> Wanted:
        found = self.coordinator._desired.wanted
        assert found is not None
        return found

    def state(self) -> str | None:
        found = self.coordinator.status()["splits"]
        return found[-1]["state"] if found else None

    def merging(self) -> str:
        return next(one.name for one in self.wanted.deployed.fragments if one.site == "depot")

    def cut(self) -> None:
        """The site has done what was to be cut."""
        recut = self.wanted.recut
        assert recut is not None
        self.coordinator._lead.take(MoveTold(site=recut.site, term=recut.term, recut=True))
        self.until(lambda: self.wanted.recut is None, "it is cut")
        self.tell()


def staged(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Iterator[Stage]:
    """A stage on which a deployment is wanted."""
    # Sites that are made up answer nothing.
    monkeypatch.setattr("tradewind.runtime.cluster.coordinator._PATIENCE", 0.1)
    found = Stage(folder)
    found.coordinator.apply(text, "market.yaml")
    found.tell()
    yield found
    found.coordinator.stop_leading()


@pytest.fixture
def stage(tmp_path, monkeypatch) -> Iterator[Stage]:
    yield from staged(tmp_path, monkeypatch, FILE)


def test_a_split_is_led_from_step_to_step(stage) -> None:
    whole = stage.merging()
    with pytest.raises(InputError, match="is not split"):
        stage.coordinator.merge("best")
    begun = stage.coordinator.split("best")
    assert (begun["fragment"], begun["places"], begun["keys"]) == (whole, ["depot", WORKER], ["item"])
    assert stage.state() == "splitting"
    for refused in (stage.coordinator.split, stage.coordinator.merge, stage.coordinator.remove):
        with pytest.raises(RunError, match="is being split"):
            refused("best")
    stage.cut()
    stage.until(lambda: stage.wanted.move is not None, "a share goes to the worker")
    assert (stage.wanted.move.source, stage.wanted.move.target) == ("depot", WORKER)
    assert stage.state() == "moving"
    # A coordinator that starts again goes on from there.
    stage.restart()
    assert (stage.state(), stage.wanted.move.target) == ("moving", WORKER)
    # The share does not get there in time: it stays, and is sent again after a while.
    stage.coordinator._lead_on()
    stage.now += 301
    stage.tell()
    stage.until(lambda: stage.wanted.move is None, "the move is undone")
    assert len(stage.wanted.splits) == 1
    with pytest.raises(InputError, match="is split over"):
        stage.coordinator.move("best", "hq")
    with pytest.raises(UnknownNameError, match="unknown site"):
        stage.coordinator.move("best", WORKER)
    # All shares are at home, so that they can be made one at once.
    stage.tell()
    assert stage.coordinator.merge("best")["fragment"] == whole
    assert stage.wanted.recut is not None
    assert stage.state() == "merging"
    stage.cut()
    assert (stage.merging(), stage.wanted.splits) == (whole, ())
    assert stage.wanted.terms[whole] == stage.wanted.term


def test_a_coordinator_that_died_in_a_move_is_started_as_it_was_before(stage) -> None:
    stage.coordinator.move("best", "hq")
    stage.restart()
    epoch = stage.wanted.move is not None and stage.coordinator._desired.epoch
    done = stage.coordinator.apply(FILE, "market.yaml")
    assert (done["nothing"], done["epoch"], stage.wanted.move.target) == (True, epoch, "hq")
    with pytest.raises(RunError, match="is on its way to 'hq'"):
        stage.coordinator.apply(FILE.replace("<= 3", "<= 4"), "market.yaml")
    with pytest.raises(RunError, match="is on its way to 'hq'"):
        stage.coordinator.apply(FILE, "market.yaml", fresh=True)


def test_what_a_site_proposes_is_signed_if_it_is_its_own(stage) -> None:
    whole = stage.merging()
    for site, fragment in (("hq", whole), ("north", "nothing")):
        stage.tell(site, Proposal(kind="split", fragment=fragment, over=2))
        stage.coordinator._lead_on()
        assert stage.wanted.recut is None
    # What cannot be done is let alone for a while.
    stage.tell("depot", Proposal(kind="split", fragment=whole, over=5))
    stage.until(lambda: stage.coordinator._recuts.later > stage.now, "it is refused")
    stage.tell("depot", Proposal(kind="split", fragment=whole, over=2))
    stage.coordinator._lead_on()
    assert stage.wanted.recut is None
    stage.now += 31
    stage.tell("depot", Proposal(kind="split", fragment=whole, over=2))
    stage.until(lambda: stage.state() == "splitting", "it is split")
    stage.cut()
    stage.until(lambda: stage.wanted.move is not None, "a share goes to the worker")


def test_a_worker_that_nobody_reaches_gets_nothing(stage) -> None:
    with stage.coordinator._lock:
        stage.coordinator._want(addresses={})
        stage.number += 1
        stage.coordinator.registry.heard.clear()
        for one in (*SITES, WORKER):
            told = SiteReport(
                site=one, agent="made up", number=stage.number, epoch=stage.coordinator._desired.epoch, state="running"
            )
            stage.coordinator.registry.take(told, stage.now)
        with pytest.raises(RunError, match="cannot reach each other"):
            stage.coordinator.split("best")
    assert stage.wanted.recut is None
