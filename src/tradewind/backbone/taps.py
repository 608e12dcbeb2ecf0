"""Taps: where a pump takes a channel from, be it a stream of the same server or one at the other end of a link."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Mapping
from typing import Any, Protocol, TypeVar

from tradewind.backbone import jetstream, retention
from tradewind.backbone.connection import Connection
from tradewind.backbone.jetstream import RefusedError, Stored, place, told
from tradewind.backbone.link_protocol import HOLD, SLICE, Answer, BadAnswerError, is_number
from tradewind.backbone.listening import Listener
from tradewind.backbone.names import Address
from tradewind.backbone.parts import CHUNK, checked, message_fetched
from tradewind.backbone.reach import Reach
from tradewind.backbone.reader import newest
from tradewind.backbone.session import AwayError
from tradewind.backbone.watch import Arriving, Watch, heed
from tradewind.errors import DataError, RunError

_T = TypeVar("_T")

# A channel that the far end did not have is asked for again after so many seconds, and then ever more, up to others.
_LOOK, _LONGEST_LOOK = 0.2, 2.0
_PAUSE = 0.1
_CONTESTED = 0.5


class Tap(Protocol):
    """The start of a link for one channel. What is asked raises `AwayError` while the start cannot be reached."""

    @property
    def address(self) -> Address:
        """The channel at its start."""

    @property
    def since(self) -> int:
        """The epoch from which on commits come this way: those of older ones in a copy came by another."""

    @property
    def reached(self) -> bool:
        """Whether the start answers."""

    @property
    def round_trip(self) -> float | None:
        """How many seconds it takes to the start and back, if that was measured."""

    async def exists(self) -> bool:
        """Whether there is a channel to copy."""

    async def head(self) -> int:
        """The number of the newest commit, 0 if there is none."""

    async def message(self, number: int) -> bytes:
        """One message of a part, checked."""

    def watch(self, after: int) -> Arriving:
        """The commits behind a number, as they come."""

    async def subscribe(self) -> None:
        """From now on nothing is trimmed that was not read."""

    async def read_to(self, number: int) -> None:
        """The commits up to this number are done with."""

    async def unsubscribe(self) -> None:
        """Nothing is kept any more."""


class LocalTap:
    """A channel whose stream is at the server that the copy is at, too."""

    reached = True
    round_trip = None
    since = 0

    def __init__(self, connection: Connection, listener: Listener, address: Address, subscriber: str) -> None:
        self.address = address
        self._connection = connection
        self._listener = listener
        self._subscriber = subscriber

    async def exists(self) -> bool:
        """Whether there is a channel to copy."""
        try:
            await jetstream.check(self._connection, self.address.stream)
        except RefusedError as refused:
            if refused.missing:
                return False
            raise told(refused, place(self.address)) from None
        return True

    async def head(self) -> int:
        """The number of the newest commit, 0 if there is none."""
        last = await named(self.address, newest(self._connection, self.address))
        return 0 if last is None else last.number

    async def message(self, number: int) -> bytes:
        """One message of a part, checked."""
        return await named(self.address, message_fetched(self._connection, self.address, number))

    def watch(self, after: int) -> Arriving:
        """The commits behind a number, as they come."""
        return Watch(self._connection, self._listener, self.address, after)

    async def subscribe(self) -> None:
        """From now on nothing is trimmed that was not read."""
        await named(self.address, retention.subscribing(self._connection, self.address, self._subscriber))

    async def read_to(self, number: int) -> None:
        """The commits up to this number are done with."""
        work = retention.reading_to(self._connection, self.address, self._subscriber, number)
        try:
            await named(self.address, work)
        except RunError:
            # If the whole channel is gone, that is what to say.
            await self.head()
            raise

    async def unsubscribe(self) -> None:
        """Nothing is kept any more."""
        await named(self.address, retention.unsubscribing(self._connection, self.address, self._subscriber))


class RemoteTap:
    """A channel at the other end of a link, where the far site's own `LinkService` answers for it."""

    def __init__(self, reach: Reach, address: Address, since: int = 0) -> None:
        self.address = address
        self.since = since
        self.held = False
        """Whether the far site is known to keep for us what we have not read."""
        self._reach = reach
        self._refused = False
        self._look, self._look_at = _LOOK, 0.0

    @property
    def reached(self) -> bool:
        """Whether the far site answers, and gives us the channel."""
        return self._reach.reached and not self._refused

    @property
    def round_trip(self) -> float | None:
        """How many seconds it takes to the far site and back."""
        return self._reach.round_trip

    async def exists(self) -> bool:
        """Whether there is a channel to copy, as far as is known. Not asked more often than makes sense."""
        now = time.perf_counter()
        if not self._reach.answers or now < self._look_at:
            return False
        self._look, self._look_at = min(self._look * 1.5, _LONGEST_LOOK), now + self._look
        return (await self.asked("exists")).head.get("exists") is True

    async def head(self) -> int:
        """The number of the newest commit, 0 if there is none."""
        return _number(await self.asked("head"), "head")

    async def message(self, number: int) -> bytes:
        """One message of a part, checked; a long one comes in several answers."""
        first = await self._slice(number, 0)
        if first.head.get("missing") is True:
            return checked(self.address, number, None)
        size, crc = _number(first, "size"), str(first.head.get("crc"))
        if size > CHUNK or (size > len(first.body) and not first.body):
            raise DataError(f"message {number} is said to have {size} bytes.", where=place(self.address))
        others = await asyncio.gather(*(self._slice(number, at) for at in range(len(first.body), size, SLICE)))
        payload = b"".join(one.body for one in (first, *others))
        return checked(self.address, number, Stored(number, self.address.parts, payload, {"crc": crc}))

    def watch(self, after: int) -> Arriving:
        """The commits behind a number, as they come."""
        return RemoteWatch(self, after)

    async def subscribe(self) -> None:
        """From now on nothing is trimmed there that was not read."""
        await self.asked("subscribe")
        self.held = True

    async def read_to(self, number: int) -> None:
        """The commits up to this number are done with."""
        if (await self.asked("read_to", {"number": number})).head.get("lost") is True:
            raise RunError(
                f"{self.address.site} does not keep it for us any more.",
                where=place(self.address),
                hint="what it held may be gone; --fresh starts anew.",
            )

    async def unsubscribe(self) -> None:
        """Nothing is kept there any more."""
        await self.asked("unsubscribe")

    async def asked(self, verb: str, more: Mapping[str, Any] | None = None, *, long: bool = False) -> Answer:
        """What the far site answers about the channel; one attempt."""
        try:
            answer = await self._reach.ask(verb, {"channel": self.address.channel, **(more or {})}, long=long)
        except AwayError:
            # It may answer others, and not this.
            self._refused = self._reach.answers
            raise
        self._refused = False
        return answer

    async def _slice(self, number: int, at: int) -> Answer:
        return await self.asked("message", {"number": number, "at": at}, long=True)


