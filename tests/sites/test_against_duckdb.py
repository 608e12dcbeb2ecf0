"""A deployment of twelve sites, a ring with stars and a chain on it, gives DuckDB's answers on all rows together."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import tradewind as tw
from tradewind.runtime.answers import answer_of
from tradewind.runtime.wiring import Network

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SECOND = 1_000_000
FIELDS = [f"field{n}" for n in range(1, 7)]
PLANTS = ["plant1", "plant2"]
FILE = """
sites:
  field1: {cores: 1, region: north}
  field2: {cores: 1, region: north}
  field3: {cores: 1, region: north}
  field4: {cores: 1, region: south}
  field5: {cores: 1, region: south}
  field6: {cores: 1, region: south}
  plant1: {cores: 2, region: north}
  plant2: {cores: 2, region: south}
  hub_n: {cores: 2, region: north}
  hub_s: {cores: 2, region: south}
  relay: {cores: 2, region: middle}
  office: {cores: 4, region: middle}
links:
  - {between: [field1, hub_n], mbps: 20, ms: 4, usd_per_gb: 0.05}
  - {between: [field2, hub_n], mbps: 20, ms: 4, usd_per_gb: 0.05}
  - {between: [field3, field2], mbps: 10, ms: 6, usd_per_gb: 0.05}
  - {between: [field4, hub_s], mbps: 20, ms: 4, usd_per_gb: 0.05}
  - {between: [field5, hub_s], mbps: 20, ms: 4, usd_per_gb: 0.05}
  - {between: [field6, hub_s], mbps: 20, ms: 4, usd_per_gb: 0.05}
  - {between: [plant1, hub_n], mbps: 50, ms: 3, usd_per_gb: 0.02}
  - {between: [plant2, hub_s], mbps: 50, ms: 3, usd_per_gb: 0.02}
  - {between: [hub_n, relay], mbps: 100, ms: 9, usd_per_gb: 0.09}
  - {between: [hub_s, relay], mbps: 100, ms: 9, usd_per_gb: 0.09}
  - {between: [hub_n, hub_s], mbps: 100, ms: 20, usd_per_gb: 0.12}
  - {between: [relay, office], mbps: 100, ms: 2, usd_per_gb: 0.01}
streams:
  readings:
    schema: at TIMESTAMP, sensor INT, crop STRING, litres DECIMAL(9,2)
    time: at
    late_by: 8 seconds
    at:
      field1: {format: parquet, path: data/field1}
      field2: {format: parquet, path: data/field2}
      field3: {format: csv, path: data/field3, options: {header: true}}
      field4: {format: parquet, path: data/field4}
      field5: {format: csv, path: data/field5, options: {header: true}}
      field6: {format: parquet, path: data/field6}
  orders:
    schema: placed TIMESTAMP, crop STRING, tons BIGINT
    time: placed
    late_by: 1 second
    at:
      plant1: {format: parquet, path: data/plant1}
      plant2: {format: parquet, path: data/plant2}
queries:
  water:
    sql: |
      SELECT window.start AS began, crop, count(*) AS readings, sum(litres) AS litres, min(litres) AS least,
             max(sensor) AS last_sensor
      FROM readings WHERE litres > 0.5 GROUP BY window(at, '1 minute'), crop
    deliver: {site: office, format: parquet, path: out/water}
  thirsty:
    sql: |
      SELECT window.start AS began, sensor, sum(litres) AS litres FROM readings
      GROUP BY window(at, '2 minutes'), sensor
      QUALIFY row_number() OVER (PARTITION BY window ORDER BY litres DESC, sensor) <= 4
    deliver: {site: relay, format: parquet, path: out/thirsty}
  matched:
    sql: |
      SELECT o.placed, o.crop, o.tons, r.sensor, r.litres FROM orders o JOIN readings r
      ON o.crop = r.crop AND r.at BETWEEN o.placed AND o.placed + INTERVAL 20 SECONDS WHERE r.litres > 8
    deliver: {site: hub_s, format: json, path: out/matched}
  dry:
    sql: SELECT at, sensor, upper(crop) AS crop FROM readings WHERE litres = 0
    deliver: {site: office, format: csv, path: out/dry}
