"""What sites have measured of what is wanted, beside what was planned. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.cluster.desired import Wanted
from tradewind.runtime.cluster.registry import Registry, current, seconds_by_channel, seconds_read, spans_of
from tradewind.runtime.cluster.reports import SiteReport
from tradewind.runtime.deviations import Deviation, Measured, deviations
from tradewind.runtime.expected import Course, Hop, Read, carried, shipped_so_far


def with_deviations(status: dict[str, Any], found: Deployment, wanted: Wanted, registry: Registry) -> dict[str, Any]:
    """A status that tells where measurements contradict the plan: of all of it, and at each query and link."""
    measured = measured_of(registry, wanted, ended=status["state"] == "ended")
    told = deviations(found, wanted.deployed, wanted.expected, wanted.account, measured)
    return {
        **status,
        "deviations": [one.to_json() for one in told],
        "links": [{**one, "warnings": _about_link(told, f"{one['from']} → {one['to']}")} for one in status["links"]],
        "queries": {name: {**one, "warnings": _about_query(told, name)} for name, one in status["queries"].items()},
    }


def _about_link(told: list[Deviation], name: str) -> list[str]:
    return [one.message for one in told if one.kind == "link" and one.name == name]


def _about_query(told: list[Deviation], name: str) -> list[str]:
    return [one.message for one in told if name in one.queries]


def measured_of(registry: Registry, wanted: Wanted, *, ended: bool = False) -> Measured:
    """What the sites have measured of a deployment. Of a channel that several fragments read, the one counts that has
    read most.
    """
    reports = current(registry, wanted)
    taken: dict[str, int] = {}
    for report in reports.values():
        for fragment in report.fragments.values():
            taken |= {name: max(rows, taken.get(name, 0)) for name, rows in fragment.taken.items()}
    answers = {name: one for report in reports.values() for name, one in report.answers.items()}
    reads = [(site, one) for site, report in reports.items() for one in report.read]
    return Measured(
        read={(one.stream, site): Read(one.rows, one.earliest, one.latest) for site, one in reads},
        spans=spans_of(reports),
        taken=taken,
        answers={name: one.final + one.tentative for name, one in answers.items()},
        links=_crossed(reports),
        settled={name: one.settled for name, one in answers.items() if one.settled is not None},
        ended=ended,
    )


def _crossed(reports: Mapping[str, SiteReport]) -> dict[Hop, int]:
    return {(one.start, one.end): one.bytes for site, some in reports.items() for one in some.links if one.end == site}


def accounted(before: Wanted | None, after: Wanted | None, registry: Registry) -> Wanted | None:
    """What is wanted next, with the account of what was expected of links until now, if it goes on from there."""
    if before is None or after is None or before.title != after.title:
        return after
    reports = current(registry, before)
    # What was added or asked for otherwise reads channels from their beginning on; what moved goes on where it stood.
    whole = (before.move, before.moved, before.recut, before.splits) == (
        after.move, after.moved, after.recut, after.splits,
    )  # fmt: skip
    account = carried(
        Course(before.deployed, before.expected, before.account),
        Course(after.deployed, after.expected, before.account),
        seconds_by_channel(registry, before),
        _crossed(reports),
        whole=whole,
    )
    old, new = ({(one.start, one.end): one.shipped for one in some.flows} for some in (before, after))
    return replace(after, account=shipped_so_far(account, old, new, seconds_read(registry, before)))
