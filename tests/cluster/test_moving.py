"""Fragments move from site to site while rows keep coming: nothing is lost, nothing counts twice, whoever is killed."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

import tradewind as tw
from tests.cluster.clusters import COMMAND, Cluster, two_ports
from tests.patience import within
from tests.sites.shops import write
from tradewind.errors import InputError, RunError, UnknownNameError
from tradewind.interpreter.run import Run
from tradewind.runtime.answers import answer_of

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.faults, pytest.mark.timeout(1800)]

SECOND = 1_000_000
OVER = {"done", "undone"}
SITES = ("north", "south", "depot", "hq")
SHOPS = ("north", "south")
FILE = """
sites:
  north: {cores: 1, region: eu}
  south: {cores: 1, region: eu}
  depot: {cores: 2, region: eu}
  hq: {cores: 2, region: us}
links:
  - {between: [north, depot], mbps: 50, ms: 2, usd_per_gb: 0.02}
  - {between: [south, depot], mbps: 50, ms: 2, usd_per_gb: 0.02}
  - {between: [depot, hq], mbps: 50, ms: 5, usd_per_gb: 0.09}
streams:
  sales:
    schema: ts TIMESTAMP, item STRING, amount BIGINT
    time: ts
    late_by: 5 seconds
    distinct: {item: 8}
    at:
      north: {format: parquet, path: data/north, rows_per_second: 100}
      south: {format: parquet, path: data/south, rows_per_second: 100}
queries:
  best:
    sql: |
      SELECT window.start AS begin, item, sum(amount) AS sold, count(*) AS sales FROM sales WHERE amount > 0
      GROUP BY window(ts, '20 seconds'), item
      QUALIFY row_number() OVER (PARTITION BY window ORDER BY sold DESC, item) <= 3
    deliver: {site: hq, format: parquet, path: out/best}
    pin: {partial: depot, merge: depot}
    fresh_within: 3 seconds
