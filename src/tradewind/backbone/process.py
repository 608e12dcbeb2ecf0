"""One nats-server process: started under a guard that ends it when we are gone, and listened to while it lives."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from tradewind.backbone import guard
from tradewind.backbone.logbook import Logbook
from tradewind.backbone.settings import Settings, config_file, pid_file
from tradewind.errors import RunError

# How long, in seconds, a server may take until it listens: it reads its store first.
_STARTING = 120.0
_ENDING = 15.0
_GRACE = 5.0
_LOOK = 0.01
_HAS_READ, _HAS_NOT = "Reloaded server configuration", "Failed to reload"


class NotStartedError(Exception):
    """The process ended before it listened; says what its log says."""


class Process:
    """A nats-server that runs, or did. `changed` is set when it has ended, or should be: it cannot store any more."""

    def __init__(self, program: Path, settings: Settings, log: Logbook) -> None:
        self._settings = settings
        self._log = log
        self.changed = threading.Event()
        settings.write()
        # A session of its own: Ctrl-C in a terminal is for us, who then end the server in order.
        self._guard = subprocess.Popen(  # noqa: S603  our own program and the nats-server that was found
            [sys.executable, "-I", "-S", guard.__file__, str(program), "-c", str(settings.config)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        said = self._guard.stdout.readline() if self._guard.stdout else ""
        self.pid = int(said) if said.strip() else 0
        # Both: a server can live on without its guard, and its log ends a moment after it.
        self._listeners = [
            threading.Thread(target=work, name="tradewind-nats-log", daemon=True)
            for work in (self._listen, self._await_guard)
        ]
        for listener in self._listeners:
            listener.start()

    def await_listening(self, stopping: threading.Event) -> None:
        """Waits until it accepts clients; it is ended if it does not, or if we are to stop."""
        for _ in range(int(_STARTING / _LOOK)):
            if self._settings.answers():
                return
            if self._guard.poll() is not None or stopping.wait(_LOOK):
                break
        self.end()
        raise NotStartedError(self._log.last_words())

    def read_again(self, settings: Settings) -> bool:
        """Lets it go on with other settings; whether it says that it does."""
        # One that has died may have left its number to somebody else.
        if not self.pid or str(settings.config) not in _command_line(self.pid):
            return False
        settings.write()
        try:
            said = self._log.answer(
                lambda: os.kill(self.pid, signal.SIGHUP), re.compile(f"{_HAS_READ}|{_HAS_NOT}"), self.changed
            )
        except ProcessLookupError:
            return False
        if said == _HAS_READ:
            self._settings = settings
        return said == _HAS_READ

    def end(self) -> None:
        """Closes the pipe by which the guard sees that we are there, and waits until it and the server are gone."""
        if self._guard.stdin is not None:
            self._guard.stdin.close()
        try:
            self._guard.wait(_ENDING)
        except subprocess.TimeoutExpired:
            self._guard.kill()
            self._guard.wait()
        # If the guard itself was killed, the server is still there.
        end_former(self._settings.folder)
        for listener in self._listeners:
            listener.join()
        for pipe in (self._guard.stdout, self._guard.stderr):
            if pipe is not None:
                pipe.close()

    def release(self) -> None:
        """In a forked process: lets go of the pipe that only the parent may hold."""
        if self._guard.stdin is not None and not self._guard.stdin.closed:
            let_go(self._guard.stdin.fileno())

    def _listen(self) -> None:
        for line in self._guard.stderr or ():
            if self._log.add(line):
                self.changed.set()

    def _await_guard(self) -> None:
        self._guard.wait()
        self.changed.set()


def let_go(descriptor: int) -> None:
    """In a forked process: what this descriptor stands for is not held by it any more."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, descriptor, inheritable=False)
    os.close(nothing)


def end_former(folder: Path) -> None:
    """Ends the server of a former run in the same folder, whose owner is dead or about to be."""
    try:
        pid = int(pid_file(folder).read_text())
    except (OSError, ValueError):
        return
    for order in (signal.SIGTERM, signal.SIGKILL):
        for _ in range(int(_GRACE / _LOOK)):
            if str(config_file(folder)) not in _command_line(pid):
                return
            with suppress(ProcessLookupError):
                os.kill(pid, order)
            threading.Event().wait(_LOOK)
    raise RunError(f"the nats-server of a former run, process {pid}, does not end.", where=str(folder))


def _command_line(pid: int) -> str:
    """How a process was started; empty if it is not there, or dead and not yet buried."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        if Path("/proc/self/cmdline").exists():
            return ""
    shown = subprocess.run(  # noqa: S603  nothing but a number is given to it
        ["/bin/ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return shown.stdout
