"""Room in a stream: who writes parts waits while it is full, so that a slow reader slows writers and loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from tradewind.backbone import jetstream
from tradewind.backbone.connection import Connection
from tradewind.backbone.names import Address
from tradewind.backbone.reader import newest, oldest_held
from tradewind.errors import RunError

# Parts stop at this share of what the stream may hold: the rest is for commits.
_SHARE = 0.95
# What a message weighs in the store beside its payload, at most.
_OVERHEAD = 512
# A look at the stream is good for a quarter of the room that it showed, since others write too, and for a second.
_QUARTER, _GOOD_FOR = 4, 1.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.1


class _Room:
    """What one process may still write to a stream before it has to look again."""

    def __init__(self) -> None:
        self.allowed = 0
        self.until = 0.0
        self.asking = asyncio.Lock()


_rooms: WeakKeyDictionary[Connection, dict[str, _Room]] = WeakKeyDictionary()


async def taken(connection: Connection, address: Address, size: int) -> None:
    """Waits until the stream has room for a message of that size."""
    size += _OVERHEAD
    room = _rooms.setdefault(connection, {}).setdefault(address.stream, _Room())
    async with room.asking:
        if size > room.allowed or asyncio.get_running_loop().time() > room.until:
            await _asked(connection, address, room, size)
        room.allowed -= size


def refused(connection: Connection, address: Address) -> None:
    """The server found the stream full: the next one has to look."""
    _rooms.setdefault(connection, {}).setdefault(address.stream, _Room()).allowed = 0


def size_limit(info: Mapping[str, Any]) -> int:
    """What a stream may hold, as it was asked for: the server's own limit is raised when a commit has to fit in."""
    config = info["config"]
    return int(config.get("metadata", {}).get("max_bytes", config["max_bytes"]))


async def _asked(connection: Connection, address: Address, room: _Room, size: int) -> None:
    loop = asyncio.get_running_loop()
    pause, stuck_since = _FIRST_PAUSE, None
    while True:
        info = await jetstream.check(connection, address.stream)
        limit = int(size_limit(info) * _SHARE)
        free = limit - info["state"]["bytes"]
        if free >= size:
            room.allowed, room.until = max(free // _QUARTER, size), loop.time() + _GOOD_FOR
            return
        if size > limit:
            raise _too_small(address, limit, "a single message of a batch")
        if await _untrimmable(connection, address, info["state"]["first_seq"]):
            stuck_since = loop.time() if stuck_since is None else stuck_since
            if loop.time() - stuck_since > connection.patience:
                raise _too_small(address, limit, "a batch that has not been committed yet")
        else:
            stuck_since = None
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)


async def _untrimmable(connection: Connection, address: Address, first: int) -> bool:
    """Whether the stream holds nothing that trimming could remove: only its newest commit and what is not committed."""
    last = await newest(connection, address)
    return last is None or first >= oldest_held(last)


def _too_small(address: Address, limit: int, what: str) -> RunError:
    return RunError(
        f"it may hold {limit:,} bytes of parts, and {what} is larger.",
        where=jetstream.place(address),
        hint="let the channel be larger, or batches smaller.",
    )
