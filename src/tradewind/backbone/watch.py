"""Watching a channel: its commits, in order, as they come, without asking all the time."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from contextlib import suppress

from tradewind.backbone import jetstream
from tradewind.backbone.commits import Placed, decoded
from tradewind.backbone.connection import Connection
from tradewind.backbone.jetstream import RefusedError, place
from tradewind.backbone.listening import Inbox, Listener, is_status
from tradewind.backbone.names import Address
from tradewind.backbone.session import AwayError

_NANO = 1_000_000_000
# How long, in seconds, the server holds a question until there is something to tell, and how long we wait for that.
_HOLD, _WAIT = 10, 12.0
# What the server knows about a watch is dropped when nobody has asked for so many seconds.
_FORGOTTEN = 600
# How many commits are held here; the others wait in their stream.
_WINDOW = 1000
_LOOK = 0.5
_PAUSE = 0.05


class Arriving:
    """The commits of a channel behind a number, as they come.

    `waiting` are those that came and were not taken yet, `behind` says how many more there are in the stream.
    """

    def __init__(self, address: Address, after: int) -> None:
        self.address = address
        self.after = after
        self.waiting: deque[Placed] = deque()
        self.behind = 0
        self._came = asyncio.Event()
        self._room = asyncio.Event()

    async def next(self) -> Placed:
        """Takes the next commit; waits for it."""
        while not self.waiting:
            self._came.clear()
            await self._came.wait()
        if len(self.waiting) <= _WINDOW // 2:
            self._room.set()
        return self.waiting.popleft()

    async def follow(self) -> None:
        """Lets commits come in, for ever."""
        raise NotImplementedError

    async def close(self) -> None:
        """Nothing comes in any more."""

    async def room(self) -> int:
        """For how many more there is room here; waits a while if there is none."""
        if len(self.waiting) >= _WINDOW:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK):
                    await self._room.wait()
        return max(_WINDOW - len(self.waiting), 0)

    def take(self, number: int, payload: bytes, behind: int) -> None:
        """A commit has come."""
        self.behind = behind
        self.after = number
        self.waiting.append(Placed(number, decoded(payload, f"{place(self.address)}, message {number}")))
        self._came.set()
        if len(self.waiting) >= _WINDOW:
            self._room.clear()


class Watch(Arriving):
    """The commits of a channel of the server that we are connected to."""

    def __init__(self, connection: Connection, listener: Listener, address: Address, after: int) -> None:
        super().__init__(address, after)
        self._connection = connection
        self._listener = listener
        self._inbox: Inbox | None = None
        self._consumer: str | None = None

    async def follow(self) -> None:
        """Lets commits come in, for ever."""
        while True:
            heed()
            try:
                if self._consumer is None or self._inbox is None:
                    await self._renew()
                elif await self.room():
                    await self._ask(self._inbox)
                else:
                    await self._look()
            except AwayError:
                # What was sent meanwhile may be lost: start again behind what has come.
                self._consumer = None
                await asyncio.sleep(_PAUSE)

    async def _ask(self, inbox: Inbox) -> None:
        if await self._come(inbox, {"batch": 1, "expires": _HOLD * _NANO}):
            await self._come(inbox, {"batch": _WINDOW, "no_wait": True})

    async def _look(self) -> None:
        """Keeps the number of those behind fresh while there is no room for them here."""
        try:
            known = await jetstream.managed(self._connection, f"CONSUMER.INFO.{self.address.stream}.{self._consumer}")
        except RefusedError:
            self._consumer = None
        else:
            self.behind = known["num_pending"]

    async def _renew(self) -> None:
        config = {
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": self.after + 1,
            "ack_policy": "none",
            "filter_subject": self.address.commits,
            "inactive_threshold": _FORGOTTEN * _NANO,
            "mem_storage": True,
            "num_replicas": 1,
        }
        stream = self.address.stream
        made = await jetstream.managed(
            self._connection, f"CONSUMER.CREATE.{stream}", {"stream_name": stream, "config": config}
        )
        self._consumer = made["name"]
        self.behind = made["num_pending"]
        # A new inbox, so that nothing comes that was asked for before, and would be out of order now.
        await self.close()
        self._inbox = await self._listener.inbox()

    async def close(self) -> None:
        """Nothing comes in any more."""
        if self._inbox is not None:
            await self._listener.drop(self._inbox)
            self._inbox = None

    async def _come(self, inbox: Inbox, question: dict[str, int | bool]) -> bool:
        """Takes what the server sends to a question; whether it sent something."""
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self.address.stream}.{self._consumer}"
        answers = await inbox.ask(subject, json.dumps(question).encode(), question["batch"], _WAIT)
        for message in answers:
            if not is_status(message):
                about = message.metadata
                self.take(about.sequence.stream, message.data, about.num_pending)
            elif (message.headers or {})["Status"] not in {"404", "408"}:
                raise AwayError("the watch was ended from outside")
        return not is_status(answers[0])


def heed() -> None:
    """Ends a task that was told to end: the client of NATS may have swallowed that while it wrote to its socket."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
