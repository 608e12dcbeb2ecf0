"""One socket's life to a backbone server, and the ways in which it fails."""

from __future__ import annotations

import asyncio
import itertools
import re
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from tradewind.backbone.binary import OLDEST, version_of, written
from tradewind.errors import InputError

# An answer that takes longer than this, in seconds, is taken for lost; a disk that syncs each message may be slow.
_ANSWER = 10.0
_CONNECT = 2
_CLOSE = 1.0
# How often, in seconds, a session looks by itself whether its socket is gone, should the client not have told.
_LOOK = 0.5
_GONE = (nats.errors.Error, OSError, TimeoutError)
# How often, in seconds, a server on another machine is asked whether it is still there; two answers may be missing.
_PING = 5
# How much of what a subscription brings waits here at most; the rest is dropped, as always where nobody is listening.
_MESSAGES, _BYTES = 4096, 64 << 20


class AwayError(Exception):
    """The server did not answer: it is down, or the answer got lost on the way. To be tried again."""


class LateError(AwayError):
    """No answer came, though the connection holds."""


class UnansweredError(AwayError):
    """The server is there, but nobody on it answers at this subject: a stream that is gone, or JetStream is off."""


class UnwelcomeError(AwayError):
    """The server does not let us in."""


class DistrustedError(UnwelcomeError):
    """We do not let the server in: its certificate is not the one of whom we want."""


class NoRoomError(AwayError):
    """The server has no room to store anything. To be tried again: somebody may free some."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How to connect: over TLS or not, where answers come in, and under which name the server knows us."""

    tls: ssl.SSLContext | None = None
    inbox_prefix: str | None = None
    name: str | None = None
    whom: str | None = None
    """The name that the server's certificate has to bear, if not that of its host."""

    def options(self) -> dict[str, Any]:
        """What the client of NATS is told."""
        found: dict[str, Any] = {"name": self.name}
        if self.tls is not None:
            # Before the server has said anything: who stands between could else have us speak in the open.
            found |= {"tls": self.tls, "tls_handshake_first": True, "ping_interval": _PING}
        if self.whom is not None:
            found["tls_hostname"] = self.whom
        if self.inbox_prefix is not None:
            found["inbox_prefix"] = self.inbox_prefix
        return found


