"""A deployment at work at one site: its fragments here, its channels here, and the links that end here.

What goes wrong ends the run of the site, which is begun again after a while: all goes on from what was committed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from tradewind.errors import InputError, TradewindError, unknown
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.answers import answer_of, excerpt
from tradewind.runtime.asked import horizon_of
from tradewind.runtime.cluster import idle
from tradewind.runtime.cluster.desired import Wanted, held_at
from tradewind.runtime.cluster.errands import Errand
from tradewind.runtime.cluster.heat import Batch, Heat, proposals
from tradewind.runtime.cluster.moving_site import Batches, Courier, SiteMove, guests_of
from tradewind.runtime.cluster.places import at_site
from tradewind.runtime.cluster.reports import (
    AnswerTold,
    ChannelTold,
    FragmentTold,
    LinkTold,
    OriginTold,
    Proposal,
    ReadTold,
)
from tradewind.runtime.cluster.site_saving import SiteSaving, restore
from tradewind.runtime.cluster.site_told import Told, answers_of, channels_of, links_of, origins_of, read_of
from tradewind.runtime.cluster.troubles import FIRST_PAUSE, LONGEST_PAUSE, LONGEST_TEXT, Troubles
from tradewind.runtime.cluster.warned import Warned
from tradewind.runtime.places import prepare, refuse_clashes, refuse_foreign, sink_of
from tradewind.runtime.pushes import Pushes
from tradewind.runtime.secrets import without_secrets
from tradewind.runtime.setting import Setting
from tradewind.runtime.sites import Sites
from tradewind.runtime.sweeping import discard
from tradewind.runtime.wiring import Here, Network, limits_of
from tradewind.spark.query import Report
from tradewind.spark.session import Session, lives
from tradewind.spark.sinks import Nowhere, Sink
from tradewind.spark.sources.bounds import Bounds
from tradewind.spark.sources.objects import table_of
from tradewind.spark.sources.reading import check_readable

_CHANNELS = 5.0
"""Seconds between two looks at what channels hold."""
_BATCH = 30.0
"""Seconds that the end of a batch is waited for before it is given up, to be done again."""
_CALM = 60.0
"""Seconds without a failure after which the next one is taken for the first."""


@dataclass(frozen=True)
class Place:
    """Where a site runs: its name, the folder that its files are below, and where it keeps its state."""

    site: str
    root: Path
    state: Path


@dataclass
class SiteRun:
    """A deployment at a site, from when it was first wanted until it is not any more."""

    place: Place
    wanted: Wanted
    backbone: str
    """The URL of the site's own server."""
    link_url: Callable[[str], str]
    """Where, at that server, another site is to be met."""
    session: Callable[[], Session]
    """Spark, started on first use, or anew if it died."""
    show: Callable[[str, pa.Table], None]
    clock: Callable[[], float]
    courier: Courier | None = None
    """The way to the coordinator, by which fragments move."""
    problem: str | None = None
    restarts: int = 0
    ended: bool = False
    _sites: Sites | None = None
    _batches: dict[str, Report] = field(default_factory=dict)
    _rows: dict[str, int] = field(default_factory=dict)
    _again_at: float = 0.0
    _pause: float = FIRST_PAUSE
    _failed_at: float = float("-inf")
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pushes: Pushes | None = None
    _channels: tuple[float, list[ChannelTold]] = (float("-inf"), [])
    _done_at: dict[str, Batches] = field(default_factory=dict)
    _next: Wanted | None = None
    """What is wanted, once all is here that it needs."""
    _moving: SiteMove | None = None
    _heat: Heat = field(default_factory=Heat)
    _warned: Warned = field(default_factory=Warned)
    saving: SiteSaving = field(init=False)
    _braking: Errand | None = None
    _last: Told = field(default_factory=Told)
    """What was told last before it was paused."""
    _troubles: Troubles = field(default_factory=Troubles)

    def __post_init__(self) -> None:
        self.saving = SiteSaving(self.place.state / "savepoints")
        if self.courier is not None:
            self._moving = SiteMove(self.place.site, self.folder, self.courier, self.clock, self._done_at)
            self._moving.take(self.wanted)

    @property
    def folder(self) -> Path:
        """Where its state lies."""
        return self.place.state / "runs" / self.wanted.title

    def look(self) -> None:
        """Begin it, begin it again, or see whether it goes on well; what goes wrong is remembered and tried again."""
        now = self.clock()
        try:
            self._take()
            if self.wanted.paused:
                self._stand_still()
                return
            self.saving.forget()
            if self._sites is None:
                if now < self._again_at or not self._ready(self.wanted):
                    return
                self._start()
            elif not self.ended:
                settled = self._sites.settled()
                self._retry(self._sites, now)
                self.ended = settled and not self._troubles
            if self.problem is not None and now - self._failed_at > _CALM:
                self.problem, self._pause = None, FIRST_PAUSE
            if self._moving is not None:
                self._moving.look(self.wanted, self._sites)
        except TradewindError as error:
            self._failed(str(error), now)
        except Exception as error:  # noqa: BLE001 - whatever it is, the site has to go on, and the coordinator to know
            self._failed(self._said_of(error), now)

    def _retry(self, sites: Sites, now: float) -> None:
        """Note which fragments cannot read what is there, and let them try again after a while, each by itself."""
        for problem in self._troubles.note(sites.failed, now):
            self.problem, self._failed_at = problem, now
            self.restarts += 1
        own = {one.name: one for one in sites.setting.own}
        for name in tuple(self._troubles.due(now)):
            sites.again(own[name])

    def adapt(self, wanted: Wanted) -> None:
        """Go on with what is wanted now: it has the same title. What comes from elsewhere for it is fetched first."""
        self._next = wanted
        if self._moving is not None:
            self._moving.take(wanted)

    def _take(self) -> None:
        if self._next is None or not self._ready(self._next):
            return
        self.wanted, self._next = self._next, None
        here = {one.name for one in self.wanted.deployed.fragments if one.site == self.place.site}
        for gone in set(self._done_at) - here:
            del self._done_at[gone]
        self._troubles.keep(here)
        with self._lock:
            self._heat.forget(here)
        if self._sites is None or self.wanted.paused:
            self._again_at = 0.0
            return
        self._braking = None
        try:
            before = self._sites.setting.own
            setting = self._setting(self._declared())
            self._clear(setting)
            prepare(setting.sinks)
            self._sites.adapt(setting)
            self.ended = self.ended and before == setting.own
        except TradewindError as error:
            self._failed(str(error), self.clock())

    def _stand_still(self) -> None:
        """Stop what runs, each fragment at the end of the micro-batch that it is at."""
        sites, saving = self._sites, self.wanted.saving
        if sites is None:
            if saving is None:
                self.saving.forget()
            elif self.saving.key != saving.key:
                sinks = self._sinks(self._declared(), self.wanted)
                self.saving.look(saving, self.wanted.title, self.folder, self.backbone, sinks)
            return
        if self._braking is None:
            self._braking = Errand(lambda: sites.brake_all(_BATCH))
        if self._braking.over:
            self._last = Told(self.links(), self.answers(), self.read(), self.channels())
            self._braking = None
            self.stop()

    @property
    def _paused(self) -> bool:
        return self.wanted.paused and self._sites is None

    def stop(self) -> None:
        """Stop for now; what was committed stays."""
        pushes, self._pushes = self._pushes, None
        sites, self._sites = self._sites, None
        with ExitStack() as parts:  # the last one first; what does not end well keeps nothing else from it
            parts.callback(self.saving.wait)
            if sites is not None:
                parts.callback(sites.stop)
            if self._moving is not None:
                parts.callback(self._moving.stop)
            if pushes is not None:
                parts.callback(pushes.close)

    def remove(self) -> None:
        """Stop for good; nothing of its state is kept, but what was delivered is."""
        self.stop()
        with suppress(TradewindError):
            discard(self.folder, self.backbone)

    def _ready(self, wanted: Wanted) -> bool:
        """Whether all is here that what is wanted needs."""
        if self._moving is None or (wanted.move is None and wanted.recut is None):
            return True
        found = self._bounded(wanted)
        setting = self._setting(found, wanted)
        return self._moving.ready(wanted, self._sites, setting, self.backbone, limits_of(found.channels))

    def _start(self) -> None:
        found = self._declared()
        setting = self._setting(found)
        refuse_clashes(found, self.place.root, self.place.site)
        check_readable(found, self.place.root, self.folder, wait=not self.wanted.until_done)
        if self.wanted.fresh and not self.folder.exists():
            for sink in setting.sinks.values():
                sink.clear()
        if self.wanted.restores is not None and not self.folder.exists():
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            limits = limits_of(found.channels)
            restore(
                self.saving.folder, self.wanted.restores, title=self.wanted.title, run=self.folder,
                backbone=self.backbone, sinks=setting.sinks, limits=limits,
            )  # fmt: skip
        self._clear(setting)
        self.folder.mkdir(parents=True, exist_ok=True)
        prepare(setting.sinks)
        sites = Sites(setting, self.session())
        try:
            sites.start()
        except BaseException:
            sites.stop()
            raise
        self._sites, self.ended, self._last = sites, False, Told()

    def _clear(self, setting: Setting) -> None:
        """Where a fragment begins from nothing, remove what was delivered before if that is wanted, and refuse to mix
        its answers with any others.
        """
        for fragment in setting.own:
            if fragment.name in setting.held or setting.folder(fragment).exists():
                continue
            sinks = {name: setting.sinks[name] for name in fragment.answers}
            for name, sink in sinks.items():
                if name in self.wanted.recomputed:
                    sink.clear()
            refuse_foreign(sinks, "tradewind apply --fresh")

    def _said_of(self, error: Exception) -> str:
        """What nobody expected, in a line."""
        session = None if self._sites is None else self._sites.session
        if session is not None and not lives(session):
            return "Spark's Java has ended; it is started again, and what it said is in spark.log."
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"

    def _failed(self, problem: str, now: float) -> None:
        # Databases and their libraries quote what they were given; the problem is told to the whole cluster.
        with suppress(TradewindError):  # a text that cannot be read names no secrets
            problem = without_secrets(problem, self.wanted.declared(self.place.root))
        self.problem, self._failed_at = problem[:LONGEST_TEXT], now
        self.restarts += 1
        self._again_at = now + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)
        try:
            self.stop()
        except Exception as error:  # noqa: BLE001 - what is broken may also break on its way out
            self.problem = f"{problem[: LONGEST_TEXT - 100]} (and while it was stopped: {type(error).__name__})"

    def _declared(self) -> Deployment:
        return self._bounded(self.wanted)

    def _bounded(self, wanted: Wanted) -> Deployment:
        place = self.place
        return at_site(wanted.declared(place.root), place.site, place.root, [place.state])

    def _setting(self, found: Deployment, wanted: Wanted | None = None) -> Setting:
        wanted, site = wanted or self.wanted, self.place.site
        here = Here(site, wanted.title, self.link_url)
        return Setting(
            found, wanted.deployed, self._sinks(found, wanted), self.folder, horizon_of(found), wanted.until_done,
            wanted.intervals, self._note, Network(imitate=wanted.imitate, backbone=self.backbone), here,
            wanted.horizons, held_at(wanted, site), wanted.terms, guests_of(wanted), (self.place.state,),
        )  # fmt: skip

    def _sinks(self, found: Deployment, wanted: Wanted) -> dict[str, Sink]:
        bounds = Bounds(self.place.root, (self.place.state,), within=True)
        names = [name for one in wanted.deployed.fragments if one.site == self.place.site for name in one.answers]
        return {
            name: Nowhere()
            if name in wanted.removed
            else sink_of(name, found.queries[name], self.place.root, self.show, pulled=False, bounds=bounds)
            for name in names
        }

    def _note(self, report: Report) -> None:
        self._warned.note(report.warnings)
        self._troubles.over(report.fragment)
        with self._lock:
            self._batches[report.fragment] = report
            now = self.clock()
            self._done_at.setdefault(report.fragment, Batches(now, now)).last = now
            rows = sum(one.rows for one in report.origins.values()) + sum(report.channels.values())
            self._rows[report.fragment] = self._rows.get(report.fragment, 0) + rows
            self._heat.note(report.fragment, Batch(now, report.seconds, rows))

    @property
    def state(self) -> Literal["starting", "running", "paused", "ended", "failed"]:
        """In a word."""
        if self._paused:
            return "paused"
        if self._sites is None:
            return "failed" if self.problem is not None else "starting"
        return "ended" if self.ended else "running"

    def fragments(self) -> dict[str, FragmentTold]:
        """How each fragment is."""
        sites = self._sites
        with self._lock:
            batches, rows = dict(self._batches), dict(self._rows)
        spans, taken = (sites.spans(), sites.taken()) if sites is not None else ({}, {})
        found = {}
        for one in self.wanted.deployed.fragments:
            if one.site != self.place.site:
                continue
            last = batches.get(one.name)
            there = sites is not None and one.name in sites.running
            ended = sites is not None and one.name in sites.closed
            trouble = self._troubles.problem_of(one.name)
            problem, works = trouble or self.problem, there and trouble is None
            state = "ended" if ended else "running" if works else "failed" if problem is not None else "starting"
            state = "paused" if self._paused else state
            found[one.name] = FragmentTold.model_validate({
                "state": state, "batch": last.batch if last else -1, "rows": rows.get(one.name, 0),
                "seconds": last.seconds if last else 0.0, "problem": problem if state == "failed" else None,
                **(spans[one.name]._asdict() if one.name in spans else {}), "taken": taken.get(one.name, {}),
            })  # fmt: skip
        return found

    def proposes(self, members: Mapping[str, str]) -> list[Proposal]:
        """What the site wants to be done otherwise, given who belongs to the cluster."""
        with self._lock:
            return proposals(self.wanted, self.place.site, members, self._heat, self.clock())

    def links(self) -> list[LinkTold]:
        """What came over each link that ends here."""
        return self._last.links if self._sites is None else links_of(self._sites)

    def answers(self) -> dict[str, AnswerTold]:
        """How the answers are that are delivered here."""
        return self._last.answers if self._sites is None else answers_of(self._sites)

    def read(self) -> list[ReadTold]:
        """What was read of the streams that arise here."""
        return self._last.read if self._sites is None else read_of(self._sites)

    def warnings(self) -> list[str]:
        """What whoever looks after the streams that arise here should know."""
        sites = self._sites
        # A finite run does not begin where a place is missing, and says so.
        return self._warned.now(None if sites is None or self.wanted.until_done else sites.setting.found)

    def origins(self) -> list[OriginTold]:
        """Where the streams stand that arise here."""
        return [] if self._sites is None else origins_of(self._sites)

    def channels(self) -> list[ChannelTold]:
        """What the channels hold that are here; looked at from time to time only, since it takes a while."""
        sites, now = self._sites, self.clock()
        if sites is None or sites.session is None:
            return self._last.channels
        if now - self._channels[0] >= _CHANNELS:
            try:
                self._channels = now, channels_of(sites)
            except TradewindError:
                return []  # a server that is away, or channels that come or go just now
        return self._channels[1]

    def asked(self, question: dict[str, Any]) -> Any:
        """What a coordinator wants to know, or to be done."""
        if question.get("kind") == idle.KIND:
            return self._follow(question)
        found = self._declared()
        match question.get("kind"):
            case "rows":
                oldest = bool(question.get("oldest"))
                return self._answer(found, str(question.get("query")), int(question.get("limit", 0)), oldest)
            case "push":
                return self._pushed(found, str(question.get("stream")), question.get("rows"))
        raise InputError("this cannot be asked.")

    def _follow(self, order: dict[str, Any]) -> None:
        """Let idle origins go on as far as the others are, unless something else is meant."""
        sites = self._sites
        if sites is not None and order.get("run") == self.wanted.title:
            sites.idling.told(idle.marks_in(order))

    def _answer(self, found: Deployment, name: str, limit: int, oldest: bool) -> dict[str, Any]:
        """The newest or oldest rows of an answer that is delivered here, with whether they are final."""
        if name not in found.queries:
            raise unknown("query", name, found.queries)
        query = found.queries[name]
        answer = answer_of(name, query, self.place.root)
        return excerpt(answer, query.operator.schema, limit, oldest=oldest).told()

    def _pushed(self, found: Deployment, stream: str, rows: Any) -> int:
        """Take rows into a stream, given as objects."""
        if stream not in found.streams:
            raise unknown("stream", stream, found.streams)
        if self._pushes is None:
            self._pushes = Pushes(self.folder)
        source = found.streams[stream].source
        table = table_of(source.schema, rows, revisions=source.revisions)
        taken = self._pushes.enqueue(found, stream, table, self.place.site)
        self._pushes.flush()
        return taken

    @property
    def refused(self) -> int:
        """Requests over links that asked for what they may not have."""
        return 0 if self._sites is None else self._sites.wiring.refused
