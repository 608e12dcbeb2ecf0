"""An agent: it makes its site do what is wanted there, and tells how that goes.

It dials out to its coordinator and needs nobody to reach it there. What was wanted last is kept on disk, so that a
coordinator that is away, or a machine that starts again without it, stops nothing.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from tradewind.backbone.names import token
from tradewind.backbone.server import Server
from tradewind.backbone.settings import Leaf, Neighbour, free_port, is_free
from tradewind.errors import InputError, TradewindError
from tradewind.frontends.deployment.model import Site as DeclaredSite
from tradewind.runtime.cluster import delivered, site_saving
from tradewind.runtime.cluster.control import Control
from tradewind.runtime.cluster.desired import Desired, opened, sites_of
from tradewind.runtime.cluster.dialling import dials, neighbours
from tradewind.runtime.cluster.ending import ended
from tradewind.runtime.cluster.footprint import disk_free_bytes, memory_bytes
from tradewind.runtime.cluster.metrics import Sample, of_site
from tradewind.runtime.cluster.reports import SiteReport
from tradewind.runtime.cluster.site_run import Place, SiteRun
from tradewind.runtime.cluster.workers import home_of
from tradewind.runtime.saying import Say
from tradewind.runtime.sweeping import discard
from tradewind.spark.session import Session, driver_memory, forget, kill_java, lives, start, warm_workers
from tradewind.trust.identity import Identity

_LOOK = 0.1
_REPORT = 1.0
_MEMORY = 5.0
"""Seconds between two looks at memory, which take a while."""


@dataclass(frozen=True)
class Post:
    """Where an agent is: its site, how it proves that, its folders, where its coordinator is, and where others may dial
    it.
    """

    identity: Identity
    site: str
    root: Path
    state: Path
    coordinator: str
    """The backbone of the coordinator, as `host:port`."""
    listen: tuple[str, int] | None = None
    """Where the site listens for others; port 0 is any that is free, and the same at the next start if it still is."""
    advertise: str | None = None
    """How others reach that, if not under the same address: `host:port`."""
    cores: int | None = None
    memory: str | None = None
    """That of Spark, if not what is declared of the site."""


@dataclass
class Agent:
    """A site at work."""

    post: Post
    say: Say
    show: Callable[[str, pa.Table], None] = lambda _name, _rows: None
    clock: Callable[[], float] = time.perf_counter
    _desired: Desired = field(default_factory=lambda: Desired(0))
    _server: Server | None = None
    _control: Control | None = None
    _run: SiteRun | None = None
    _session: Session | None = None
    _listens: tuple[str, int] | None = None
    _name: str = field(default_factory=lambda: secrets.token_hex(6))
    _reports: int = 0
    _memory: tuple[float, int] = (float("-inf"), 0)
    _problem: str | None = None
    _untold: str | None = None
    _told: SiteReport | None = None
    _warned: set[str] = field(default_factory=set)
    """What was warned of in its log, for the run that there is."""

    def run(self, stopping: threading.Event) -> None:
        """Work until it is told to stop."""
        self._start()
        # Apart, so that a site that starts Spark, or waits for a batch, does not pass for one that is gone.
        reporter = threading.Thread(target=self._report_always, args=(stopping,), name="tradewind-reports", daemon=True)
        reporter.start()
        with ended(stopping, kill_java, self.say):
            try:
                while not stopping.wait(_LOOK):
                    self._look()
            finally:
                stopping.set()
                reporter.join()
                self._stop()

    def _start(self) -> None:
        post = self.post
        post.state.mkdir(parents=True, exist_ok=True)
        # Rows lie below it, and what is wanted: nobody else's business.
        post.state.chmod(0o700)
        self._desired = self._remembered()
        self._listens = self._listening()
        self._server = Server.start(post.state / "backbone", leaf=self._leaf(self._desired))
        self._control = Control(
            post.coordinator, post.site, post.identity, self._asked, say=self.say, renewed=self._server.renew
        )
        self.say(f"site {post.site}: {self._where()}; coordinator at {post.coordinator}; state in {post.state}")

    def _where(self) -> str:
        return "dials others" if self._listens is None else f"listens at {self._address()}"

    def _stop(self) -> None:
        if self._run is not None:
            try:
                self._run.stop()
            except Exception as error:  # noqa: BLE001 - a Java that is gone says so in many ways, and all else is to end too
                self.say(f"site {self.post.site}: while it was stopped: {type(error).__name__}", level="warning")
        if self._control is not None:
            self._control.close()
        if self._session is not None:
            forget(self._session)
        if self._server is not None:
            self._server.stop()

    def _look(self) -> None:
        if self._control is not None and (record := self._control.news()) is not None:
            self._take(record)
        if self._run is not None:
            before = self._run.problem, self._run.ended
            self._run.look()
            if self._run.problem not in {None, before[0]}:
                self.say(f"site {self.post.site}: {self._run.problem}", level="warning", run=self._run.wanted.title)
            if self._run.ended and not before[1]:
                wanted = self._run.wanted
                self.say(f"site {self.post.site}: {wanted.name} has come to its end", run=wanted.title)
        elif self._desired.wanted is not None:
            self._reconcile(self._desired)

    def _take(self, record: object) -> None:
        """What is wanted has been told: it is done if it is the coordinator's word, and newer than what is done."""
        try:
            wanted = opened(record, self.post.identity.verifying_key)
        except TradewindError as error:
            self._problem = f"what the coordinator wants cannot be taken: {error}"
            self.say(f"site {self.post.site}: {self._problem}", level="warning")
            return
        if wanted.epoch <= self._desired.epoch:
            return
        self._problem = None
        self._remember(record)
        self.say(f"site {self.post.site}: epoch {wanted.epoch}", epoch=wanted.epoch)
        self._reconcile(wanted)

    def _reconcile(self, desired: Desired) -> None:
        self._desired = desired
        wanted, site = desired.wanted, self.post.site
        mine = wanted is not None and site in sites_of(wanted.deployed)
        if self._run is not None and (wanted is None or not mine or self._run.wanted.title != wanted.title):
            self._run.remove()
            self._run = None
            self._warned.clear()
        if self._server is None:
            return
        for old in (self.post.state / "runs").glob("*"):
            # It was ended while nobody was here.
            if wanted is None or not mine or old.name != wanted.title:
                with suppress(TradewindError):
                    discard(old, self._server.url)
        if wanted is None or not mine:
            return
        self._server.reconfigure(self._leaf(desired))
        if self._run is None:
            place = Place(site, self.post.root, self.post.state)
            self._run = SiteRun(
                place, wanted, self._server.url, self._server.link_url, self._spark, self.show, self.clock,
                self._control,
            )  # fmt: skip
        elif self._run.wanted != wanted:
            self._run.adapt(wanted)

    def _spark(self) -> Session:
        """The site's Spark; another one if the one that was there has died."""
        if self._session is not None and not lives(self._session):
            forget(self._session)
            self._session = None
        if self._session is None:
            cores = self.post.cores or os.cpu_count() or 1
            declared = self._declared()
            # A worker has a Spark of its own.
            master = declared.spark if home_of(self.post.site) == self.post.site else None
            memory = self.post.memory or driver_memory(declared.memory, master)
            log = self.post.state / "spark.log"
            self._session = start(cores, self.post.state / "tmp", memory=memory, master=master, log=log)
            warm_workers(self._session)
        return self._session

    def _declared(self) -> DeclaredSite:
        """What is declared of the site; of a worker, what is declared of the site that it is one of."""
        wanted = self._desired.wanted
        sites = {} if wanted is None else wanted.declared(self.post.root).sites
        return sites.get(home_of(self.post.site)) or DeclaredSite()

    def _asked(self, question: dict[str, Any]) -> Any:
        if question.get("kind") in {site_saving.KIND, site_saving.REMOVING}:
            return site_saving.asked(question, self.post.state / "savepoints")
        if question.get("kind") == delivered.KIND:
            return delivered.answered(question, self.post.site, self.post.root, self.post.state)
        run = self._run
        if run is None:
            raise InputError("nothing runs at this site.")
        return run.asked(question)

    # --- what others are told ---------------------------------------------------------------------------------

    def _report_always(self, stopping: threading.Event) -> None:
        while not stopping.wait(_REPORT):
            try:
                self._report()
                self._untold = None
            except Exception as error:  # noqa: BLE001 - of what is just being changed the next report tells
                self._untold = f"a report could not be made: {type(error).__name__}: {error}"

    def _report(self) -> None:
        if self._control is None:
            return
        self._reports += 1
        now = self.clock()
        if now - self._memory[0] > _MEMORY:
            self._memory = now, memory_bytes()
        run = self._run
        warnings = run.warnings() if run is not None else []
        self._log(warnings)
        self._tell(
            SiteReport(
                site=self.post.site,
                agent=self._name,
                number=self._reports,
                epoch=self._desired.epoch,
                state="idle" if run is None else run.state,
                run=run.wanted.title if run is not None else None,
                listens=self._address(),
                cores=self.post.cores or os.cpu_count() or 1,
                memory_bytes=self._memory[1],
                disk_free_bytes=disk_free_bytes(self.post.state),
                problem=(run.problem if run is not None else None) or self._problem or self._untold,
                restarts=run.restarts if run is not None else 0,
                refused=run.refused if run is not None else 0,
                fragments=run.fragments() if run is not None else {},
                links=run.links() if run is not None else [],
                answers=run.answers() if run is not None else {},
                read=run.read() if run is not None else [],
                origins=run.origins() if run is not None else [],
                channels=run.channels() if run is not None else [],
                saving=run.saving.key if run is not None else None,
                saved=run is not None and run.saving.done,
                unsaved=run.saving.problem if run is not None else None,
                proposes=run.proposes(self._desired.principals) if run is not None else [],
                warnings=warnings,
            )
        )

    def _log(self, warnings: list[str]) -> None:
        """Each warning once; one that holds again after a while is said again."""
        for warning in warnings:
            if warning not in self._warned:
                self.say(f"site {self.post.site}: warning: {warning}", level="warning")
        self._warned = set(warnings)

    def _tell(self, report: SiteReport) -> None:
        self._told = report
        if self._control is not None:
            self._control.tell(report)

    def metrics(self) -> list[Sample]:
        """How the site is, by its last report, for Prometheus."""
        return list(of_site(self.post.site, self._told, reached=self._reaches()))

    def _reaches(self) -> bool:
        """Whether the coordinator has answered when it was last spoken to."""
        return self._control is not None and self._control.reached

    # --- where it is reached ----------------------------------------------------------------------------------

    def _leaf(self, desired: Desired) -> Leaf:
        identity, wanted = self.post.identity, desired.wanted
        far = [] if wanted is None else neighbours(self.post.site, wanted.deployed)
        if wanted is not None and wanted.move is not None:
            # What flows when a fragment has moved is prepared for before.
            pairs = [pair for pair in wanted.move.links if self.post.site in pair]
            far = sorted({*far, *(site for pair in pairs for site in pair if site != self.post.site)})
        own = {self.post.site: address} if (address := self._address()) is not None else {}
        addresses = {**desired.addresses, **own}
        met = tuple(
            Neighbour(
                site, desired.principals[site], addresses[site] if dials(self.post.site, site, addresses) else None
            )
            for site in far
            if site in desired.principals
        )
        return Leaf(token(self.post.site), self._listens, identity.certificate, identity.key, identity.ca, met)

    def _address(self) -> str | None:
        if self._listens is None:
            return None
        return self.post.advertise or f"{self._listens[0]}:{self._listens[1]}"

    def _listening(self) -> tuple[str, int] | None:
        """Where to listen: a port that was chosen freely stays the same, so that others find the site again."""
        if self.post.listen is None:
            return None
        host, port = self.post.listen
        if port:
            return host, port
        kept = self.post.state / "leaf-port"
        with suppress(FileNotFoundError, ValueError):
            port = int(kept.read_text())
        if not port or not is_free(port):
            port = free_port()
            kept.write_text(str(port))
        return host, port

    # --- what is kept -----------------------------------------------------------------------------------------

    def _remember(self, record: object) -> None:
        path = self.post.state / "desired.json"
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(record))
        partial.replace(path)

    def _remembered(self) -> Desired:
        """What was wanted last; it is checked as if it came from outside."""
        path = self.post.state / "desired.json"
        if not path.exists():
            return Desired(0)
        try:
            return opened(json.loads(path.read_text()), self.post.identity.verifying_key)
        except (ValueError, InputError) as error:
            self.say(f"site {self.post.site}: {path} cannot be used, and is left alone: {error}", level="warning")
            return Desired(0)
