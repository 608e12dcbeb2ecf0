"""Small deployments at one site with their rows, and what the interpreter says to them."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq

import tradewind as tw
from tradewind.interpreter.run import answer
from tradewind.runtime.answers import answer_of
from tradewind.spark.types import to_arrow

SECOND = 1_000_000
DOMAINS = ("a.example", "b.example", "ü.example", None)

FILE = """
sites: {here: {cores: 2}}
streams:
  requests:
    schema: ts TIMESTAMP, domain STRING, bytes BIGINT, status INT
    time: ts
    late_by: 10 seconds
    at: {here: {format: parquet, path: data/requests}}
queries:
  per_minute:
    sql: |
      SELECT window.start AS minute, domain, count(*) AS hits, sum(bytes) AS bytes
      FROM requests WHERE status < 500 GROUP BY window(ts, '1 minute'), domain
    deliver: {site: here, format: parquet, path: out/per_minute}
  silences:
    flow:
      pairs:
        box: aggregate
        in: requests
        by: [domain]
        window: {tuples: 2, step: 1, timeout: 20 seconds}
        functions: {bytes: sum(bytes)}
      silent: {box: filter, in: pairs, where: window.timed_out}
      alarms: {box: map, in: silent, columns: {ts: window.end, domain: domain}}
    deliver: {site: here, format: json, path: out/silences}
  failures:
    sql: SELECT ts, domain, status FROM requests WHERE status >= 500
    deliver: {site: here, format: csv, path: out/failures}
"""


def rows(count: int, seed: int, start: int = 0) -> list[tuple]:
    """Requests of a few domains over some minutes, a little out of order."""
    mix = random.Random(seed)
    times = sorted(start + mix.randrange(240 * SECOND) for _ in range(count))
    made = [
        (
            time,
            mix.choice(("a.example", "b.example", "ü.example", None)),
            mix.randrange(10**6),
            mix.choice((200, 404, 503)),
        )
        for time in times
    ]
    return sorted(made, key=lambda row: row[0] + mix.randrange(8 * SECOND))


def write(folder: Path, given: list[tuple], schema, first: int, files: int) -> None:
    """The rows in so many files, numbered from `first`, in the order in which they are to be read."""
    folder.mkdir(parents=True, exist_ok=True)
    size = -(-len(given) // files)
    for number in range(files):
        path = folder / f"part-{first + number:03}.parquet"
        pq.write_table(to_arrow(given[number * size : (number + 1) * size], schema), path)
        os.utime(path, (first + number + 1,) * 2)


def lay_out(folder: Path, given: list[tuple], text: str = FILE, files: int = 6) -> Path:
    """A deployment file with its data."""
    path = folder / "shop.yaml"
    path.write_text(text)
    schema = tw.deployment(path).streams["requests"].source.schema
    write(folder / "data" / "requests", given, schema, 0, files)
    return path


def meant(path: Path, given: list[tuple]) -> dict[str, Counter]:
    """The interpreter's final answers."""
    return answer(tw.deployment(path).graph(), {"requests": {"here": given}})


def delivered(path: Path) -> dict[str, Counter]:
    """The answers that the delivered files add up to; every row must be final."""
    found = {}
    for name, query in tw.deployment(path).queries.items():
        answer = answer_of(name, query, path.parent)
        assert all(row[-1] for row in answer), name
        found[name] = Counter({row[:-1]: count for row, count in answer.items()})
    return found
