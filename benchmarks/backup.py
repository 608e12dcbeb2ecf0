"""Upstream backup: what it costs that rows wait, durably, where they were made, and how long it takes to catch up.

./dev bench backup [--cuts 5 10 20 40] [--rounds 3]

Overhead: a site sends its rows to another; channels on disk, each message synced, beside the same with channels in
memory (a file system in memory). Recovery: the link is cut for so long while rows go on coming, and healed; measured is
the time from the heal until the far site is as far as the near one was then, over the rows that had waited.
"""

from __future__ import annotations

import argparse
import math
import shutil
import tempfile
import time
from pathlib import Path

from _charts import chart

from tradewind.runtime.deployment import deployment
from tradewind.runtime.live import Live
from tradewind.runtime.wiring import Network
from tradewind.spark.session import Session, start

MEMORY = Path("/dev/shm")
FILE = """
sites: {{near: {{cores: 2}}, far: {{cores: 2}}}}
links: [{{between: [near, far], mbps: 10000, ms: 1, usd_per_gb: 0.02}}]
streams:
  rows:
    schema: ts TIMESTAMP, k BIGINT, x DOUBLE
    time: ts
    distinct: {{k: 1000000}}
    at: {{near: {{format: rate, row_bytes: 20, rows_per_second: {rate}, options: {{seed: 1{more}}}}}}}
queries:
  all: {{sql: "SELECT ts, k, x FROM rows WHERE x >= 0", deliver: {{site: far, format: noop}}, fresh_within: 3 seconds}}
"""


def laid_out(folder: Path, rate: int, more: str = "") -> Path:
    folder.mkdir(parents=True)
    path = folder / "backup.yaml"
    path.write_text(FILE.format(rate=rate, more=more))
    return path


def throughput(spark: Session, folder: Path, rows: int, backbone: Path | None) -> float:
    """Rows a second from one site to the other, all that there are as fast as possible."""
    path = laid_out(folder, 1_000_000, f", rows: {rows}, rows_per_batch: {rows // 8}")
    state = folder / "state"
    state.mkdir()
    if backbone is not None:
        backbone.mkdir()
        (state / "backbone").symlink_to(backbone)
    begin = time.perf_counter()
    with deployment(path).run(state=state, spark=spark, network=Network(imitate=False), planner="ship-all") as live:
        live.wait()
        took = time.perf_counter() - begin
    if backbone is not None:
        shutil.rmtree(backbone)
    return rows / took


def reached(live: Live) -> float:
    """How far the far site is, in microseconds since 1970."""
    marks = live.marks().get("all", {})
    return min(marks.values(), default=-math.inf)


def recovery(spark: Session, folder: Path, rate: int, cut: float) -> float:
    """Seconds until all that had waited while a link was cut has been taken in."""
    path = laid_out(folder, rate)
    network = Network(imitate=False)
    with deployment(path).run(
        state=folder / "state", spark=spark, until_done=False, network=network, planner="ship-all"
    ) as live:
        began = reached(live)
        while reached(live) <= began or not math.isfinite(reached(live)):
            live.wait(0.2)
        live.wait(10.0)
        links = live.wiring.links_between
        links.cut("near", "far")
        live.wait(cut)
        behind = reached(live)
        links.heal("near", "far")
        healed = time.perf_counter()
        while reached(live) < behind + cut * 1e6:
            live.wait(0.05)
        return time.perf_counter() - healed


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--rate", type=int, default=50_000)
    parser.add_argument("--cuts", type=float, nargs="*", default=[5, 10, 20, 40])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tradewind-bench-"))
    spark = start(2, folder / "tmp", memory="2g", log=folder / "spark.log")
    try:
        throughput(spark, folder / "warm", given.rows // 4, None)
        speeds: dict[str, float] = {"on disk": 0.0, "in memory": 0.0}
        for number in range(given.rounds):
            for name, backbone in (("on disk", None), ("in memory", MEMORY / f"{folder.name}-{number}")):
                found = throughput(spark, folder / f"{name}-{number}".replace(" ", "-"), given.rows, backbone)
                speeds[name] = max(speeds[name], found)
        print(f"with backup on disk: {speeds['on disk'] / speeds['in memory']:.3f} of the throughput", flush=True)
        times = {}
        for cut in given.cuts:
            took = recovery(spark, folder / f"cut-{cut:g}", given.rate, cut)
            times[f"{cut * given.rate:,.0f} rows waited ({cut:g} s)"] = took
            print(f"cut for {cut:g} s: caught up in {took:.1f} s", flush=True)
        chart("backup", "recovery after a cut", "seconds", {"upstream backup": times})
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
