"""What a coordinator knows of its sites: their last reports, and for how long nothing was heard. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tradewind.runtime.cluster.desired import Desired, Wanted
from tradewind.runtime.cluster.presence import Present
from tradewind.runtime.cluster.reports import AnswerTold, SiteReport
from tradewind.runtime.cluster.workers import home_of
from tradewind.runtime.expected import Hop, Span, rates_on, seconds_of, shipped

LATE, GONE = 3.0, 10.0
"""Seconds after which a site that said nothing is late, and after which it is taken for gone."""
_MICROS = 1e6
_SPAN = 10.0
"""Seconds over which rows a second are counted: batches come more seldom than reports."""


Counted = str | tuple[str, str]
"""What is counted: the rows that a fragment has read, or the bytes that have crossed a link."""
Counts = Mapping[Counted, int]


@dataclass(frozen=True, slots=True)
class Heard:
    """A report, when it came, what had been counted by earlier ones of the same process, and how many a second that
    makes.
    """

    report: SiteReport
    at: float
    earlier: tuple[tuple[float, Counts], ...] = ()
    """Those of the last seconds, and one that is older; the oldest first."""
    rates: Mapping[Counted, float] = field(default_factory=dict)


@dataclass
class Registry:
    """The sites that may report, by name, with what was heard of them."""

    members: set[str] = field(default_factory=set)
    heard: dict[str, Heard] = field(default_factory=dict)
    version: int = 0
    """Grows with all that comes in."""
    refused: int = 0
    """Reports that could not be taken."""

    def take(self, report: SiteReport, now: float) -> None:
        """A report has come; one that was overtaken by a later one of the same process is passed over."""
        before = self.heard.get(report.site)
        if before is not None and before.report.agent == report.agent and before.report.number >= report.number:
            return
        earlier = _earlier(before, report, now)
        self.heard[report.site] = Heard(report, now, earlier, _rates(earlier, report, now))
        self.version += 1

    def admit(self, site: str) -> None:
        """The site may report from now on."""
        self.members.add(site)
        self.version += 1

    def forget(self, site: str) -> None:
        """The site may not report any more."""
        self.members.discard(site)
        self.heard.pop(site, None)
        self.version += 1

    def addresses(self) -> dict[str, str]:
        """Where sites listen for those who dial them."""
        return {site: one.report.listens for site, one in self.heard.items() if one.report.listens is not None}

    def state_of(self, site: str, now: float) -> str:
        """Whether a site is there: alive, late, gone, or never heard of."""
        if site not in self.heard:
            return "joined" if site in self.members else "never"
        silent = now - self.heard[site].at
        return "alive" if silent < LATE else "late" if silent < GONE else "gone"

    def present(self, now: float) -> dict[str, Present]:
        """Who was heard of, and how long ago."""
        return {site: Present(one.report.agent, now - one.at) for site, one in self.heard.items()}

    def alive(self, now: float) -> list[str]:
        """The sites that are there."""
        return [site for site in self.heard if self.state_of(site, now) == "alive"]


def status_of(registry: Registry, desired: Desired, declared: Iterable[str], now: float) -> dict[str, Any]:
    """How everything is, as plain data for people and programs."""
    wanted = desired.wanted
    sites = dict.fromkeys([*declared, *sorted(registry.members)])
    shown = {site: _site(registry, site, now) for site in sites}
    return {
        "epoch": desired.epoch,
        "deployment": None if wanted is None else wanted.name,
        "generation": None if wanted is None else wanted.generation,
        "until_done": wanted is not None and wanted.until_done,
        "paused": wanted is not None and wanted.paused,
        "state": _state(registry, wanted, desired, now),
        "sites": shown,
        "links": _links(registry, wanted, now),
        "seconds_read": seconds_read(registry, wanted),
        "queries": _queries(registry, wanted),
        "origins": _origins(registry, wanted),
    }


def _counts(report: SiteReport) -> Counts:
    rows: dict[Counted, int] = {name: one.rows for name, one in report.fragments.items()}
    # Whoever receives counts what crossed a link.
    return rows | {(one.start, one.end): one.bytes for one in report.links if one.end == report.site}


def _earlier(before: Heard | None, report: SiteReport, now: float) -> tuple[tuple[float, Counts], ...]:
    if before is None or before.report.agent != report.agent:
        return ()
    found = [one for one in (*before.earlier, (before.at, _counts(before.report))) if one[0] < now]
    # One that is old enough is enough: the time is counted from there.
    first = max((place for place, one in enumerate(found) if now - one[0] >= _SPAN), default=0)
    return tuple(found[first:])


def _rates(earlier: tuple[tuple[float, Counts], ...], report: SiteReport, now: float) -> dict[Counted, float]:
    """How many a second since the oldest report that counts the same; what was begun again counts less than before."""
    found = {}
    for what, count in _counts(report).items():
        known = [(at, counts[what]) for at, counts in earlier if what in counts]
        # What was counted anew counts from then on.
        turns = [place for place, (_, before) in enumerate(known) if before > count]
        known = known[turns[-1] + 1 :] if turns else known
        if known:
            at, before = known[0]
            found[what] = (count - before) / (now - at)
    return found


def _site(registry: Registry, site: str, now: float) -> dict[str, Any]:
    heard = registry.heard.get(site)
    state = registry.state_of(site, now)
    # Only workers say whose they are: all others are sites by themselves.
    home = {"worker_of": home_of(site)} if home_of(site) != site else {}
    if heard is None:
        return {**home, "state": state, "fragments": {}, "problem": None}
    report = heard.report
    # What is not heard of any more does not go on at the rate that it had.
    rates = {} if state == "gone" else heard.rates
    return {
        **home,
        "state": state,
        "seen_seconds_ago": round(now - heard.at, 2),
        "epoch": report.epoch,
        "work": report.state,
        "listens": report.listens,
        "cores": report.cores,
        "memory_bytes": report.memory_bytes,
        "disk_free_bytes": report.disk_free_bytes,
        "restarts": report.restarts,
        "refused": report.refused,
        "problem": report.problem,
        "fragments": {
            name: {**one.model_dump(), "rows_per_second": round(rates.get(name, 0.0), 1)}
            for name, one in report.fragments.items()
        },
    }


def _state(registry: Registry, wanted: Wanted | None, desired: Desired, now: float) -> str:
    """In a word: stopped, waiting for sites, pausing, paused, starting, running, ended, or failing."""
    if wanted is None:
        return "stopped"
    needed = {one.site for one in wanted.deployed.fragments}
    if any(registry.state_of(site, now) != "alive" for site in needed):
        return "waiting"
    reports = [registry.heard[site].report for site in needed]
    if wanted.paused:
        still = all(one.state == "paused" and one.run == wanted.title for one in reports)
        return "paused" if still else "pausing"
    if any("failed" in {one.state, *(told.state for told in one.fragments.values())} for one in reports):
        return "failing"
    if any(one.epoch < desired.epoch or one.state in {"idle", "starting", "stopped"} for one in reports):
        return "starting"
    # A site that has heard of what is wanted tells for a moment how what it did before has ended.
    told = {name for report in reports for name in report.fragments}
    ended = all(one.state == "ended" for one in reports) and told >= {one.name for one in wanted.deployed.fragments}
    return "ended" if ended else "running"


def current(registry: Registry, wanted: Wanted | None) -> dict[str, SiteReport]:
    """The reports about what is wanted. For a moment after something else was begun, sites still tell of that before,
    whose figures are not of the same time as what is expected now.
    """
    reports = {site: heard.report for site, heard in registry.heard.items()}
    return {site: one for site, one in reports.items() if wanted is None or one.run in {None, wanted.title}}


def seconds_read(registry: Registry, wanted: Wanted | None) -> float:
    """For how long, in event time, the streams went by that were read: the longest of all."""
    spans = [
        (one.latest - one.earliest) / _MICROS
        for report in current(registry, wanted).values()
        for one in report.read
        if one.earliest is not None and one.latest is not None
    ]
    return max(spans, default=0.0)


def spans_of(reports: Mapping[str, SiteReport]) -> dict[str, Span]:
    """How much of the streams' own time fragments have read."""
    return {
        name: Span(one.earliest, one.latest)
        for report in reports.values()
        for name, one in report.fragments.items()
        if one.earliest is not None and one.latest is not None
    }


