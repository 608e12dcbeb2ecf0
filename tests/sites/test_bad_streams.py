"""A stream that ends at bad records takes along the queries that read it, and no others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tradewind as tw
from tradewind.algebra.graph import Graph
from tradewind.errors import BadRecordsError
from tradewind.frontends.deployment.check import load
from tradewind.runtime.alone import apart
from tradewind.runtime.answers import answer_of
from tradewind.runtime.failing import failure
from tradewind.runtime.live import Live

HERE = """
sites: {hq: {cores: 2}}
streams:
  visits: {schema: "ts TIMESTAMP, n BIGINT", time: ts, at: {hq: {format: json, path: visits/hq}}}
  orders: {schema: "ts TIMESTAMP, n BIGINT", time: ts, at: {hq: {format: json, path: orders/hq}}}
"""
THERE = """
sites: {north: {cores: 1}, south: {cores: 1}, hq: {cores: 2}}
links:
  - {between: [north, hq], mbps: 100, ms: 1, usd_per_gb: 0.02}
  - {between: [south, hq], mbps: 100, ms: 1, usd_per_gb: 0.02}
streams:
  visits:
    schema: ts TIMESTAMP, n BIGINT
    time: ts
    at: {north: {format: json, path: visits/north}, south: {format: json, path: visits/south}}
  orders: {schema: "ts TIMESTAMP, n BIGINT", time: ts, at: {north: {format: json, path: orders/north}}}
"""
QUERIES = """
queries:
  seen:
    sql: SELECT window.start AS since, count(*) AS c FROM visits GROUP BY window(ts, '1 minute')
    deliver: {site: hq, format: json, path: out/seen}
  sold:
    sql: SELECT window.start AS since, sum(n) AS s FROM orders GROUP BY window(ts, '1 minute')
    deliver: {site: hq, format: json, path: out/sold}
"""
ROWS = [{"ts": f"2026-01-01T00:{n // 60:02}:{n % 60:02}Z", "n": n} for n in range(90)]


def laid_out(folder: Path, text: str) -> tuple[Path, Path]:
    """A deployment with rows, and a file of visits that holds a record that cannot be read."""
    file = folder / "shop.yaml"
    file.write_text(text + QUERIES)
    for declared in tw.deployment(file).streams.values():
        for origin in declared.origins.values():
            place = folder / str(origin.path)
            place.mkdir(parents=True)
            (place / "rows.json").write_text("\n".join(map(json.dumps, ROWS)))
    bad = next((folder / "visits").glob("*")) / "damaged.json"
    bad.write_text('{"ts": "2026-01-01T00:00:00Z", "n": "many"}\n')
    return file, bad


def answers(file: Path, query: str) -> list[tuple]:
    """The rows of an answer, with whether they are final."""
    counted = answer_of(query, tw.deployment(file).queries[query], file.parent)
    return sorted(counted.elements())


def parts_of(*queries: str, streams: str = "abc") -> list[tuple[str, ...]]:
    declared = {name: {"schema": "ts TIMESTAMP, n INT", "time": "ts", "at": {"hq": {}}} for name in streams}
    asked = {f"q{number}": {"sql": sql, "deliver": {"site": "hq"}} for number, sql in enumerate(queries)}
    graph: Graph = load(json.dumps({"sites": {"hq": {}}, "streams": declared, "queries": asked}), "d.yaml").graph()
    parts = apart(graph)
    assert sorted(name for one in parts for name in one.names) == sorted(graph.names)
    return [one.names for one in parts]


def test_queries_without_a_common_stream_are_apart():
    a, b, c = (f"SELECT ts, n FROM {name}" for name in "abc")
    join = "SELECT a.n AS n FROM a JOIN c ON a.n = c.n AND c.ts BETWEEN a.ts AND a.ts + INTERVAL '1' SECOND"
    assert parts_of(a) == [("q0",)]
    assert parts_of(a, b, c) == [("q0",), ("q1",), ("q2",)]
    assert parts_of(a, b, f"{a} WHERE n > 1") == [("q0", "q2"), ("q1",)]
    assert parts_of(a, b, c, join) == [("q0", "q2", "q3"), ("q1",)]


def test_one_error_tells_of_all_that_have_failed():
    one, two = (BadRecordsError(f"no {name}.", where=f"{name}.json", hint="mend it.") for name in "ab")
    told = failure({"p": one, "q": two, "r": one}, ["p", "q", "r"])
    assert str(told) == "a.json: no a. Failed: p, r. b.json: no b. Failed: q. Hint: mend it."
    assert "All other queries went on." in str(failure({"p": one}, ["p", "q"]))


@pytest.mark.spark
@pytest.mark.parametrize("text", [HERE, pytest.param(THERE, marks=pytest.mark.slow)], ids=["one site", "three sites"])
def test_other_queries_come_to_their_end_and_the_run_names_file_and_queries(spark, tmp_path, text):
    file, bad = laid_out(tmp_path, text)
    with Live(tw.deployment(file), state=tmp_path / "state", spark=spark) as live:
        with pytest.raises(BadRecordsError, match=r"damaged\.json.*'many' is no BIGINT.*Failed: seen\. All other"):
            live.wait()
        assert list(live.failed) == ["seen"]
    sold = answers(file, "sold")
    assert [row[1:] for row in sold] == [(sum(range(60)), True), (sum(range(60, 90)), True)]
    assert not any(row[-1] for row in answers(file, "seen"))
    # Mended, it goes on from there, and the other one is as it was.
    bad.write_text('{"ts": "2026-01-01T00:00:00Z", "n": 1}\n')
    with Live(tw.deployment(file), state=tmp_path / "state", spark=spark) as live:
        live.wait()
        assert not live.failed
    origins = 1 if text == HERE else 2
    assert [row[1:] for row in answers(file, "seen")] == [(60 * origins + 1, True), (30 * origins, True)]
    assert answers(file, "sold") == sold


@pytest.mark.spark
@pytest.mark.slow
def test_who_pulls_another_query_gets_all_of_it(spark, tmp_path):
    file, _ = laid_out(tmp_path, HERE)
    found = tw.deployment(file)
    asked = {name: found.stream(name).deliver("hq") for name in ("visits", "orders")}
    with found.run(asked, spark=spark) as live:
        assert sum(table.num_rows for table in live.results("orders")) == len(ROWS)
        with pytest.raises(BadRecordsError, match="Failed: visits"):
            list(live.results("visits"))
