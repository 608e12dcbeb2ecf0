"""Clusters of real processes on this machine: a coordinator, and an agent for each site."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tradewind.errors import TradewindError
from tradewind.runtime.cluster.client import Client, Contact
from tradewind.runtime.cluster.footprint import family

COMMAND = [sys.executable, "-m", "tradewind.cli.main"]


class Cluster:
    """A coordinator and agents, each a process of its own, in a folder that holds a deployment."""

    def __init__(self, folder: Path, *, memory: str = "512m") -> None:
        self.folder = folder
        self.state = folder / "cluster"
        self.memory = memory
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            for name in self.processes:
                sys.stderr.write(f"--- {name}\n{self.said(name)[-3000:]}\n")
        with ExitStack() as all_of_them:  # whoever does not end keeps nobody else from it
            for name in self.processes:
                all_of_them.callback(self.end, name)

    def serve(self, *options: str, listen: str = "127.0.0.1:0") -> None:
        """Start the coordinator; it answers when this returns."""
        self._start("coordinator", ["serve", *options, "--state", str(self.state), "--listen", listen])
        self.until(lambda: (self.state / "client.json").exists() and self._answers(), 180, "the coordinator answers")

    def agent(self, site: str, *options: str) -> None:
        """Start a site's agent."""
        join = f"{self.state / 'tokens' / site}@127.0.0.1:{self.port}"
        common = ["--root", str(self.folder), "--state", str(self.folder / "agents" / site), "--memory", self.memory]
        self._start(site, ["agent", "--site", site, "--join", join, "--cores", "1", *common, *options])

    @property
    def contact(self) -> Contact:
        return Contact.load(self.state)

    @property
    def client(self) -> Client:
        return Client(self.contact)

    @property
    def port(self) -> int:
        return int(self.contact.url.rpartition(":")[2])

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.get("/v1/status")
        return found

    def until_state(self, state: str, seconds: float = 480) -> dict[str, Any]:
        """Wait until everything is so."""
        self.until(lambda: self.status()["state"] == state, seconds, f"the cluster is {state}")
        return self.status()

    def until(self, holds: Any, seconds: float, what: str) -> None:
        end = time.monotonic() + seconds
        while not holds():
            dead = {name: one.returncode for name, one in self.processes.items() if one.poll() is not None}
            assert not dead, f"{what}? {dead}"
            if time.monotonic() > end:
                shown = json.dumps(self.status(), indent=1)[:4000] if "coordinator" in self.processes else ""
                raise AssertionError(f"not within {seconds} s: {what}\n{shown}")
            time.sleep(0.4)

    def command(self, *words: str, code: int = 0) -> str:
        """What a command says that is run against the cluster."""
        return self._ran(words, code).stdout

    def _ran(self, words: tuple[str, ...], code: int) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*COMMAND, *words], capture_output=True, text=True, timeout=300, check=False, cwd=self.folder,
            env={**os.environ, "TRADEWIND_AT": str(self.state)},
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def failing(self, *words: str) -> str:
        """What a command says that is refused."""
        return self._ran(words, 2).stderr

    def kill(self, name: str) -> None:
        """kill -9; what the process started ends by itself."""
        process = self.processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def end(self, name: str) -> None:
        process = self.processes.pop(name)
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            # What each of its threads is at is written to its log.
            process.send_signal(signal.SIGABRT)
            process.wait()
            raise AssertionError(f"{name} does not end; it said:\n{self.said(name)[-8000:]}") from None

    def said(self, name: str) -> str:
        path = self.folder / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def started_by(self, name: str, called: str) -> list[int]:
        """The processes below one of ours whose command line holds a text."""
        _, *below = family(self.processes[name].pid)
        return [pid for pid in below if called in _command(pid)]

    def _answers(self) -> bool:
        try:
            self.status()
        except TradewindError:
            return False
        return True

    def _start(self, name: str, words: list[str]) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [*COMMAND, *words],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
                env=telling(),
            )


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def telling() -> dict[str, str]:
    """An environment in which a process that is aborted says where it was."""
    return {**os.environ, "PYTHONFAULTHANDLER": "1"}


def two_ports() -> int:
    """A port that is free, as is the one above it."""
    while True:
        with socket.socket() as one, socket.socket() as two, suppress(OSError, OverflowError):
            one.bind(("127.0.0.1", 0))
            port = int(one.getsockname()[1])
            two.bind(("127.0.0.1", port + 1))
            return port
