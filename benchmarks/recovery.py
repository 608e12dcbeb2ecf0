"""How soon rows flow again while all cores are busy: after kill -9 of an agent, and after one in the middle of a move.

./dev bench recovery [--rounds 1] [--busy N] [--only agent|move]

The cluster is README's, with three agents on this machine. An agent that is killed is started again at once, as
whatever supervises it would do. Rows flow again when both shops read some, and an answer is delivered.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.cluster.clusters import COMMAND, Cluster

ROOT = Path(__file__).parents[1]
TARGET = 30.0
"""Seconds within which rows are to flow again, and a move is to be over."""
_LOOK = 0.2
_LONGEST = 400.0


class Shops(Cluster):
    """README's three sites, and what is seen of them."""

    def begin(self) -> None:
        shutil.copy(ROOT / "examples" / "three_sites.yaml", self.folder / "three_sites.yaml")
        self.serve("three_sites.yaml")
        for site in ("hq", "north", "south"):
            self.start(site)
        self.until_state("running")
        self.until(lambda: len(self._delivered()) > 3, 300, "answers are delivered")

    def start(self, site: str) -> None:
        """Start an agent, or start it again."""
        self.agent(site, *(("--listen", "127.0.0.1:0") if site != "south" else ()))

    def _delivered(self) -> list[Path]:
        return sorted((self.folder / "out" / "best_sellers").glob("batch-*"))

    def flowing(self, killed_at: float) -> bool:
        """Whether all shops have read rows, and an answer was delivered, since a moment by the wall clock."""
        newest = max((file.stat().st_mtime for file in self._delivered()), default=0.0)
        return newest > killed_at and all(self.reads(site, killed_at) for site in ("north", "south"))

    def reads(self, site: str, killed_at: float) -> bool:
        """Whether a shop's agent has read rows, by what it has told since a moment."""
        known = self.status()["sites"][site]
        fresh = known["seen_seconds_ago"] < time.time() - killed_at
        return fresh and any(one["rows"] for one in known["fragments"].values())

    def state_of_move(self) -> str:
        known = self.status()
        if known["moves"] and known["moves"][-1]["state"] not in {"done", "undone"}:
            return str(known["moves"][-1]["state"])
        apart = [one["state"] for one in known["splits"] if one["state"] == "coming apart"]
        return apart[0] if apart else "over"


@contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes that do nothing but keep a core busy."""
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for one in spinning:
            one.kill()
            one.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--busy", type=int, default=os.cpu_count() or 1, help="processes that keep the cores busy")
    parser.add_argument("--only", choices=["agent", "move"])
    parser.add_argument("--json", action="store_true", help="print what was measured as JSON, on stdout")
    given = parser.parse_args()
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary, Shops(Path(temporary)) as shops:
        shops.begin()
        with busy(given.busy):
            for _ in range(given.rounds):
                if given.only != "move":
                    found += [_agent(shops, site) for site in ("hq", "north")]
                if given.only != "agent":
                    found += [
                        _move(shops, killed, phase)
                        for killed, phase in (("north", "preparing"), ("hq", "preparing"), ("north", "taking"))
                    ]
    if given.json:
        print(json.dumps(found, indent=2))
    slow = [one for one in found if one["seconds"] > TARGET]
    print(f"{len(found) - len(slow)} of {len(found)} within {TARGET:.0f} s", file=sys.stderr)
    return 1 if slow else 0


def _agent(shops: Shops, site: str) -> dict[str, Any]:
    shops.kill(site)
    begin, moment = time.perf_counter(), time.time()
    shops.start(site)
    steps: dict[str, float] = {}
    while "flows" not in steps and time.perf_counter() - begin < _LONGEST:
        known, passed = shops.status()["sites"][site], round(time.perf_counter() - begin, 1)
        fresh = known["seen_seconds_ago"] < passed
        if fresh and "reports" not in steps:
            steps["reports"] = passed
        if fresh and known["work"] == "running" and "runs" not in steps:
            steps["runs"] = passed
        if fresh and any(one["rows"] for one in known["fragments"].values()) and "reads" not in steps:
            steps["reads"] = passed
        if "reads" in steps and shops.flowing(moment):
            steps["flows"] = passed
        time.sleep(_LOOK)
    return _told({"kill": site, "seconds": steps.get("flows", _LONGEST), "steps": steps})


def _move(shops: Shops, killed: str, phase: str) -> dict[str, Any]:
    """What merges is moved to a shop, and an agent is killed in a phase of that; then it comes home."""
    shops.until(lambda: shops.status()["state"] == "running", _LONGEST, "all runs")
    words = [*COMMAND, "move", "best_sellers", "north", "--json"]
    said = (shops.folder / "move.log").open("wb")
    moving = subprocess.Popen(
        words, stdout=said, stderr=said, cwd=shops.folder, env={**os.environ, "TRADEWIND_AT": str(shops.state)}
    )
    shops.until(lambda: shops.state_of_move() == phase or moving.poll() is not None, _LONGEST, f"the move is {phase}")
    shops.kill(killed)
    begin, moment = time.perf_counter(), time.time()
    shops.start(killed)
    steps: dict[str, float] = {}
    while len(steps) < 3 and time.perf_counter() - begin < _LONGEST:
        passed = round(time.perf_counter() - begin, 1)
        if "over" not in steps and shops.state_of_move() == "over":
            steps["over"] = passed
        if "command" not in steps and moving.poll() is not None:
            steps["command"] = passed
        if "flows" not in steps and shops.flowing(moment):
            steps["flows"] = passed
        time.sleep(_LOOK)
    moving.kill()
    moving.wait()
    said.close()
    ended = shops.status()["moves"][-1:]
    print((shops.folder / "move.log").read_text(), file=sys.stderr)
    _home(shops)
    seconds = max(steps.get(name, _LONGEST) for name in ("over", "command", "flows"))
    how = ended[0]["state"] if ended else "not begun"
    return _told({"kill": killed, "during": phase, "seconds": seconds, "ended": how, "steps": steps})


def _home(shops: Shops) -> None:
    """All is as it was before."""
    shops.until(lambda: shops.state_of_move() == "over", _LONGEST, "nothing moves")
    if any(one["state"] in {"apart", "moving", "merging"} for one in shops.status()["splits"]):
        shops.until(lambda: _merged(shops), _LONGEST, "it is merged")
    shops.until(lambda: shops.status()["state"] == "running", _LONGEST, "all runs")


def _merged(shops: Shops) -> bool:
    if not shops.status()["splits"] or all(one["state"].startswith("not ") for one in shops.status()["splits"]):
        return True
    done = subprocess.run(
        [*COMMAND, "merge", "best_sellers"], capture_output=True, cwd=shops.folder, check=False,
        env={**os.environ, "TRADEWIND_AT": str(shops.state)},
    )  # fmt: skip
    return done.returncode == 0


def _told(measured: dict[str, Any]) -> dict[str, Any]:
    print(measured, file=sys.stderr, flush=True)
    return measured


if __name__ == "__main__":
    sys.exit(main())
