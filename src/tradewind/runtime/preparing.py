"""Making Spark start faster here: a run of a bit of everything, of which Java keeps the classes that it has loaded."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tradewind.errors import RunError
from tradewind.runtime.deployment import deployment
from tradewind.spark import archive
from tradewind.spark.session import end_java

_BIT_OF_EVERYTHING = """
sites: {one: {cores: 2}, two: {cores: 2}}
links: [{between: [one, two], mbps: 1000, ms: 1, usd_per_gb: 0.01}]
streams:
  ticks:
    schema: ts TIMESTAMP, k STRING, n BIGINT, x DOUBLE
    time: ts
    late_by: 1 second
    at:
      one: {format: rate, rows_per_second: 20000, options: {seed: 1, rows: 250000}}
      two: {format: rate, rows_per_second: 100, options: {seed: 2, rows: 1000}}
    distinct: {k: 20, n: 1000}
  tocks:
    schema: at TIMESTAMP, k STRING, m BIGINT
    time: at
    at: {two: {format: rate, rows_per_second: 50, options: {seed: 3, rows: 500}}}
    distinct: {k: 20}
queries:
  top:
    sql: |
      SELECT window.start AS since, k, count(*) AS c, sum(n) AS s, avg(x) AS x, approx_count_distinct(n) AS d
      FROM ticks WHERE n < 900
      GROUP BY window(ts, '10 seconds'), k
      QUALIFY row_number() OVER (PARTITION BY window ORDER BY c DESC, k) <= 5
    deliver: {site: two, format: parquet, path: out/top}
  pairs:
    sql: |
      SELECT ts, n, m FROM ticks JOIN tocks ON ticks.k = tocks.k AND at BETWEEN ts AND ts + INTERVAL '1' SECOND
      WHERE n < 5
    deliver: {site: two, format: json, path: out/pairs}
  counted:
    flow:
      out: {box: aggregate, in: tocks, by: [k], window: {tuples: 3, timeout: 5 seconds}, functions: {s: sum(m)}}
    deliver: {site: two, format: csv, path: out/counted}
"""


def prepare() -> Path:
    """Write the archive for this Java and this Spark, in a process that has not used Spark yet; where it is then."""
    target = archive.place()
    if target is None:
        raise RunError("there is no Java.", hint="`tradewind doctor` says how to get it.")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    partial = target.with_suffix(f".partial-{os.getpid()}")
    os.environ.update(archive.written(partial))
    try:
        with tempfile.TemporaryDirectory(prefix="tradewind-") as folder:
            file = Path(folder) / "everything.yaml"
            file.write_text(_BIT_OF_EVERYTHING)
            with deployment(file).run(state=Path(folder) / "state") as live:
                live.wait()
            end_java()
        if not partial.exists():
            raise RunError("Java has not written an archive.", hint="it can be done without: Spark only starts slower.")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target
