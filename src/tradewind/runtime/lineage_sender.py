"""Sends OpenLineage events to a URL, in the background: whatever becomes of them, nobody waits and nothing fails."""

from __future__ import annotations

import http.client
import ipaddress
import json
import queue
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import SplitResult, urlsplit, urlunsplit

from tradewind.errors import InputError
from tradewind.runtime.saying import Say

URL, KEY, NAMESPACE = (f"TRADEWIND_OPENLINEAGE_{word}" for word in ("URL", "KEY", "NAMESPACE"))
_PATH = "/api/v1/lineage"
_MOST = 1_000
_TIMEOUT = 5.0
_TRIES = 3
_LAST, _LEAST = 5.0, 1.0
"""Seconds that the last events have, and that they have if others could not be sent."""
_FIRST_PAUSE = 0.5
_LATER = frozenset({408, 425, 429})
"""Refusals that may be none a moment later; so may be all failures of the server's own."""


class Refused(Exception):  # noqa: N818 - it is no error of ours
    """An event was not taken, and will not be."""


class Sender:
    """A thread that sends events, in order, each tried a few times; of those that wait there are only so many."""

    def __init__(
        self,
        url: str,
        say: Say,
        *,
        key: str | None = None,
        namespace: str = "tradewind",
        timeout: float = _TIMEOUT,
        pause: float = _FIRST_PAUSE,
        most: int = _MOST,
    ) -> None:
        self.namespace = namespace
        self.sent = 0
        self.dropped = 0
        self._given = 0
        self._url, self._where = _target(url, key)
        self._say = say
        self._key = key
        self._timeout, self._pause = timeout, pause
        self._waiting: queue.Queue[dict[str, Any] | None] = queue.Queue(most)
        self._why: str | None = None
        self._closing = threading.Event()
        # Whoever is sent elsewhere by the server would take the key there.
        self._opener = urllib.request.build_opener(_NoRedirects)
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._send_all, name="tradewind-lineage", daemon=True)
        self._thread.start()

    @staticmethod
    def of(environment: Mapping[str, str], say: Say) -> Sender | None:
        """The sender that the environment asks for; None when it does not."""
        url = environment.get(URL)
        if not url:
            return None
        namespace = environment.get(NAMESPACE) or "tradewind"
        return Sender(url, say, key=environment.get(KEY) or None, namespace=namespace)

    @property
    def secrets(self) -> list[str]:
        """What must not be in any event."""
        return [] if self._key is None else [self._key]

    def send(self, event: Mapping[str, Any]) -> None:
        """Send an event as soon as may be; it returns at once."""
        with self._lock:
            self._given += 1
        try:
            self._waiting.put_nowait(dict(event))
        except queue.Full:
            self._drop("too many wait")

    def close(self, patience: float = _LAST) -> None:
        """Send what waits, for so many seconds at most, and tell how many were not sent. Nobody waits long for a server
        that has not taken others.
        """
        with suppress(queue.Full):
            self._waiting.put_nowait(None)
        self._thread.join(patience if self._why is None else min(patience, _LEAST))
        self._closing.set()
        why, self._why = self._why or "too slow", self._why or "it ends"
        lost = self._given - self.sent
        if lost:
            self._say(
                f"OpenLineage events for {self._where}: {self.sent:,} sent, {lost:,} dropped ({why})",
                level="warning",
                sent=self.sent,
                dropped=lost,
            )

    def _send_all(self) -> None:
        while not self._closing.is_set():
            event = self._waiting.get()
            if event is None:
                return
            try:
                self._deliver(json.dumps(event).encode())
                self.sent += 1
            except Exception as error:  # noqa: BLE001 - whatever it is, what runs must not notice
                self._drop(_reason(error))

    def _deliver(self, body: bytes) -> None:
        pause = self._pause
        for left in range(_TRIES - 1, -1, -1):
            try:
                self._post(body)
            except urllib.error.HTTPError as error:
                error.close()
                if not left or (error.code < 500 and error.code not in _LATER):
                    raise
            except (OSError, http.client.HTTPException):
                if not left:
                    raise
            else:
                return
            if self._closing.wait(pause):
                raise Refused("it ends")
            pause *= 2

    def _post(self, body: bytes) -> None:
        headers = {"Content-Type": "application/json", "User-Agent": "tradewind"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(self._url, body, headers, method="POST")  # noqa: S310 - it is http or https
        # What it answers is of no interest, and might take for ever.
        self._opener.open(request, timeout=self._timeout).close()

    def _drop(self, why: str) -> None:
        with self._lock:
            self.dropped += 1
            before, self._why = self._why, self._why or why
        if before is None:
            self._say(
                f"OpenLineage events cannot be sent to {self._where} ({why}); all else goes on, and this is said once",
                level="warning",
            )


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Nobody is followed."""
        return


def _target(url: str, key: str | None) -> tuple[str, str]:
    """Where events go, and how that is called in messages: without what may be a secret in it."""
    parts = urlsplit(url)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if parts.scheme not in {"http", "https"} or not host:
        raise InputError(f"{URL} is no URL of HTTP.", hint="such as https://lineage.example.org.")
    if "@" in parts.netloc:
        raise InputError(f"{URL} holds a name or password.", hint=f"put a key into {KEY}.")
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise InputError(f"{KEY} is no key: it has to be printable ASCII letters without spaces.")
    if key is not None and parts.scheme == "http" and not _is_here(host):
        raise InputError(f"{KEY} would cross the network for all to read.", hint=f"use https in {URL}.")
    if parts.path in {"", "/"}:
        parts = SplitResult(parts.scheme, parts.netloc, _PATH, parts.query, "")
    shown = f"[{host}]" if ":" in host else host
    return urlunsplit(parts), f"{parts.scheme}://{shown}" + (f":{port}" if port else "")


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"it answers {error.code}"
    if isinstance(error, urllib.error.URLError):
        error = error.reason if isinstance(error.reason, Exception) else error
    return (error.strerror if isinstance(error, OSError) and error.strerror else str(error)) or type(error).__name__
