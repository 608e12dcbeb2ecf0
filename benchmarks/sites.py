"""Many sites on one machine: a hop, channels in and out, leaves and a root beside one central query, slow links.

./dev bench sites [--rows 6000000] [--rounds 3] [hop channels throughput links many]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _charts import chart

from tradewind.algebra.expressions.typing import parse_condition
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.core import Filter, Source
from tradewind.algebra.schema import parse_schema
from tradewind.backbone.channels import Publisher, Reader, create, publish_part
from tradewind.backbone.commits import Commit
from tradewind.backbone.connection import Connection
from tradewind.backbone.names import Address
from tradewind.backbone.news import News
from tradewind.backbone.server import Server
from tradewind.runtime.deployment import deployment
from tradewind.runtime.wiring import Network
from tradewind.spark.channels.inlets import Inlets
from tradewind.spark.channels.outlets import Outlet
from tradewind.spark.channels.tickets import Tickets
from tradewind.spark.engine import Engine
from tradewind.spark.intake import Intake
from tradewind.spark.packing import packed
from tradewind.spark.query import Running
from tradewind.spark.session import Session, another, start

BASE = 1_700_000_000_000_000
SCHEMA = "ts TIMESTAMP, k BIGINT, x DOUBLE"
LEAVES = 6
HOPS = 100
FILE = """
sites:
{sites}
  hub: {{cores: 2}}
links:
{links}
streams:
  rows:
    schema: ts TIMESTAMP, k BIGINT, x DOUBLE
    time: ts
    late_by: 1 second
    distinct: {{k: 1000}}
    at:
{origins}
queries:
  q:
    sql: SELECT window.start AS t, k, count(*) AS n, sum(x) AS x FROM rows GROUP BY window(ts, '1 minute'), k
    deliver: {{site: hub, format: noop}}
    revise_within: 0 seconds
