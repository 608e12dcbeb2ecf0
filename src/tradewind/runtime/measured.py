"""What a run measures of itself, in the words that plans are compared in."""

from __future__ import annotations

from collections.abc import Mapping

from tradewind.cost.declared import ROWS_PER_SECOND
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.expected import Read
from tradewind.spark.sources.survey import Survey


def rates_of(found: Deployment) -> dict[tuple[str, str], float]:
    """The declared rate of each stream at each origin, or what is assumed without one."""
    return {
        (name, site): origin.rows_per_second or ROWS_PER_SECOND
        for name, stream in found.streams.items()
        for site, origin in stream.origins.items()
    }


def reads_of(surveys: Mapping[tuple[str, str], Survey]) -> dict[tuple[str, str], Read]:
    """What was read, without what was wrong with it."""
    return {place: Read(one.rows, one.earliest, one.latest) for place, one in surveys.items()}
