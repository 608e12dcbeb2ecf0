"""What a plan expects of as much of the streams as was read: rows of channels and answers, bytes on links. Pure.

Streams are read at any pace, so what a plan expects is counted in their own time: a rate, times the seconds between the
first and the last row. Each channel has seconds of its own, those of the streams that its rows come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tradewind.fragments.deployed import Channel, Deployed

Hop = tuple[str, str]
_MICROS = 1e6


class Expected(NamedTuple):
    """What a plan expects of a channel or an answer."""

    rows_per_second: float
    bytes_per_second: float


@dataclass(frozen=True)
class Expectations:
    """What a plan expects, by the names of channels and of queries."""

    channels: Mapping[str, Expected] = field(default_factory=dict)
    answers: Mapping[str, Expected] = field(default_factory=dict)


class Span(NamedTuple):
    """The first and the last event time that were read, in microseconds since 1970."""

    earliest: int
    latest: int

    @property
    def seconds(self) -> float:
        """How long that is."""
        return (self.latest - self.earliest) / _MICROS


class Read(NamedTuple):
    """What was read of a stream at an origin; streams without times have no first and last one."""

    rows: int
    earliest: int | None = None
    latest: int | None = None


def span_of(reads: Mapping[tuple[str, str], Read], rates: Mapping[tuple[str, str], float]) -> Span | None:
    """The longest span of some origins. One whose rows have no times lasts for as long as its rate takes to give them;
    without a rate nothing is known of it.
    """
    spans = [span for place, one in reads.items() if (span := _span(one, rates.get(place))) is not None]
    return max(spans, key=lambda one: one.seconds, default=None)


def _span(read: Read, rate: float | None) -> Span | None:
    if read.earliest is not None and read.latest is not None:
        return Span(read.earliest, read.latest)
    return Span(0, int(read.rows / rate * _MICROS)) if rate and read.rows else None


def spans_below(deployed: Deployed, spans: Mapping[str, Span]) -> dict[str, Span]:
    """For each fragment, the longest span of what it or those that it rests on have read; by the fragments' names."""
    writers = {name: one.name for one in deployed.fragments for name in one.outputs}
    found: dict[str, Span] = {}
    for one in deployed.fragments:  # those that give come before those that take
        below = [found[writers[name]] for name in one.inputs if writers.get(name) in found]
        own = [spans[one.name]] if one.name in spans else []
        if below or own:
            found[one.name] = max([*own, *below], key=lambda span: span.seconds)
    return found


def seconds_of(deployed: Deployed, spans: Mapping[str, Span]) -> dict[str, float]:
    """How many seconds of streams each channel holds, by its name."""
    below = spans_below(deployed, spans)
    return {
        name: below[one.name].seconds if one.name in below else 0.0
        for one in deployed.fragments
        for name in one.outputs
    }


@dataclass(frozen=True)
class Account:
    """What was expected on links before the plan was changed, so that totals cover the same time as those that were
    measured; and from when on the plan that holds now does.
    """

    predicted: Mapping[Hop, float] = field(default_factory=dict)
    """Bytes that earlier plans had expected on a link."""
    measured: Mapping[Hop, int] = field(default_factory=dict)
    """Bytes that had crossed it by then."""
    since: Mapping[Hop, Mapping[str, float]] = field(default_factory=dict)
    """The seconds that its channels held then, by their names."""
    shipped: Mapping[Hop, float] = field(default_factory=dict)
    """Bytes if everything had been shipped by then."""
    seconds: float = 0.0
    """The seconds that had been read when it was last worked out what shipping everything takes."""

    def links(self, deployed: Deployed, expected: Expectations, seconds: Mapping[str, float]) -> dict[Hop, float]:
        """The bytes expected on each link since its plan holds."""
        found: dict[Hop, float] = {}
        for hop, channels in over(deployed).items():
            since = self.since.get(hop, {})
            found[hop] = sum(
                expected.channels[one.name].bytes_per_second
                * max(0.0, seconds.get(one.name, 0.0) - since.get(one.name, 0.0))
                for one in channels
                if one.name in expected.channels
            )
        return found

    def totals(self, deployed: Deployed, expected: Expectations, seconds: Mapping[str, float]) -> dict[Hop, float]:
        """The bytes expected on each link in all, by this plan and those before it."""
        now = self.links(deployed, expected, seconds)
        return {hop: self.predicted.get(hop, 0.0) + now.get(hop, 0.0) for hop in dict.fromkeys([*self.predicted, *now])}


def over(deployed: Deployed) -> dict[Hop, list[Channel]]:
    """The channels that cross each link."""
    found: dict[Hop, list[Channel]] = {}
    for channel in deployed.channels.values():
        for hop in channel.hops:
            found.setdefault(hop, []).append(channel)
    return found


def rates_on(deployed: Deployed, expected: Expectations) -> dict[Hop, float]:
    """Bytes a second expected on each link."""
    return {
        hop: sum(expected.channels[one.name].bytes_per_second for one in channels if one.name in expected.channels)
        for hop, channels in over(deployed).items()
    }


class Course(NamedTuple):
    """What runs, what is expected of it, and what was expected before."""

    deployed: Deployed
    expected: Expectations
    account: Account


def carried(
    before: Course,
    after: Course,
    seconds: Mapping[str, float],
    measured: Mapping[Hop, int],
    *,
    whole: bool,
) -> Account:
    """The account of what runs next, given the seconds that channels held and the bytes that had crossed links when it
    was changed. On a link whose channels, or what is expected of them, are others now, a new period begins.

    A channel that comes to a link later brings all that it holds if `whole` says so, or else what comes from now on.
    """
    old, new = _on_links(before), _on_links(after)
    changed = {hop for hop in {*old, *new} if old.get(hop) != new.get(hop)}
    amounts = before.account.links(before.deployed, before.expected, seconds)
    account = before.account
    predicted, crossed, since = dict(account.predicted), dict(account.measured), dict(account.since)
    for hop in changed:
        predicted[hop] = predicted.get(hop, 0.0) + amounts.get(hop, 0.0)
        crossed[hop] = measured.get(hop, 0)
        stays = [
            name
            for name in new.get(hop, {})
            if name in old.get(hop, {}) or (not whole and name in before.deployed.channels)
        ]
        since[hop] = {name: seconds.get(name, 0.0) for name in stays}
    return replace(account, predicted=predicted, measured=crossed, since=since)


def _on_links(course: Course) -> dict[Hop, dict[str, Expected | None]]:
    return {
        hop: {one.name: course.expected.channels.get(one.name) for one in channels}
        for hop, channels in over(course.deployed).items()
    }


def shipped_so_far(account: Account, rates: Mapping[Hop, float], after: Mapping[Hop, float], seconds: float) -> Account:
    """The account when shipping everything would take other rates from now on."""
    if dict(rates) == dict(after):
        return account
    return replace(account, shipped=shipped(account, rates, seconds), seconds=max(account.seconds, seconds))


def shipped(account: Account, rates: Mapping[Hop, float], seconds: float) -> dict[Hop, float]:
    """The bytes on each link if everything had been shipped for as many seconds as were read."""
    more = max(0.0, seconds - account.seconds)
    hops: Iterable[Hop] = dict.fromkeys([*account.shipped, *rates])
    return {hop: account.shipped.get(hop, 0.0) + rates.get(hop, 0.0) * more for hop in hops}
