"""A query that is added while others run reads streams that they read too: nobody's answer changes, for any source."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import tradewind as tw
from tests.sites.shops import write
from tradewind.algebra.schema import parse_schema
from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.frontends.deployment.file import deployment_with
from tradewind.runtime.answers import answer_of
from tradewind.runtime.live import Live

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

SHOPS = ("north", "south")
MICROS = 1_000_000
SECONDS = 2
"""The length of a window."""
HEAD = """
sites:
  north: {cores: 1}
  south: {cores: 1}
  hq: {cores: 2}
links:
  - {between: [north, hq], mbps: 50, ms: 1, usd_per_gb: 0.02}
  - {between: [south, hq], mbps: 50, ms: 1, usd_per_gb: 0.02}
streams:
  sales:
    schema: ts TIMESTAMP, product STRING, price BIGINT
    time: ts
    late_by: 1 second
"""
QUERIES = """
queries:
  sold:
    sql: SELECT window.start AS since, count(*) AS sold FROM sales GROUP BY window(ts, '2 seconds')
    deliver: {site: hq, format: parquet, path: out/sold}
"""
MORE = """
queries:
  total:
    sql: |
      SELECT window.start AS since, count(*) AS sold, sum(price) AS earned FROM sales GROUP BY window(ts, '2 seconds')
    deliver: {site: hq, format: parquet, path: out/total}
  cheap:
    sql: SELECT ts, product, price FROM sales WHERE price < 3
    deliver: {site: hq, format: parquet, path: out/cheap}
"""


def answer(wanted: Deployment, name: str, folder: Path) -> Counter:
    try:
        return answer_of(name, wanted.queries[name], folder)
    except InputError:
        return Counter()


def finals(wanted: Deployment, name: str, folder: Path) -> list[tuple]:
    return [row for row, weight in answer(wanted, name, folder).items() for _ in range(weight) if row[-1]]


def until(live: Live, holds: Callable[[], object], what: str) -> None:
    end = time.monotonic() + 240
    while not holds():
        assert not live.wait(0.2), f"the run has ended before {what}"
        assert time.monotonic() < end, f"never: {what}"


@contextmanager
def running(folder: Path, origins: str, spark) -> Iterator[tuple[Live, Deployment]]:
    """A run that waits for rows, and the deployment that it will be with two queries more."""
    file = folder / "shops.yaml"
    file.write_text(HEAD + origins + QUERIES)
    with tw.deployment(file).run(state=folder / "state", spark=spark, until_done=False) as live:
        yield live, deployment_with(file, MORE, "more.yaml")


def test_generated_rows_are_counted_once_by_everybody(spark, tmp_path) -> None:
    """Each window of a stream of so many rows a second has exactly so many of them, once it is final."""
    rates = {"north": 300, "south": 100}
    origins = "    at:\n" + "".join(
        f"      {site}: {{format: rate, rows_per_second: {rate}, row_bytes: 8}}\n" for site, rate in rates.items()
    )
    with running(tmp_path, origins, spark) as (live, wanted):
        until(live, lambda: answer(wanted, "sold", tmp_path), "there are answers")
        live.add(wanted)
        assert live.planned is not None
        readers = [one for one in live.planned.deployed.fragments if one.site == "north" and one.sources]
        assert len(readers) == 2, "two fragments read the stream where it arises"
        for name in ("sold", "total"):
            until(live, lambda: len(finals(wanted, name, tmp_path)) >= 4, "some windows are final")  # noqa: B023
    expected = SECONDS * sum(rates.values())
    for name in ("sold", "total"):
        found = sorted(finals(wanted, name, tmp_path))
        # The first window began before the first row.
        assert found[0][1] <= expected
        assert [row[1] for row in found[1:]] == [expected] * (len(found) - 1), name
    cheap = finals(wanted, "cheap", tmp_path)
    assert len(cheap) == len(set(cheap)) > 0


def test_pushed_rows_are_counted_once_by_everybody(spark, tmp_path) -> None:
    moment = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * MICROS)

    def push(live: Live, first: int) -> None:
        times = pa.array([moment + n * MICROS // 10 for n in range(first, first + 100)], pa.timestamp("us", "UTC"))
        for site in SHOPS:
            live.enqueue("sales", pa.table({"ts": times, "product": ["p"] * 100, "price": [1] * 100}), site)

    origins = "    at: {north: {format: push}, south: {format: push}}\n"
    with running(tmp_path, origins, spark) as (live, wanted):
        push(live, 0)
        until(live, lambda: answer(wanted, "sold", tmp_path), "there are answers")
        live.add(wanted)
        for first in (100, 200, 300):
            push(live, first)
        for name in ("sold", "total"):
            until(live, lambda: len(finals(wanted, name, tmp_path)) >= 14, "later windows are final")  # noqa: B023
    # Who comes later does not have the rows that were pushed and read before.
    for name in ("sold", "total"):
        later = [row[1] for row in finals(wanted, name, tmp_path) if row[0] >= moment + 10 * MICROS]
        assert set(later) == {2 * 10 * SECONDS}, name
    cheap = Counter(row[:-1] for row in finals(wanted, "cheap", tmp_path) if row[0] >= moment + 10 * MICROS)
    assert set(cheap.values()) == {len(SHOPS)}


def test_files_are_counted_once_by_everybody(spark, tmp_path) -> None:
    schema = parse_schema("ts TIMESTAMP, product STRING, price BIGINT")
    rows = [(n * MICROS // 10, f"p{n % 7}", n % 5) for n in range(400)]
    origins = "    at: {north: {format: parquet, path: data/north}, south: {format: parquet, path: data/south}}\n"
    for shop in SHOPS:
        write(tmp_path / "data" / shop, rows[:200], schema, 4)
    with running(tmp_path, origins, spark) as (live, wanted):
        until(live, lambda: answer(wanted, "sold", tmp_path), "there are answers")
        live.add(wanted)
        for shop in SHOPS:
            write(tmp_path / "data" / shop, rows[200:], schema, 4, first=4)
        for name in ("sold", "total"):
            until(live, lambda: len(finals(wanted, name, tmp_path)) >= 18, "all but the last are final")  # noqa: B023
    for name in ("sold", "total"):
        assert {row[1] for row in finals(wanted, name, tmp_path)} == {2 * 10 * SECONDS}, name
    cheap = Counter(row[:-1] for row in answer(wanted, "cheap", tmp_path).elements())
    assert cheap == Counter({row: len(SHOPS) for row in rows if row[2] < 3})
