"""A run of many sites as tables that are drawn over and over, where there is a terminal to do so."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Console, RenderableType
from rich.live import Live as Drawn
from rich.table import Table

if TYPE_CHECKING:
    from tradewind.backbone.counting import Counted
    from tradewind.spark.delivery import Totals

Ends = tuple[str, str]


@dataclass(frozen=True)
class Figures:
    """How a run stands: rows by stream and site, what crossed each link, the answers, how far each is behind the newest
    row in seconds of the streams' time, and the origins that it waits for.
    """

    rows: Mapping[tuple[str, str], int]
    links: Mapping[Ends, Counted]
    totals: Mapping[str, Totals]
    behind: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Board:
    """The tables on a terminal; what is printed meanwhile goes above them."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.perf_counter) -> None:
        self.console = console
        self._clock = clock
        self._drawn = Drawn(console=console, auto_refresh=False, transient=True)
        self._before: tuple[float, Figures] | None = None

    def show(self, now: Figures) -> None:
        """Draw how the run stands now; rates are since the last time."""
        if self._before is None:
            self._drawn.start()
        self._drawn.update(self.tables(now), refresh=True)

    def tables(self, now: Figures) -> RenderableType:
        """The tables of streams, links and answers."""
        when = self._clock()
        then, before = self._before or (when, now)
        seconds = max(when - then, 1e-9)
        self._before = when, now
        streams = _table("stream", "rows", "rows/s")
        for place, rows in now.rows.items():
            rate = (rows - before.rows.get(place, 0)) / seconds
            streams.add_row(" at ".join(place), f"{rows:,}", f"{rate:,.0f}")
        links = _table("link", "bytes", "bytes/s", "waiting")
        for ends, one in now.links.items():
            old = before.links.get(ends)
            rate = (one.bytes - (old.bytes if old is not None else 0)) / seconds
            waiting = "cut" if one.cut else f"{one.backlog_bytes:,}" if one.backlog_bytes else ""
            links.add_row(" → ".join(ends), f"{one.bytes:,}", f"{rate:,.0f}", waiting)
        answers = _table("query", "final", "tentative", "behind", "waits for")
        for name, totals in now.totals.items():
            behind = f"{now.behind[name]:,.0f} s" if name in now.behind else ""
            waits = ", ".join(now.missing.get(name, ()))
            answers.add_row(name, f"{totals.final:,}", f"{totals.tentative:,}", behind, waits)
        return Columns([streams, links, answers])

    def stop(self) -> None:
        """Take the tables away."""
        self._drawn.stop()


def _table(first: str, *others: str) -> Table:
    table = Table(first, box=SIMPLE_HEAD, pad_edge=False)
    for name in others:
        table.add_column(name, justify="left" if name == "waits for" else "right")
    return table
