"""What a connection listens to: renewed whenever its socket is, so that only what was said meanwhile is missed."""

from __future__ import annotations

import asyncio
import itertools
import queue
import threading
from collections.abc import Awaitable, Callable

from nats.aio.msg import Msg

from tradewind.backbone.session import AwayError, Session
from tradewind.errors import InputError

_PAUSE = 0.2
_WAITING = 4096


class Subscriptions:
    """The subjects that a connection listens to. All of it happens in the connection's loop."""

    def __init__(self, current: Callable[[], Awaitable[Session]]) -> None:
        self._current = current
        self._wanted: dict[int, tuple[str, Callable[[Msg], None]]] = {}
        self._handles = itertools.count()
        self._changing = asyncio.Lock()
        self._keeper: asyncio.Task[None] | None = None
        self.renewals = 0
        """How often it was begun to listen, once for each socket. What was said in between was missed."""

    async def add(self, subject: str, told: Callable[[Msg], None]) -> int:
        """From now on the messages of a subject are told. Who is told must be quick. A handle, to end it."""
        handle = next(self._handles)
        self._wanted[handle] = subject, told
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep())
        try:
            await self._renew()
        except AwayError:
            del self._wanted[handle]
            raise
        return handle

    async def drop(self, handle: int) -> None:
        """They are not told any more."""
        if self._wanted.pop(handle, None) is not None:
            await self._renew()

    async def _renew(self) -> Session:
        session = await self._current()
        async with self._changing:
            await session.listen(self._wanted)
        return session

    async def _keep(self) -> None:
        """Whoever shuts us out now may let us in later."""
        while True:
            try:
                session = await self._renew()
                self.renewals += 1
                await session.over.wait()
            except (AwayError, InputError):
                await asyncio.sleep(_PAUSE)


class Heard:
    """Messages on their way to somebody who may take time over them, in a thread of its own. Too many are dropped."""

    def __init__(self, told: Callable[[str, bytes], None]) -> None:
        self._told = told
        self._waiting: queue.Queue[tuple[str, bytes] | None] = queue.Queue(_WAITING)
        self._thread = threading.Thread(target=self._tell, name="tradewind-heard", daemon=True)
        self._thread.start()

    def take(self, message: Msg) -> None:
        """A message has come."""
        if not self._waiting.full():
            self._waiting.put((message.subject, bytes(message.data)))

    def end(self) -> None:
        """Nothing more comes; waits until all was told, unless it is called by the one who is told."""
        self._waiting.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _tell(self) -> None:
        while (one := self._waiting.get()) is not None:
            self._told(*one)
