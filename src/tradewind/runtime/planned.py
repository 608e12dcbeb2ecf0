"""A deployment planned and cut: what will run where, how often, and what is expected to flow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tradewind.fragments.cut import cut
from tradewind.fragments.deployed import Deployed
from tradewind.fragments.triggers import intervals
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.placement.planners import choose
from tradewind.placement.report import Report
from tradewind.spark.sources.measuring import measured

_MICROS = 1e6


@dataclass(frozen=True, eq=False)
class Planned:
    """The plan, its fragments and channels, and the seconds between two batches of each fragment.

    `figures` say what was measured from the data, because nothing was declared.
    """

    report: Report
    deployed: Deployed
    intervals: Mapping[str, float]
    figures: tuple[str, ...] = ()


def planned(found: Deployment, planner: str = "exact", *, state: Path | None = None) -> Planned:
    """Plan a deployment and cut the plan. What it does not declare of its streams is measured, once for a state."""
    known, figures = measured(found, Path(found.name).resolve().parent, state)
    report = Report(choose(known, planner))
    deployed = cut(report.plan, report.network, report.contents)
    wishes = {
        name: None if query.fresh_within is None else query.fresh_within / _MICROS
        for name, query in found.queries.items()
    }
    return Planned(report, deployed, intervals(deployed, wishes), figures)
