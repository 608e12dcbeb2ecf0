"""The coordinator: it says what is wanted, knows how it goes, and lets sites in and shuts them out.

What is wanted, and who belongs to the cluster, lies in its folder; a coordinator that starts again finds everything,
and while it is away the sites go on with what was wanted last.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tradewind.backbone import catalog
from tradewind.backbone.connection import Connection
from tradewind.backbone.control import ControlServer
from tradewind.errors import DataError, DeploymentError, InputError, InternalError, RunError, unknown
from tradewind.frontends.deployment.check import load
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.cluster import views
from tradewind.runtime.cluster.changes import Changes, begins_anew, without
from tradewind.runtime.cluster.desired import BUCKET, KEY, Desired, Wanted, opened, sealed
from tradewind.runtime.cluster.dialling import unreachable
from tradewind.runtime.cluster.members import Members
from tradewind.runtime.cluster.orders import Questions
from tradewind.runtime.cluster.planning import wanted_also, wanted_of
from tradewind.runtime.cluster.registry import Registry, status_of
from tradewind.runtime.cluster.reports import report_of
from tradewind.trust.names import COORDINATOR

_REPORTS, _ANSWERS = "tw.report.*.state", "tw.report.*.answer"
_TICK = 0.5


@dataclass(frozen=True)
class Office:
    """Where a coordinator is: its folder, where its backbone listens, under which names it is reached, and the folder
    that paths of deployments are relative to when it measures streams for planning.
    """

    folder: Path
    listen: tuple[str, int]
    hosts: Sequence[str] = ()
    root: Path = field(default_factory=Path.cwd)
    imitate: bool = False
    """Whether links are slowed down to what is declared of them, on one machine."""


@dataclass
class Coordinator:
    """A coordinator that leads. Its methods may be called from any thread, and give plain data."""

    office: Office
    clock: Callable[[], float] = time.perf_counter
    registry: Registry = field(default_factory=Registry)
    members: Members = field(init=False)
    _desired: Desired = field(default_factory=lambda: Desired(0))
    _server: ControlServer | None = None
    _connection: Connection | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _ticker: threading.Thread | None = None
    _questions: Questions = field(init=False)
    _since: float = field(default_factory=time.time)  # noqa: TID251 - for people

    def __post_init__(self) -> None:
        self.members = Members(self.office.folder / "trust", self.office.hosts)

    # --- its life ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to lead: sites may connect when this returns."""
        own = self.members.own
        self._server = ControlServer.start(
            self.office.folder / "backbone", self.office.listen, own.certificate, own.key, own.ca,
            self.members.principals(), COORDINATOR,
        )  # fmt: skip
        try:
            self._connection = Connection.open(self._server.url, tls=own.client_context(), whom=COORDINATOR)
            record = catalog.get(self._connection, BUCKET, KEY)
            if record is not None:
                self._desired = opened(record, self.members.authority.verifying_key)
            else:
                self._say(self._desired)
            for site in self.members.sites():
                self.registry.admit(site)
            self._questions = Questions(self._connection.publish)
            self._connection.subscribe(_REPORTS, self._reported)
            self._connection.subscribe(_ANSWERS, self._answered)
        except BaseException:
            self.stop_leading()
            raise
        self._ticker = threading.Thread(target=self._tick, name="tradewind-coordinator", daemon=True)
        self._ticker.start()

    def stop_leading(self) -> None:
        """End; sites go on."""
        self._stopping.set()
        if self._ticker is not None:
            self._ticker.join()
        if self._connection is not None:
            self._connection.close()
        if self._server is not None:
            self._server.stop()

    @property
    def port(self) -> int:
        """Where sites connect."""
        if self._server is None:
            raise InternalError("the coordinator has not been started.")
        return self._server.port

    def _tick(self) -> None:
        """Tell sites where others are, once that has changed."""
        while not self._stopping.wait(_TICK):
            with self._lock, suppress(RunError):
                known = {**self._desired.addresses, **self.registry.addresses()}
                known = {site: one for site, one in known.items() if site in self._desired.principals}
                if known != self._desired.addresses:
                    self._want(addresses=known)

    # --- what is wanted ---------------------------------------------------------------------------------------

    def _want(self, **changes: Any) -> Desired:
        with self._lock:
            self._say(self._desired.next(**changes))
            return self._desired

    def _say(self, desired: Desired) -> None:
        if self._connection is None:
            raise InternalError("the coordinator has not been started.")
        catalog.put(self._connection, BUCKET, KEY, sealed(desired, self.members.authority.sign))
        self._desired = desired
        self.registry.version += 1

    def check(self, text: str, called: str) -> list[dict[str, Any]]:
        """All that is wrong with a deployment's text."""
        try:
            load(text, _plain_name(called))
        except DeploymentError as error:
            return [{"where": one.where, "what": one.what, "hint": one.hint} for one in error.problems]
        return []

    def _changed(self, text: str, called: str, planner: str | None, until_done: bool, fresh: bool) -> Changes:
        found = load(text, str(self.office.root / _plain_name(called)))
        before = self._desired.wanted
        after = replace(wanted_of(found, text, planner, self.office.folder / "figures"), until_done=until_done)
        same = before is not None and before.name == after.name
        if same and before is not None and before.text == text and before.planner == planner and not fresh:
            # Nothing was changed: what was added and removed since stays so.
            after = before if before.until_done == until_done else replace(before, until_done=until_done)
        anew = fresh or begins_anew(before, after, self._whole())
        generation = before.generation if before is not None else 0
        known = catalog.get(self._wired, BUCKET, "generation") or {"generation": 0}
        if anew:
            generation = max(generation, int(known["generation"])) + 1
        after = replace(after, generation=generation, fresh=fresh or (same and anew), imitate=self.office.imitate)
        return Changes(before, after, anew)

    def difference(
        self, text: str, called: str, *, planner: str | None = None, until_done: bool = False, fresh: bool = False
    ) -> dict[str, Any]:
        """What a deployment would change."""
        with self._lock:
            changes = self._changed(text, called, planner, until_done, fresh)
            return {"epoch": self._desired.epoch, **changes.to_json(), "waiting_for": self._absent(changes)}

    def apply(
        self,
        text: str,
        called: str,
        *,
        planner: str | None = None,
        expected_epoch: int | None = None,
        until_done: bool = False,
        fresh: bool = False,
    ) -> dict[str, Any]:
        """Let a deployment run in place of the one that does; what is equal goes on."""
        with self._lock:
            if expected_epoch is not None and expected_epoch != self._desired.epoch:
                raise RunError(
                    f"epoch {self._desired.epoch} is wanted by now, not {expected_epoch}.",
                    hint="somebody else has changed it: look at the difference again.",
                )
            changes = self._changed(text, called, planner, until_done, fresh)
            shown = changes.to_json()
            if not changes.nothing and changes.after is not None:
                catalog.put(self._wired, BUCKET, "generation", {"generation": changes.after.generation})
                self._want(wanted=changes.after)
            return {"epoch": self._desired.epoch, **shown, "waiting_for": self._absent(changes)}

    def stop(self) -> dict[str, Any]:
        """Let nothing run; what was delivered stays."""
        with self._lock:
            if self._desired.wanted is not None:
                self._want(wanted=None)
            return {"epoch": self._desired.epoch}

    def add(self, text: str, called: str) -> dict[str, Any]:
        """Answer the queries of one more text, besides those that are answered: what runs goes on."""
        with self._lock:
            whole = [name for name, all_of_it in self._whole().items() if all_of_it]
            figures = self.office.folder / "figures"
            after, names = wanted_also(self._running(), text, whole, self.office.root, figures)
            self._want(wanted=after)
            return {"epoch": self._desired.epoch, "added": names}

    def remove(self, query: str) -> dict[str, Any]:
        """Answer a query no more; what only it needs is stopped, and all else goes on."""
        with self._lock:
            wanted = self._running()
            answered = [name for one in wanted.deployed.fragments for name in one.answers]
            if query not in answered or query in wanted.removed:
                raise unknown("query", query, [name for name in answered if name not in wanted.removed])
            removed = (*wanted.removed, query)
            self._want(wanted=replace(wanted, removed=removed, deployed=without(wanted.deployed, removed)))
            return {"epoch": self._desired.epoch, "removed": query}

    def _running(self) -> Wanted:
        if self._desired.wanted is None:
            raise InputError("nothing runs.", hint="tradewind apply FILE.")
        return self._desired.wanted

    def _whole(self) -> dict[str, bool]:
        """Of each channel, whether it holds all that was ever sent on it, at every site where it is."""
        found: dict[str, bool] = {}
        for heard in self.registry.heard.values():
            for one in heard.report.channels:
                found[one.name] = found.get(one.name, True) and one.whole
        return found

    def _absent(self, changes: Changes) -> list[str]:
        """The sites that are needed and not there."""
        if changes.after is None:
            return []
        now, needed = self.clock(), {one.site for one in changes.after.deployed.fragments}
        return sorted(site for site in needed if self.registry.state_of(site, now) != "alive")

    # --- who belongs to it ------------------------------------------------------------------------------------

    def token(self, site: str, seconds: float = 3600.0, hosts: Sequence[str] = ()) -> str:
        """A token by which a site may join, once, within a time."""
        return self.members.token(site, seconds, hosts)

    def ca(self) -> str:
        """The certificate by which sites know the coordinator."""
        return self.members.authority.ca_pem.decode()

    def join(self, token: str, csr: str) -> dict[str, Any]:
        """A site joins: its certificate, and what it needs to go on."""
        with self._lock:
            site, certificate = self.members.join(token, csr.encode())
            self.registry.admit(site)
            self._let_in()
            self._want(principals=self.members.principals())
        return {
            "site": site,
            "certificate": certificate.decode(),
            "ca": self.ca(),
            "verifying_key": self.members.authority.verifying_key,
            "port": self.port,
        }

    def revoke(self, site: str) -> dict[str, Any]:
        """Shut a site out: of the coordinator at once, and of all others as soon as they hear of it."""
        with self._lock:
            if site not in self.members.sites():
                raise unknown("site", site, self.members.sites())
            self.members.revoke(site)
            self.registry.forget(site)
            addresses = {name: one for name, one in self._desired.addresses.items() if name != site}
            self._want(principals=self.members.principals(), addresses=addresses)
            self._let_in()
            return {"revoked": site, "epoch": self._desired.epoch}

    def _let_in(self) -> None:
        if self._server is not None:
            self._server.reconfigure(self.members.principals())

    # --- how it goes ------------------------------------------------------------------------------------------

    def _reported(self, subject: str, payload: bytes) -> None:
        """A report has come. Its subject tells whose it is: the server lets nobody use another's."""
        site = self.members.called(subject.split(".")[2])
        if site is None:
            self.registry.refused += 1
            return
        try:
            report = report_of(site, payload)
        except DataError:
            self.registry.refused += 1
            return
        with self._lock:
            self.registry.take(report, self.clock())

    def _answered(self, subject: str, payload: bytes) -> None:
        site = self.members.called(subject.split(".")[2])
        if site is not None:
            self._questions.answered(site, payload)

    def version(self) -> int:
        """Grows when anything changes that `status` tells."""
        return self.registry.version

    def declared(self) -> Deployment | None:
        """What is declared by what is wanted."""
        wanted = self._desired.wanted
        return None if wanted is None else wanted.declared(self.office.root)

    def fragments(self) -> list[str]:
        """What is wanted to run, by name."""
        wanted = self._desired.wanted
        return [] if wanted is None else [one.name for one in wanted.deployed.fragments]

    def status(self) -> dict[str, Any]:
        """How everything is."""
        with self._lock:
            found = self.declared()
            known = status_of(self.registry, self._desired, found.sites if found is not None else (), self.clock())
            known["coordinator"] = {"leader": True, "since": self._since, "refused_reports": self.registry.refused}
            known["warnings"] = self._warnings()
            return known

    def _warnings(self) -> list[str]:
        wanted = self._desired.wanted
        if wanted is None:
            return []
        apart = unreachable(wanted.deployed, self._desired.addresses, self.registry.heard)
        return [
            f"{one} and {two} cannot reach each other: start one of their agents with --listen." for one, two in apart
        ]

    def streams(self) -> list[dict[str, Any]]:
        """The streams that run between sites."""
        with self._lock:
            return views.streams(self._desired.wanted, self.registry)

    def entities(self) -> list[dict[str, str]]:
        """All that has a name."""
        with self._lock:
            return views.entities(self.declared(), self._desired.wanted)

    def describe(self, name: str) -> dict[str, Any]:
        """What is known of one thing."""
        with self._lock:
            return views.described(name, self.declared(), self._desired.wanted, self.status(), self.registry)

    def rows(self, query: str, limit: int = 1000) -> list[dict[str, Any]]:
        """The first rows of a query's answer, asked of the site where it is delivered."""
        answered = {name: one.site for one in self._running().deployed.fragments for name in one.answers}
        if query not in answered or query in self._running().removed:
            raise unknown("query", query, answered)
        found: list[dict[str, Any]] = self._questions.ask(
            answered[query], {"kind": "rows", "query": query, "limit": limit}
        )
        return found

    def push(self, stream: str, rows: list[dict[str, Any]]) -> int:
        """Give rows to a stream that rows are pushed into, at the one site where it is; how many were taken."""
        found = self.declared()
        if found is None or stream not in found.streams:
            raise unknown("stream", stream, found.streams if found is not None else ())
        places = [site for site, origin in found.streams[stream].origins.items() if origin.format == "push"]
        if len(places) != 1:
            raise InputError(
                f"rows cannot be pushed into stream {stream!r} from here: {len(places)} sites take them.",
                hint="declare one origin of it with format: push.",
            )
        return int(self._questions.ask(places[0], {"kind": "push", "stream": stream, "rows": rows}))

    def stats(self) -> dict[str, Any]:
        """How everything does."""
        with self._lock:
            return views.stats(self.status(), self.registry)

    def metrics(self) -> list[views.Sample]:
        """The same for Prometheus."""
        with self._lock:
            return views.metrics(self.status(), self.registry)

    @property
    def _wired(self) -> Connection:
        if self._connection is None:
            raise InternalError("the coordinator has not been started.")
        return self._connection


def _plain_name(called: str) -> str:
    """The name of a file, whatever path it was given by."""
    name = Path(called).name
    if not name or name.startswith("."):
        raise InputError(f"{called!r} is no name of a deployment.", hint="such as shop.yaml.")
    return name
