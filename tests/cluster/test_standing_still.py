"""Real agents that are paused, saved and started from a savepoint: the answers are the interpreter's all the while."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import tradewind as tw
from tests.cluster.clusters import Cluster
from tests.sites.shops import SECOND, write
from tradewind.errors import InputError
from tradewind.interpreter.run import Run
from tradewind.runtime.answers import answer_of

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

FILE = """
sites: {north: {cores: 1}, hq: {cores: 1}}
links: [{between: [north, hq], mbps: 100, ms: 1}]
streams:
  sales:
    schema: ts TIMESTAMP, item STRING, amount BIGINT
    time: ts
    late_by: 5 seconds
    distinct: {item: 4}
    at: {north: {format: parquet, path: data, rows_per_second: 10}}
queries:
  large:
    sql: SELECT ts, item, amount FROM sales WHERE amount > 6
    deliver: {site: hq, format: parquet, path: out/large}
  sums:
    sql: |
      SELECT window.start AS begin, item, sum(amount) AS sold, count(*) AS n FROM sales
      GROUP BY window(ts, '20 seconds'), item
    deliver: {site: hq, format: parquet, path: out/sums}
"""


class Market:
    """A deployment of two sites, whose rows arrive file by file."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "market.yaml"
        self.file.write_text(FILE)
        self.chance, self.rows, self.files = random.Random(5), list[tuple](), 0
        self.arrive()

    def arrive(self) -> None:
        """One more file comes."""
        begin = len(self.rows) * SECOND // 4
        rows = [
            (begin + self.chance.randrange(9 * SECOND), f"i{self.chance.randrange(4)}", self.chance.randrange(9))
            for _ in range(40)
        ]
        self.rows += rows
        write(self.folder / "data", rows, tw.deployment(self.file).streams["sales"].source.schema, 1, self.files)
        self.files += 1

    def answers(self) -> dict:
        found = tw.deployment(self.file)
        return {name: answer_of(name, query, self.folder) for name, query in found.queries.items()}

    def right(self) -> bool:
        """Whether all that has come is answered as the interpreter does; whether rows are final is another matter."""
        graph = tw.deployment(self.file).graph()
        run = Run(graph, {"sales": ["north"]})
        run.feed({"sales": {"north": self.rows}})
        try:
            shown = {name: _plain(rows) for name, rows in self.answers().items()}
        except (InputError, OSError):
            return False  # nothing is there yet, or it is just being put back
        return shown == {name: dict(run.answer(name)) for name in graph.names}


def _plain(rows) -> dict:
    found: dict = {}
    for row, weight in rows.items():
        found[row[:-1]] = found.get(row[:-1], 0) + weight
    return {row: weight for row, weight in found.items() if weight}


def start(cluster: Cluster, market: Market) -> None:
    cluster.serve(str(market.file))
    cluster.agent("north", "--listen", "127.0.0.1:0")
    cluster.agent("hq", "--listen", "127.0.0.1:0")
    cluster.until(market.right, 480, "the first file is answered")


def test_paused_saved_stopped_and_started_from_there(tmp_path):
    market = Market(tmp_path)
    with Cluster(tmp_path) as cluster:
        start(cluster, market)
        assert json.loads(cluster.command("pause", "--json"))["state"] == "paused"
        assert "market is paused already." in cluster.command("pause")
        market.arrive()
        before = market.answers()
        # It is saved as it stands, and stays paused.
        assert "savepoint noon of market at" in cluster.command("savepoint", "noon")
        assert cluster.status()["state"] == "paused"
        assert market.answers() == before
        assert "market goes on." in cluster.command("resume")
        cluster.until(market.right, 300, "the second file is answered")
        market.arrive()
        cluster.until(market.right, 300, "the third file is answered")
        cluster.command("stop", "--yes")
        told = cluster.command("apply", str(market.file), "--from", "noon", "--yes")
        assert "delivered by sums at hq in out/sums" in told
        assert "becomes what it was at the savepoint" in told
        cluster.until_state("running")
        cluster.until(market.right, 300, "all files are answered, each once")
        market.arrive()
        cluster.until(market.right, 300, "the fourth file is answered")
        assert [one["name"] for one in json.loads(cluster.command("savepoint", "--list", "--json"))] == ["noon"]


@pytest.mark.slow
def test_all_of_it_with_agents_and_a_coordinator_that_are_killed_meanwhile(tmp_path):
    market = Market(tmp_path)
    with Cluster(tmp_path) as cluster:
        start(cluster, market)
        cluster.command("pause")
        for name in ("hq", "coordinator"):
            cluster.kill(name)
        market.arrive()
        cluster.serve(str(market.file))
        cluster.agent("hq", "--listen", "127.0.0.1:0")
        cluster.until_state("paused")
        assert not market.right()
        cluster.command("resume")
        cluster.until(market.right, 480, "the second file is answered")
        # While it runs: it goes on by itself.
        cluster.command("savepoint", "noon")
        market.arrive()
        cluster.until(market.right, 480, "the third file is answered")
        # From one and the same savepoint twice, over what runs, and with an agent that dies meanwhile.
        for _ in range(2):
            cluster.command("apply", str(market.file), "--from", "noon", "--yes")
            cluster.kill("hq")
            cluster.agent("hq", "--listen", "127.0.0.1:0")
            cluster.until_state("running")
            market.arrive()
            cluster.until(market.right, 480, "all files are answered, each once")
        # What is changed is worked out again, and its former answers are gone.
        market.file.write_text(FILE.replace("amount > 6", "amount > 3"))
        assert "is removed, and worked out again" in cluster.command("apply", str(market.file), "--yes")
        cluster.until(market.right, 480, "the changed query is answered")
        assert "is of something else: query 'large'" in cluster.failing(
            "apply", str(market.file), "--from", "noon", "--yes"
        )
        cluster.command("savepoint", "noon", "--remove")
        assert "there are no savepoints." in cluster.command("savepoint", "--list")
