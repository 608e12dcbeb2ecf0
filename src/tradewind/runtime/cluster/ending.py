"""A site that was told to stop does stop, also if its Java stands still and whoever asked it waits for ever.

Nothing is lost by it: what was committed is on disk, and all else is done again at the next start, as after kill -9.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tradewind.runtime.saying import Say

_PATIENCE = 10.0
"""Seconds that Spark may take to come to its end; twice that is still less than what those who run containers wait."""


@contextmanager
def ended(stopping: threading.Event, kill: Callable[[], None], say: Say, patience: float = _PATIENCE) -> Iterator[None]:
    """What is done within this has so many seconds to end once it is told to stop. Then what it may be waiting for is
    killed; and if that does not help, the process leaves as it is.
    """
    over = threading.Event()

    def watch() -> None:
        stopping.wait()
        if over.wait(patience):
            return
        say(f"Spark has not ended within {patience:.0f} s, and is killed", level="warning")
        kill()
        if not over.wait(patience):
            say("this has not ended either; all that was committed stays", level="error")
            os._exit(1)

    watcher = threading.Thread(target=watch, name="tradewind-ending", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        stopping.set()
        watcher.join()
