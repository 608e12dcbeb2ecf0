"""What a server says: kept in a file, and its end in memory, since a full disk takes no log either."""

from __future__ import annotations

import re
import shutil
from collections import deque
from contextlib import suppress
from pathlib import Path

# After one of these a nats-server answers no further write to the stream, whether there is room again or not.
_CANNOT_WRITE = re.compile(r"critical write error|failed to store|no space left|will be DISABLED", re.IGNORECASE)
_LONGEST = 10 << 20
_LAST = 12
# How much room makes a further try worthwhile: so many bytes, or a twentieth of a small disk.
_ROOM, _SHARE = 64 << 20, 20


class Logbook:
    """The log of one server through all its lives."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: deque[str] = deque(maxlen=_LAST)

    def add(self, line: str) -> bool:
        """Notes a line. Whether it tells of a write that failed although there is room again."""
        self._last.append(line.rstrip())
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

    def last_words(self) -> str:
        """The end of the log."""
        return "\n".join(self._last) or "nothing"
