"""Rows that a program pushes into the streams of a run."""

from __future__ import annotations

from pathlib import Path

from tradewind.errors import InputError, unknown
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.spark.sources.gathering import Gatherer
from tradewind.spark.sources.push import Inbox, Kept, inbox_of
from tradewind.spark.sources.python_rows import PythonRows


class Pushes:
    """The inboxes of a run, in its state folder: one for each origin that something was pushed into."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self.kept = Kept()
        self._inboxes: dict[tuple[str, str], Gatherer] = {}

    def enqueue(self, found: Deployment, stream: str, rows: PythonRows, origin: str | None = None) -> int:
        """Take rows; how many these are."""
        declared = found.streams.get(stream)
        if declared is None:
            raise unknown("stream", stream, found.streams)
        pushed = [name for name, source in declared.origins.items() if source.format == "push"]
        chosen = origin or (pushed[0] if len(pushed) == 1 else None)
        if chosen not in pushed:
            raise InputError(
                f"rows cannot be pushed into stream {stream!r}{f' at {origin!r}' if origin else ''}.",
                hint=f"its pushed origins: {', '.join(pushed) or 'none; declare one with format: push'}.",
            )
        if (stream, chosen) not in self._inboxes:
            inbox = Inbox(
                inbox_of(self._state, stream, chosen),
                declared.source.schema,
                revisions=declared.source.revisions,
                kept=self.kept,
            )
            self._inboxes[stream, chosen] = Gatherer(inbox)
        return self._inboxes[stream, chosen].enqueue(rows)

    def flush(self) -> None:
        """Wait until all rows are on disk."""
        for inbox in self._inboxes.values():
            inbox.flush()

    def close(self) -> None:
        """Take no more rows; those that were taken are on disk then."""
        while self._inboxes:
            self._inboxes.popitem()[1].close()
