"""Where measurements contradict the plan by more than twice. Pure: no I/O, no clock.

A plan rests on what a file declares and on what is assumed. If that is wrong, the plan still gives right answers, but
it may ship many times what it promised, so whoever runs it is told: what, predicted and measured, and what to correct.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tradewind.algebra.drawing.labels import label
from tradewind.algebra.operators.base import Operator, walk
from tradewind.algebra.operators.core import ConnectionPoint, Filter, Join, Map, Source, Union
from tradewind.fragments.deployed import Channel, Deployed, Fragment
from tradewind.fragments.triggers import queries_of
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.expected import Account, Expectations, Hop, Read, Span, over, seconds_of, spans_below

FACTOR = 2.0
"""Measurements that differ by more than this contradict a plan."""
LEAST_SECONDS = 10.0
"""So many seconds of the streams' own time have to be read before anything is said."""
LEAST_ROWS, LEAST_BYTES = 100.0, 10_000.0
"""So many are predicted or measured at least: of fewer, a batch more or less would tell."""
_MICROS = 1e6
_FLOWING = Source | Filter | Map | Union | ConnectionPoint | Join
"""Operators that give out rows as they come, however these are divided into micro-batches."""

Kind = Literal["stream", "rows", "answer", "link"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was predicted and measured of a stream, of what a fragment gives out, of an answer or of a link.

    `predicted` is for all that was read of the streams, `due` for as much of it as must have come by now. What is
    measured is too much beside the former, and too little beside the latter.
    """

    kind: Kind
    name: str
    unit: Literal["rows", "rows/s", "bytes"]
    predicted: float
    due: float
    measured: float
    seconds: float
    """Seconds of the streams' own time that this is about."""
    queries: tuple[str, ...] = ()
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Deviation:
    """A measurement that contradicts a plan."""

    kind: Kind
    name: str
    unit: str
    predicted: float
    measured: float
    queries: tuple[str, ...]
    hint: str

    @property
    def message(self) -> str:
        """In a line."""
        whose = f" (for {', '.join(self.queries)})" if self.queries and self.kind in {"rows", "link"} else ""
        return (
            f"{self.kind_in_words} {self.name}{whose}: {_amount(self.measured)} {self.unit} measured, "
            f"{_amount(self.predicted)} predicted; {self.hint}"
        )

    @property
    def kind_in_words(self) -> str:
        """What it is about."""
        return {"stream": "stream", "rows": "rows of", "answer": "query", "link": "link"}[self.kind]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": self.kind, "name": self.name, "queries": list(self.queries), "unit": self.unit,
            "predicted": round(self.predicted, 3), "measured": round(self.measured, 3), "hint": self.hint,
            "message": self.message,
        }  # fmt: skip


def deviation(comparison: Comparison) -> Deviation | None:
    """What contradicts the plan, if that can be said by now."""
    one = comparison
    least = LEAST_BYTES if one.unit == "bytes" else LEAST_ROWS
    scale = one.seconds if one.unit == "rows/s" else 1.0
    if one.seconds < LEAST_SECONDS or one.predicted <= 0:
        return None
    too_much = one.measured > FACTOR * one.predicted and one.measured * scale >= least
    too_little = one.measured * FACTOR < one.due and one.due * scale >= least
    if not (too_much or too_little):
        return None
    predicted = one.predicted if too_much else one.due
    return Deviation(one.kind, one.name, one.unit, predicted, one.measured, one.queries, one.hint)


@dataclass(frozen=True)
class Measured:
    """What was measured of a run."""

    read: Mapping[tuple[str, str], Read] = field(default_factory=dict)
    """What was read of each stream at each origin."""
    spans: Mapping[str, Span] = field(default_factory=dict)
    """What fragments have read of streams."""
    taken: Mapping[str, int] = field(default_factory=dict)
    """Rows that came by each channel."""
    answers: Mapping[str, int] = field(default_factory=dict)
    """Rows of each query's answer."""
    links: Mapping[Hop, int] = field(default_factory=dict)
    """Bytes that crossed each link."""
    settled: Mapping[str, float] = field(default_factory=dict)
    """Up to which time, in microseconds since 1970, each query has everything."""
    ended: bool = False
    """Whether all that was read has come to its end."""