"""


@contextmanager
def backbone(folder: Path) -> Iterator[Connection]:
    server = Server.start(folder / "backbone")
    connection = Connection.open(server.url)
    try:
        yield connection
    finally:
        connection.close()
        server.stop()


def made(rows: int, seed: int, start_at: int = 0) -> pa.Table:
    draw = np.random.default_rng(seed)
    times = BASE + start_at + np.arange(rows) * (360_000_000 // rows)
    return pa.table({
        "ts": pa.array(times, pa.timestamp("us", "UTC")),
        "k": draw.integers(0, 1000, rows),
        "x": draw.random(rows),
    })  # fmt: skip


# --- one hop ----------------------------------------------------------------------------------------------------------


def hop(spark: Session, folder: Path) -> dict[str, float]:
    """From a commit on a channel to the commit that a fragment makes of it on the next, with two fragments running, one
    behind the other; once both are warm.
    """
    source = Source("rows", parse_schema(SCHEMA, time="ts"), 0, ("a",))
    first = Filter(source, parse_condition("x >= 0", source.schema))
    second = Filter(first, parse_condition("x < 2", first.schema))
    with backbone(folder) as connection:
        names = {"in": source, "mid": first, "out": second}
        places = {name: Address("bench", "here", name) for name in names}
        for address in places.values():
            create(connection, address)
        runs = [
            _fragment(spark, connection, folder, places, names, given=given, name=name)
            for given, name in (("in", "mid"), ("mid", "out"))
        ]
        tickets = {places[name]: run.intake.inlets.tickets for name, run in zip(("in", "mid"), runs, strict=True)}
        news = News(connection.url, dict.fromkeys(tickets, 0), lambda a, p: tickets[a].issue(a.channel, p))
        for run in runs:
            run.start(interval=0.05)
        try:
            seconds = list(_hops(connection, places))
        finally:
            for run in runs:
                run.stop()
            news.stop()
    warm = sorted(seconds[-HOPS:])
    return {"p50": statistics.median(warm), "p95": warm[int(len(warm) * 0.95)]}


def _fragment(spark, connection, folder, places, names, *, given, name) -> Running:
    own = another(spark)
    graph = Graph(((name, names[name]),))
    engine = Engine.at(own, graph, folder / name / "memory", {given: ("rows/a",)}, given={given: names[given]})
    tickets = Tickets(folder / name / "tickets", [given])
    inlets = Inlets(connection, {given: places[given]}, name, tickets)
    outlets = {name: Outlet(connection, places[name], name, 1)}
    return Running(own, engine, Intake((), inlets), (), {}, folder / name, outlets=outlets)


def _hops(connection: Connection, places: dict[str, Address]) -> Iterator[float]:
    writer = Publisher(connection, places["in"], "bench", 1)
    readers = [Reader(connection, places[name]) for name in ("mid", "out")]
    heads = [0, 0]
    for batch in range(HOPS):
        table = made(1000, batch, batch * 1_000_000)
        rows = table.append_column("_due", table["ts"].cast(pa.int64())).append_column("_weight", [[1] * 1000])
        part = publish_part(connection, places["in"], packed(rows.combine_chunks().to_batches()[0]), 1000)
        begin = time.perf_counter()
        writer.commit(Commit("bench", 1, batch, (part,), {"rows/a": BASE + batch * 1_000_000}))
        for number, reader in enumerate(readers):
            while reader.head() == heads[number]:
                time.sleep(0.002)
            heads[number] = reader.head()
            yield time.perf_counter() - begin
            begin = time.perf_counter()


# --- channels in and out ----------------------------------------------------------------------------------------------


def channels(spark: Session, folder: Path, rows: int, rounds: int) -> dict[str, float]:
    """Million rows a second out of Spark into a channel, and from a channel into Spark."""
    best = {"into a channel": 0.0, "out of a channel": 0.0}
    table = folder / "rows.parquet"
    pq.write_table(made(rows, 1), table, row_group_size=100_000)
    with backbone(folder) as connection:
        for number in range(rounds):
            address = Address("bench", "here", f"rates-{number}")
            create(connection, address)
            outlet = Outlet(connection, address, "bench", 1)
            frame = spark.read.parquet(str(table)).selectExpr("*", "unix_micros(ts) AS _due", "1L AS _weight")
            begin = time.perf_counter()
            parts = outlet.stage(frame, few=False)
            outlet.publish({"batch": 0, "parts": parts, "late": False, "closing": False}, {})
            best["into a channel"] = max(best["into a channel"], rows / (time.perf_counter() - begin) / 1e6)
            inlets = Inlets(connection, {"c": address}, "bench", Tickets(folder / f"t{number}", ["c"]))
            begin = time.perf_counter()
            found = inlets.rows(spark, {"c": [placed.commit for placed in Reader(connection, address).commits(0)]})
            found._jdf.queryExecution().toRdd().count()  # noqa: SLF001 - every row and column, and nothing else
            best["out of a channel"] = max(best["out of a channel"], rows / (time.perf_counter() - begin) / 1e6)
    return best


# --- leaves and a root ------------------------------------------------------------------------------------------------


def lay_out(folder: Path, rows: int, mbps: float, leaves: int = LEAVES, files: int = 4) -> tuple[Path, Path]:
    """The same rows at so many leaves, and all at one site: two deployment files."""
    names = [f"leaf{n}" for n in range(leaves)]
    for n, name in enumerate(names):
        (folder / "data" / name).mkdir(parents=True, exist_ok=True)
        for part in range(files):
            span = 360_000_000 * part
            pq.write_table(
                made(rows // leaves // files, n * 100 + part, span), folder / "data" / name / f"{part}.parquet"
            )
    many = FILE.format(
        sites="\n".join(f"  {name}: {{cores: 1}}" for name in names),
        links="\n".join(f"  - {{between: [{name}, hub], mbps: {mbps:g}, ms: 5, usd_per_gb: 0.05}}" for name in names),
        origins="\n".join(
            f"      {name}: {{format: parquet, path: data/{name}, rows_per_second: {rows / leaves / 1440:g}, "
            "options: {max_files_per_batch: 1}}"
            for name in names
        ),
    )
    (folder / "many.yaml").write_text(many)
    everywhere = f"      hub: {{format: parquet, path: 'data/*', rows_per_second: {rows / 1440:g}, "
    everywhere += f"options: {{max_files_per_batch: {leaves}}}}}"
    (folder / "central.yaml").write_text(
        FILE.format(sites="", links=" []", origins=everywhere).replace("links:\n []", "")
    )
    return folder / "many.yaml", folder / "central.yaml"


def timed(file: Path, spark: Session, **options) -> tuple[float, int]:
    """Seconds that a run takes, without starting Spark, and the bytes that crossed its links."""
    state = file.parent / "state"
    shutil.rmtree(state, ignore_errors=True)
    live = deployment(file).run(state=state, spark=spark, **options)
    with live:
        begin = time.perf_counter()
        live.wait()
        seconds = time.perf_counter() - begin
        moved = sum(one.bytes for one in live.links().values())
    return seconds, moved


def throughput(spark: Session, folder: Path, rows: int, rounds: int) -> dict[str, float]:
    """Million rows a second of six leaves and a root, and of one central query over the same rows."""
    many, central = lay_out(folder, rows, 10_000)
    best = {"one central query": 0.0, "six leaves and a root": 0.0}
    for _ in range(rounds):
        best["one central query"] = max(best["one central query"], rows / timed(central, spark)[0] / 1e6)
        quick = timed(many, spark, network=Network(imitate=False))[0]
        best["six leaves and a root"] = max(best["six leaves and a root"], rows / quick / 1e6)
    return best


def links(spark: Session, folder: Path, rows: int) -> dict[str, float]:
    """Thousand rows a second with links at a tenth of the raw rate, planned and with everything shipped."""
    many, _ = lay_out(folder, rows, 10_000)
    seconds, moved = timed(many, spark, planner="ship-all", network=Network(imitate=False))
    # Each of the links gets a tenth of what it would need to keep up with shipping at full speed.
    mbps = moved * 8 / LEAVES / seconds / 1e6 / 10
    many, _ = lay_out(folder, rows, max(mbps, 0.01))
    return {
        "everything shipped": rows / timed(many, spark, planner="ship-all")[0] / 1e3,
        "planned": rows / timed(many, spark)[0] / 1e3,
    }


def many(spark: Session, folder: Path) -> dict[str, float]:
    """Nineteen leaves and a root: the slowest batch once all have run three, and the memory of all processes."""
    file, _ = lay_out(folder, 19 * 4 * 5_000, 10_000, leaves=19, files=6)
    seconds: dict[str, list[float]] = {}
    state = folder / "state"
    shutil.rmtree(state, ignore_errors=True)
    memory = 0.0
    live = deployment(file).run(
        state=state,
        spark=spark,
        network=Network(imitate=False),
        on_batch=lambda report: seconds.setdefault(report.fragment, []).append(report.seconds),
    )
    begin = time.perf_counter()
    with live:
        while not live.wait(1.0):
            memory = max(memory, _resident())
    warm = [one for some in seconds.values() for one in some[3:]]
    return {
        "slowest batch, s": max(warm),
        "usual batch, s": statistics.median(warm),
        "whole run, s": time.perf_counter() - begin,
        "memory, GB": memory,
    }


def _resident() -> float:
    """The memory of this process and all that it started, in GB."""
    shown = subprocess.run(["ps", "-eo", "pid,ppid,rss"], capture_output=True, text=True, check=True).stdout
    rows = [tuple(map(int, line.split())) for line in shown.splitlines()[1:]]
    own, waiting = set(), [os.getpid()]
    while waiting:
        pid = waiting.pop()
        own.add(pid)
        waiting += [p for p, parent, _ in rows if parent == pid and p not in own]
    return sum(size for pid, _, size in rows if pid in own) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["hop", "channels", "throughput", "links", "many"])
    parser.add_argument("--rows", type=int, default=6_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        spark = start(2, Path(temporary) / "spark", log=Path(temporary) / "spark.log")
        for what in given.what:
            folder = Path(temporary) / what
            folder.mkdir()
            _measure(what, spark, folder, given)
        spark.stop()


def _measure(what: str, spark: Session, folder: Path, given: argparse.Namespace) -> None:
    match what:
        case "hop":
            chart(
                "sites_hop", "Publish, Spark, next channel; aim: p50 at most 0.25", "seconds", {"": hop(spark, folder)}
            )
        case "channels":
            best = channels(spark, folder, given.rows, given.rounds)
            chart(
                "sites_channels",
                "From Spark into a channel (aim 1.5), and out of it (aim 3)",
                "million rows/s",
                {"": best},
            )
        case "throughput":
            best = throughput(spark, folder, given.rows, given.rounds)
            ratio = best["six leaves and a root"] / best["one central query"]
            chart("sites_throughput", f"End to end, ratio {ratio:.2f} (aim 0.6)", "million rows/s", {"": best})
        case "links":
            best = links(spark, folder, given.rows)
            ratio = best["planned"] / best["everything shipped"]
            chart(
                "sites_links",
                f"Links at a tenth of the raw rate, ratio {ratio:.1f} (aim 5)",
                "thousand rows/s",
                {"": best},
            )
        case "many":
            chart("sites_many", "Twenty fragments; aims: 3 s, 4 GB", "", {"": many(spark, folder)})
        case _:
            raise SystemExit(f"no part is called {what!r}")


if __name__ == "__main__":
    main()
