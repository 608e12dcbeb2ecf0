"""The same query written by hand in PySpark and run by Tradewind: throughput as a ratio, best of several.

./dev bench by_hand [--rows 20000000] [--rounds 5] [null filter map tumbling sliding join]
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from _charts import chart
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tradewind.runtime.deployment import deployment
from tradewind.spark.session import CHECKPOINTS, start

COLUMNS = "id BIGINT, ts TIMESTAMP, k BIGINT"
FILES = 20
PER_BATCH = 10
BASE = 1_700_000_000_000_000

HEAD = """
sites: {{here: {{cores: 2}}}}
streams:
  left:
    schema: id BIGINT, ts TIMESTAMP, k BIGINT
    time: ts
    at: {{here: {{format: parquet, path: {left}, options: {{max_files_per_batch: {files}}}}}}}
  right:
    schema: rid BIGINT, rts TIMESTAMP
    time: rts
    at: {{here: {{format: parquet, path: {right}, options: {{max_files_per_batch: {files}}}}}}}
queries:
  q:
    sql: |
      {sql}
    deliver: {{site: here, format: noop}}
    revise_within: 0 seconds
"""

SQL = {
    "null": "SELECT id, ts, k FROM left",
    "filter": "SELECT id, ts, k FROM left WHERE k < 5000",
    "map": "SELECT id + 1 AS id, ts, k * 2 AS k FROM left",
    "tumbling": "SELECT k, window.start AS s, count(*) AS n, sum(id) AS t FROM left "
    "GROUP BY k, window(ts, '5 minutes')",
    "sliding": "SELECT k, window.start AS s, count(*) AS n, sum(id) AS t FROM left "
    "GROUP BY k, window(ts, '10 minutes', '5 minutes')",
    "join": "SELECT id, ts, k, rts FROM left JOIN right ON id = rid AND rts BETWEEN ts AND ts + INTERVAL '10' SECOND",
}


def write_data(spark: SparkSession, folder: Path, rows: int) -> None:
    """Rows a millisecond apart with ten thousand keys. Every tenth has a row on the right three seconds after it, as
    some impressions are followed by a click.
    """
    shaped = "id", f"timestamp_micros({BASE} + id * 1000) AS ts", "pmod(xxhash64(id), 10000) AS k"
    spark.range(0, rows, 1, FILES).selectExpr(*shaped).write.parquet(str(folder / "left"))
    tenth = spark.range(0, rows, 10, FILES).selectExpr(
        "id AS rid", f"timestamp_micros({BASE} + id * 1000 + 3000000) AS rts"
    )
    tenth.write.parquet(str(folder / "right"))


def _grouped(rows: DataFrame, *window: str) -> DataFrame:
    marked = rows.withWatermark("ts", "0 seconds")
    return marked.groupBy("k", f.window("ts", *window)).agg(f.count("*").alias("n"), f.sum("id").alias("t"))


def _joined(left: DataFrame, right: DataFrame) -> DataFrame:
    near = "id = rid AND rts >= ts AND rts <= ts + INTERVAL 10 SECONDS"
    joined = left.withWatermark("ts", "0 seconds").join(right.withWatermark("rts", "0 seconds"), f.expr(near))
    return joined.select("id", "ts", "k", "rts")


HAND: dict[str, Callable[[DataFrame, DataFrame], DataFrame]] = {
    "null": lambda left, _: left,
    "filter": lambda left, _: left.where("k < 5000"),
    "map": lambda left, _: left.selectExpr("id + 1 AS id", "ts", "k * 2 AS k"),
    "tumbling": lambda left, _: _grouped(left, "5 minutes"),
    "sliding": lambda left, _: _grouped(left, "10 minutes", "5 minutes"),
    "join": _joined,
}


@contextmanager
def as_spark_is(spark: SparkSession) -> Iterator[None]:
    """Spark with its own defaults where Tradewind's are others."""
    own = {name: spark.conf.get(name) for name in (CHECKPOINTS, "spark.sql.ansi.enabled")}
    for name in own:
        spark.conf.unset(name)
    spark.conf.set("spark.sql.ansi.enabled", "true")
    yield
    for name, value in own.items():
        spark.conf.set(name, value)


def by_hand(spark: SparkSession, data: Path, name: str) -> float:
    """Seconds of a run as the Structured Streaming guide would have it, with Spark's default state store: here it is
    faster than the one on RocksDB.
    """
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as checkpoint, as_spark_is(spark):
        read = spark.readStream.option("maxFilesPerTrigger", PER_BATCH)
        left = read.schema(COLUMNS).parquet(str(data / "left"))
        right = read.schema("rid BIGINT, rts TIMESTAMP").parquet(str(data / "right"))
        mode = "update" if name in ("tumbling", "sliding") else "append"
        writer = HAND[name](left, right).writeStream.format("noop").outputMode(mode)
        writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
    return time.perf_counter() - begin


def by_tradewind(spark: SparkSession, data: Path, name: str) -> float:
    """Seconds of the same by Tradewind, from the same files in the same batches, revisions and finality included."""
    file = data / f"{name}.yaml"
    file.write_text(HEAD.format(left=data / "left", right=data / "right", files=PER_BATCH, sql=SQL[name]))
    found = deployment(file)
    begin = time.perf_counter()
    with found.run(spark=spark) as live:
        live.wait()
    return time.perf_counter() - begin


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("queries", nargs="*", default=list(SQL))
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    data = Path(tempfile.mkdtemp(prefix="tradewind-bench-"))
    # The state of a join by hand lies in memory: with less, Java only collects garbage.
    spark = start(2, data / "tmp", memory="12g", log=data / "spark.log")
    try:
        write_data(spark, data, given.rows)
        rates: dict[str, dict[str, float]] = {"by hand": {}, "Tradewind": {}}
        for name in given.queries:
            runs = [(by_hand(spark, data, name), by_tradewind(spark, data, name)) for _ in range(given.rounds)]
            hand, own = (min(times) for times in zip(*runs, strict=True))
            rates["by hand"][name], rates["Tradewind"][name] = given.rows / hand / 1e6, given.rows / own / 1e6
            print(f"{name}: by hand {hand:.1f} s, Tradewind {own:.1f} s, ratio {hand / own:.2f}", flush=True)
        chart("by_hand", f"{given.rows:,} rows, best of {given.rounds}", "million rows/s", rates)
    finally:
        spark.stop()
        shutil.rmtree(data, ignore_errors=True)


if __name__ == "__main__":
    main()
