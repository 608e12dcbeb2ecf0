"""A PostgreSQL server for tests, in a folder of its own, run by somebody who may do nothing else."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
_PATIENCE = 60


class NoServerError(Exception):
    """No server can be started here, and why."""


@contextmanager
def server() -> Iterator[str]:
    """Start a server on a free port, give its URL, and end it."""
    # Not in a folder of pytest's, into which only its owner can look.
    with tempfile.TemporaryDirectory(prefix="tradewind-postgres-") as name:
        folder, somebody = Path(name), None
        if os.geteuid() == 0:
            # The server refuses to run as root.
            somebody = pwd.getpwnam("nobody").pw_uid
            shutil.chown(folder, somebody)
        made = [f"{PROGRAMS[-1]}/initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "tradewind", "-E", "UTF8"]
        told = subprocess.run([*made, "--no-locale", "-N"], user=somebody, check=False, capture_output=True, cwd=folder)
        if told.returncode:
            raise NoServerError(told.stderr.decode())
        port = _free_port()
        settings = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": "", "fsync": "off"}
        started = [f"{PROGRAMS[-1]}/postgres", "-D", f"{folder}/data", *(f"--{k}={v}" for k, v in settings.items())]
        url = f"postgresql://tradewind@127.0.0.1:{port}/postgres"
        log = folder / "log"
        with log.open("wb") as errors, subprocess.Popen(started, user=somebody, cwd=folder, stderr=errors) as process:
            try:
                _wait(url, process, log)
                yield url
            finally:
                process.terminate()
                process.wait(_PATIENCE)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
        except psycopg.Error:
            if process.poll() is not None or time.monotonic() > end:
                raise NoServerError(log.read_text(encoding="utf-8")) from None
            time.sleep(0.1)
        else:
            return
