"""What must hold whatever happened: the answer is the interpreter's, every row is accounted for, numbers that only grow
have only grown, nobody but one wrote to a channel, and nothing goes on that had failed.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.faults.bed import Bed
from tradewind.backbone import catalog
from tradewind.backbone.commits import Placed
from tradewind.backbone.reader import Reader


@dataclass
class Watch:
    """Looks at a bed again and again, and notes what may never happen."""

    bed: Bed
    wrong: list[str] = field(default_factory=list)
    _epoch: int = 0
    _epochs: dict[str, int] = field(default_factory=dict)
    _read: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._connections = {site: self.bed.connections(site) for site in self.bed.market.sites}

    def left_over(self) -> list[str]:
        """Sites that are connected to their servers more often than before anything happened: what had failed there
        was not ended, and goes on beside what was begun anew.
        """
        now = {site: self.bed.connections(site) for site in self._connections}
        return [
            f"{site} is connected {now[site]} times instead of {usual}"
            for site, usual in self._connections.items()
            if now[site] > usual
        ]

    def look(self) -> None:
        """How it is now, beside how it was."""
        found = self.bed.seen()
        if found is None:
            return
        self._grows("what is wanted", self._epoch, found["epoch"])
        self._epoch = max(self._epoch, found["epoch"])
        for site, one in found["sites"].items():
            if "epoch" in one:
                self._grows(f"the epoch of {site}", self._epochs.get(site, 0), one["epoch"])
                self._epochs[site] = one["epoch"]
        for shop, one in self.bed.read().items():
            self._grows(f"what was read at {shop}", self._read.get(shop, 0), one["rows"])
            self._read[shop] = max(self._read.get(shop, 0), one["rows"])
            if one["rows"] > self.bed.market.given[shop]:
                self.wrong.append(f"{shop} has read {one['rows']} rows of {self.bed.market.given[shop]}")

    def _grows(self, what: str, before: int, now: int) -> None:
        # An agent that was just started again has not read its state yet, and tells nothing.
        if 0 < now < before:
            self.wrong.append(f"{what} has gone back from {before} to {now}")


def unaccounted(bed: Bed) -> list[str]:
    """Rows that no counter tells of, or that several do."""
    found = []
    read = bed.read()
    for shop, given in bed.market.given.items():
        told = {key: read.get(shop, {}).get(key) for key in ("rows", "late", "dropped", "bad")}
        dropped = bed.market.dropped[shop]
        right = {"rows": given, "late": dropped, "dropped": dropped, "bad": 0}
        if told != right:
            found.append(f"{shop} tells of {told} instead of {right}")
    return found


def disorder(name: str, commits: Iterable[Placed]) -> list[str]:
    """What is wrong with the commits of a channel: one fragment writes, its batches follow each other, and epochs never
    go back.
    """
    found: list[str] = []
    before = None
    for _, one in commits:
        if before is not None:
            if one.fragment != before.fragment:
                found.append(f"{name} is written by {before.fragment} and {one.fragment}")
            if one.epoch < before.epoch:
                found.append(f"{name} has epoch {one.epoch} behind {before.epoch}")
            if one.order <= before.order:
                found.append(f"{name} has batch {one.order} behind {before.order}")
            if not before.closing and not one.closing and one.batch != before.batch + 1:
                found.append(f"{name} has batch {one.batch} right behind {before.batch}")
        before = one
    return found


def channels(bed: Bed) -> list[str]:
    """What is wrong with the channels at all sites, and with copies that differ from what they were copied from."""
    title = bed.runs_of("hq").name
    found: list[str] = []
    rows: dict[str, dict[str, int]] = {}
    for site in bed.market.sites:
        connection = bed.connected(site)
        try:
            for one in catalog.channels(connection, title):
                commits = Reader(connection, one.address).commits(0)
                found += disorder(f"{one.address.channel} at {site}", commits)
                rows.setdefault(one.address.channel, {})[site] = sum(placed.commit.rows for placed in commits)
        finally:
            connection.close()
    found += [f"{name} holds {held}" for name, held in rows.items() if len(set(held.values())) > 1]
    assert any(len(held) > 1 for held in rows.values()), "no channel was looked at"
    return found


def double_deployment(bed: Bed) -> list[str]:
    """Fragments that run at more than one place, or of which a site runs what it should not."""
    status = bed.status()
    runs = Counter(
        name
        for site in status["sites"].values()
        for name, one in site["fragments"].items()
        if one["state"] == "running"
    )
    return [f"{name} runs {count} times" for name, count in runs.items() if count > 1]


def verdict(bed: Bed, watch: Watch | None = None) -> list[str]:
    """All that is wrong with a bed that has been given time to catch up; nothing if all is well."""
    found = bed.market.differences()
    found += unaccounted(bed) + channels(bed) + double_deployment(bed)
    return found + ([*watch.wrong, *watch.left_over()] if watch is not None else [])


def not_final(bed: Bed) -> list[str]:
    """Rows that are tentative, though nothing that is to come can change them."""
    return [
        f"{name}: {json.dumps(row, default=str)} is tentative"
        for name, rows in bed.market.delivered().items()
        for row in rows
        if not row[-1]
    ]


def settled(bed: Bed, watch: Watch | None = None, seconds: float = 20.0) -> list[str]:
    """The verdict once reports, which come a moment later, tell of all that was read; or after so long."""
    end = time.perf_counter() + seconds
    while (found := verdict(bed, watch)) and time.perf_counter() < end:
        time.sleep(1.0)
    return found
