"""Starts a server and ends it when its standard input closes: when the process that started this one is gone.

Run as a program by its path, so it imports nothing of Tradewind. It prints the server's process id, and ends when the
server does. Only the process that started it holds the other end of its standard input, so even a kill that no process
can answer closes it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress

# How long, in seconds, the server may take to end by itself.
_GRACE = 5.0


def main(command: list[str]) -> int:
    """Runs the command until it ends or standard input does; the command's exit status."""
    nothing = os.open(os.devnull, os.O_RDWR)
    # Its log goes where our errors go: to those who listen there.
    actions = [(os.POSIX_SPAWN_DUP2, nothing, stream) for stream in (0, 1)]
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    sys.stdout.write(f"{pid}\n")
    sys.stdout.flush()
    over = threading.Event()
    threading.Thread(target=_end_with_input, args=(pid, over), daemon=True).start()
    _, status = os.waitpid(pid, 0)
    over.set()
    return os.waitstatus_to_exitcode(status) & 0xFF


def _end_with_input(pid: int, over: threading.Event) -> None:
    while os.read(0, 1):
        pass
    for order in (signal.SIGTERM, signal.SIGKILL):
        if over.is_set():
            return
        with suppress(ProcessLookupError):
            os.kill(pid, order)
        over.wait(_GRACE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
