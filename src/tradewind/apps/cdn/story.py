"""All that is told of a run of the content delivery network, as plain data: what its page shows, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tradewind.algebra.schema import Schema
from tradewind.algebra.times import format_timestamp
from tradewind.algebra.types import DataType
from tradewind.apps.cdn.comparison import Answer, Row, Verdict
from tradewind.apps.cdn.deployment import CLIENTS, TOP, TRAFFIC
from tradewind.apps.cdn.picture import picture
from tradewind.apps.cdn.shipping import Shipped
from tradewind.placement.map_svg import draw_map
from tradewind.placement.planners import Chosen
from tradewind.placement.report import Report

Ends = tuple[str, str]
"""The sites that a link leads from and to."""

MONTH = 30 * 86_400.0
QUESTIONS = {
    TOP: "The ten domains asked for most, minute by minute",
    TRAFFIC: "Bytes and the 95th percentile of latency by region and status, minute by minute",
    CLIENTS: "Different clients of each domain, every three minutes",
}
_SHOWN = 18
_ORDER: Mapping[str, Callable[[Row], Any]] = {
    TOP: lambda row: (-row[2], row[1]),
    TRAFFIC: lambda row: (row[1], -row[3]),
    CLIENTS: lambda row: (-row[2], row[1]),
}
"""In which order an answer's rows of one time are read."""
_MOST = {CLIENTS: 10}


@dataclass(frozen=True, slots=True)
class LinkStory:
    """What crossed a link in the whole run, in bytes: as predicted, as measured, and if every row had been shipped."""

    start: str
    end: str
    usd_per_gb: float
    predicted: float
    measured: float
    shipped: float

    @property
    def sizes(self) -> tuple[float, float, float]:
        """Predicted, measured and shipped."""
        return self.predicted, self.measured, self.shipped


@dataclass(frozen=True, slots=True)
class AnswerStory:
    """The rows of an answer for its last time, as texts, and how many rows the whole answer has."""

    query: str
    question: str
    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    total: int


@dataclass(frozen=True, slots=True)
class Alone:
    """The bytes of one question alone, on all links together; `measured` only where it was also run alone."""

    query: str
    predicted: float
    shipped: float
    measured: float | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """What a run was, what came out, whether it is right, and what it cost."""

    rows: int
    files: int
    sites: int
    seconds: float
    """How long the logs last."""
    took: float
    """How long the run took."""
    links: tuple[LinkStory, ...]
    answers: tuple[AnswerStory, ...]
    verdicts: tuple[Verdict, ...]
    map_svg: str
    picture: str
    alone: Alone | None = None

    @property
    def right(self) -> bool:
        """Whether all answers are what they must be."""
        return all(verdict.holds for verdict in self.verdicts)

    @property
    def sizes(self) -> tuple[float, float, float]:
        """Bytes on all links: predicted, measured and shipped."""
        predicted, measured, shipped = map(sum, zip(*(link.sizes for link in self.links), strict=True))
        return predicted, measured, shipped

    def usd_a_month(self, *links: LinkStory) -> tuple[float, float, float]:
        """What links cost in thirty days like this run: predicted, measured, and with every row shipped."""
        month = MONTH / self.seconds
        predicted, measured, shipped = (
            sum(link.sizes[place] * link.usd_per_gb / 1e9 for link in links) * month for place in range(3)
        )
        return predicted, measured, shipped


def link_stories(
    chosen: Chosen, seconds: float, measured: Mapping[Ends, float], shipped: Sequence[Shipped]
) -> tuple[LinkStory, ...]:
    """Every link that carries anything in one way or the other, in the order of the deployment."""
    network = chosen.problem.network
    predicted = {(link.start, link.end): link.bytes_per_second * seconds for link in Report(chosen).links()}
    all_rows = {(one.start, one.end): float(one.bytes) for one in shipped}
    found = []
    for number in range(len(network.start)):
        ends = network.name(network.start[number]), network.name(network.end[number])
        figures = [some.get(ends, 0.0) for some in (predicted, measured, all_rows)]
        if any(figures):
            found.append(LinkStory(*ends, float(network.usd_per_gb[number]), *figures))
    return tuple(found)


def answer_story(query: str, answer: Answer, schema: Schema) -> AnswerStory:
    """An answer's last time, the rows that matter first."""
    last = max((row[0] for row in answer), default=0)
    shown = sorted((row for row in answer.elements() if row[0] == last), key=_ORDER[query])
    types = [type_ for _, type_ in schema.columns]
    rows = tuple(
        tuple(_cell(value, type_) for value, type_ in zip(row, types, strict=True))
        for row in shown[: _MOST.get(query, _SHOWN)]
    )
    numeric = tuple(type_.name in ("BIGINT", "DOUBLE") for type_ in types)
    return AnswerStory(query, QUESTIONS[query], schema.names, numeric, rows, answer.total())


def pictures(chosen: Chosen) -> tuple[str, str]:
    """The map of a plan as SVG, and its picture for a terminal; both name the file without its folder."""
    task = chosen.problem
    short = replace(task.deployment, name=Path(task.deployment.name).name)
    report = Report(replace(chosen, problem=replace(task, deployment=short)))
    return draw_map(report), picture(report)


def _cell(value: Any, type_: DataType) -> str:
    if value is None:
        return "–"
    if type_.name == "TIMESTAMP":
        return format_timestamp(value)[11:16]
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if type_.name == "BIGINT" else str(value)
