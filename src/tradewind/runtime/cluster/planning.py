"""From a deployment's text to what is wanted: planned, cut, and written down for sites."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tradewind.cost.growing_joins import refuse_full
from tradewind.errors import RunError
from tradewind.fragments.deployed import Deployed
from tradewind.fragments.parting import merged, split
from tradewind.frontends.deployment.check import load, load_more
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.frontends.deployment.file import placed_in
from tradewind.runtime.asked import added, horizon_of
from tradewind.runtime.cluster.changes import without
from tradewind.runtime.cluster.desired import Added, Flow, Wanted
from tradewind.runtime.cluster.moving import Moved
from tradewind.runtime.cluster.moving_lead import renamed
from tradewind.runtime.cluster.moving_routes import Roads, reaching, resettled, withdrawn
from tradewind.runtime.cluster.recutting import Recut, Split
from tradewind.runtime.cluster.workers import with_workers
from tradewind.runtime.planned import Planned, planned


def wanted_of(found: Deployment, text: str, planner: str | None, figures: Path, *, until_done: bool = False) -> Wanted:
    """A deployment as it is to run, planned from what its text declares and what can be measured here."""
    figures.mkdir(parents=True, exist_ok=True)
    plan = planned(found, planner or "exact", state=figures, until_done=until_done)
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
        until_done=until_done,
        flows=flows_of(plan),
        expected=plan.expected,
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
    # What runs already is let run; of what is new, what would fill the memory of a site is refused.
    refuse_full(replace(found, queries=new), lambda findings: placed_in(more, "queries", findings))
    channels = tuple(sorted(name for name in whole if name in wanted.deployed.channels))
    # What is split is planned as one, and split again: whoever reads it does not know, and workers are not planned for.
    roads = Roads.of(with_workers(found, wanted.places))
    unsplit = _merged(wanted, roads)
    plan = _planned_again(unsplit, root, figures).besides(found, channels, state=figures, until_done=wanted.until_done)
    horizon = horizon_of(replace(found, queries=new))
    deployed = without(plan.deployed, wanted.removed)
    horizons = {one.name: unsplit.horizons.get(one.name, horizon) for one in deployed.fragments}
    later = (*wanted.added, Added(more, channels))
    made = replace(
        unsplit, deployed=deployed, intervals=plan.intervals, horizons=horizons, added=later, flows=flows_of(plan),
        expected=plan.expected,
    )  # fmt: skip
    for one in _changes(wanted):
        if isinstance(one, Split) or _of_share(one, wanted):
            made = _changed(made, one, roads)
    return replace(made, splits=wanted.splits, terms=wanted.terms), list(new)


def _planned_again(wanted: Wanted, root: Path, figures: Path) -> Planned:
    """The plan of what is wanted, as it was made; refused if it comes out differently, since it runs as it was."""
    name = str(root / wanted.called)
    found = load(wanted.text, name)
    finite = wanted.until_done
    plan = planned(found, wanted.planner or "exact", state=figures, until_done=finite)
    plan = _resettled(plan, wanted, 0, found)
    for place, one in enumerate(wanted.added):
        texts = [earlier.text for earlier in wanted.added[:place]]
        found = load_more(wanted.text, texts, one.text, name, "queries")
        plan = plan.besides(found, one.channels, state=figures, until_done=finite)
        plan = _resettled(plan, wanted, place + 1, found)
    runs = {one.name for one in wanted.deployed.fragments}
    if not runs <= {one.name for one in plan.deployed.fragments}:
        raise RunError("what runs would be planned differently by now.", hint="apply the file with the new queries.")
    return replace(plan, deployed=_as_it_runs(plan.deployed, wanted.deployed)) if wanted.moved else plan


def with_moves(wanted: Wanted, before: Wanted, roads: Roads) -> Wanted:
    """What is wanted with those fragments where they have moved to, and split as they are, that ran before, too."""
    made = replace(wanted, term=before.term)
    for one in _changes(before):
        if _concerns(one, made.deployed):
            made = replace(
                _changed(made, one, roads),
                moved=made.moved if isinstance(one, Split) else (*made.moved, replace(one, after=0)),
                splits=(*made.splits, one) if isinstance(one, Split) else made.splits,
            )
    # What was split, and is one again, has a term that none of these tells.
    runs = {one.name for one in made.deployed.fragments}
    return replace(made, terms={**made.terms, **{name: n for name, n in before.terms.items() if name in runs}})


def _resettled(plan: Planned, wanted: Wanted, after: int, found: Deployment) -> Planned:
    """A plan with what moved when so many texts of queries had been added."""
    moved = [one for one in wanted.moved if one.after == after]
    if not moved:
        return plan
    roads, deployed, intervals = Roads.of(found), plan.deployed, plan.intervals
    for one in moved:
        if _concerns(one, deployed):
            deployed, intervals = _arranged(deployed, one, roads), _figures(intervals, one)
    return replace(plan, deployed=deployed, intervals=intervals)


def _merged(wanted: Wanted, roads: Roads) -> Wanted:
    """What is wanted as if nothing were split: what is read comes home, also where only the work of it is away."""
    for one in wanted.splits:
        if one.runs(wanted.deployed):
            inputs = one.whole.inputs
            whole = reaching(merged(wanted.deployed, one.parting), one.whole, one.whole.site, roads)
            wanted = replace(
                wanted,
                intervals={**wanted.intervals, one.whole.name: wanted.intervals[one.parting.together.name]},
                horizons={**wanted.horizons, one.whole.name: wanted.horizons[one.parting.together.name]},
                deployed=withdrawn(whole, inputs),
            )
    return replace(wanted, splits=())


def _changes(wanted: Wanted) -> list[Moved | Split]:
    """What was changed since it was planned, in the order in which that happened."""
    return sorted([*wanted.moved, *wanted.splits], key=lambda one: one.term)


def _of_share(one: Moved, wanted: Wanted) -> bool:
    """Whether it was a share that moved."""
    shares = [share for split_one in wanted.splits for share in split_one.parting.shares]
    return any(replace(share, site=one.source).name == one.fragment for share in shares)


def _concerns(one: Moved | Split, deployed: Deployed) -> bool:
    """Whether what was changed is there."""
    name = one.whole.name if isinstance(one, Split) else one.fragment
    return any(fragment.name == name for fragment in deployed.fragments)


def _changed(wanted: Wanted, one: Moved | Split, roads: Roads) -> Wanted:
    """What is wanted after a change; as it was if what was changed is not there."""
    if not _concerns(one, wanted.deployed):
        return wanted
    return replace(
        wanted,
        deployed=_arranged(wanted.deployed, one, roads),
        intervals=_figures(wanted.intervals, one),
        horizons=_figures(wanted.horizons, one),
        terms=_figures(wanted.terms, one) | _begun(one),
    )


def _arranged(deployed: Deployed, one: Moved | Split, roads: Roads) -> Deployed:
    if isinstance(one, Split):
        return split(deployed, one.parting)
    fragment = next(fragment for fragment in deployed.fragments if fragment.name == one.fragment)
    return resettled(deployed, fragment, one.target, roads)


def _figures(known: Mapping[str, Any], one: Moved | Split) -> dict[str, Any]:
    """What is known of fragments by name, after a change."""
    if isinstance(one, Split):
        return Recut(one.term, one).figures(known)
    return renamed(known, one.fragment, one.arrives_as)


def _begun(one: Moved | Split) -> dict[str, int]:
    """The fragments that began with a change, with its term."""
    names = [part.name for part in Recut(one.term, one).arriving] if isinstance(one, Split) else [one.arrives_as]
    return dict.fromkeys(names, one.term)


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
