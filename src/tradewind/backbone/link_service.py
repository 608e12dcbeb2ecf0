"""What a site answers to the one at the other end of a link: about channels that it is offered, and nothing else."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from nats.aio.msg import Msg

from tradewind.backbone import jetstream, retention
from tradewind.backbone.bells import Bells
from tradewind.backbone.connection import Connection
from tradewind.backbone.jetstream import RefusedError, Stored
from tradewind.backbone.link_protocol import (
    HOLD,
    SLICE,
    Answer,
    BadQuestionError,
    is_number,
    read_question,
    subject,
)
from tradewind.backbone.names import Address
from tradewind.backbone.routes import subscriber_to
from tradewind.backbone.session import AwayError
from tradewind.errors import TradewindError

# How many questions are worked at, and how many of them at messages; more than that are turned away at once.
_AT_ONCE, _MESSAGES = 96, 8
# So many more may be turned away at once; whatever comes beyond is not even that.
_TURNED_AWAY = 256
# How many commits, and bytes of them, one answer tells of at most; one commit always.
_COMMITS, _COMMIT_BYTES = 256, SLICE
# How many bytes of messages that are asked for slice by slice are kept at hand.
_KEPT = 16 << 20


class LinkService:
    """Answers one far site. It reads and marks channels as the link to that site, and as nobody else.

    `offered` tells, at each question, the channels by the names that the far site knows them by. Whatever makes no
    sense, or asks for anything else, is refused; `refused` counts that.
    """

    def __init__(
        self, link_url: str, local: Connection, here: str, far: str, offered: Callable[[], Mapping[str, Address]]
    ) -> None:
        self.refused = 0
        self._local = local
        self._far = far
        self._subscriber = subscriber_to(far)
        self._offered = offered
        self._bells = Bells(local)
        self._working: set[asyncio.Task[None]] = set()
        self._held: dict[str, asyncio.Future[list[Stored]]] = {}
        self._fetching = asyncio.Semaphore(_MESSAGES)
        self._kept: OrderedDict[tuple[Address, int], Stored] = OrderedDict()
        self._verbs: dict[str, Callable[[Address, dict[str, Any]], Awaitable[Answer]]] = {
            "exists": self._exists,
            "head": self._head,
            "commits": self._commits,
            "message": self._message,
            "subscribe": self._subscribe,
            "read_to": self._read_to,
            "unsubscribe": self._unsubscribe,
        }
        self._connection = Connection.open(link_url, name=f"answers to {far}")
        try:
            every = subject(here, "*")
            listening = self._connection.patiently(lambda: self._connection.subscribed(every, self._came), "listening")
            self._connection.call(listening)
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Nothing is answered any more."""
        self._connection.close()
        with suppress(TradewindError):
            self._local.call(self._bells.close())

    def _came(self, message: Msg) -> None:
        """A question. Each is worked at by itself, so that none waits for another."""
        verb = message.subject.rpartition(".")[2]
        if not message.reply or len(self._working) > _AT_ONCE + _TURNED_AWAY:
            self.refused += 1
            return
        task = asyncio.get_running_loop().create_task(self._answer(verb, bytes(message.data), message.reply))
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    async def _answer(self, verb: str, payload: bytes, reply: str) -> None:
        try:
            answer = await self._answered(verb, payload)
        except BadQuestionError as bad:
            self.refused += 1
            answer = Answer({"refused": str(bad)})
        except (TradewindError, RefusedError, AwayError):
            # Why is ours to know.
            answer = Answer({"away": "the site's own server does not answer"})
        with suppress(AwayError):
            await self._connection.published(reply, answer.encoded())

    async def _answered(self, verb: str, payload: bytes) -> Answer:
        values = read_question(payload)
        if verb == "ping":
            return Answer({})
        if len(self._working) > _AT_ONCE + len(self._held):
            return Answer({"away": "too much is asked at once"})
        work, name = self._verbs.get(verb), values.get("channel")
        if work is None:
            raise BadQuestionError("there is no such question")
        address = self._offered().get(name) if isinstance(name, str) else None
        if address is None:
            raise BadQuestionError("there is no such channel for you")
        return await work(address, values)

    async def _exists(self, address: Address, _: dict[str, Any]) -> Answer:
        try:
            await self._local.across(jetstream.check(self._local, address.stream))
        except RefusedError as refused:
            if not refused.missing:
                raise
            return Answer({"exists": False})
        return Answer({"exists": True})

    async def _head(self, address: Address, _: dict[str, Any]) -> Answer:
        last = await self._local.across(jetstream.last(self._local, address.stream, address.commits))
        return Answer({"head": 0 if last is None else last.number})

    async def _commits(self, address: Address, values: dict[str, Any]) -> Answer:
        """Tells of commits behind a number; held until there are some, or until the same is asked again."""
        after, most = _number(values, "after"), min(_number(values, "most"), _COMMITS)
        asking = asyncio.ensure_future(self._awaited(address, after, max(most, 1)))
        former, self._held[address.channel] = self._held.get(address.channel), asking
        if former is not None:
            former.cancel()
        try:
            found = await asking
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            found = []
        finally:
            if self._held.get(address.channel) is asking:
                del self._held[address.channel]
        told = _some(found[:most])
        behind = int(found[-1].headers.get("Nats-Num-Pending", "0")) if found else 0
        return Answer(
            {"commits": [[one.number, len(one.payload)] for one in told], "behind": behind + len(found) - len(told)},
            b"".join(one.payload for one in told),
        )

    async def _awaited(self, address: Address, after: int, most: int) -> list[Stored]:
        return await self._local.across(self._following(address, after, most))

    async def _following(self, address: Address, after: int, most: int) -> list[Stored]:
        """In the loop of the server's connection: the commits behind a number, or none after a while."""

        async def look() -> list[Stored]:
            return await jetstream.following(self._local, address.stream, address.commits, after, limit=most)

        return await self._bells.awaited(address.commits, look, HOLD)

    async def _message(self, address: Address, values: dict[str, Any]) -> Answer:
        number, at = _number(values, "number"), _number(values, "at")
        async with self._fetching:
            found = self._kept.get((address, number))
            if found is None:
                found = await self._local.across(jetstream.at(self._local, address.stream, number)) if number else None
        if found is None or found.subject != address.parts:
            return Answer({"missing": True})
        if len(found.payload) > SLICE:
            self._keep(address, found)
        head = {"size": len(found.payload), "crc": found.headers.get("crc")}
        return Answer(head, found.payload[at : at + SLICE])

    def _keep(self, address: Address, found: Stored) -> None:
        self._kept[address, found.number] = found
        self._kept.move_to_end((address, found.number))
        while sum(len(one.payload) for one in self._kept.values()) > _KEPT:
            self._kept.popitem(last=False)

    async def _subscribe(self, address: Address, _: dict[str, Any]) -> Answer:
        await self._local.across(retention.subscribing(self._local, address, self._subscriber))
        return Answer({})

    async def _read_to(self, address: Address, values: dict[str, Any]) -> Answer:
        number = _number(values, "number")
        known = await self._local.across(retention.positions(self._local, address))
        if self._subscriber not in known:
            return Answer({"lost": True})
        last = await self._local.across(jetstream.last(self._local, address.stream, address.commits))
        # Nobody has read further than there is something: what comes later would be trimmed unread.
        reached = min(number, 0 if last is None else last.number)
        await self._local.across(retention.reading_to(self._local, address, self._subscriber, reached))
        return Answer({})

    async def _unsubscribe(self, address: Address, _: dict[str, Any]) -> Answer:
        await self._local.across(retention.unsubscribing(self._local, address, self._subscriber))
        return Answer({})


def _number(values: Mapping[str, Any], key: str) -> int:
    value = values.get(key)
    if value is None or not is_number(value):
        raise BadQuestionError(f"there is no number {key!r}")
    return int(value)


def _some(commits: list[Stored]) -> list[Stored]:
    """As many as fit into one answer."""
    size, some = 0, 0
    for one in commits:
        size += len(one.payload)
        if some and size > _COMMIT_BYTES:
            break
        some += 1
    return commits[:some]
