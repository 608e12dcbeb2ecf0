"""An agent's line to its coordinator, both of them real, without anything that would run."""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from tests.backbone.servers import eventually
from tests.cluster.lines import at_work, joined
from tests.patience import within
from tradewind.backbone import catalog
from tradewind.backbone.connection import Connection, ShutOutError
from tradewind.backbone.control import NEWS
from tradewind.cli.apply import told
from tradewind.errors import RunError
from tradewind.runtime.cluster import control
from tradewind.runtime.cluster.coordinator import Coordinator, Office
from tradewind.runtime.cluster.delivered import answered
from tradewind.runtime.cluster.reaching import Reaching


@pytest.fixture
def reads(monkeypatch):
    """The times at which an agent has read the document."""
    found: list[float] = []

    def get(*given):
        found.append(time.perf_counter())
        return catalog.get(*given)

    monkeypatch.setattr(control, "catalog", type("Counted", (), {"get": staticmethod(get)}))
    return found


def test_what_is_wanted_is_read_when_it_is_said_to_be_new(coordinator, tmp_path, reads):
    with at_work(coordinator, "ams", tmp_path / "ams") as agent:
        agent.has(lambda: coordinator._desired.epoch)
        time.sleep(1.0)
        agent.look()
        before = len(reads)
        time.sleep(2.0)
        assert len(reads) == before  # nobody said anything
        for _ in range(3):
            said = time.perf_counter()
            coordinator._want()
            agent.has(lambda: coordinator._desired.epoch)
            assert time.perf_counter() - said < within(1.0)
        assert before < len(reads) <= before + 6
        agent.look()
        before = len(reads)
        coordinator._wired.publish(NEWS, str(agent.epoch).encode())
        time.sleep(0.5)
        assert len(reads) == before  # it has that


def test_words_that_lie_cause_reading_and_no_more(coordinator, tmp_path, reads):
    with at_work(coordinator, "ams", tmp_path / "ams") as agent:
        agent.has(lambda: coordinator._desired.epoch)
        for notice in (b"", b"x" * 1000, b"9" * 18, b"9" * 5000, "²".encode(), b"-1", b"\xff"):
            before, begin = len(reads), time.perf_counter()
            for _ in range(100):
                coordinator._wired.publish(NEWS, notice)
            time.sleep(0.3)
            assert before < len(reads) <= before + 2 + 10 * (time.perf_counter() - begin)
        # And what is truly new is still heard of.
        coordinator._want()
        agent.has(lambda: coordinator._desired.epoch)


def test_what_was_missed_is_read_when_the_coordinator_is_there_again(coordinator, tmp_path):
    with at_work(coordinator, "ams", tmp_path / "ams") as agent:
        agent.has(lambda: coordinator._desired.epoch)
        # Its server begins anew, and what is said meanwhile is not heard.
        os.kill(coordinator._server.server.pid, signal.SIGKILL)
        coordinator._want()
        begin = time.perf_counter()
        agent.has(lambda: coordinator._desired.epoch)
        assert time.perf_counter() - begin < within(8.0)


def test_a_site_that_is_shut_out_says_so_once(coordinator, tmp_path):
    with at_work(coordinator, "ams", tmp_path / "ams") as agent:
        agent.has(lambda: coordinator._desired.epoch)
        begin = time.perf_counter()
        coordinator.revoke("ams")
        eventually("it is said", lambda: agent.look() >= 0 and bool(agent.said), seconds=20)
        assert time.perf_counter() - begin < within(10)
        assert "refuses this site's certificate" in agent.said[0]
        assert "tradewind token ams" in agent.said[0]
        time.sleep(2)
        assert len(agent.said) == 1