def deviations(
    found: Deployment, deployed: Deployed, expected: Expectations, account: Account, measured: Measured
) -> list[Deviation]:
    """All that contradicts the plan: streams, then what fragments give out, answers and links."""
    streams = _contradicting(_streams(found, measured))
    comparing = _Comparing(found, deployed, expected, account, measured, {one.name for one in streams})
    rows = _contradicting(comparing.channels())
    return [*streams, *rows, *_contradicting(comparing.answers()), *_contradicting(comparing.links())]


def _contradicting(comparisons: Iterable[Comparison]) -> list[Deviation]:
    return [contradiction for one in comparisons if (contradiction := deviation(one)) is not None]


def _streams(found: Deployment, measured: Measured) -> Iterator[Comparison]:
    """The declared rates beside those of the rows. Rates that nobody declared were measured, or assumed."""
    for (stream, site), read in measured.read.items():
        declared = found.streams[stream].origins[site].rows_per_second if _has(found, stream, site) else None
        if declared and read.earliest is not None and read.latest is not None and read.latest > read.earliest:
            seconds = Span(read.earliest, read.latest).seconds
            yield Comparison(
                "stream", f"{stream} at {site}", "rows/s", declared, declared, read.rows / seconds, seconds,
                hint=f"correct rows_per_second of stream {stream} at {site}.",
            )  # fmt: skip


def _has(found: Deployment, stream: str, site: str) -> bool:
    return stream in found.streams and site in found.streams[stream].origins


