"""How Spark finds out what is new on a fragment's channels: a folder of tickets, one for each commit.

A ticket is an empty file that is named after its commit and looks as long as the commit's rows are, so that Spark
tracks, replays and limits what a batch takes as it does with files. A data source in Python would do that too, but each
costs a process of its own: 60 to 90 MB, and seconds until it has started.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from tradewind.backbone.commits import Placed
from tradewind.spark.sources.places import drop, tracked_files

_MEGABYTES_256 = 256_000_000


class Tickets:
    """The tickets of one fragment, whose channels are told apart by their places in a list."""

    def __init__(self, folder: Path, channels: Sequence[str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._channels = list(channels)
        self._last = 0
        self._lock = threading.Lock()

    def issue(self, channel: str, placed: Placed) -> None:
        """A commit has come."""
        with self._lock:
            name = f"commit-{self._channels.index(channel):04}-{placed.number:018}"
            self._last = drop(self._folder, name, self._last, placed.commit.bytes)

    def tracked(self, spark: SparkSession, *, one_each: bool) -> DataFrame:
        """A streaming frame over the tickets; with `one_each`, a batch takes one of them."""
        options = {"max_files_per_batch": 1} if one_each else {"max_bytes_per_batch": _MEGABYTES_256}
        return tracked_files(spark, self._folder, options, wait=True, own=True)

    def ends(self, tickets: Iterable[str], positions: Mapping[str, int]) -> dict[str, int]:
        """How far a batch that holds some tickets reads each channel; those that it does not move are left out."""
        found: dict[str, int] = {}
        for ticket in tickets:
            _, place, number = ticket.split("-")
            channel = self._channels[int(place)]
            found[channel] = max(found.get(channel, 0), int(number))
        # A ticket may be issued again by a run that does not know of it any more.
        return {channel: number for channel, number in found.items() if number > positions.get(channel, 0)}
