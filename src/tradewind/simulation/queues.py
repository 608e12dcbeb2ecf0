"""Fluid queues: many elements share a server's capacity, first come first served.

Idea
----
Time runs in ticks. The amount of an element is counted in seconds of its nominal flow, so one second at a factor of
two is two. For each tick the sum of all that has come to each element so far is kept, and how old it was. A server is
then one moment in this past: everything that came before it has been passed on, everything after it waits. A tick moves
that moment forward by as much as the server's capacity allows. So all elements of a server get of it in proportion to
what they brought at that moment, what leaves has waited since that moment, and what came is always what left and what
waits together.

Complexity
----------
A tick is a few array operations over elements and servers, and a search for servers that are behind. The past is
kept as far back as the server that is furthest behind.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tradewind.network.network import Indices, Numbers

Flags = NDArray[np.bool_]

_ROUNDING = 1e-12
"""A server that is full to the brim keeps up, however its sums are rounded."""


class Past:
    """Rows of numbers by tick, of which the oldest are forgotten."""

    def __init__(self, width: int) -> None:
        self._rows = np.zeros((64, width))
        self._first = 0
        self.last = -1

    def add(self, oldest: int) -> Numbers:
        """A row for the next tick, to be filled; rows before the tick `oldest` may go."""
        if self.last + 1 - self._first == len(self._rows):
            self._make_room(oldest)
        self.last += 1
        row: Numbers = self._rows[self.last - self._first]
        return row

    def _make_room(self, oldest: int) -> None:
        kept = self._rows[oldest - self._first :]
        rows = self._rows if len(kept) <= len(self._rows) // 2 else np.zeros((2 * len(self._rows), self._rows.shape[1]))
        rows[: len(kept)] = kept
        self._rows, self._first = rows, oldest

    def row(self, tick: int) -> Numbers:
        """The row of a tick."""
        found: Numbers = self._rows[tick - self._first]
        return found

    def between(self, tick: Indices, part: Numbers, columns: Indices) -> Numbers:
        """A number for each column, as it was a part of a tick after the given one."""
        rows = tick - self._first
        one = self._rows[rows, columns]
        two = self._rows[rows + 1, columns]
        found: Numbers = one + part * (two - one)
        return found

    def at(self, tick: Indices, columns: Indices) -> Numbers:
        """A number for each column at its tick."""
        found: Numbers = self._rows[tick - self._first, columns]
        return found


class Queues:
    """What waits at every server; at the start nothing does."""

    def __init__(self, weight: Numbers, server: Indices, servers: int, seconds: float) -> None:
        self._weight, self._server, self._servers, self._seconds = weight, server, servers, seconds
        size = len(weight)
        self._size = size
        # A row of the past: what has come to each element, how old it was, and what has come to each server.
        self._past = Past(2 * size + servers)
        self._past.add(0)[:] = 0.0
        self._tick = np.zeros(servers, dtype=np.int64)
        self._part = np.zeros(servers)
        self._served = np.zeros(servers)
        self._repeated = np.zeros(servers)
        self._passed = np.zeros(size)
        self._arriving = np.zeros(size)
        self._clear = np.ones(servers, dtype=bool)

    def arrive(self, factors: Numbers, ages: Numbers) -> None:
        """One tick long, so much comes to each element, so old."""
        before, size = self._past.last, self._size
        row = self._past.add(int(self._tick.min(initial=before)))
        earlier = self._past.row(before)
        row[:size] = earlier[:size] + factors * self._seconds
        row[size : 2 * size] = ages
        load = np.bincount(self._server, self._weight * factors * self._seconds, self._servers)
        row[2 * size :] = earlier[2 * size :] + load
        self._arriving = factors

    def serve(self, room: Numbers, closed: Flags) -> tuple[Numbers, Numbers]:
        """One tick long, pass on what has come, as far as each server has room; nothing where it is closed.

        Given for each element: the factor at which it passes on, and how old that is.
        """
        size, last = self._size, self._past.last
        newest = self._past.row(last)
        offered = newest[2 * size :]
        reach = self._served + room
        clear = (offered <= reach + _ROUNDING * offered) & ~closed
        steady = clear & self._clear
        passed, ages = newest[:size].copy(), newest[size : 2 * size].copy()
        self._tick[clear], self._part[clear] = last, 0.0
        if not clear.all():
            self._advance(np.flatnonzero(~clear & ~closed), reach)
            tick, part = self._tick, self._part
            late = np.flatnonzero(~clear[self._server])
            at = self._server[late]
            passed[late] = self._past.between(tick[at], part[at], late)
            ages[late] = self._past.between(tick[at], part[at], late + size)
            ages[late] += (last - tick[at] - part[at]) * self._seconds
        # Differences of long sums are rounded; where nothing waits, what came is what leaves, to the last digit.
        factors = (passed - self._passed) / self._seconds
        factors = np.where(steady[self._server], self._arriving, np.maximum(factors, 0.0))
        self._served = np.where(clear, offered, np.where(closed, self._served, reach))
        self._passed, self._clear = passed, clear
        return factors, ages

    def _advance(self, behind: Indices, reach: Numbers) -> None:
        """Move servers that are behind to the moment that they reach."""
        columns = 2 * self._size + behind
        tick, goal = self._tick[behind], reach[behind]
        while True:
            whole = self._past.at(tick + 1, columns) <= goal
            if not whole.any():
                break
            tick += whole
        here, there = self._past.at(tick, columns), self._past.at(tick + 1, columns)
        self._tick[behind] = tick
        self._part[behind] = np.clip((goal - here) / (there - here), 0.0, 1.0)

    @property
    def clear(self) -> bool:
        """Whether nothing waits anywhere."""
        return bool(self._clear.all())

    def repeat(self, ticks: int) -> None:
        """So many ticks more pass as the last one did, in which nothing waited."""
        self._repeated += (
            np.bincount(self._server, self._weight * self._arriving, self._servers) * self._seconds * ticks
        )

    @property
    def arrived(self) -> Numbers:
        """What has come to each server so far, of which a part may wait."""
        found: Numbers = self._past.row(self._past.last)[2 * self._size :] + self._repeated
        return found

    @property
    def waiting(self) -> Numbers:
        """What waits at each server."""
        return np.maximum(self._past.row(self._past.last)[2 * self._size :] - self._served, 0.0)
