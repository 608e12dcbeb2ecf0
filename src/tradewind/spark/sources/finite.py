"""What a look at streams tells of a run that ends when all that is there has been read.

Such a run has micro-batches as long as files and limits make them, whenever their rows came. All streams together last
from the first to the last of their event times, so that the rate of an origin is its rows over that time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tradewind.algebra.types import MICROS
from tradewind.cost.declared import ROWS_PER_SECOND
from tradewind.frontends.deployment.deployment import DeclaredStream
from tradewind.spark.sources.figures import Figures
from tradewind.spark.sources.samples import Sample


@dataclass(slots=True)
class Look:
    """A stream that was looked at: its figures, and what there is of it at each origin."""

    figures: Figures = field(default_factory=Figures)
    rows: dict[str, float] = field(default_factory=dict)
    batches: dict[str, int] = field(default_factory=dict)
    """Of origins that are known to end, and whose times can be relied on."""
    moments: list[int] = field(default_factory=list)
    """First and last event times in microseconds since 1970."""
    lasts: dict[str, float] = field(default_factory=dict)
    """The seconds that an origin lasts whose times are not known."""

    def generated(self, site: str, options: Mapping[str, Any]) -> None:
        """Note what a generator makes, if it ends."""
        rows = options["rows"]
        if rows is not None:
            self.rows[site] = float(rows)
            self.batches[site] = -(-int(rows) // int(options["rows_per_batch"]))
            self.lasts[site] = float(rows) / float(options["rows_per_second"])

    def sampled(self, site: str, sample: Sample, batches: int, time: str | None, span: int | None) -> None:
        """Note what a sample tells; times over a span that is not trusted tell nothing."""
        first, last = sample.earliest, sample.latest
        if span is not None and first is not None:
            self.moments += [first, first + span]
        elif time is not None and first != last:
            return
        self.rows[site], self.batches[site] = sample.rows, batches


def finite(streams: Mapping[str, tuple[DeclaredStream, Look]]) -> None:
    """Put into the figures of streams over how many seconds, and in how many micro-batches, each origin is read."""
    seconds = _seconds(streams)
    if seconds <= 0:
        return
    for stream, look in streams.values():
        for site, batches in look.batches.items():
            look.figures.backlogs[site] = batches, seconds
            if stream.origins[site].rows_per_second is None and look.rows[site] > 0:
                look.figures.rates[site] = look.rows[site] / seconds
                if site in look.figures.spans:
                    look.figures.spans[site] = int(seconds * MICROS)


def _seconds(streams: Mapping[str, tuple[DeclaredStream, Look]]) -> float:
    """How long all streams last, by their times; without any, by their rows and rates."""
    moments = [moment for _, look in streams.values() for moment in look.moments]
    lasting = (max(moments) - min(moments)) / MICROS if moments else 0.0
    lasts = [last for _, look in streams.values() for last in look.lasts.values()]
    if lasting > 0 or lasts:
        return max(lasting, *lasts) if lasts else lasting
    return max(
        (
            rows / (stream.origins[site].rows_per_second or ROWS_PER_SECOND)
            for stream, look in streams.values()
            for site, rows in look.rows.items()
        ),
        default=0.0,
    )
