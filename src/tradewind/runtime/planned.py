"""A deployment planned and cut: what will run where, how often, and what is expected to flow."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tradewind.fragments.cut import attached, cut
from tradewind.fragments.deployed import Deployed
from tradewind.fragments.triggers import intervals
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.placement.approximating import choose_within_errors
from tradewind.placement.attaching import Attached, attach
from tradewind.placement.plan import Plan
from tradewind.placement.report import Link, Report
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
    attached: tuple[Attached, ...] = ()
    """What was planned later, for queries that came while it ran."""

    @property
    def plans(self) -> dict[str, Plan]:
        """The plan of every query."""
        found = dict(self.report.chosen.plans)
        for one in self.attached:
            found |= one.plans
        return found

    def links(self) -> list[Link]:
        """What is expected to flow on each link that carries anything."""
        return self.report.links(Plan.of([self.report.plan, *(one.plan for one in self.attached)]))

    def besides(self, found: Deployment, channels: Container[str], *, state: Path | None = None) -> Planned:
        """The same with the queries of `found` that are new; they may take from some `channels` what they hold."""
        known, figures = measured(found, _base(found), state)
        # Those that run may be approximate: that is how they were planned.
        known = replace(known, queries={**known.queries, **self.report.chosen.problem.deployment.queries})
        had = {place: name for place, name in self.deployed.had.items() if name in channels}
        new = attach(known, self.plans, had)
        more = attached(replace(self.deployed, had=had), new.plan, new.network, new.contents)
        deployed = self.deployed | more
        every = {**intervals(deployed, _wishes(found)), **self.intervals}
        return Planned(self.report, deployed, every, (*self.figures, *figures), (*self.attached, new))


def planned(found: Deployment, planner: str = "exact", *, state: Path | None = None) -> Planned:
    """Plan a deployment and cut the plan. What it does not declare of its streams is measured, once for a state."""
    known, figures = measured(found, _base(found), state)
    report = Report(choose_within_errors(known, planner))
    deployed = cut(report.plan, report.network, report.contents)
    return Planned(report, deployed, intervals(deployed, _wishes(found)), figures)


def _base(found: Deployment) -> Path:
    return Path(found.name).resolve().parent


def _wishes(found: Deployment) -> dict[str, float | None]:
    """How fresh each answer is to be, in seconds."""
    return {
        name: None if query.fresh_within is None else query.fresh_within / _MICROS
        for name, query in found.queries.items()
    }