channels: {keep_megabytes: 0.001}
"""


class Market(Cluster):
    """Two shops whose sales are merged at a depot and delivered at headquarters. Sales keep coming while it sells."""

    all_sites: tuple[str, ...] = SITES
    shops: tuple[str, ...] = SHOPS

    def __init__(self, folder: Path, text: str = FILE) -> None:
        super().__init__(folder)
        self.file = folder / "market.yaml"
        self.file.write_text(text)
        self.found = tw.deployment(self.file)
        self._run = Run(self.found.graph(), {"sales": list(self.shops)})
        self.files = 0
        # Whoever is started again is met where it was before.
        self.listen = f"127.0.0.1:{two_ports()}"

    def sell(self) -> None:
        """One more file for each shop: ten sales, in two seconds of theirs."""
        schema = self.found.streams["sales"].source.schema
        for number, shop in enumerate(self.shops):
            begin = self.files * 2 * SECOND
            some = [(begin + n * SECOND // 5, f"i{(n * 7 + self.files + number) % 8}", n % 5) for n in range(10)]
            write(self.folder / "data" / shop, some, schema, 1, first=self.files)
            self._run.feed({"sales": {shop: some}})
        self.files += 1

    @contextmanager
    def selling(self):
        """Sales come all the time."""
        closed = threading.Event()

        def always() -> None:
            while not closed.wait(2.0):
                self.sell()

        seller = threading.Thread(target=always)
        seller.start()
        try:
            yield
        finally:
            closed.set()
            seller.join()

    def begin(self) -> None:
        self.sell()
        self.serve(str(self.file), listen=self.listen)
        for site in self.all_sites:
            self.agent(site)
        self.until_state("running")
        self.check()

    def expected(self) -> Counter:
        return self._run.answer("best")

    def answer(self) -> Counter:
        try:
            found = answer_of("best", self.found.queries["best"], self.folder)
        except InputError:
            return Counter()
        return Counter({row[:-1]: weight for row, weight in found.items()})

    def check(self) -> None:
        """Wait for the answer of all that was sold; nothing is, meanwhile."""
        expected = self.expected()
        self.until(lambda: self.answer() == expected, 300, "the answer is right")

    def merging(self) -> str:
        """Where the sales are merged."""
        found = self.client.get("/v1/describe/best")["query"]["fragments"]
        sites = [self.client.get(f"/v1/describe/{name}")["fragment"] for name in found]
        return next(
            str(one["site"]) for one in sites if not one["answers"] and one["writes"] and len(one["reads"]) == 2
        )

    def move(self, site: str) -> dict:
        term = self.client.post("/v1/move", {"what": "best", "site": site})["term"]
        self.until(lambda: self.status()["moves"][-1]["state"] in OVER, 400, f"it is at {site}")
        found: dict = self.status()["moves"][-1]
        print(found)
        assert (found["term"], found["state"]) == (term, "done")
        assert self.merging() == site == found["target"]
        return found

    def until_phase(self, phase: str) -> None:
        end = time.monotonic() + 200
        while (moves := self.status()["moves"])[-1]["state"] != phase:
            assert time.monotonic() < end, moves
            time.sleep(0.02)


def test_fragments_move_while_rows_come_whoever_is_killed(tmp_path, subtests):
    """One market for all of it: whoever is killed is started again."""
    with Market(tmp_path) as market:
        market.begin()
        with subtests.test("while it works"):
            _moves(market)
        for phase, killed in (("handing", "source"), ("taking", "target"), ("preparing", "coordinator")):
            with subtests.test(f"{killed} killed while {phase}"):
                _killed_in_the_middle(market, phase, killed)
        with subtests.test("a move that stands still for too long is undone"):
            _undone(market)
        with subtests.test("a move is undone by Ctrl-C"):
            _interrupted(market)


def _interrupted(market: Market) -> None:
    source = market.merging()
    target = "depot" if source == "hq" else "hq"
    with market.selling():
        moving = subprocess.Popen(
            [*COMMAND, "move", "best", target, "--json", "--at", str(market.state)], stdout=subprocess.PIPE, text=True
        )
        market.until_phase("preparing")
        moving.send_signal(signal.SIGINT)
        told, _ = moving.communicate(timeout=within(30))
    assert (moving.returncode, json.loads(told)["problem"]) == (130, "it was cancelled")
    market.check()
    assert market.merging() == source


def _moves(market: Market) -> None:
    with market.selling():
        time.sleep(3)
        # To where its rows are delivered; to where some arise; and back to where it was.
        for site in ("hq", "south", "depot"):
            found = market.move(site)
            assert found["bytes"] > 0
            assert found["state_bytes"] > 0
            time.sleep(3)
    market.check()
    with pytest.raises(InputError, match="is at 'depot' already"):
        market.client.post("/v1/move", {"what": "best", "site": "depot"})
    with pytest.raises(UnknownNameError, match="unknown site"):
        market.client.post("/v1/move", {"what": "best", "site": "moon"})
    assert "unknown fragment or query" in market.failing("move", "worst", "hq")
    leaf = next(name for name in market.client.get("/v1/describe/best")["query"]["fragments"] if "north" in name)
    with pytest.raises(InputError, match="reads streams where they arise"):
        market.client.post("/v1/move", {"what": leaf, "site": "hq"})
    assert [one["state"] for one in market.status()["moves"][-3:]] == ["done"] * 3


def _killed_in_the_middle(market: Market, phase: str, killed: str) -> None:
    source = market.merging()
    target = "depot" if source == "hq" else "hq"
    with market.selling():
        time.sleep(2)
        market.client.post("/v1/move", {"what": "best", "site": target})
        market.until_phase(phase)
        if killed == "coordinator":
            market.kill(killed)
            # By the same command, as whoever looks after it would.
            market.serve(str(market.file), listen=market.listen)
        else:
            site = {"source": source, "target": target}[killed]
            market.kill(site)
            market.agent(site)
        market.until(lambda: market.status()["moves"][-1]["state"] in OVER, within(30), "the move is over")
        time.sleep(2)
    print(market.status()["moves"][-1])
    market.check()
    assert market.merging() == (target if market.status()["moves"][-1]["state"] == "done" else source)


def _undone(market: Market) -> None:
    source = market.merging()
    with market.selling():
        market.client.post("/v1/move", {"what": "best", "site": "south"})
        market.until_phase("handing")
        # Whether it has all that was merged so far nobody knows now.
        market.kill("hq")
        market.until(lambda: market.status()["moves"][-1]["state"] == "undone", within(30), "it is undone")
        with pytest.raises(RunError, match="is not there"):
            market.client.post("/v1/move", {"what": "best", "site": "hq" if source != "hq" else "depot"})
        market.agent("hq")
    market.check()
    assert market.merging() == source
