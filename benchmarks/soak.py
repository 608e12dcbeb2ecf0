"""A cluster that runs for long: what its processes hold, and what lies on its disk, must come to rest.

./dev bench soak [--minutes 60]        (--minutes 480 for eight hours)

Three sites as processes, fed by generators. Every ten seconds: resident memory, open files and sockets of all
processes, files of all state folders, and bytes that JetStream holds. What was delivered grows, and does not count.
At the end the last third of the run is set beside the third before it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path

from _charts import chart

from tradewind.backbone.connection import Connection
from tradewind.backbone.jetstream import managed
from tradewind.backbone.settings import former
from tradewind.cli.processes import Processes
from tradewind.runtime.cluster.footprint import family, memory_bytes

EXAMPLE = Path(__file__).parent.parent / "examples" / "three_sites.yaml"
SITES = ("north", "south", "hq")
EVERY = 10.0
ALLOWED = 1.10
"""How much more the last third may hold than the one before it."""
BLOCKS = "blocks of JetStream, kB"
"""Shown, not judged: nats-server takes removed messages out of a block once it has grown to 2 MB."""


def handles(pid: int) -> int:
    """Open files, sockets and pipes of a process and its descendants."""
    found = 0
    for one in family(pid):
        try:
            found += sum(1 for _ in Path(f"/proc/{one}/fd").iterdir())
        except OSError:
            continue
    return found


def lying(folder: Path, inside: str | None = None) -> tuple[int, int]:
    """How many files lie below a folder, and their bytes; only those below a folder of some name, if one is given."""
    files = size = 0
    # Folders come and go meanwhile, which `os.walk` passes over.
    for place, _, names in os.walk(folder):
        if inside is not None and inside not in Path(place).parts:
            continue
        for name in names:
            with suppress(OSError):
                size += Path(place, name).stat().st_size
                files += 1
    return files, size


def held(backbone: Path) -> int:
    """The bytes of all messages that a site's server holds."""
    server = former(backbone.resolve())
    if server is None:
        return 0
    with closing(Connection.open(server.url)) as connection:
        return int(connection.call(managed(connection, "INFO"))["storage"])


def sample(processes: Processes, folder: Path) -> dict[str, float]:
    pids = processes.pids()
    state = [folder / "cluster", folder / "agents"]
    return {
        "memory, MB": sum(memory_bytes(pid) for pid in pids) / 1e6,
        "handles": sum(handles(pid) for pid in pids),
        "files of state": sum(lying(one)[0] for one in state),
        "JetStream, kB": sum(held(folder / "agents" / site / "backbone") for site in SITES) / 1e3,
        BLOCKS: sum(lying(one, "store")[1] for one in state) / 1e3,
    }


def tenths(values: dict[float, float]) -> dict[str, float]:
    """The median of each tenth of a run, in percent of the most that was ever held."""
    found, most = list(values.values()), max(values.values()) or 1.0
    size = max(1, len(found) // 10)
    parts = [found[n : n + size] for n in range(0, size * 10, size)]
    return {f"{n + 1:2}": statistics.median(part) / most * 100 for n, part in enumerate(parts) if part}


def main() -> None:
    """Run, measure, print and draw; exit 1 if something grows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tradewind-soak-"))
    file = folder / "three_sites.yaml"
    # Channels keep less for queries that come later than they would, so that they are full before the run ends.
    file.write_text(EXAMPLE.read_text() + "channels: {keep_megabytes: 0.5}\n")
    points: dict[str, dict[float, float]] = {}
    try:
        with Processes(folder) as processes:
            processes.serve(file, until_done=False)
            for site in SITES:
                processes.agent(site)
            processes.until("running", lambda _: None)
            begin = time.perf_counter()
            while (passed := time.perf_counter() - begin) < given.minutes * 60:
                found = sample(processes, folder)
                for name, value in found.items():
                    points.setdefault(name, {})[passed / 60] = value
                status = processes.status()
                rows = status["queries"]["best_sellers"]["final"]
                shown = ", ".join(f"{name} {value:,.0f}" for name, value in found.items())
                print(f"{passed / 60:6.1f} min  {status['state']}, {rows:,} rows final; {shown}", flush=True)
                time.sleep(EVERY)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    grown = False
    for name, values in points.items():
        thirds = list(values.values())
        third = max(1, len(thirds) // 3)
        middle, last = statistics.median(thirds[-2 * third : -third]), statistics.median(thirds[-third:])
        grown |= name != BLOCKS and last > middle * ALLOWED
        print(f"{name}: {middle:,.0f} in the middle third, {last:,.0f} in the last ({last / middle:.2f})")
    shares = {name: tenths(values) for name, values in points.items()}
    chart("soak", f"{given.minutes:g} minutes of three sites, by tenths", "% of the most", shares)
    raise SystemExit(1 if grown else 0)


if __name__ == "__main__":
    main()
