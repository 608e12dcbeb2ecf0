"""Runs of the shops in a process of their own, killed without warning."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.sites.shops import Shops


def command(shops: Shops) -> list[str]:
    state = str(shops.folder / "state")
    return [sys.executable, "-m", "tradewind.cli.main", "run", str(shops.file), "--until-done", "--state", state, "-q"]


def kill_after(shops: Shops, seconds: float) -> None:
    """Start a run, and kill -9 it so long after its fragments have been started; unless it has ended by then."""
    process = subprocess.Popen(command(shops), stderr=subprocess.DEVNULL, start_new_session=True)
    epoch = shops.folder / "state" / "epoch.json"
    before = _text(epoch)
    while process.poll() is None and _text(epoch) == before:
        time.sleep(0.05)
    time.sleep(seconds)
    if process.poll() is None:
        os.kill(process.pid, signal.SIGKILL)
    process.wait()


def finish(shops: Shops) -> None:
    """Let a run come to its end."""
    done = subprocess.run(command(shops), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""
