"""How much memory a process and all that it started hold, and how much room there is on disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


def memory_bytes(pid: int | None = None) -> int:
    """Resident bytes of a process and its descendants; zero where the system does not tell."""
    return sum(_resident(one) for one in family(os.getpid() if pid is None else pid))


def disk_free_bytes(folder: Path) -> int:
    """Bytes that are free where a folder lies."""
    return shutil.disk_usage(folder).free


def family(pid: int) -> Iterator[int]:
    """A process and its descendants, of whom any may end meanwhile."""
    yield pid
    for child in _children(pid):
        yield from family(child)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    except OSError:
        pass  # it has ended
    return found


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0
