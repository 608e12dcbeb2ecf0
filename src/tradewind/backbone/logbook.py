"""What a server says: kept in a file, and its end in memory, since a full disk takes no log either."""

from __future__ import annotations

import queue
import re
import shutil
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

# After one of these a nats-server answers no further write to the stream, whether there is room again or not.
_CANNOT_WRITE = re.compile(r"critical write error|failed to store|no space left|will be DISABLED", re.IGNORECASE)
_LONGEST = 10 << 20
_LAST = 12
# How much room makes a further try worthwhile: so many bytes, or a twentieth of a small disk.
_ROOM, _SHARE = 64 << 20, 20
# How long, in seconds, an answer may take, and how often it is looked for.
_ANSWER, _LOOK = 10.0, 0.1


class Logbook:
    """The log of one server through all its lives."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: deque[str] = deque(maxlen=_LAST)
        self._awaited: tuple[re.Pattern[str], queue.SimpleQueue[str]] | None = None

    def add(self, line: str) -> bool:
        """Notes a line. Whether it tells of a write that failed although there is room again."""
        self._last.append(line.rstrip())
        if (awaited := self._awaited) is not None and (found := awaited[0].search(line)) is not None:
            awaited[1].put(found[0])
        # Without room for it the log has a gap; that is no reason to stop listening.
        with suppress(OSError):
            if self._path.exists() and self._path.stat().st_size > _LONGEST:
                self._path.replace(self._path.with_name(f"{self._path.name}.1"))
            with self._path.open("a") as log:
                log.write(line)
        if _CANNOT_WRITE.search(line) is None:
            return False
        disk = shutil.disk_usage(self._path.parent)
        return disk.free > min(_ROOM, disk.total // _SHARE)

    def answer(self, ask: Callable[[], None], expected: re.Pattern[str], over: threading.Event) -> str | None:
        """What of the expected words the server says first once it is asked; None if it says none, or is over."""
        said: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._awaited = expected, said
        try:
            ask()
            for _ in range(int(_ANSWER / _LOOK)):
                with suppress(queue.Empty):
                    return said.get(timeout=_LOOK)
                if over.is_set():
                    break
            return None
        finally:
            self._awaited = None

    def last_words(self) -> str:
        """The end of the log."""
        return "\n".join(self._last) or "nothing"
