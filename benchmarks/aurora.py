"""Aurora's Table 2: nanoseconds from push to pull for a 64-byte tuple, beside Aurora's own figures.

./dev bench aurora [--tuples 20000000] [--rounds 5] [--cases null]

A case is a network, how many dequeuers get every tuple, and how many tuples are enqueued at a time. Aurora's figures
are those of the paper (2 million tuples, a machine of 2003). A micro-batch takes some tenths of a second whatever is in
it, so more tuples are pushed here; fewer where each is pushed by itself. Aurora had been compiled before; Java compiles
while it works, so a case is measured until so many rounds in a row are no better than the best one.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from _charts import chart
from pyspark.sql import SparkSession

from tradewind.runtime.deployment import Deployment, deployment
from tradewind.runtime.live import Live
from tradewind.spark.session import start


class Case(NamedTuple):
    """A row of the table. `aurora` is None where the paper has no figure for so many at a time."""

    network: str
    dequeuers: int
    at_once: int
    aurora: int | None

    @property
    def label(self) -> str:
        return f"{self.network}, {self.dequeuers} dequeuers, b = {self.at_once:,}"


CASES = [
    *(Case("null", 0, b, ns) for b, ns in ((1, 1211), (10, 176), (100, 70), (1_000, 60), (100_000, None))),
    *(Case("null", 1, b, ns) for b, ns in ((10, 321), (100, 204), (1_000, 191), (100_000, None))),
    Case("null", 5, 1_000, 764),
    Case("null", 10, 1_000, 1748),
    Case("filter", 1, 1_000, 484),
    Case("union", 1, 1_000, 322),
    Case("union-chain", 1, 1_000, 858),
]
COLUMNS = "ts TIMESTAMP, " + ", ".join(f"v{i} BIGINT" for i in range(7))
PUSH = "{format: push, options: {max_bytes_per_batch: 1000000000}}"
"""All that has come meanwhile is taken at once, as Aurora's trains of tuples were."""
EMPTY = [f"empty{i}" for i in range(5)]
FLOWS = {
    "null": "{out: {box: filter, in: tuples, where: 'true'}}",
    "filter": "{out: {box: filter, in: tuples, where: v0 >= 0}}",
    "union": "{out: {box: union, in: [tuples, empty0]}}",
    "union-chain": "{u0: {box: union, in: [tuples, empty0]}, u1: {box: union, in: [u0, empty1]}, "
    "u2: {box: union, in: [u1, empty2]}, u3: {box: union, in: [u2, empty3]}, out: {box: union, in: [u3, empty4]}}",
}


def network(folder: Path, case: Case) -> Deployment:
    """The deployment of a case: with no dequeuers tuples are discarded as soon as they are there."""
    lines = ["sites: {here: {cores: 2}}", "streams:"]
    lines += [f"  {name}: {{schema: '{COLUMNS}', time: ts, at: {{here: {PUSH}}}}}" for name in ("tuples", *EMPTY)]
    kind = "memory" if case.dequeuers else "noop, options: {columns: false}"
    lines += ["queries:", "  q:", f"    flow: {FLOWS[case.network]}", f"    deliver: {{site: here, format: {kind}}}"]
    file = folder / f"{case.network}-{case.dequeuers}.yaml"
    file.write_text("\n".join(lines) + "\n")
    return deployment(file)


def tuples(count: int) -> pa.Table:
    """So many tuples of 64 bytes."""
    columns = {"ts": pa.array(np.full(count, 1_700_000_000_000_000), pa.timestamp("us", "UTC"))}
    return pa.table({**columns, **{f"v{i}": np.arange(count) * (i + 1) for i in range(7)}})


class Puller(threading.Thread):
    """A dequeuer at work, which counts."""

    def __init__(self, live: Live) -> None:
        super().__init__(daemon=True)
        self._from = live.dequeuer("q")
        self.rows = 0
        self.start()

    def run(self) -> None:
        """Pull until nothing more comes."""
        while (found := self._from.pull()) is not None:
            self.rows += found.num_rows


def nanoseconds(spark: SparkSession, folder: Path, case: Case, count: int) -> float:
    """The time for a tuple, from the first push until the last one has been received."""
    block = tuples(case.at_once)
    with network(folder, case).run(until_done=False, interval=0.5, spark=spark) as live:
        pullers = [Puller(live) for _ in range(case.dequeuers)]
        _push(live, tuples(100_000), 100_000)
        _drained(live, pullers, 100_000)
        begin = time.perf_counter()
        _push(live, block, count)
        _drained(live, pullers, 100_000 + count)
        return (time.perf_counter() - begin) / count * 1e9


def settled(spark: SparkSession, folder: Path, case: Case, count: int, rounds: int) -> float:
    """The best round, once so many after it have not been better."""
    best, since = nanoseconds(spark, folder, case, count), 0
    while since < rounds:
        found = nanoseconds(spark, folder, case, count)
        best, since = (found, 0) if found < best else (best, since + 1)
    return best


def _push(live: Live, block: pa.Table, count: int) -> None:
    for _ in range(count // block.num_rows):
        live.enqueue("tuples", block)


def _drained(live: Live, pullers: list[Puller], count: int) -> None:
    while live.totals["q"].final < count or any(one.rows < count for one in pullers):
        time.sleep(0.005)


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tuples", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=5, help="how many must be no better than the best before")
    parser.add_argument("--cases", default="", help="only cases whose label contains this")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tradewind-bench-"))
    spark = start(2, folder / "tmp", memory="4g", log=folder / "spark.log")
    figures: dict[str, dict[str, float]] = {"Aurora, 2003": {}, "Tradewind": {}}
    try:
        for case in (case for case in CASES if given.cases in case.label):
            count = min(given.tuples, 60_000 * case.at_once)
            own = settled(spark, folder, case, count, given.rounds)
            figures["Tradewind"][case.label] = own
            if case.aurora is not None:
                figures["Aurora, 2003"][case.label] = case.aurora
            print(
                f"{case.label}: Aurora {case.aurora or '-'} ns, Tradewind {own:,.0f} ns ({count:,} tuples)", flush=True
            )
        chart("aurora", "Aurora's Table 2, 64-byte tuples", "ns a tuple", figures, logarithmic=True)
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
