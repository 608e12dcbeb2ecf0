"""What a test leaves behind: processes, threads, listening sockets and folders.

Every process that a test starts inherits two marks in its environment, so one that has left its family is found too.
The marks are `RUN`, one for all of `./dev test`, and `WORKER`, one for each process of pytest. As a script, this ends
what a run has left, and fails if there was anything:

    python -m tests.leaks
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

Left = TypeVar("Left")

RUN, WORKER = "TRADEWIND_TEST_RUN", "TRADEWIND_TEST_WORKER"
_PATIENCE = 10.0
"""Seconds that something may take to end after the test that started it."""

_LASTING = ("AnyIO worker thread",)
"""Threads of libraries that wait for more work, and end with the process."""

_kept: set[object] = set()


def begin() -> None:
    """Mark what this process of pytest starts, and give it a folder of its own for temporary files."""
    os.environ[WORKER] = uuid.uuid4().hex
    # The folders of pytest itself stay where they are, for whoever looks for why a test failed.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    folder = Path(tempfile.mkdtemp(prefix="tw"))
    folder.chmod(0o755)  # PostgreSQL, which a test starts as another user, looks for its folder there
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None


@contextmanager
def kept() -> Iterator[None]:
    """What is started meanwhile outlives the test that needs it first: it ends with pytest."""
    before = _all()
    yield
    _kept.update(_all() - before)


@contextmanager
def nothing_left() -> Iterator[None]:
    """Check that what is done meanwhile leaves nothing behind."""
    before = _all()
    yield
    left = _after(lambda: _all() - before - _kept)
    told = sorted(map(_told, left))
    for pid in left:
        if isinstance(pid, int):
            _kill(pid)
    assert not left, "left over:\n" + "\n".join(told)


def _after(left: Callable[[], set[Left]]) -> set[Left]:
    """What is still there when it was given time to end."""
    end = time.monotonic() + _PATIENCE
    while (found := left()) and time.monotonic() < end:
        time.sleep(0.1)
    return found


def _all() -> set[object]:
    """All that there is just now of what can be left behind: processes by their numbers, and the rest as it is."""
    return {*_processes_of(WORKER, os.environ[WORKER]), *_threads(), *_listening(), *_folders()}


def _told(left: object) -> str:
    match left:
        case int(pid):
            return f"process {pid}: {_command(pid)}"
        case threading.Thread(name=name):
            return f"thread {name}"
        case Path():
            return f"temporary file or folder {left}"
    return f"listening socket at {left}"


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _processes_of(variable: str, value: str) -> list[int]:
    """The processes that carry a mark, but for those that are kept, and what these have started."""
    mark = f"{variable}={value}".encode()
    return [pid for pid in _pids() if pid != os.getpid() and mark in _environment(pid) and not _is_kept(pid)]


def _pids() -> list[int]:
    return [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()]


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []  # it has ended, or is somebody else's


def _is_kept(pid: int) -> bool:
    while pid > 1:
        if pid in _kept:
            return True
        try:
            # pid (name) state parent ...; a name may hold anything, brackets too.
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return True  # it has ended meanwhile
    return False


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")[:200]
    except OSError:
        return "?"


def _threads() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name not in _LASTING and not _of_py4j(one)]


def _of_py4j(thread: threading.Thread) -> bool:
    """Whether a thread belongs to the Spark of this process, which makes some when it likes."""
    target = getattr(thread, "_target", None)
    makers = type(thread).__module__, str(getattr(target, "__module__", ""))
    return any(maker.startswith(("py4j", "pyspark")) for maker in makers)


def _listening() -> list[str]:
    """The sockets of this process that wait for connections: by address and inode."""
    own = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            own.add(str(descriptor.readlink()))
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            # 0A: listening
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in own:
                found.append(f"port {int(fields[1].rpartition(':')[2], 16)}, inode {fields[9]}")
    return found


def _folders() -> list[Path]:
    folder = Path(tempfile.gettempdir())
    return [one for one in folder.iterdir() if not one.name.startswith("pytest-of-")]


def main() -> int:
    """End what the run that is named by the environment has left; 1 if there was anything."""
    # This process, and the shell that has started it, carry the mark too.
    ours = {os.getpid(), os.getppid()}
    left = _after(lambda: set(_processes_of(RUN, os.environ[RUN])) - ours)
    for pid in left:
        sys.stderr.write(f"left over: {_told(pid)}\n")
        _kill(pid)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
