"""Parts of batches: stored durably before anybody can see them, and fetched by the numbers that a commit names."""

from __future__ import annotations

import asyncio
import zlib
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from tradewind.backbone import jetstream, room
from tradewind.backbone.commits import Part
from tradewind.backbone.connection import Connection
from tradewind.backbone.jetstream import RefusedError, Stored, called, place, told
from tradewind.backbone.names import Address
from tradewind.errors import DataError

_In = TypeVar("_In")
_Out = TypeVar("_Out")

# The largest message: what is larger goes as several.
CHUNK = 4 << 20
_CRC = "crc"
# How much goes to the connection's thread at once, and how many such groups are on their way.
_GROUP_BYTES, _GROUP_PARTS, _GROUPS = 1 << 20, 64, 4


def publish_part(connection: Connection, address: Address, payload: bytes, rows: int) -> Part:
    """Stores some rows of a batch; durable, and seen by nobody yet, when it returns. Waits while the stream is full."""
    return called(connection, address, _stored(connection, address, payload, rows))


def fetch_part(connection: Connection, address: Address, part: Part) -> bytes:
    """The bytes of a part, checked."""
    return called(connection, address, _fetched(connection, address, [part]))[0]


def publish_parts(connection: Connection, address: Address, parts: Iterable[tuple[bytes, int]]) -> list[Part]:
    """Stores payloads, each with its number of rows, several at a time."""

    async def stored(group: list[tuple[bytes, int]]) -> list[Part]:
        return await _together(_stored(connection, address, payload, rows) for payload, rows in group)

    groups = _grouped(parts, lambda one: len(one[0]))
    return [part for group in _ahead(connection, address, groups, stored) for part in group]


def fetch_parts(connection: Connection, address: Address, parts: Iterable[Part]) -> Iterator[bytes]:
    """The bytes of parts, in order, read ahead."""

    groups = _grouped(parts, lambda part: part.bytes)
    for group in _ahead(connection, address, groups, lambda group: _fetched(connection, address, group)):
        yield from group


async def _stored(connection: Connection, address: Address, payload: bytes, rows: int) -> Part:
    if len(payload) <= CHUNK:
        return Part((await message_stored(connection, address, payload),), rows, len(payload))
    chunks = (payload[start : start + CHUNK] for start in range(0, len(payload), CHUNK))
    numbers = await _together(message_stored(connection, address, chunk) for chunk in chunks)
    return Part(tuple(numbers), rows, len(payload))


async def message_stored(connection: Connection, address: Address, payload: bytes) -> int:
    """Stores one message of a part, and tells its number. Waits while the stream is full."""
    headers = {_CRC: f"{zlib.crc32(payload):08x}"}
    while True:
        await room.taken(connection, address, len(payload))
        try:
            return await connection.patiently(
                lambda: jetstream.stored(connection, address.stream, address.parts, payload, headers), "storing rows"
            )
        except RefusedError as refused:
            if not refused.full:
                raise
        room.refused(connection, address)


async def _fetched(connection: Connection, address: Address, parts: list[Part]) -> list[bytes]:
    numbers = [number for part in parts for number in part.messages]
    near = await _neighbours(connection, address, numbers)
    far = [number for number in numbers if number not in near]
    others = await _together(jetstream.at(connection, address.stream, number) for number in far)
    messages = {**near, **dict(zip(far, others, strict=True))}
    return [_joined(address, part, messages) for part in parts]


async def message_fetched(connection: Connection, address: Address, number: int) -> bytes:
    """One message of a part, checked."""
    return checked(address, number, await jetstream.at(connection, address.stream, number))


def _joined(address: Address, part: Part, messages: Mapping[int, Stored | None]) -> bytes:
    payloads = [checked(address, number, messages[number]) for number in part.messages]
    payload = payloads[0] if len(payloads) == 1 else b"".join(payloads)
    if len(payload) != part.bytes:
        raise _damaged(address, part.messages[0], f"has {len(payload)} bytes instead of {part.bytes}")
    return payload


def checked(address: Address, number: int, message: Stored | None) -> bytes:
    """What a message of a part holds, if it is there and is what was written."""
    if message is None or message.subject != address.parts:
        raise DataError(
            f"message {number}, which a commit names, is not there: it was trimmed, deleted from outside, or damaged.",
            where=place(address),
            hint="who reads has to be subscribed before, and not behind what it has read; --fresh starts anew.",
        )
    if message.headers.get(_CRC) != f"{zlib.crc32(message.payload):08x}":
        raise _damaged(address, number, "does not have the checksum that it was written with")
    return message.payload


async def _neighbours(connection: Connection, address: Address, numbers: list[int]) -> dict[int, Stored]:
    """Messages that lie close together, got by one request, which costs a third; most of those wanted, or none."""
    if len(numbers) < 2 or max(numbers) - min(numbers) > 2 * len(numbers):
        return {}
    first = min(numbers) - 1
    found = await jetstream.following(connection, address.stream, address.parts, first, limit=len(numbers))
    return {message.number: message for message in found}


def _damaged(address: Address, number: int, how: str) -> DataError:
    return DataError(
        f"message {number} {how}: its store is damaged, or something else wrote to it.",
        where=place(address),
        hint="check the disk; --fresh starts anew, from the sources.",
    )


def _grouped(items: Iterable[_In], size: Callable[[_In], int]) -> Iterator[list[_In]]:
    group: list[_In] = []
    held = 0
    for item in items:
        group.append(item)
        held += size(item)
        if held >= _GROUP_BYTES or len(group) >= _GROUP_PARTS:
            yield group
            group, held = [], 0
    if group:
        yield group


def _ahead(
    connection: Connection,
    address: Address,
    groups: Iterable[list[_In]],
    work: Callable[[list[_In]], Coroutine[Any, Any, list[_Out]]],
) -> Iterator[list[_Out]]:
    """What is made of each group, in order, with several of them under way."""
    running: deque[Future[list[_Out]]] = deque()
    try:
        for group in groups:
            running.append(connection.started(work(group)))
            if len(running) >= _GROUPS:
                yield connection.waited(running.popleft())
        while running:
            yield connection.waited(running.popleft())
    except RefusedError as refused:
        raise told(refused, place(address)) from None
    finally:
        for one in running:
            one.cancel()


async def _together(coroutines: Iterable[Coroutine[Any, Any, _Out]]) -> list[_Out]:
    """The results of several at once; where one fails, the others end too."""
    tasks = [asyncio.ensure_future(one) for one in coroutines]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