def test_it_is_said_once_that_the_coordinator_is_away_and_once_that_it_is_back():
    said: list[str] = []
    reaching = Reaching("hq.example.org:7471", "ams", said.append)
    away, refused = RunError("nobody answers."), ShutOutError("no.")
    for second in range(100):
        reaching.failed(away, 7, 1000.0 + second)
        assert len(said) == (second >= 10)
    assert said == [
        "site ams: cannot reach the coordinator at hq.example.org:7471 for 10 s; goes on with epoch 7. nobody answers."
    ]
    reaching.reached(1100.0)
    reaching.reached(1101.0)
    assert said[1:] == ["site ams: the coordinator at hq.example.org:7471 is reached again, after 100 s"]
    # What is over at once is not worth a word; another reason is.
    reaching.failed(away, 7, 1200.0)
    reaching.reached(1201.0)
    assert len(said) == 2
    for second in range(20):
        reaching.failed(refused if second > 12 else away, 7, 1300.0 + second)
    assert ["cannot reach" in one for one in said[2:]] == [True, False]


def test_somebody_else_at_the_coordinators_address_is_no_shutting_out(coordinator, tmp_path):
    identity = joined(coordinator, "ams", tmp_path / "ams")
    other = Coordinator(Office(tmp_path / "other", ("127.0.0.1", 0), root=tmp_path))
    other.start()
    try:
        with pytest.raises(RunError, match="verify failed") as refused:
            Connection.open(
                f"tls://127.0.0.1:{other.port}", patience=0, tls=identity.client_context(), whom="coordinator.tradewind"
            )
        assert not isinstance(refused.value, ShutOutError)
    finally:
        other.stop_leading()


FILE = """
sites: {hq: {cores: 1}}
streams:
  sales:
    schema: ts TIMESTAMP, n INT
    time: ts
    at: {hq: {format: json, path: data, rows_per_second: 1, row_bytes: 9}}
queries:
  all_of_it: {sql: SELECT n FROM sales, deliver: {site: hq, format: json, path: out/all}}
  seen: {sql: SELECT n FROM sales WHERE n > 1, deliver: {site: hq, format: console}}
"""


def test_answers_that_are_there_already_are_told_before_anything_is_done(coordinator, tmp_path):
    (tmp_path / "data").mkdir()
    root = tmp_path / "site"
    (root / "out" / "all").mkdir(parents=True)
    with at_work(
        coordinator, "hq", tmp_path / "hq", partial(answered, site="hq", root=root, state=tmp_path / "hq")
    ) as agent:
        eventually("it reports", lambda: agent.look() >= 0 and bool(coordinator.registry.alive(coordinator.clock())))
        assert coordinator.difference(FILE, "shop.yaml")["delivered"] == []
        (root / "out" / "all" / "batch-00000000-0.json").write_text("{}")
        agent.look()
        eventually("it reports", lambda: agent.look() >= 0 and bool(coordinator.registry.alive(coordinator.clock())))
        there = [{"query": "all_of_it", "site": "hq", "path": "out/all", "files": 1}]
        shown = coordinator.difference(FILE, "shop.yaml")
        assert shown["delivered"] == there
        told_of = told(shown, Path("shop.yaml"))
        assert "answers of all_of_it are at hq already (out/all): --fresh removes them" in told_of
        epoch = coordinator._desired.epoch
        with pytest.raises(RunError, match="all_of_it at hq") as refused:
            coordinator.apply(FILE, "shop.yaml")
        assert "--fresh" in str(refused.value.hint)
        assert (coordinator._desired.epoch, coordinator._desired.wanted) == (epoch, None)
        shown = coordinator.difference(FILE, "shop.yaml", fresh=True)
        assert shown["delivered"] == []
        assert shown["outputs"] == [{**there[0], "action": "removed", "unrepeatable": []}]
        removed = "delivered by all_of_it at hq in out/all (1 file): is removed, and worked out again"
        assert removed in told(shown, Path("shop.yaml"))
        coordinator.apply(FILE, "shop.yaml", fresh=True)
        # What goes on goes on with its own answers.
        assert coordinator.difference(FILE, "shop.yaml")["delivered"] == []
        coordinator.stop()
        with pytest.raises(RunError, match="all_of_it at hq"):
            coordinator.apply(FILE, "shop.yaml")


def test_sites_that_are_not_there_cannot_be_asked(coordinator, tmp_path):
    (tmp_path / "data").mkdir()
    assert coordinator.apply(FILE, "shop.yaml")["delivered"] == []
