"""A connection to a backbone server, for code that is not asynchronous: it outlives the server's deaths."""

from __future__ import annotations

import asyncio
import atexit
import os
import ssl
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar
from urllib.parse import urlsplit

from nats.aio.msg import Msg

from tradewind.backbone.session import (
    AwayError,
    DistrustedError,
    Manner,
    NoRoomError,
    Session,
    UnansweredError,
    UnwelcomeError,
)
from tradewind.backbone.subscriptions import Heard, Subscriptions
from tradewind.errors import InputError, InternalError, RunError

_T = TypeVar("_T")
_LOOK = 0.1
_LET_IN = "are its user and password in the URL, or the certificates those that both sides believe?"


class ShutOutError(RunError):
    """The server is there, and does not let us in."""


class Connection:
    """A connection that reconnects for ever. Its methods may be called from any thread.

    `patience` says for how many seconds an operation is tried again while the server is away.
    """

    def __init__(self, url: str, patience: float, manner: Manner = Manner()) -> None:  # noqa: B008  it is frozen
        self.url = url
        self.patience = patience
        self._manner = manner
        self.place = f"backbone {urlsplit(url).hostname}:{urlsplit(url).port or 4222}"
        self._loop = asyncio.new_event_loop()
        self._connecting = asyncio.Lock()
        self._session: Session | None = None
        self._subscriptions = Subscriptions(self._current)
        self._heard: list[Heard] = []
        self._closed = False
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tradewind-backbone", daemon=True)
        self._thread.start()

    @staticmethod
    def open(
        url: str,
        *,
        patience: float = 30.0,
        tls: ssl.SSLContext | None = None,
        inbox_prefix: str | None = None,
        name: str | None = None,
        whom: str | None = None,
    ) -> Connection:
        """Connects; an error when nobody answers within the patience, or when we are not let in.

        Over TLS to a URL such as tls://host:port, and to nobody but `whom`. Answers come in below `inbox_prefix`.
        """
        connection = Connection(url, patience, Manner(tls, inbox_prefix, name, whom))
        try:
            connection.call(connection.patiently(connection.established, "connecting"))
        except InputError as error:
            connection.close()
            raise error.placed(connection.place) from None
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Ends the connection; further calls are errors."""
        if self._closed:
            return
        self._closed = True
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        for one in self._heard:
            one.end()

    def publish(self, subject: str, payload: bytes) -> None:
        """Sends a message to whoever listens just now."""
        self.call(self.patiently(lambda: self.published(subject, payload), "sending"))

    def subscribe(self, subject: str, told: Callable[[str, bytes], None]) -> None:
        """From now on the messages of a subject are told, each with the subject that it was sent to.

        They are told one after the other, in a thread of their own. While the server is away they are missed.
        """
        heard = Heard(told)
        self._heard.append(heard)
        self.call(self.patiently(lambda: self.subscribed(subject, heard.take), "listening"))

    @property
    def renewals(self) -> int:
        """How often it was begun to listen: when this has grown, something may have been missed."""
        return self._subscriptions.renewals

    def call(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Runs a coroutine of this room on the connection's loop, and waits for it."""
        return self.waited(self.started(coroutine))

    def started(self, coroutine: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Lets a coroutine run on the connection's loop."""
        if self._closed or threading.current_thread() is self._thread or os.getpid() != self._process:
            coroutine.close()
            raise InternalError("a connection is used after it was closed, from within itself, or after a fork.")
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def waited(self, running: Future[_T]) -> _T:
        """What a coroutine that was started comes to."""
        try:
            return running.result()
        except CancelledError:
            raise RunError("the connection was closed while it was in use.", where=self.place) from None
        except BaseException:
            running.cancel()
            raise

    async def across(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """From another loop: what a coroutine of this room comes to on the connection's loop."""
        try:
            return await asyncio.wrap_future(self.started(coroutine))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise AwayError("the connection was closed") from None

    async def established(self) -> None:
        """Connects unless it is; one attempt."""
        await self._current()

    async def published(self, subject: str, payload: bytes) -> None:
        """Sends a message; one attempt."""
        await (await self._current()).told(subject, payload)

    async def subscribed(self, subject: str, told: Callable[[Msg], None]) -> int:
        """From now on the messages of a subject are told, in the connection's loop; they must be taken at once."""
        return await self._subscriptions.add(subject, told)

    async def unsubscribed(self, handle: int) -> None:
        """What `subscribed` gave this handle for is not told any more."""
        await self._subscriptions.drop(handle)

    async def request(
        self,
        subject: str,
        payload: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        within: float | None = None,
    ) -> Msg:
        """The answer to a message; one attempt, which may take so many seconds."""
        return (await self.requests(subject, payload, headers, ended=lambda _: True, within=within))[0]

    async def requests(
        self,
        subject: str,
        payload: bytes,
        headers: Mapping[str, str] | None,
        *,
        ended: Callable[[Msg], bool],
        within: float | None = None,
    ) -> list[Msg]:
        """The answers to a message, up to the one that ends them; one attempt."""
        answers = await (await self._current()).asked(subject, payload, headers, ended, within)
        if answers[-1].headers and answers[-1].headers.get("Status") == "503" and not answers[-1].data:
            raise UnansweredError(f"nobody answers at {subject}")
        return answers

    async def patiently(self, attempt: Callable[[], Awaitable[_T]], doing: str) -> _T:
        """Repeats an attempt while the server is away, as long as the patience lasts. It has to bear repetition."""
        since, pause = None, 0.02
        while True:
            try:
                return await attempt()
            except AwayError as away:
                now = self._loop.time()
                since = now if since is None else since
                if isinstance(away, UnwelcomeError) or now - since >= self.patience:
                    raise self._gone(away, doing, now - since) from None
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, 0.25)

    def _gone(self, away: AwayError, doing: str, seconds: float) -> RunError:
        if isinstance(away, UnwelcomeError):
            kind = RunError if isinstance(away, DistrustedError) else ShutOutError
            return kind(f"{doing}: the server does not let us in: {away}.", where=self.place, hint=_LET_IN)
        if isinstance(away, NoRoomError):
            what = f"{doing}: the server has had no room to store more for {seconds:.0f} s: {away}."
            hint = "free disk space where the run keeps its files, or allow the server more; then resume."
        elif isinstance(away, UnansweredError):
            what = f"{doing}: JetStream has not answered for {seconds:.0f} s."
            hint = "is the server's disk full, or JetStream not enabled? Its log says so."
        else:
            what = f"{doing}: the server has been away for {seconds:.0f} s: {away}."
            hint = "does it run, and is it reached from here? Nothing that was committed is lost."
        return RunError(what, where=self.place, hint=hint)

    async def _current(self) -> Session:
        if self._session is None or not self._session.alive:
            async with self._connecting:
                if self._closed:
                    raise AwayError("the connection was closed")
                if self._session is None or not self._session.alive:
                    self._session = await Session.opened(self.url, self._manner)
        return self._session

    async def _end(self) -> None:
        """Ends all that runs here. It may have to be told twice: waiting with a limit can swallow a cancellation."""
        while True:
            if self._session is not None:
                await self._session.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            if not others:
                break
            for task in others:
                task.cancel()
            done, _ = await asyncio.wait(others, timeout=_LOOK)
            # How they ended is nobody's business any more, and not to be told as forgotten.
            await asyncio.gather(*done, return_exceptions=True)
        await self._loop.shutdown_asyncgens()


_shared: dict[str, Connection] = {}
# Kept, so that they are never collected: taking them apart in a child would reach the parent's sockets.
_inherited: list[Connection] = []
_sharing = threading.Lock()


def shared(url: str) -> Connection:
    """The process's one connection to a URL, made on first use; a forked process makes its own."""
    with _sharing:
        if url not in _shared:
            _shared[url] = Connection.open(url)
        return _shared[url]


def _close_shared() -> None:
    for connection in _shared.values():
        connection.close()
    _shared.clear()


def _forget_shared() -> None:
    global _sharing  # noqa: PLW0603  the lock may have been held by a thread that does not exist in the child
    _sharing = threading.Lock()
    _inherited.extend(_shared.values())
    _shared.clear()


atexit.register(_close_shared)
os.register_at_fork(after_in_child=_forget_shared)
