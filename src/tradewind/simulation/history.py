"""What a simulation saw: links, sites and answers over virtual time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tradewind.errors import InputError, unknown
from tradewind.network.network import Numbers
from tradewind.placement.plan import Goal


@dataclass(frozen=True, eq=False)
class Averages:
    """Means over a span of time."""

    bytes_per_second: Numbers
    """By link."""
    busy_cores: Numbers
    """By site."""
    latency: Numbers
    """By goal, in seconds."""


@dataclass(frozen=True, eq=False)
class History:
    """One row per sample: rates are means since the sample before, the rest is as it was at the sample's time."""

    goals: tuple[Goal, ...]
    times: Numbers
    """Seconds since the start, one for each sample."""
    bytes_per_second: Numbers
    """By link: what it took in."""
    backlog: Numbers
    """By link: bytes that wait before it."""
    arrived: Numbers
    """By link: bytes that came to it since the start, taken in or not."""
    busy_cores: Numbers
    """By site."""
    waiting_work: Numbers
    """By site: seconds of one core that wait."""
    latency: Numbers
    """By goal: the age in seconds of the newest complete data of its answer."""
    rows_per_second: Numbers
    """By goal: rows delivered; zero where no nominal rows were given."""

    @property
    def durations(self) -> Numbers:
        """How long each sample is."""
        return np.diff(self.times, prepend=0.0)

    @property
    def total_bytes(self) -> Numbers:
        """By link: all that it took in."""
        found: Numbers = self.durations @ self.bytes_per_second
        return found

    def latency_of(self, query: str) -> Numbers:
        """The latency of a query at each sample; of several deliveries, that of the slowest."""
        columns = [number for number, goal in enumerate(self.goals) if goal.query == query]
        if not columns:
            raise unknown("query", query, [goal.query for goal in self.goals])
        found: Numbers = self.latency[:, columns].max(axis=1)
        return found

    def averages(self, start: float = 0.0, end: float = np.inf) -> Averages:
        """The means over the samples that end after `start` and not after `end`."""
        chosen = (self.times > start) & (self.times <= end)
        if not chosen.any():
            raise InputError(f"nothing was seen between {start:g} s and {end:g} s.", hint="choose a longer span.")
        weights = self.durations[chosen] / self.durations[chosen].sum()
        return Averages(
            weights @ self.bytes_per_second[chosen], weights @ self.busy_cores[chosen], weights @ self.latency[chosen]
        )
