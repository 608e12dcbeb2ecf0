"""Memory of a long run: rows of ten thousand live keys, and what `tradewind run` and its Spark hold meanwhile.

./dev bench memory [--rows 100000000]

What is measured is the resident memory of the command and of all processes that it started, twice a second; each bar
is the most of a tenth of the run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _charts import chart

AIM_MB = 2_000
KEYS = 10_000
FILE = """
sites: {{here: {{cores: 2}}}}
streams:
  readings:
    schema: ts TIMESTAMP, k BIGINT, x DOUBLE
    time: ts
    late_by: 10 seconds
    distinct: {{k: {keys}}}
    at: {{here: {{format: rate, options: {{rows: {rows}, rows_per_batch: 2000000, rows_per_second: 100000, seed: 1}}}}}}
queries:
  minutes:
    sql: |
      SELECT k, window.start AS minute, count(*) AS n, avg(x) AS mean
      FROM readings GROUP BY k, window(ts, '1 minute')
    deliver: {{site: here, path: out, format: parquet}}
    revise_within: 0 seconds
"""


def resident(root: int) -> float:
    """Megabytes of a process and of all its descendants; pages that they share are counted for each."""
    parents = {}
    for found in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(found.parent.name)] = int(found.read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue
    pages = 0
    for process in parents:
        above: int | None = process
        while above is not None and above != root:
            above = parents.get(above)
        if above == root:
            try:
                pages += int(Path(f"/proc/{process}/statm").read_text().split()[1])
            except OSError:
                continue
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000_000)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tradewind-bench-"))
    try:
        file = folder / "memory.yaml"
        file.write_text(FILE.format(rows=given.rows, keys=KEYS))
        command = [str(Path(sys.executable).parent / "tradewind"), "run", str(file), "--until-done"]
        begin = time.perf_counter()
        with subprocess.Popen([*command, "--state", str(folder / "state")], stderr=subprocess.STDOUT) as run:
            held = []
            while run.poll() is None:
                held.append(resident(run.pid))
                time.sleep(0.5)
        seconds = time.perf_counter() - begin
        if run.returncode:
            raise SystemExit(f"the run failed with {run.returncode}")
        bars = {}
        for tenth in range(10):
            part = held[len(held) * tenth // 10 : len(held) * (tenth + 1) // 10]
            bars[f"{tenth * 10}-{tenth * 10 + 10} %"] = max(part, default=0.0)
        print(f"most: {max(held):,.0f} MB (aim: less than {AIM_MB:,}); {given.rows / seconds / 1e6:.2f} million rows/s")
        chart("memory", f"{given.rows:,} rows, {KEYS:,} live keys", "MB resident", {"Tradewind": bars})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
