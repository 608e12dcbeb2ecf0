"""Operators over neighbours: counted windows with timeout, bounded sort, resample, waitfor, in million rows a second.

./dev bench ordered [--rows 10000000] [--rounds 3] [counted-5k counted-1m sort resample waitfor]
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

from _charts import chart
from pyspark.sql import SparkSession

from tradewind.runtime.deployment import deployment
from tradewind.spark.session import start

FILES, PER_BATCH = 10, 2
BASE = 1_700_000_000_000_000
AIM = 0.5

FILE = """
sites: {{here: {{cores: 2}}}}
streams:
  rows:
    schema: ts TIMESTAMP, k BIGINT, x DOUBLE
    time: ts
    late_by: 1 second
    at: {{here: {{format: parquet, path: {rows}, options: {{max_files_per_batch: {files}}}}}}}
  signals:
    schema: sts TIMESTAMP, sk BIGINT
    time: sts
    late_by: 1 second
    at: {{here: {{format: parquet, path: {signals}, options: {{max_files_per_batch: {files}}}}}}}
queries:
  q:
    flow:
      out: {box}
    deliver: {{site: here, format: noop}}
    revise_within: 0 seconds
"""
COUNTED = (
    "{box: aggregate, in: rows, by: [k], window: {tuples: 2, step: 1, timeout: 5 seconds}, "
    "functions: {n: count(*), x: max(x)}}"
)
GRID = "{box: resample, in: rows, by: k, values: [x], method: linear, every: 1 second, max_gap: 1 minute}"
BOXES = {
    "counted-5k": (5_000, COUNTED),
    "counted-1m": (1_000_000, COUNTED),
    "sort": (5_000, "{box: order, in: rows, by: ts, slack: 100}"),
    "resample": (
        5_000,
        "{box: resample, in: rows, by: k, values: [x], method: linear, every: 1 second, max_gap: 1 minute}",
    ),
    "waitfor": (5_000, "{box: waitfor, in: rows, signal: signals, where: k = sk, timeout: 2 seconds}"),
}


def write_data(spark: SparkSession, folder: Path, rows: int, keys: int) -> None:
    """Rows ten microseconds apart, a little out of order; every fiftieth row has a signal half a second later."""
    late = "pmod(xxhash64(id, 7), 500)"
    shaped = f"timestamp_micros({BASE} + id * 10 - {late}) AS ts", f"pmod(xxhash64(id), {keys}) AS k", "id * 0.5D AS x"
    spark.range(0, rows, 1, FILES).selectExpr(*shaped).write.parquet(str(folder / f"rows-{keys}"))
    signals = spark.range(0, rows, 50, FILES).selectExpr(
        f"timestamp_micros({BASE} + id * 10 + 500000) AS sts", f"pmod(xxhash64(id), {keys}) AS sk"
    )
    signals.write.parquet(str(folder / f"signals-{keys}"))
    for written in (f"rows-{keys}", f"signals-{keys}"):
        for number, file in enumerate(sorted((folder / written).glob("*.parquet"))):
            # Spark takes files in the order of their times; two tasks have written these.
            os.utime(file, (number, number))


def seconds(spark: SparkSession, folder: Path, name: str) -> float:
    """How long a run takes from the first file to the last final row."""
    keys, box = BOXES[name]
    file = folder / f"{name}.yaml"
    text = FILE.format(rows=folder / f"rows-{keys}", signals=folder / f"signals-{keys}", files=PER_BATCH, box=box)
    file.write_text(text)
    found = deployment(file)
    begin = time.perf_counter()
    with found.run(spark=spark) as live:
        live.wait()
    return time.perf_counter() - begin


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operators", nargs="*", default=list(BOXES))
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    data = Path(tempfile.mkdtemp(prefix="tradewind-bench-"))
    spark = start(2, data / "tmp", memory="3g", log=data / "spark.log")
    try:
        for keys in sorted({BOXES[name][0] for name in given.operators}):
            write_data(spark, data, given.rows, keys)
        rates = {}
        for name in given.operators:
            rates[name] = given.rows / min(seconds(spark, data, name) for _ in range(given.rounds)) / 1e6
            print(f"{name}: {rates[name]:.2f} million rows/s (aim {AIM})", flush=True)
        title = f"{given.rows:,} rows on two cores, best of {given.rounds}; the aim is {AIM}"
        chart("ordered", title, "million rows/s", {"Tradewind": rates})
    finally:
        spark.stop()
        shutil.rmtree(data, ignore_errors=True)


if __name__ == "__main__":
    main()