@dataclass(frozen=True)
class _Comparing:
    """Channels, answers and links beside what is expected of them."""

    found: Deployment
    deployed: Deployed
    expected: Expectations
    account: Account
    measured: Measured
    wrong: set[str]
    """The streams, with their sites, whose rates are wrong."""

    def channels(self) -> Iterator[Comparison]:
        """What fragments give out. An answer that is only carried to where it is delivered is compared there."""
        seconds, due = self._seconds(), self._due()
        for name, channel in self.deployed.channels.items():
            expected, rows = self.expected.channels.get(name), self.measured.taken.get(name)
            readers = self.deployed.readers(name)
            delivered = readers and all(one.answers and not one.operators for one in readers)
            if expected is None or rows is None or (delivered and flowing(channel.operator)):
                continue
            rate = expected.rows_per_second
            yield Comparison(
                "rows", f"{label(channel.operator)} at {channel.site}", "rows", rate * seconds[name],
                rate * due[name] if firm(channel.operator) else 0.0, rows, seconds[name], self._queries(channel),
                self._hint([channel.operator], self._queries(channel)),
            )  # fmt: skip

    def answers(self) -> Iterator[Comparison]:
        """Answers whose rows are never taken back: of others the size is no rate."""
        below = spans_below(self.deployed, self.measured.spans)
        for fragment in self.deployed.fragments:
            for query in fragment.answers:
                expected, rows = self.expected.answers.get(query), self.measured.answers.get(query)
                operator = fragment.graph[query]
                if expected is None or rows is None or fragment.name not in below or not flowing(operator):
                    continue
                span, rate = below[fragment.name], expected.rows_per_second
                due = self._due_of(fragment, span) if firm(operator) else 0.0
                yield Comparison(
                    "answer", query, "rows", rate * span.seconds, rate * due, rows, span.seconds, (query,),
                    self._hint([operator], (query,)),
                )  # fmt: skip

    def links(self) -> Iterator[Comparison]:
        """What crossed links since the plan holds."""
        seconds, due = self._seconds(), self._due()
        predicted = self.account.links(self.deployed, self.expected, seconds)
        least = self.account.links(self.deployed, self.expected, due)
        for hop, channels in over(self.deployed).items():
            if hop not in self.measured.links or not all(one.name in self.expected.channels for one in channels):
                continue  # of what was cut or moved by hand nothing is predicted
            operators = [one.operator for one in channels]
            queries = tuple(dict.fromkeys(query for one in channels for query in self._queries(one)))
            yield Comparison(
                "link", f"{hop[0]} → {hop[1]}", "bytes", predicted[hop],
                least[hop] if all(map(firm, operators)) else 0.0,
                max(0, self.measured.links[hop] - self.account.measured.get(hop, 0)),
                max(seconds[one.name] for one in channels), queries, self._hint(operators, queries, bytes_too=True),
            )  # fmt: skip

    def _queries(self, channel: Channel) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(
                query for one in self.deployed.readers(channel.name) for query in queries_of(self.deployed, one)
            )
        )

    def _seconds(self) -> dict[str, float]:
        return seconds_of(self.deployed, self.measured.spans)

    def _due(self) -> dict[str, float]:
        """Of how many seconds everything must have come, for each channel."""
        below = spans_below(self.deployed, self.measured.spans)
        return {
            name: self._due_of(one, below[one.name]) if one.name in below else 0.0
            for one in self.deployed.fragments
            for name in one.outputs
        }

    def _due_of(self, fragment: Fragment, span: Span) -> float:
        if self.measured.ended:
            return span.seconds
        settled = [self.measured.settled.get(query) for query in queries_of(self.deployed, fragment)]
        known = [mark for mark in settled if mark is not None]
        if not known or len(known) < len(settled):
            return 0.0
        return min(span.seconds, max(0.0, (min(known) - span.earliest) / _MICROS))

    def _hint(self, operators: Iterable[Operator], queries: Iterable[str], *, bytes_too: bool = False) -> str:
        """What to correct in the file, most likely causes first."""
        nodes = [node for operator in operators for node in walk(operator)]
        sources = [node for node in nodes if isinstance(node, Source)]
        places = dict.fromkeys(f"{node.stream} at {site}" for node in sources for site in node.origins)
        wrong = [place for place in places if place in self.wrong]
        if wrong:
            return f"correct rows_per_second of stream {', '.join(wrong)}."
        streams = ", ".join(dict.fromkeys(node.stream for node in sources))
        if any(isinstance(node, Join) for node in nodes):
            declared = [name for name in queries if name in self.found.queries and self.found.queries[name].selectivity]
            if declared:
                return f"correct selectivity of query {', '.join(declared)}."
            return f"declare selectivity of query {', '.join(queries)}, or distinct of {streams}."
        if not all(map(flowing, operators)):
            return f"correct distinct of {streams}, or let micro-batches be fewer and larger."
        filters = any(isinstance(node, Filter) for node in nodes)
        kept = "a filter keeps another share of the rows than is assumed: " if filters else ""
        what = "row_bytes or rows_per_second" if bytes_too else "rows_per_second"
        return f"{kept}correct {'distinct' if filters else what} of {streams}."


def flowing(operator: Operator) -> bool:
    """Whether an operator gives out rows as they come, and takes none back: how many it gives does not depend on
    windows or micro-batches.
    """
    return all(
        isinstance(node, _FLOWING) and (not isinstance(node, Source) or node.append_only) for node in walk(operator)
    )


def firm(operator: Operator) -> bool:
    """Whether too few rows contradict what the file says. Of a filter nothing can be declared, so one that keeps less
    than assumed is no mistake; of a join the selectivity can be.
    """
    nodes = list(walk(operator))
    joins = any(isinstance(node, Join) for node in nodes)
    return flowing(operator) and (joins or not any(isinstance(node, Filter) for node in nodes))


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.3g}"
