"""Rows that are pushed faster than files can be written one by one: what comes while a file is written goes into the
next, so small pushes cost little and a lonely one is written at once.
"""

from __future__ import annotations

import threading

import pyarrow as pa

from tradewind.errors import RunError
from tradewind.spark.sources.push import Inbox
from tradewind.spark.sources.python_rows import PythonRows

_MOST_BYTES = 64_000_000
"""Once so much waits, whoever pushes more is held back."""


class Gatherer:
    """Takes rows for an inbox, from any number of threads, and writes them in the order in which they came.

    Rows that could not be written, for want of space perhaps, are kept; no more are taken until a flush has succeeded.
    """

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._changed = threading.Condition()
        self._waiting: list[pa.Table] = []
        self._bytes = 0
        self._writing = False
        self._ended = False
        self._failure: Exception | None = None
        self._writer = threading.Thread(target=self._write_all, name="tradewind-inbox", daemon=True)
        self._writer.start()

    def enqueue(self, rows: PythonRows) -> int:
        """Take rows and say how many. They are on disk soon, and surely after `flush`."""
        table = self._inbox.fitting(rows)
        if not table.num_rows:
            return 0
        with self._changed:
            self._changed.wait_for(lambda: self._bytes < _MOST_BYTES or self._failure is not None)
            self._raise_failure()
            self._waiting.append(table)
            self._bytes += self._inbox.size(table)
            self._changed.notify_all()
        return int(table.num_rows)

    def flush(self) -> None:
        """Wait until everything that was taken is on disk; what failed before is tried once more."""
        with self._changed:
            self._failure = None
            self._changed.notify_all()
            self._changed.wait_for(lambda: not (self._waiting or self._writing) or self._failure is not None)
            self._raise_failure()

    def close(self) -> None:
        """Write what waits, and end."""
        try:
            self.flush()
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()
            self._writer.join()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            held = sum(table.num_rows for table in self._waiting)
            raise RunError(
                f"{held:,} pushed rows could not be written: {self._failure}.",
                hint="they are kept: make room and flush, then go on.",
            ) from self._failure

    def _write_all(self) -> None:
        while (taken := self._next()) is not None:
            failure: Exception | None = None
            try:
                self._inbox.write(pa.concat_tables(taken))
            except (OSError, MemoryError, pa.ArrowException) as error:
                failure = error
            with self._changed:
                self._writing, self._failure = False, failure
                if failure is not None:
                    self._waiting = [*taken, *self._waiting]
                    self._bytes = sum(map(self._inbox.size, self._waiting))
                self._changed.notify_all()

    def _next(self) -> list[pa.Table] | None:
        """What is to be written next, waited for; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or (bool(self._waiting) and self._failure is None))
            if self._ended:
                return None
            taken, self._waiting, self._bytes, self._writing = self._waiting, [], 0, True
            self._changed.notify_all()
            return taken
