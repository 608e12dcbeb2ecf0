"""A pump: copies one channel over one link, batch by batch, and makes each visible at the end exactly once.

What is at the end says where to go on: its newest commit names the commit that it was copied from. A pump that dies
leaves parts that no commit names, and nothing else. Where the newest commit came by another way, before the channel's
writer moved, the pump begins with the first that is there, and passes over what the copy has: commits have an order.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tradewind.backbone.channels import commit_stored
from tradewind.backbone.commits import Commit, Part, Placed
from tradewind.backbone.connection import Connection
from tradewind.backbone.counting import acknowledgement, frame
from tradewind.backbone.jetstream import RefusedError, place, told
from tradewind.backbone.names import Address
from tradewind.backbone.parts import message_stored
from tradewind.backbone.reader import newest
from tradewind.backbone.session import AwayError
from tradewind.backbone.taps import Tap, named
from tradewind.backbone.watch import heed
from tradewind.backbone.wire import Crossing, Wire
from tradewind.errors import RunError

_T = TypeVar("_T")

# How much of a channel, in bytes, is held between its two streams beyond what the link itself holds, and as how much
# a small message counts.
_HELD, _LEAST = 4 << 20, 32 << 10
# How many batches are under way at once.
_BATCHES = 64
# How long, in seconds, a pump that is told to end waits for the commit that it is writing.
_LAST_WAIT = 2.0
# How soon, in seconds, the start of a link is asked again that could not be reached.
_AGAIN = 0.2
_EXPECTED = "Nats-Expected-Last-Subject-Sequence"


class Pump:
    """Copies the batches of a channel from where it is tapped to its stream at another site.

    `handled` is the number, at the start, of the newest commit that need not be copied any more.
    """

    def __init__(self, connection: Connection, tap: Tap, copy: Address, wire: Wire) -> None:
        self.connection = connection
        self.tap = tap
        self.copy = copy
        self.wire = wire
        self.handled = 0
        self._session: _Session | None = None

    def backlog(self) -> tuple[int, int]:
        """How many batches, and bytes of parts, are committed at the start but not yet at the end."""
        if self._session is None:
            return 0, 0
        known, behind = self._session.known()
        size = sum(one.commit.bytes for one in known)
        return len(known) + behind, size + behind * size // max(len(known), 1)

    async def run(self) -> None:
        """Copies until it is cancelled; an error that names the channel when it cannot go on."""
        while True:
            last = await named(self.copy, newest(self.connection, self.copy))
            this_way = last is not None and last.commit.epoch >= self.tap.since
            before = (last.commit.before or 0) if last is not None and this_way else 0
            if before > await _reached(self.tap.head):
                raise RunError(
                    f"its copy at {self.copy.site} is ahead of it: the copy holds its commit {before}.",
                    where=place(self.tap.address),
                    hint="the channel was deleted and made anew at its start; --fresh starts anew everywhere.",
                )
            self.handled = max(self.handled, before)
            self._session = _Session(self, last)
            try:
                # A task of its own: a group that fails leaves a mark of cancellation on the task that it is in.
                await asyncio.create_task(self._session.run())
            except _OvertakenError:
                continue


class _OvertakenError(Exception):
    """Somebody else writes to the copy too: look again where it stands."""


@dataclass(eq=False)
class _Batch:
    """A batch under way: how its messages and its commit cross. One that is skipped has no crossing."""

    placed: Placed
    copies: list[asyncio.Task[int]] = field(default_factory=list)
    crossing: Crossing | None = None
    done: asyncio.Event = field(default_factory=asyncio.Event)


class _Session:
    """Copies on from what the copy held when it was looked at."""

    def __init__(self, pump: Pump, last: Placed | None) -> None:
        self._pump = pump
        self._connection, self._wire = pump.connection, pump.wire
        self._tap, self._copy = pump.tap, pump.copy
        self._last = last
        self._taken = last.commit if last is not None else None
        self._taken_number = pump.handled
        self._watch = pump.tap.watch(pump.handled)
        self._lane = pump.wire.open()
        self._held = _Held(_HELD + pump.wire.under_way)
        self._open: deque[_Batch] = deque()
        self._to_finish: asyncio.Queue[_Batch] = asyncio.Queue(_BATCHES)

    def known(self) -> tuple[list[Placed], int]:
        """The commits that are not copied yet, as far as they have been read, and how many there are beyond."""
        return [batch.placed for batch in list(self._open)] + list(self._watch.waiting), self._watch.behind

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(named(self._tap.address, self._watch.follow()))
                group.create_task(self._send(group))
                group.create_task(self._finish())
        except BaseExceptionGroup as several:
            raise _first(several) from None
        finally:
            self._wire.close(self._lane)
            await self._watch.close()

    async def _send(self, group: asyncio.TaskGroup) -> None:
        """Lets batches cross, in order; what comes next does not wait until the last one has arrived."""
        previous: deque[_Batch] = deque(maxlen=2)
        while True:
            heed()
            batch = _Batch(await self._watch.next())
            self._open.append(batch)
            commit = batch.placed.commit
            if self._wanted(commit):
                # Trimming takes parts that stand further before their commit for those of a batch that died.
                after = previous[0].done if len(previous) == 2 else None
                for number, size in _messages(commit.parts):
                    await self._held.take(size)
                    crossing = self._wire.join(self._lane)
                    batch.copies.append(group.create_task(self._message(number, size, crossing, after)))
                batch.crossing = self._wire.join(self._lane, urgent=True)
                self._wire.ready(batch.crossing, self._commit_frame(batch.placed))
                self._taken, self._taken_number = commit, batch.placed.number
                previous.append(batch)
            await self._to_finish.put(batch)

    def _wanted(self, commit: Commit) -> bool:
        """Not a commit that comes again, nor one of an epoch that is over, nor a closing one that is superseded."""
        if self._taken is not None and not _follows(commit, self._taken):
            return False
        return not (commit.closing and any(_follows(later.commit, commit) for later in self._watch.waiting))

    async def _message(self, number: int, size: int, crossing: Crossing, after: asyncio.Event | None) -> int:
        """Copies one message, and tells its number in the copy."""
        try:
            payload = await _reached(lambda: self._tap.message(number))
            headers = {"crc": "-" * 8, "Nats-Expected-Stream": self._copy.stream}
            self._wire.ready(crossing, frame(self._copy.parts, headers, len(payload)))
            await crossing.arrived
            if after is not None:
                await after.wait()
            stored = await named(self._copy, message_stored(self._connection, self._copy, payload))
            self._wire.acknowledged(crossing, acknowledgement(self._copy.stream, stored), self._tap.round_trip)
            return stored
        finally:
            self._held.release(size)

    async def _finish(self) -> None:
        """Makes batches visible at the end, in order, each when all of it is there."""
        while True:
            heed()
            batch = await self._to_finish.get()
            if batch.crossing is not None:
                await batch.crossing.arrived
                numbers = [await one for one in batch.copies]
                finishing = asyncio.create_task(self._make_visible(batch, batch.crossing, numbers))
                try:
                    await asyncio.shield(finishing)
                except asyncio.CancelledError:
                    # What becomes visible is counted, also by a pump that is told to end just then.
                    await asyncio.wait([finishing], timeout=_LAST_WAIT)
                    finishing.cancel()
                    raise
            self._pump.handled = batch.placed.number
            self._open.popleft()

    async def _make_visible(self, batch: _Batch, crossing: Crossing, numbers: list[int]) -> None:
        self._last = await self._committed(_copied(batch.placed, numbers))
        self._wire.tally.copied(self._last.commit.rows)
        told_by = acknowledgement(self._copy.stream, self._last.number)
        self._wire.acknowledged(crossing, told_by, self._tap.round_trip)
        batch.done.set()

    async def _committed(self, commit: Commit) -> Placed:
        headers = {_EXPECTED: str(0 if self._last is None else self._last.number)}

        async def attempt() -> int:
            return await commit_stored(self._connection, self._copy, commit, headers)

        try:
            return Placed(await self._connection.patiently(attempt, "copying a commit"), commit)
        except RefusedError as refused:
            if not refused.wrong_last:
                raise told(refused, place(self._copy)) from None
        found = await named(self._copy, newest(self._connection, self._copy))
        if found is None or found.commit.before != commit.before:
            raise _OvertakenError
        # It had been stored, only the acknowledgement got lost.
        return found

    def _commit_frame(self, placed: Placed) -> int:
        """The bytes of a commit as it leaves: with its numbers at the start, which the end replaces by its own."""
        headers = {_EXPECTED: str(self._taken_number), "Nats-Expected-Stream": self._copy.stream}
        return frame(self._copy.commits, headers, len(replace(placed.commit, before=placed.number).encoded()))


class _Held:
    """How many bytes are on their way from stream to stream. One message may always be."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._now = 0
        self._fewer = asyncio.Event()

    async def take(self, size: int) -> None:
        """Waits until there is room."""
        while self._now and self._now + size > self._most:
            self._fewer.clear()
            await self._fewer.wait()
        self._now += size

    def release(self, size: int) -> None:
        """Some have been stored."""
        self._now -= size
        self._fewer.set()


def _follows(commit: Commit, earlier: Commit) -> bool:
    return commit.epoch >= earlier.epoch and commit.order > earlier.order


def _messages(parts: Iterable[Part]) -> Iterable[tuple[int, int]]:
    """The number of each message, and as how many bytes it counts while it is on its way."""
    return [(number, max(part.bytes // len(part.messages), _LEAST)) for part in parts for number in part.messages]


def _copied(placed: Placed, numbers: Iterable[int]) -> Commit:
    """A commit as it is in the copy, where its messages have these numbers."""
    following = iter(numbers)
    parts = (part._replace(messages=tuple(next(following) for _ in part.messages)) for part in placed.commit.parts)
    return replace(placed.commit, parts=tuple(parts), before=placed.number)


def _first(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that ended the others."""
    error: BaseException = several
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _reached(work: Callable[[], Awaitable[_T]]) -> _T:
    """The result of some work that needs the start of the link: tried again for ever while that is away."""
    while True:
        with suppress(AwayError):
            return await work()
        heed()
        await asyncio.sleep(_AGAIN)
