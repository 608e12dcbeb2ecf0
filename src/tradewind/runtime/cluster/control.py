"""An agent's line to its coordinator: what is wanted comes in, reports go out, and neither ever waits for the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tradewind.backbone import catalog
from tradewind.backbone.connection import Connection
from tradewind.backbone.control import NEWS
from tradewind.backbone.names import token
from tradewind.errors import RunError, TradewindError
from tradewind.runtime.cluster.desired import BUCKET, KEY
from tradewind.runtime.cluster.moving_reports import MoveTold, move_subject
from tradewind.runtime.cluster.orders import answer_subject, obeyed, order_subject
from tradewind.runtime.cluster.reports import SiteReport
from tradewind.trust.identity import Identity
from tradewind.trust.names import COORDINATOR

_LOOK = 0.5
_PATIENCE = 2.0


def report_subject(site: str) -> str:
    """The subject of a site's reports."""
    return f"tw.report.{token(site)}.state"


class Control:
    """A thread that talks to the coordinator for as long as the agent lives, whenever it is there."""

    def __init__(self, coordinator: str, site: str, identity: Identity, asked: Callable[[dict[str, Any]], Any]) -> None:
        self._asked = asked
        self._url = f"tls://{coordinator}"
        self._site = site
        self._identity = identity
        self._connection: Connection | None = None
        self._lock = threading.Lock()
        self._record: dict[str, Any] | None = None
        self._known: dict[str, Any] | None = None
        self._report: SiteReport | None = None
        self._move: MoveTold | None = None
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self.problem: str | None = None
        self._thread = threading.Thread(target=self._talk, name="tradewind-control", daemon=True)
        self._thread.start()

    def news(self) -> dict[str, Any] | None:
        """What is wanted now, if it is not what it was when last asked; as it came."""
        with self._lock:
            found, self._record = self._record, None
        return found

    def tell(self, report: SiteReport) -> None:
        """Send a report, in place of one that has not been sent yet."""
        with self._lock:
            self._report = report

    def tell_move(self, told: MoveTold) -> None:
        """Send a report on a move, at once, in place of one that has not been sent yet."""
        with self._lock:
            self._move = told
        self._wake.set()

    def connection(self) -> Connection:
        """The connection to the coordinator; an error while it is away."""
        if self._connection is None:
            raise RunError("the coordinator is away.", where=self._url)
        return self._connection

    def close(self) -> None:
        """End the talk."""
        self._stopping.set()
        self._wake.set()
        self._thread.join()
        if self._connection is not None:
            self._connection.close()

    def _talk(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait(_LOOK)
            self._wake.clear()
            if self._stopping.is_set():
                return
            try:
                self._exchange()
                self.problem = None
            except TradewindError as error:
                self.problem = str(error)

    def _obey(self, _: str, payload: bytes) -> None:
        if self._connection is not None:
            with suppress(TradewindError):
                self._connection.publish(answer_subject(self._site), obeyed(payload, self._asked))

    def _exchange(self) -> None:
        if self._connection is None:
            self._connection = Connection.open(
                self._url,
                patience=_PATIENCE,
                tls=self._identity.client_context(),
                inbox_prefix=f"_INBOX.{token(self._site)}",
                name=f"site {self._site}",
                whom=COORDINATOR,
            )
            self._connection.subscribe(order_subject(self._site), self._obey)
            self._connection.subscribe(NEWS, lambda _subject, _payload: self._wake.set())
        with self._lock:
            report, self._report = self._report, None
            move, self._move = self._move, None
        if move is not None:
            self._connection.publish(move_subject(self._site), move.encoded())
        if report is not None:
            self._connection.publish(report_subject(self._site), report.encoded())
        record = catalog.get(self._connection, BUCKET, KEY)
        if record is not None and record != self._known:
            with self._lock:
                self._record = self._known = record
