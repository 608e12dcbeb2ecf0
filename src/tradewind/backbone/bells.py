"""Bells: ring when something is written to a subject, so that one need not look all the time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from nats.aio.msg import Msg

from tradewind.backbone.connection import Connection
from tradewind.backbone.session import AwayError

_T = TypeVar("_T")

# It rings as a message comes in, which is before it is stored: how soon to look then, in seconds, and how much later
# each time if it is not there yet. It may never be: what is refused rings, too.
_SOON, _LATER = 0.002, 2.0
# A bell that nobody has waited for in so many seconds is taken down.
_UNUSED = 60.0


class _Bell:
    """One bell. Who is about to look takes `ringing` first, and waits for that afterwards, so that none is missed."""

    def __init__(self) -> None:
        self.ringing = asyncio.Event()
        self.used = time.perf_counter()
        self.handle: int | None = None

    def ring(self, _: Msg) -> None:
        former, self.ringing = self.ringing, asyncio.Event()
        former.set()


class Bells:
    """The bells of one connection, each hung up when it is first waited for. All of it happens in its loop."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._bells: dict[str, _Bell] = {}

    async def awaited(self, subject: str, look: Callable[[], Awaitable[list[_T]]], seconds: float) -> list[_T]:
        """What there is to see, at once or when something was written; nothing after so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                bell, pause = await self._hung(subject), None
                while True:
                    bell.used = time.perf_counter()
                    ringing = bell.ringing
                    if found := await look():
                        return found
                    try:
                        async with asyncio.timeout(pause):
                            await ringing.wait()
                        pause = _SOON
                    except TimeoutError:
                        pause = (pause or _SOON) * _LATER
        return []

    async def close(self) -> None:
        """All are taken down."""
        for bell in self._bells.values():
            await self._taken_down(bell)
        self._bells.clear()

    async def _hung(self, subject: str) -> _Bell:
        if subject in self._bells:
            return self._bells[subject]
        now = time.perf_counter()
        for old in [one for one, bell in self._bells.items() if now - bell.used > _UNUSED]:
            await self._taken_down(self._bells.pop(old))
        bell = _Bell()
        bell.handle = await self._connection.subscribed(subject, bell.ring)
        self._bells[subject] = bell
        return bell

    async def _taken_down(self, bell: _Bell) -> None:
        if bell.handle is not None:
            with suppress(AwayError):
                await self._connection.unsubscribed(bell.handle)
