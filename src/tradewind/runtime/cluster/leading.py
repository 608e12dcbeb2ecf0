"""Of several coordinators on one folder one leads; when it is gone, another does."""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

_LOOK = 0.5


class Leadership:
    """The lead over a folder. The system takes it from whoever dies, so nobody has to be asked, and no time is lost."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path = folder / "leader.lock"
        self._held: IO[str] | None = None

    def take(self) -> bool:
        """Take the lead, if nobody has it."""
        if self._held is not None:
            return True
        lock = self._path.open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            return False
        self._held = lock
        return True

    def wait(self, stopping: threading.Event, waiting: Callable[[], None]) -> bool:
        """Wait until the lead is ours; `waiting` is called once if that takes a while. False when told to stop."""
        said = False
        while not self.take():
            if not said:
                waiting()
                said = True
            if stopping.wait(_LOOK):
                return False
        return True

    def give_up(self) -> None:
        """Let another one lead."""
        if self._held is not None:
            self._held.close()
            self._held = None
