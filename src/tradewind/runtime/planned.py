"""A deployment planned and cut: what will run where, how often, and what is expected to flow."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from tradewind.fragments.cut import attached, cut
from tradewind.fragments.deployed import Deployed
from tradewind.fragments.triggers import intervals
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.network.network import Network
from tradewind.placement.approximating import choose_within_errors
from tradewind.placement.attaching import Attached, attach
from tradewind.placement.choices import Content
from tradewind.placement.plan import Plan
from tradewind.placement.report import Link, Report
from tradewind.runtime.expected import Expectations, Expected
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

    @cached_property
    def expected(self) -> Expectations:
        """What is expected of each channel and each answer."""
        channels: dict[str, Expected] = {}
        answers: dict[str, Expected] = {}
        for plan, network, contents in self._parts():
            crossing = {(hop.content, network.name(network.end[hop.link])): hop.bytes_per_second for hop in plan.hops}
            for (key, site), name in self.deployed.had.items():
                if key in contents and ((key, site) in crossing or name not in channels):
                    content = contents[key]
                    size = crossing.get((key, site), content.bytes_per_second)
                    channels[name] = Expected(content.rows_per_second, size)
            for goal in plan.goals:
                content = contents[goal.content]
                answers[goal.query] = Expected(content.rows_per_second, content.bytes_per_second)
        return Expectations(channels, answers)

    def _parts(self) -> list[tuple[Plan, Network, Mapping[str, Content]]]:
        """What was planned first, and what was attached to it later."""
        first = (self.report.plan, self.report.network, self.report.contents)
        return [first, *((one.plan, one.network, one.contents) for one in self.attached)]

    def besides(
        self, found: Deployment, channels: Container[str], *, state: Path | None = None, until_done: bool = False
    ) -> Planned:
        """The same with the queries of `found` that are new; they may take from some `channels` what they hold."""
        known, figures = measured(found, _base(found), state, until_done=until_done)
        # Those that run may be approximate: that is how they were planned.
        known = replace(known, queries={**known.queries, **self.report.chosen.problem.deployment.queries})
        had = {place: name for place, name in self.deployed.had.items() if name in channels}
        new = attach(known, self.plans, had)
        more = attached(replace(self.deployed, had=had), new.plan, new.network, new.contents)
        deployed = self.deployed | more
        every = {**intervals(deployed, _wishes(found)), **self.intervals}
        return Planned(self.report, deployed, every, (*self.figures, *figures), (*self.attached, new))


def planned(
    found: Deployment, planner: str = "exact", *, state: Path | None = None, until_done: bool = False
) -> Planned:
    """Plan a deployment and cut the plan. What it does not declare of its streams is measured, once for a state.

    A run that reads what is there and ends has other micro-batches than one that goes on.
    """
    known, figures = measured(found, _base(found), state, until_done=until_done)
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