class RemoteWatch(Arriving):
    """The commits of a channel at the other end of a link: asked for, and told when there are some."""

    def __init__(self, tap: RemoteTap, after: int) -> None:
        super().__init__(tap.address, after)
        self._tap = tap

    async def follow(self) -> None:
        """Lets commits come in, for ever."""
        while True:
            heed()
            try:
                await self._come(await self.room())
            except AwayError:
                await asyncio.sleep(_PAUSE)

    async def _come(self, most: int) -> None:
        asked_at = time.perf_counter()
        answer = await self._tap.asked("commits", {"after": self.after, "most": most})
        told_of = answer.head.get("commits")
        if not told_of and time.perf_counter() - asked_at < HOLD / 2:
            # Somebody else asks the same, and each question ends the other one.
            await asyncio.sleep(_CONTESTED)
        behind, at = _number(answer, "behind"), 0
        for one in told_of if isinstance(told_of, list) else ():
            if not (isinstance(one, list) and len(one) == 2 and all(map(is_number, one)) and one[0] > self.after):
                raise AwayError("commits are told of in a way that makes no sense")
            number, size = one
            self.take(number, answer.body[at : at + size], behind)
            at += size
        self.behind = behind


def _number(answer: Answer, key: str) -> int:
    try:
        return answer.number(key)
    except BadAnswerError as bad:
        raise AwayError(str(bad)) from None


async def named(address: Address, work: Awaitable[_T]) -> _T:
    """The result of some work; what the server refuses becomes an error that names the channel."""
    try:
        done = await work
    except RefusedError as refused:
        raise told(refused, place(address)) from None
    heed()
    return done