"""
ANSWERS = {
    "water": """
        SELECT time_bucket(INTERVAL '1 minute', "at"), crop, count(*), sum(litres), min(litres), max(sensor)
        FROM readings WHERE litres > 0.5 GROUP BY ALL""",
    "thirsty": """
        SELECT began, sensor, litres FROM (
          SELECT time_bucket(INTERVAL '2 minutes', "at") AS began, sensor, sum(litres) AS litres FROM readings
          GROUP BY ALL)
        QUALIFY row_number() OVER (PARTITION BY began ORDER BY litres DESC, sensor) <= 4""",
    "matched": """
        SELECT o.placed, o.crop, o.tons, r.sensor, r.litres FROM orders o JOIN readings r
        ON o.crop = r.crop AND r."at" BETWEEN o.placed AND o.placed + INTERVAL 20 SECONDS WHERE r.litres > 8""",
    "dry": 'SELECT "at", sensor, upper(crop) FROM readings WHERE litres = 0',
}


def lay_out(folder: Path, seed: int) -> dict[str, pa.Table]:
    """The deployment file with its data; all rows of each stream."""
    chance = random.Random(seed)
    (folder / "farm.yaml").write_text(FILE)
    crops = ["maize", "rye", "soy", None]
    stamp, money = pa.timestamp("us", "UTC"), pa.decimal128(9, 2)
    readings = pa.schema([("at", stamp), ("sensor", pa.int32()), ("crop", pa.string()), ("litres", money)])
    orders = pa.schema([("placed", stamp), ("crop", pa.string()), ("tons", pa.int64())])
    found: dict[str, list[pa.Table]] = {"readings": [], "orders": []}
    for place in (*FIELDS, *PLANTS):
        times = sorted(chance.randrange(300 * SECOND) for _ in range(1500 if place in FIELDS else 12))
        if place in FIELDS:
            cents = [chance.choice([0, chance.randrange(1000)]) for _ in times]
            columns = [
                pa.array(times, pa.int64()).cast(stamp),
                pa.array([chance.randrange(20) for _ in times], pa.int32()),
                pa.array([chance.choice(crops) for _ in times], pa.string()),
                pa.array([f"{one / 100:.2f}" for one in cents]).cast(money),
            ]
            table = pa.Table.from_arrays(columns, schema=readings)
        else:
            columns = [
                pa.array(times, pa.int64()).cast(stamp),
                pa.array([chance.choice(crops) for _ in times], pa.string()),
                pa.array([chance.randrange(50) for _ in times], pa.int64()),
            ]
            table = pa.Table.from_arrays(columns, schema=orders)
        write(folder / "data" / place, table, csv=place in ("field3", "field5"))
        found["readings" if place in FIELDS else "orders"].append(table)
    return {name: pa.concat_tables(tables) for name, tables in found.items()}


def write(folder: Path, table: pa.Table, *, csv: bool) -> None:
    folder.mkdir(parents=True)
    for part in range(2):
        half = table.num_rows // 2
        some = table.slice(part * half, half if part == 0 else None)
        if csv:
            pc.write_csv(some, folder / f"{part}.csv")
        else:
            pq.write_table(some, folder / f"{part}.parquet")


def said_by_duckdb(tables: dict[str, pa.Table]) -> dict[str, Counter]:
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            database.register(name, table)
        return {name: Counter(map(plain, database.execute(sql).fetchall())) for name, sql in ANSWERS.items()}


def plain(row: tuple) -> tuple:
    """Times as microseconds, numbers as they are read."""
    return tuple(round(one.timestamp() * SECOND) if hasattr(one, "timestamp") else one for one in row)


@pytest.mark.parametrize("seed", [1])
def test_twelve_sites_answer_as_duckdb_does_and_shipping_everything_moves_more(spark, tmp_path, seed) -> None:
    tables = lay_out(tmp_path, seed)
    expected = said_by_duckdb(tables)
    assert all(expected.values())
    found = tw.deployment(tmp_path / "farm.yaml")
    moved = {}
    for planner in ("exact", "ship-all"):
        network = Network(imitate=False)
        state = tmp_path / "state"
        with found.run(state=state, spark=spark, planner=planner, network=network, fresh=True) as live:
            live.wait()
            moved[planner] = sum(one.bytes for one in live.links().values())
        for name, query in found.queries.items():
            delivered = answer_of(name, query, tmp_path)
            assert all(row[-1] for row in delivered), name
            assert Counter({row[:-1]: weight for row, weight in delivered.items()}) == expected[name], (planner, name)
    assert moved["exact"] < moved["ship-all"]