def seconds_by_channel(registry: Registry, wanted: Wanted) -> dict[str, float]:
    """How many seconds of streams each channel holds."""
    return seconds_of(wanted.deployed, spans_of(current(registry, wanted)))


def _predicted(registry: Registry, wanted: Wanted | None) -> tuple[dict[Hop, float], dict[Hop, float]]:
    """Bytes a second expected on each link by the plan that holds, and bytes in all by it and those before it."""
    if wanted is None:
        return {}, {}
    if not wanted.expected.channels:  # planned by an earlier version, which knew links only
        rates = {(one.start, one.end): one.planned for one in wanted.flows}
        seconds = seconds_read(registry, wanted)
        return rates, {hop: rate * seconds for hop, rate in rates.items()}
    totals = wanted.account.totals(wanted.deployed, wanted.expected, seconds_by_channel(registry, wanted))
    return rates_on(wanted.deployed, wanted.expected), totals


def _links(registry: Registry, wanted: Wanted | None, now: float) -> list[dict[str, Any]]:
    flows = {(one.start, one.end): one for one in wanted.flows} if wanted is not None else {}
    told = {
        (one.start, one.end): one
        for site, report in current(registry, wanted).items()
        for one in report.links
        if one.end == site
    }
    rates, predicted = _predicted(registry, wanted)
    everything = {} if wanted is None else shipped(
        wanted.account, {ends: one.shipped for ends, one in flows.items()}, seconds_read(registry, wanted)
    )  # fmt: skip
    found = []
    for ends in dict.fromkeys([*flows, *rates, *told]):
        flow, one = flows.get(ends), told.get(ends)
        price = (flow.usd_per_gb if flow else 0.0) / 1e9
        rate, expected, all_of_it = rates.get(ends, 0.0), predicted.get(ends, 0.0), everything.get(ends, 0.0)
        if not (one or rate):
            continue
        size = one.bytes if one else 0
        heard = registry.heard.get(ends[1]) if registry.state_of(ends[1], now) != "gone" else None
        measured = heard.rates.get(ends, 0.0) if heard is not None else 0.0
        found.append({
            "from": ends[0], "to": ends[1], "bytes_per_second": rate, "usd_per_hour": rate * price * 3600,
            "bytes": size, "rows": one.rows if one else 0, "predicted_bytes": round(expected),
            "shipped_bytes": round(all_of_it), "usd": size * price, "predicted_usd": expected * price,
            "shipped_usd": all_of_it * price, "messages": one.messages if one else 0,
            "batches": one.batches if one else 0, "control_bytes": one.control_bytes if one else 0,
            "backlog_bytes": one.backlog_bytes if one else 0, "round_trip_ms": one.round_trip_ms if one else None,
            "reached": one.reached if one else False,
            "measured_bytes_per_second": round(measured, 1), "predicted_bytes_per_second": rate,
        })  # fmt: skip
    return found


