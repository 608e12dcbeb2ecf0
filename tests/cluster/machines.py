"""Machines that are made up: each has a network namespace of its own, so that default ports are free, and a folder."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cluster.documented import ROOT

TRADEWIND = Path(sys.executable).with_name("tradewind")
_PATIENCE = 60.0


def why_not() -> str | None:
    """Why there cannot be any; None if there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "ip is missing (Debian: iproute2)"
    name = f"twd{os.getpid()}-try"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
    if made.returncode:
        return "this system allows no network namespaces"
    _ip("netns", "del", name)
    return None


class Machines:
    """A machine in the middle, which has 10.0.0.1, and others around it, which reach it and nobody else."""

    def __init__(self, folder: Path, middle: str, *others: str) -> None:
        self._folder = folder
        self._mark = f"twd{os.getpid()}"
        self._names = [middle, *others]
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        try:
            for number, name in enumerate(self._names, start=1):
                self._make(name, f"10.0.0.{number}")
            for number, name in enumerate(self._names[1:], start=2):
                self._join(name, f"10.0.0.{number}")
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is not None:
                for log in sorted(self._folder.glob("*.log")):
                    sys.stderr.write(f"--- {log.name}\n{log.read_text()[-3000:]}\n")
            self.end_all()
        finally:
            self._remove()

    def folder(self, name: str) -> Path:
        """Where commands are typed at a machine: it holds what a clone has."""
        return self._folder / name

    def start(self, name: str, command: str) -> None:
        """Let a command go on."""
        words = self._words(name, command)
        key = f"{name or 'here'}-{len(self.running)}"
        with (self._folder / f"{key}.log").open("wb") as log:
            self.running[key] = subprocess.Popen(
                words, stdout=log, stderr=log, cwd=self.folder(name), start_new_session=True
            )

    def run(self, name: str, command: str) -> str:
        """What a command prints, once it has ended well."""
        words = self._words(name, command)
        done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False, cwd=self.folder(name))
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def end_all(self) -> None:
        """Ctrl-C everywhere; all end by themselves, and say at most that they were interrupted, as Spark makes them."""
        for process in self.running.values():
            process.send_signal(signal.SIGINT)
        codes = {}
        for key, process in self.running.items():
            try:
                codes[key] = process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                codes[key] = process.wait()
        self.running.clear()
        assert set(codes.values()) <= {0, 130}, codes

    def check_alive(self) -> None:
        """Whatever was started goes on."""
        dead = {key: process.returncode for key, process in self.running.items() if process.poll() is not None}
        assert not dead, dead

    def _words(self, name: str, command: str) -> list[str]:
        program, *rest = shlex.split(command)
        assert program == ".venv/bin/tradewind", command
        return ["ip", "netns", "exec", self._space(name), str(TRADEWIND), *rest]

    def _space(self, name: str) -> str:
        return f"{self._mark}-{name or 'here'}"

    def _make(self, name: str, address: str) -> None:
        _ip("netns", "add", self._space(name))
        _ip("-n", self._space(name), "link", "set", "lo", "up")
        _ip("-n", self._space(name), "addr", "add", f"{address}/32", "dev", "lo")
        (self.folder(name) / "examples").mkdir(parents=True)
        shutil.copy(ROOT / "examples" / "three_sites.yaml", self.folder(name) / "examples")

    def _join(self, name: str, address: str) -> None:
        """A cable from the middle to another machine."""
        middle, far = self._space(self._names[0]), self._space(name)
        _ip("-n", middle, "link", "add", f"to-{name}", "type", "veth", "peer", "name", "out", "netns", far)
        for space, device, near, other in (
            (middle, f"to-{name}", "10.0.0.1", address),
            (far, "out", address, "10.0.0.1"),
        ):
            _ip("-n", space, "link", "set", device, "up")
            _ip("-n", space, "route", "add", f"{other}/32", "dev", device, "src", near)

    def _remove(self) -> None:
        for name in self._names:
            subprocess.run(["ip", "netns", "del", self._space(name)], capture_output=True, check=False)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], capture_output=True, check=True, timeout=20)
