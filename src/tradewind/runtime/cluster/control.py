"""An agent's line to its coordinator: what is wanted comes in, reports go out, and neither ever waits for the other."""

from __future__ import annotations

import threading
import time
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
from tradewind.runtime.cluster.reaching import Reaching
from tradewind.runtime.cluster.renewing import KIND, Renewal, renew_subject
from tradewind.runtime.cluster.reports import SiteReport
from tradewind.trust.identity import Identity
from tradewind.trust.names import COORDINATOR

_LOOK = 0.5
_PATIENCE = 2.0
_REST = 0.1
"""Seconds between two exchanges, however much is heard: whoever says that there is news can cause no more work."""
_SELDOM = 10.0
"""Seconds after which what is wanted is read though nobody said that it has changed: a message may be lost."""
_DIGITS = 18


def report_subject(site: str) -> str:
    """The subject of a site's reports."""
    return f"tw.report.{token(site)}.state"


class Control:
    """A thread that talks to the coordinator for as long as the agent lives, whenever it is there."""

    def __init__(
        self,
        coordinator: str,
        site: str,
        identity: Identity,
        asked: Callable[[dict[str, Any]], Any],
        *,
        say: Callable[[str], None] = lambda _text: None,
        renewed: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._asked = asked
        self._renewal = Renewal(identity)
        self._renewed = renewed
        """Called when the identity has another certificate: whoever showed the old one has to read it."""
        self._stale = threading.Event()
        self._clock = clock
        self._url = f"tls://{coordinator}"
        self._site = site
        self._identity = identity
        self._connection: Connection | None = None
        self._lock = threading.Lock()
        self._record: dict[str, Any] | None = None
        self._known: dict[str, Any] | None = None
        self._report: SiteReport | None = None
        self._move: MoveTold | None = None
        self._epoch = 0
        """That of what the agent works on."""
        self._due = threading.Event()
        self._fetched: tuple[float, int] = (float("-inf"), 0)
        """When what is wanted was read last, and how often it had been begun to listen then."""
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._reaching = Reaching(coordinator, site, say)
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
            self._epoch = report.epoch

    def tell_move(self, told: MoveTold) -> None:
        """Send a report on a move, at once, in place of one that has not been sent yet."""
        with self._lock:
            self._move = told
        self._wake.set()

    @property
    def reached(self) -> bool:
        """Whether the coordinator was there when it was last spoken to."""
        return self._connection is not None and not self._reaching.away

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
                self._reaching.reached(self._clock())
            except TradewindError as error:
                self._reaching.failed(error, self._epoch, self._clock())
            self._stopping.wait(_REST)

    def _heard(self, _: str, payload: bytes) -> None:
        """Something is wanted from an epoch on. What cannot be read may be news as well: the document itself counts."""
        if not (payload.isdigit() and len(payload) <= _DIGITS and int(payload) <= self._epoch):
            self._due.set()
            self._wake.set()

    def _obey(self, _: str, payload: bytes) -> None:
        if self._connection is not None:
            with suppress(TradewindError):
                self._connection.publish(answer_subject(self._site), obeyed(payload, self._done))

    def _done(self, question: dict[str, Any]) -> Any:
        if question.get("kind") != KIND:
            return self._asked(question)
        self._renewal.take(question)
        self._stale.set()
        self._wake.set()
        return None

    def _refresh(self) -> None:
        """Show the new certificate, to all."""
        if not self._stale.is_set():
            return
        self._renewed()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        self._stale.clear()

    def _exchange(self) -> None:
        self._refresh()
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
            self._connection.subscribe(NEWS, self._heard)
        with self._lock:
            report, self._report = self._report, None
            move, self._move = self._move, None
        if move is not None:
            self._connection.publish(move_subject(self._site), move.encoded())
        if report is not None:
            self._connection.publish(report_subject(self._site), report.encoded())
        self._fetch(self._connection)
        if (wish := self._renewal.request()) is not None:
            self._connection.publish(renew_subject(self._site), wish)

    def _fetch(self, connection: Connection) -> None:
        """Read what is wanted: if it is said to be new, if that may have been missed, or if it is long ago."""
        now, renewals = self._clock(), connection.renewals
        if not self._due.is_set() and renewals == self._fetched[1] and now - self._fetched[0] < _SELDOM:
            return
        # Before it is read: what is said meanwhile is of something newer.
        self._due.clear()
        try:
            record = catalog.get(connection, BUCKET, KEY)
        except BaseException:
            self._due.set()
            raise
        self._fetched = now, renewals
        if record is not None and record != self._known:
            with self._lock:
                self._record = self._known = record
