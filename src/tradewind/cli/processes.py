"""A cluster of processes on this machine, for demonstrations: a coordinator, and an agent for each site."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from tradewind.errors import RunError, TradewindError

_LOOK = 0.5
_STARTING = 60.0
_ENDING = 60.0


class Processes:
    """The processes of a cluster; all of them end with the block that they are used in."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._state = folder / "cluster"
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._logs: list[IO[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            try:
                process.wait(_ENDING)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for log in self._logs:
            log.close()

    def serve(self, file: Path, *, until_done: bool = True) -> None:
        """Start a coordinator that lets a file run, to its end if it has one; it answers when this returns."""
        words = ["serve", str(file), "--state", str(self._state), "--listen", "127.0.0.1:0"]
        self._start("coordinator", [*words, *(["--until-done"] if until_done else [])])
        end = time.perf_counter() + _STARTING
        while not self._answers():
            self._raise_deaths()
            if time.perf_counter() > end:
                raise RunError(f"the coordinator does not answer within {_STARTING:.0f} s.", where=str(self._folder))
            time.sleep(_LOOK)

    def agent(self, site: str) -> None:
        """Start a site."""
        port = self._contact().url.rpartition(":")[2]
        self._start(
            site,
            ["agent", "--site", site, "--join", f"{self._state / 'tokens' / site}@127.0.0.1:{port}", "--root",
             str(self._folder), "--state", str(self._folder / "agents" / site), "--cores", "1", "--memory", "512m"],
        )  # fmt: skip

    def status(self) -> dict[str, Any]:
        """How everything is."""
        found: dict[str, Any] = self._client().get("/v1/status")
        return found

    def pids(self) -> list[int]:
        """The processes that were started here; they have started others."""
        return [process.pid for process in self._running.values()]

    def until(self, state: str, look: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Wait until everything is so, and show how it goes meanwhile."""
        while (found := self.status())["state"] != state:
            self._raise_deaths()
            look(found)
            time.sleep(_LOOK)
        return found

    def _answers(self) -> bool:
        try:
            self.status()
        except TradewindError:
            return False
        return True

    def _contact(self) -> Any:
        # Loaded on use: other commands do not need it.
        return importlib.import_module("tradewind.runtime.cluster.client").Contact.load(self._state)

    def _client(self) -> Any:
        return importlib.import_module("tradewind.runtime.cluster.client").Client(self._contact())

    def _start(self, name: str, words: list[str]) -> None:
        log = (self._folder / f"{name}.log").open("ab")
        self._logs.append(log)
        self._running[name] = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "tradewind.cli.main", *words],
            stdout=log,
            stderr=log,
            env=os.environ,
            start_new_session=True,
        )

    def _raise_deaths(self) -> None:
        for name, process in self._running.items():
            if process.poll() is not None:
                said = (self._folder / f"{name}.log").read_text(errors="replace").strip().splitlines()
                raise RunError(f"{name} has ended: {said[-1] if said else process.returncode}.")
