"""A site at the other end of a link, as it is reached from here: whether it answers, how soon, and how much at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from tradewind.backbone.connection import Connection
from tradewind.backbone.link_protocol import HOLD, Answer, BadAnswerError, question, read_answer, subject
from tradewind.backbone.session import AwayError, UnansweredError

# How often, in seconds, it is asked whether it is there: now and then, and more often while it is not.
_PING, _PING_AWAY = 1.0, 0.4
# How long it may take to say so until it is taken for lost; one that was lost is not waited for as long.
_SILENT, _SILENT_AWAY = 4.0, 1.5
# How long an answer may take altogether: held, and then on its way over a slow link.
_WITHIN = HOLD + 10.0
# A far end that is away counts as not reached so many seconds after its last answer: a server that is started again
# with other settings is back by then.
_GRACE = 3.0
# How many questions with long answers are open at most, and at first.
_MOST, _FIRST = 64, 2
# An answer that takes longer than this waited behind others, and one that takes less than that did not.
_SLOW, _QUICK = 2.0, 1.0


class _Window:
    """How many questions with long answers are open at once: fewer while answers are slow, so that none is late."""

    def __init__(self) -> None:
        self._most = float(_FIRST)
        self._open = 0
        self._fewer = asyncio.Event()
        self._narrowed = 0.0

    async def __aenter__(self) -> None:
        while self._open >= int(self._most):
            self._fewer.clear()
            await self._fewer.wait()
        self._open += 1

    async def __aexit__(self, *_: object) -> None:
        self._open -= 1
        self._fewer.set()

    def answered(self, asked: float, now: float) -> None:
        """An answer has come to a question of that time. Those that were asked before it got narrow say nothing."""
        if now - asked > _SLOW and asked > self._narrowed:
            self.narrow(now, self._most / 2)
        elif now - asked < _QUICK:
            # Fast until it was too much for the first time.
            self._most = min(self._most + (1 / self._most if self._narrowed else 1.0), _MOST)

    def narrow(self, now: float, most: float = 1.0) -> None:
        """Fewer from now on."""
        self._most, self._narrowed = max(most, 1.0), now


class Reach:
    """The far end of a link. Its questions may be asked from any loop; all else happens in its connection's.

    While it is away nothing is asked of it but whether it is there again; what was asked before is given up then.
    """

    def __init__(self, connection: Connection, far: str) -> None:
        self.connection = connection
        self.far = far
        self.round_trip: float | None = None
        self.answers = False
        """Whether it answered when it was asked last."""
        self._answered_at = time.perf_counter()
        self._asking: set[asyncio.Task[Answer]] = set()
        # Both are bound to a loop when they are first waited for.
        self._there = asyncio.Event()
        self._window = _Window()
        self._pinging = connection.started(self._ping_always())

    @staticmethod
    def open(link_url: str, far: str, *, patience: float = 30.0) -> Reach:
        """The site at the far end of the link whose account, on our own server, is at a URL."""
        return Reach(Connection.open(link_url, patience=patience, name=f"link to {far}"), far)

    def close(self) -> None:
        """Nothing more is asked."""
        self._pinging.cancel()
        self.connection.close()

    @property
    def reached(self) -> bool:
        """Whether it answers, or did just now."""
        return self.answers or time.perf_counter() - self._answered_at < _GRACE

    async def ask(self, verb: str, values: Mapping[str, Any], *, long: bool = False) -> Answer:
        """The answer to a question; one attempt. Of those with long answers only some are open at once."""
        return await self.connection.across(self._asked(verb, values, long))

    async def _asked(self, verb: str, values: Mapping[str, Any], long: bool) -> Answer:
        with suppress(TimeoutError):
            async with asyncio.timeout(_PING):
                await self._there.wait()
        if not self.answers:
            raise AwayError(f"{self.far} does not answer")
        if not long:
            return await self._tried(verb, values)
        async with self._window:
            asked = time.perf_counter()
            answer = await self._tried(verb, values)
            self._window.answered(asked, time.perf_counter())
            return answer

    async def _tried(self, verb: str, values: Mapping[str, Any]) -> Answer:
        """Asks, until there is an answer or the far end is given up."""
        asking = asyncio.create_task(self._exchanged(verb, values, _WITHIN))
        self._asking.add(asking)
        try:
            return await asking
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise AwayError(f"{self.far} does not answer any more") from None
        except UnansweredError:
            self._lost()
            raise
        finally:
            self._asking.discard(asking)

    async def _exchanged(self, verb: str, values: Mapping[str, Any], within: float) -> Answer:
        message = await self.connection.request(subject(self.far, verb), question(values), within=within)
        try:
            answer = read_answer(message.data)
        except BadAnswerError as bad:
            raise AwayError(f"{self.far} answers what makes no sense: {bad}") from None
        for no in ("refused", "away"):
            if no in answer.head:
                raise AwayError(f"{self.far} says no: {str(answer.head[no])[:200]}")
        return answer

    async def _ping_always(self) -> None:
        while True:
            begun = time.perf_counter()
            try:
                await self._exchanged("ping", {}, _SILENT if self.answers else _SILENT_AWAY)
            except AwayError:
                self._lost()
            else:
                self._answered_at = time.perf_counter()
                self.round_trip = self._answered_at - begun
                self.answers = True
                self._there.set()
            await asyncio.sleep(_PING if self.answers else _PING_AWAY)

    def _lost(self) -> None:
        """What was asked and not answered will not be: a link that comes back is another one."""
        if not self.answers:
            return
        self.answers = False
        self._there.clear()
        self._window.narrow(time.perf_counter())
        for task in self._asking:
            task.cancel()
