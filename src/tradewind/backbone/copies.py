"""A channel in a file: all that its stream holds, under the same numbers, and who has read how far.

A channel that is read back is the same for everybody who knows its numbers: fragments by their positions, copies at
other sites by the commits that they were made from. Nobody may write to the channel meanwhile.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from tradewind.backbone import jetstream, records
from tradewind.backbone.channels import Limits, create, delete
from tradewind.backbone.connection import Connection
from tradewind.backbone.jetstream import Stored, called, place
from tradewind.backbone.names import Address
from tradewind.errors import DataError

_FORMAT = 1
_PAGE = 16
"""Messages that are held at a time; each may have several megabytes."""
_KEPT = ("crc", "writer")
"""Headers that belong to a message. The others were for the server that stored it."""
_ROOM = 1 << 20


def save(connection: Connection, address: Address, path: Path) -> int:
    """Write a channel to a file; how many bytes its messages have."""
    return called(connection, address, _saved(connection, address, path))


def restore(connection: Connection, address: Address, path: Path, limits: Limits) -> None:
    """Make a channel what a file holds, under another address. What was there under it is removed."""
    with path.open("rb") as file:
        head = _head(file, address)
        delete(connection, address)
        largest = max(limits.max_bytes, int(head["bytes"]) + _ROOM)
        # Of a stream that is empty the first is the one behind the last.
        create(connection, address, Limits(largest), int(head["first"]))
        called(connection, address, _restored(connection, address, head, _messages(file, address)))


async def _saved(connection: Connection, address: Address, path: Path) -> int:
    state = (await jetstream.check(connection, address.stream))["state"]
    readers, _ = await records.read(connection, *records.of_readers(address))
    head = {
        "format": _FORMAT, "first": int(state["first_seq"]), "last": int(state["last_seq"]),
        "bytes": int(state["bytes"]), "readers": readers,
    }  # fmt: skip
    size = 0
    with path.open("wb") as file:
        _put(file, head, b"")
        async for message in _every(connection, address):
            headers = {name: message.headers[name] for name in _KEPT if name in message.headers}
            commit = message.subject == address.commits
            _put(file, {"number": message.number, "commit": commit, "headers": headers}, message.payload)
            size += len(message.payload)
    return size


async def _every(connection: Connection, address: Address) -> AsyncIterator[Stored]:
    subject = f"{address.commits.rpartition('.')[0]}.*"
    after = 0
    while page := await jetstream.following(connection, address.stream, subject, after, limit=_PAGE):
        for message in page:
            yield message
        after = page[-1].number


async def _restored(
    connection: Connection, address: Address, head: Mapping[str, Any], messages: Iterator[tuple[dict[str, Any], bytes]]
) -> None:
    following, last = max(1, int(head["first"])), int(head["last"])
    for known, payload in messages:
        following = await _filled(connection, address, following, int(known["number"]))
        subject = address.commits if known["commit"] else address.parts
        await _stored(
            connection, address, subject=subject, payload=payload, headers=known["headers"], expected=following
        )
        following += 1
    await _filled(connection, address, following, last + 1)
    if head["readers"] is not None:
        await records.write(connection, *records.of_readers(address), head["readers"])


async def _filled(connection: Connection, address: Address, following: int, upto: int) -> int:
    """Stand in for messages that were removed by parts that no commit names: they are trimmed as all such are."""
    headers = {"crc": f"{zlib.crc32(b''):08x}"}
    for number in range(following, upto):
        await _stored(connection, address, subject=address.parts, payload=b"", headers=headers, expected=number)
    return upto


async def _stored(
    connection: Connection,
    address: Address,
    *,
    subject: str,
    payload: bytes,
    headers: Mapping[str, str],
    expected: int,
) -> None:
    guard = {**headers, "Nats-Expected-Last-Sequence": str(expected - 1)}
    number = await connection.patiently(
        lambda: jetstream.stored(connection, address.stream, subject, payload, guard), "restoring a channel"
    )
    if number != expected:
        raise DataError(f"message {expected} was stored as {number}: somebody else writes to it.", where=place(address))


def _put(file: BinaryIO, known: Mapping[str, Any], payload: bytes) -> None:
    header = json.dumps(known, separators=(",", ":")).encode()
    file.write(len(header).to_bytes(4) + len(payload).to_bytes(4) + zlib.crc32(header + payload).to_bytes(4))
    file.write(header + payload)


def _head(file: BinaryIO, address: Address) -> dict[str, Any]:
    found = next(_messages(file, address), None)
    if found is None or found[0].get("format") != _FORMAT:
        raise DataError("its copy was written by another version, or is empty.", where=place(address))
    return found[0]


def _messages(file: BinaryIO, address: Address) -> Iterator[tuple[dict[str, Any], bytes]]:
    while sizes := file.read(12):
        header, payload = int.from_bytes(sizes[:4]), int.from_bytes(sizes[4:8])
        content = file.read(header + payload)
        if len(sizes) < 12 or len(content) < header + payload or zlib.crc32(content) != int.from_bytes(sizes[8:]):
            raise DataError("its copy is damaged, or cut off.", where=place(address), hint="use another savepoint.")
        yield json.loads(content[:header]), content[header:]
