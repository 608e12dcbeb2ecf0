"""From a deployment's text to what is wanted: planned, cut, and written down for sites."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from tradewind.errors import RunError
from tradewind.fragments.deployed import Deployed
from tradewind.frontends.deployment.check import load, load_more
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.asked import added, horizon_of
from tradewind.runtime.cluster.changes import without
from tradewind.runtime.cluster.desired import Added, Flow, Wanted
from tradewind.runtime.cluster.moving import Moved
from tradewind.runtime.cluster.moving_lead import renamed
from tradewind.runtime.cluster.moving_routes import Roads, resettled
from tradewind.runtime.planned import Planned, planned


def wanted_of(found: Deployment, text: str, planner: str | None, figures: Path) -> Wanted:
    """A deployment as it is to run, planned from what its text declares and what can be measured here."""
    figures.mkdir(parents=True, exist_ok=True)
    plan = planned(found, planner or "exact", state=figures)
    horizon = horizon_of(found)
    return Wanted(
        name=Path(found.name).stem,
        generation=0,
        text=text,
        called=Path(found.name).name,
        deployed=plan.deployed,
        intervals=plan.intervals,
        horizons={one.name: horizon for one in plan.deployed.fragments},
        planner=planner,
        flows=flows_of(plan),
    )


def wanted_also(
    wanted: Wanted, more: str, whole: Collection[str], root: Path, figures: Path
) -> tuple[Wanted, list[str]]:
    """What is wanted with the queries of one more text, and their names. They take from channels that hold all that was
    ever sent on them what these hold, and make the rest themselves.
    """
    before = wanted.declared(root)
    texts = [one.text for one in wanted.added]
    found = load_more(wanted.text, texts, more, str(root / wanted.called), "queries")
    new = added(before, found)
    channels = tuple(sorted(name for name in whole if name in wanted.deployed.channels))
    plan = _planned_again(wanted, root, figures).besides(found, channels, state=figures)
    horizon = horizon_of(replace(found, queries=new))
    deployed = without(plan.deployed, wanted.removed)
    horizons = {one.name: wanted.horizons.get(one.name, horizon) for one in deployed.fragments}
    later = (*wanted.added, Added(more, channels))
    return replace(
        wanted, deployed=deployed, intervals=plan.intervals, horizons=horizons, added=later, flows=flows_of(plan)
    ), list(new)


def _planned_again(wanted: Wanted, root: Path, figures: Path) -> Planned:
    """The plan of what is wanted, as it was made; refused if it comes out differently, since it runs as it was."""
    name = str(root / wanted.called)
    found = load(wanted.text, name)
    plan = _resettled(planned(found, wanted.planner or "exact", state=figures), wanted, 0, found)
    for place, one in enumerate(wanted.added):
        texts = [earlier.text for earlier in wanted.added[:place]]
        found = load_more(wanted.text, texts, one.text, name, "queries")
        plan = _resettled(plan.besides(found, one.channels, state=figures), wanted, place + 1, found)
    runs = {one.name for one in wanted.deployed.fragments}
    if not runs <= {one.name for one in plan.deployed.fragments}:
        raise RunError("what runs would be planned differently by now.", hint="apply the file with the new queries.")
    return replace(plan, deployed=_as_it_runs(plan.deployed, wanted.deployed)) if wanted.moved else plan


def with_moves(wanted: Wanted, before: Wanted, roads: Roads) -> Wanted:
    """What is wanted with those fragments where they have moved to that ran before, too."""
    found = replace(wanted, term=before.term)
    for one in before.moved:
        if any(fragment.name == one.fragment for fragment in found.deployed.fragments):
            found = replace(
                found,
                deployed=_moved_in(found.deployed, one, roads),
                intervals=renamed(found.intervals, one.fragment, one.arrives_as),
                horizons=renamed(found.horizons, one.fragment, one.arrives_as),
                terms={**renamed(found.terms, one.fragment, one.arrives_as), one.arrives_as: one.term},
                moved=(*found.moved, replace(one, after=0)),
            )
    return found


def _resettled(plan: Planned, wanted: Wanted, after: int, found: Deployment) -> Planned:
    """A plan with what moved when so many texts of queries had been added."""
    moved = [one for one in wanted.moved if one.after == after]
    if not moved:
        return plan
    roads, deployed, intervals = Roads.of(found), plan.deployed, plan.intervals
    for one in moved:
        deployed = _moved_in(deployed, one, roads)
        intervals = renamed(intervals, one.fragment, one.arrives_as)
    return replace(plan, deployed=deployed, intervals=intervals)


def _moved_in(deployed: Deployed, one: Moved, roads: Roads) -> Deployed:
    fragment = next((fragment for fragment in deployed.fragments if fragment.name == one.fragment), None)
    return deployed if fragment is None else resettled(deployed, fragment, one.target, roads)


def _as_it_runs(deployed: Deployed, runs: Deployed) -> Deployed:
    """What was planned, with the channels that run by the ways that they go now."""
    had = {place: name for place, name in deployed.had.items() if name not in runs.channels}
    return replace(deployed, channels={**deployed.channels, **runs.channels}, had={**had, **runs.had})


def flows_of(plan: Planned) -> tuple[Flow, ...]:
    """What is expected on each link that would carry something."""
    report = plan.report
    network = report.network
    prices = {
        (network.name(network.start[n]), network.name(network.end[n])): float(price)
        for n, price in enumerate(network.usd_per_gb)
    }
    rates = {(link.start, link.end): link.bytes_per_second for link in plan.links()}
    shipped = {(link.start, link.end): link.bytes_per_second for link in report.links(report.chosen.shipped)}
    return tuple(
        Flow(*ends, rates.get(ends, 0.0), shipped.get(ends, 0.0), prices.get(ends, 0.0))
        for ends in dict.fromkeys([*rates, *shipped])
    )