class Session:
    """One socket. A dead one is replaced by a new one, so that nothing of the old comes through late."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._waiting: dict[str, tuple[asyncio.Future[list[Msg]], list[Msg], Callable[[Msg], bool]]] = {}
        self._numbers = itertools.count()
        self._inbox = ""
        self._listening: dict[int, Subscription] = {}
        self.over = asyncio.Event()
        self._changed = asyncio.Event()
        self._watcher: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        return self._client.is_connected

    @staticmethod
    async def opened(url: str, manner: Manner = Manner()) -> Session:  # noqa: B008  it is frozen
        client = Client()
        session = Session(client)
        problems: deque[Exception] = deque(maxlen=1)

        async def problem(error: Exception) -> None:
            problems.append(error)
            session._changed.set()

        async def changed() -> None:
            session._changed.set()

        try:
            await client.connect(
                url,
                error_cb=problem,
                disconnected_cb=changed,
                closed_cb=changed,
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                connect_timeout=_CONNECT,
                **manner.options(),
            )
            session._inbox = client.new_inbox()
            # No limit on what waits here: a slow reader asks for less, and an answer must not be dropped.
            await client.subscribe(
                f"{session._inbox}.*", cb=session._answered, pending_msgs_limit=0, pending_bytes_limit=0
            )
        except _GONE as error:
            await _closed(client)
            said = str(problems[-1] if problems and isinstance(error, nats.errors.NoServersError) else error)
            raise _not_let_in(error, said or type(error).__name__) from None
        except asyncio.CancelledError:
            _hung_up(client)
            raise
        found = version_of(repr(client.connected_server_version))
        if found < OLDEST:
            await _closed(client)
            raise InputError(f"a nats-server {written(found)} is there.", hint=f"{written(OLDEST)} or newer is wanted.")
        session._watcher = asyncio.create_task(session._watch())
        return session

    async def told(self, subject: str, payload: bytes) -> None:
        """Sends a message that nobody answers."""
        try:
            await self._client.publish(subject, payload)
        except _GONE as error:
            raise AwayError(str(error)) from None

    async def listen(self, wanted: Mapping[int, tuple[str, Callable[[Msg], None]]]) -> None:
        """Lets the messages of these subjects come in from now on, and no others."""
        try:
            for handle in [one for one in self._listening if one not in wanted]:
                await self._listening.pop(handle).unsubscribe()
            for handle, (subject, told) in [one for one in wanted.items() if one[0] not in self._listening]:
                self._listening[handle] = await self._client.subscribe(
                    subject, cb=_called(told), pending_msgs_limit=_MESSAGES, pending_bytes_limit=_BYTES
                )
            # Twice: the first ping may overtake what was to be sent before it.
            await self._client.flush(_CONNECT)
            await self._client.flush(_CONNECT)
        except _GONE as error:
            raise AwayError(str(error)) from None

    async def asked(
        self,
        subject: str,
        payload: bytes,
        headers: Mapping[str, str] | None,
        ended: Callable[[Msg], bool],
        within: float | None = None,
    ) -> list[Msg]:
        within = _ANSWER if within is None else within
        token = str(next(self._numbers))
        future: asyncio.Future[list[Msg]] = asyncio.get_running_loop().create_future()
        self._waiting[token] = (future, [], ended)
        try:
            async with asyncio.timeout(within):
                await self._client.publish(
                    subject, payload, reply=f"{self._inbox}.{token}", headers=dict(headers) if headers else None
                )
                return await future
        except TimeoutError:
            raise LateError(f"no answer within {within:.0f} s") from None
        except _GONE as error:
            raise AwayError(str(error)) from None
        finally:
            del self._waiting[token]

    async def _answered(self, message: Msg) -> None:
        entry = self._waiting.get(message.subject.rpartition(".")[2])
        if entry is None or entry[0].done():
            return
        future, answers, ended = entry
        answers.append(message)
        if ended(message):
            future.set_result(answers)

    async def _watch(self) -> None:
        """Tells those who wait that no answer will come any more, as soon as the socket is gone."""
        while self._client.is_connected:
            self._changed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), _LOOK)
        for future, _, _ in self._waiting.values():
            if not future.done():
                future.set_exception(AwayError("the connection broke"))
        self.over.set()
        await _closed(self._client)

    async def close(self) -> None:
        await _closed(self._client)
        self._changed.set()
        if self._watcher is not None:
            await asyncio.wait([self._watcher])


async def _closed(client: Client) -> None:
    """Ends a client, and its socket with it.

    The client may be closing by itself, and be told to end in the midst of it; after a TLS handshake that failed it
    waits for ever, and else for an answer to its goodbye, which one that is dead does not give.
    """
    try:
        with suppress(*_GONE):
            async with asyncio.timeout(_CLOSE):
                await client.close()
    finally:
        _hung_up(client)
    await asyncio.sleep(0)


def _hung_up(client: Client) -> None:
    """The socket of a client is gone, whatever the client is about."""
    writer = getattr(client._transport, "_bare_io_writer", None)  # noqa: SLF001  nothing else ends the socket itself
    if writer is not None:
        writer.transport.abort()


def _not_let_in(error: Exception, said: str) -> AwayError:
    if isinstance(error, ssl.SSLCertVerificationError) or "certificate verify failed" in said.lower():
        return DistrustedError(said)
    return UnwelcomeError(said) if re.search(r"authoriz|\balert\b", said, re.IGNORECASE) else AwayError(said)


def _called(told: Callable[[Msg], None]) -> Callable[[Msg], Awaitable[None]]:
    async def came(message: Msg) -> None:
        told(message)

    return came
