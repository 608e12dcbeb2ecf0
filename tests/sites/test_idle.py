"""An origin that falls silent: after `idle_after` answers do not wait for it, and what it says later revises them."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import tradewind as tw
from tests.patience import within
from tradewind.errors import InputError, RunError
from tradewind.runtime.answers import answer_of
from tradewind.runtime.deployment import Deployment
from tradewind.runtime.live import Live
from tradewind.spark.query import Running

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

S = 1_000_000
FILE = """
sites:
  north: {cores: 1}
  south: {cores: 1}
  hq: {cores: 2}
links:
  - {between: [north, hq], mbps: 50, ms: 1, usd_per_gb: 0.02}
  - {between: [south, hq], mbps: 50, ms: 1, usd_per_gb: 0.02}
streams:
  sales:
    schema: ts TIMESTAMP, price BIGINT
    time: ts
    late_by: 1 second
    idle_after: 1 second
    at: {north: {format: push}, south: {format: push}}
queries:
  sold:
    sql: SELECT window.start AS since, count(*) AS sold FROM sales GROUP BY window(ts, '2 seconds')
    deliver: {site: hq, format: parquet, path: out/sold}
    fresh_within: 2 seconds
"""


def declared(folder: Path, text: str = FILE) -> Deployment:
    (folder / "shop.yaml").write_text(text)
    return tw.deployment(folder / "shop.yaml")


def answer(found, name: str = "sold") -> dict[tuple, bool]:
    """The rows of an answer, with whether they are final."""
    try:
        rows = answer_of(name, found.queries[name], Path(found.name).parent)
    except InputError:
        return {}
    assert all(count == 1 for count in rows.values()), rows
    return {row[:-1]: row[-1] for row in rows}


def until(live: Live, holds: Callable[[], object], what: str) -> None:
    end = time.monotonic() + within(100)
    while not holds():
        assert not live.wait(0.2), f"the run has ended before {what}"
        assert time.monotonic() < end, f"never: {what}"


def final(found, name: str = "sold") -> Counter:
    return Counter(row for row, is_final in answer(found, name).items() if is_final)


def sales(*seconds: float) -> list[tuple]:
    return [(int(second * S), 1) for second in seconds]


def windows(counts: dict[int, int]) -> Counter:
    return Counter((since * S, count) for since, count in counts.items())


def test_a_site_falls_silent_and_speaks_again(spark, tmp_path) -> None:
    found = declared(tmp_path)
    live = found.run(state=tmp_path / "state", spark=spark, until_done=False)
    live.enqueue("sales", sales(0, 1, 2, 5), "south")
    live.enqueue("sales", sales(*range(11)), "north")
    with live:
        # South's own mark is at 4 s. North's is at 9 s, and south is not waited for.
        expected = windows({0: 4, 2: 3, 4: 3, 6: 2})
        until(live, lambda: final(found) == expected, "windows are final though south is silent")
        until(live, lambda: live.origins()["sales", "south"].idle, "south is idle")
        assert live.origins()["sales", "south"].mark == 9 * S
    # Another process goes on from there: the mark stays where it is, whoever is silent.
    with found.run(state=tmp_path / "state", spark=spark, until_done=False) as live:
        until(
            live, lambda: live.marks().get("sold") == {"sales/north": 9 * S, "sales/south": 9 * S}, "all is as it was"
        )
        live.enqueue("sales", sales(3), "south")
        revised = windows({0: 4, 2: 4, 4: 3, 6: 2})
        until(live, lambda: final(found) == revised, "a late row of south revises what was final")
        assert live.read()["sales", "south"].late == 1
        live.enqueue("sales", sales(13, 14.5), "south")
        live.enqueue("sales", sales(15), "north")
        expected = revised + windows({8: 2, 10: 1})
        until(live, lambda: final(found) >= expected, "south is heard again")
    assert live.read() == {} or live.read()["sales", "south"].late == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_no_row_is_lost_or_counted_twice_however_runs_end(spark, tmp_path, monkeypatch, seed) -> None:
    """Runs are stopped, or die between a commit and what is to be seen of it, while origins fall idle and speak."""
    chance = random.Random(f"idle {seed}")
    found = declared(tmp_path)
    publish, left = Running._publish, [0]

    def dying(running: Running) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise OSError("it dies here")
        publish(running)

    monkeypatch.setattr(Running, "_publish", dying)
    pushed: Counter = Counter()
    for _ in range(5):
        live = found.run(state=tmp_path / "state", spark=spark, until_done=False)
        for origin in ("north", "south"):
            seconds = [chance.randrange(40) for _ in range(chance.randrange(6))]
            live.enqueue("sales", sales(*seconds), origin)
            pushed.update(second // 2 * 2 for second in seconds)
        left[0] = 0
        try:
            with live:
                left[0] = chance.choice((0, 3, 5, 8))
                live.wait(chance.uniform(2.0, 6.0))
        except (OSError, RunError):
            pass  # the next one goes on
        finally:
            left[0] = 0
    with found.run(state=tmp_path / "state", spark=spark, until_done=False) as live:
        until(live, lambda: all(one.idle for one in live.origins().values()), "all are idle")
    with found.run(state=tmp_path / "state", spark=spark) as live:
        assert live.wait()
    assert final(found) == windows(pushed)