def _queries(registry: Registry, wanted: Wanted | None) -> dict[str, dict[str, Any]]:
    if wanted is None:
        return {}
    found: dict[str, dict[str, Any]] = {}
    reports = current(registry, wanted)
    idle = {name for name, one in _origins(registry, wanted).items() if one["idle"]}
    for fragment in wanted.deployed.fragments:
        for name in fragment.answers:
            if name in wanted.removed:
                continue
            told = reports[fragment.site].answers.get(name) if fragment.site in reports else None
            found[name] = {
                "site": fragment.site,
                "final": told.final if told else 0,
                "tentative": told.tentative if told else 0,
                "missing": list(told.missing) if told else [],
                "waits_for": _waits(told, idle) if told else [],
                "behind_seconds": told.behind_seconds if told else None,
            }
    return found


def _waits(told: AnswerTold, idle: Collection[str]) -> list[dict[str, Any]]:
    """Whom a query waits for: of those that are equally far, not the ones that are idle."""
    waits = [{"origin": one.origin, "seconds": round(one.seconds, 1)} for one in told.waits_for]
    return [one for one in waits if one["origin"] not in idle] or waits


def _origins(registry: Registry, wanted: Wanted | None) -> dict[str, dict[str, Any]]:
    """Where streams stand at their sites, by `stream/site`."""
    if wanted is None:
        return {}
    found: dict[str, dict[str, Any]] = {}
    for heard in registry.heard.values():
        for one in heard.report.origins if heard.report.run == wanted.title else ():
            name = f"{one.stream}/{one.origin}"
            # One that several agents read is idle if all of them say so.
            if name not in found or not one.idle:
                found[name] = {"idle": one.idle, "silent_seconds": one.silent_seconds, "mark": one.mark}
    return found
