"""The base of a coordinator: where it is, what it wants, and how it says so.

What is wanted, and who belongs to the cluster, lies in its folder; a coordinator that starts again finds everything,
and while it is away the sites go on with what was wanted last.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tradewind.backbone import catalog
from tradewind.backbone.connection import Connection
from tradewind.backbone.control import NEWS, ControlServer
from tradewind.errors import InputError, InternalError
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.cluster.comparing import accounted
from tradewind.runtime.cluster.desired import BUCKET, KEY, Desired, Wanted, opened, sealed
from tradewind.runtime.cluster.members import Members
from tradewind.runtime.cluster.metrics import Sample
from tradewind.runtime.cluster.moving_lead import Lead
from tradewind.runtime.cluster.orders import Questions
from tradewind.runtime.cluster.recut_lead import Recuts
from tradewind.runtime.cluster.registry import Registry
from tradewind.trust.names import COORDINATOR


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
class Ruling:
    """What all that a coordinator does rests on. Its methods may be called from any thread."""

    office: Office
    clock: Callable[[], float] = time.perf_counter
    registry: Registry = field(default_factory=Registry)
    members: Members = field(init=False)
    measures: list[Callable[[], Iterable[Sample]]] = field(default_factory=list)
    """What else is told as metrics."""
    _desired: Desired = field(default_factory=lambda: Desired(0))
    _server: ControlServer | None = None
    _connection: Connection | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _questions: Questions = field(init=False)
    _lead: Lead = field(default_factory=Lead)
    _recuts: Recuts = field(default_factory=Recuts)
    _since: float = field(default_factory=time.time)  # noqa: TID251 - for people

    def __post_init__(self) -> None:
        self.members = Members(self.office.folder / "trust", self.office.hosts)

    def _open(self) -> None:
        """Start the server that sites connect to, and find what was wanted."""
        own = self.members.own
        self._server = ControlServer.start(
            self.office.folder / "backbone", self.office.listen, own.certificate, own.key, own.ca,
            self.members.principals(), COORDINATOR,
        )  # fmt: skip
        self._connection = Connection.open(self._server.url, tls=own.client_context(), whom=COORDINATOR)
        record = catalog.get(self._connection, BUCKET, KEY)
        if record is not None:
            self._desired = opened(record, self.members.authority.verifying_key)
        else:
            self._say(self._desired)
        for site in self.members.sites():
            self.registry.admit(site)
        self._questions = Questions(self._connection.publish)

    def _close(self) -> None:
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

    @property
    def _wired(self) -> Connection:
        if self._connection is None:
            raise InternalError("the coordinator has not been started.")
        return self._connection

    def _want(self, **changes: Any) -> Desired:
        with self._lock:
            if "wanted" in changes:
                changes["wanted"] = accounted(self._desired.wanted, changes["wanted"], self.registry)
            self._say(self._desired.next(**changes))
            return self._desired

    def _say(self, desired: Desired) -> None:
        catalog.put(self._wired, BUCKET, KEY, sealed(desired, self.members.authority.sign))
        self._desired = desired
        self.registry.version += 1
        # Sites look from time to time; those that hear this look at once.
        self._wired.publish(NEWS, str(desired.epoch).encode())

    def _running(self) -> Wanted:
        if self._desired.wanted is None:
            raise InputError("nothing runs.", hint="tradewind apply FILE.")
        return self._desired.wanted

    @property
    def desired(self) -> Desired:
        """What is wanted."""
        return self._desired

    def declared(self) -> Deployment | None:
        """What is declared by what is wanted."""
        wanted = self._desired.wanted
        return None if wanted is None else wanted.declared(self.office.root)
