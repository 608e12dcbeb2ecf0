"""Runs a tier of the tests again and again, in a clone of what is committed: does any test fail now and then?

    ./dev bench tiers --rounds 10 --busy 2          the middle tier ten times, twice of that with both cores busy
    ./dev bench tiers --rounds 3 --tier quick

Each round's closing line and time are printed, and in the end the tests that failed. Exit 1 if there were any.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
_CLOSING = re.compile(r"^=+ (.* in [0-9.]+s.*) =+$", re.MULTILINE)
_FAILED = re.compile(r"^(?:FAILED|ERROR|SUBFAILED\S*) (\S+)", re.MULTILINE)
_TIERS = {"quick": ["--quick"], "middle": [], "all": ["--all"]}


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """So many processes that do nothing but count."""
    counting = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in counting:
            process.kill()
            process.wait()


def _round(clone: Path, tier: str, log: Path) -> tuple[str, list[str], bool]:
    """One run: its closing line, the tests that failed, and whether all is well."""
    with log.open("w") as file:
        done = subprocess.run(
            ["./dev", "test", *_TIERS[tier]], cwd=clone, stdout=file, stderr=subprocess.STDOUT, check=False
        )
    told = log.read_text()
    closing = _CLOSING.findall(told)
    return closing[-1] if closing else "no closing line", _FAILED.findall(told), done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10, help="how often the tier runs")
    parser.add_argument("--busy", type=int, default=2, help="how many of the rounds have all cores busy besides")
    parser.add_argument("--tier", choices=sorted(_TIERS), default="middle")
    parser.add_argument("--logs", type=Path, default=None, help="where each round's output is kept")
    chosen = parser.parse_args()
    logs = chosen.logs or Path(tempfile.mkdtemp(prefix="tiers-"))
    logs.mkdir(parents=True, exist_ok=True)
    failures: Counter[str] = Counter()
    red = 0
    with tempfile.TemporaryDirectory(prefix="tiers-") as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        subprocess.run(["./dev", "setup"], cwd=clone, check=True)
        for number in range(1, chosen.rounds + 1):
            is_busy = number > chosen.rounds - chosen.busy
            begin = time.monotonic()
            with _busy((os.cpu_count() or 1) if is_busy else 0):
                closing, failed, well = _round(clone, chosen.tier, logs / f"round-{number}.log")
            seconds = time.monotonic() - begin
            print(f"round {number}{', cores busy' * is_busy}: {seconds:.0f} s: {closing}", flush=True)
            failures.update(failed)
            red += not well
    for test, times in failures.most_common():
        print(f"failed {times} times: {test}")
    print(f"{chosen.rounds - red} of {chosen.rounds} rounds green; output in {logs}")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())
