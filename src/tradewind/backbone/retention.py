"""Retention: what every subscriber of a channel has read, and no limit keeps, is removed; nothing else ever is.

A subscriber's position is durable. A writer may write parts of a batch before it commits the batch before that one, but
not earlier: trimming removes parts that no commit names up to the newest commit that it removes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime

from tradewind.backbone import jetstream, records
from tradewind.backbone.channels import Limits
from tradewind.backbone.commits import Placed
from tradewind.backbone.connection import Connection
from tradewind.backbone.jetstream import Stored, called, place
from tradewind.backbone.names import Address
from tradewind.backbone.reader import oldest_held, placed
from tradewind.errors import RunError

_PAGE = 256
# What a message weighs in the store beside its payload, about.
_OVERHEAD = 150
# Parts of a kept commit may stand before those of the one before it, but no further ahead than this many commits.
_BEHIND = 8


def subscribed(connection: Connection, address: Address, subscriber: str) -> None:
    """From now on nothing that the subscriber has not read is trimmed. One that is subscribed keeps its position."""
    called(connection, address, subscribing(connection, address, subscriber))


def read_to(connection: Connection, address: Address, subscriber: str, number: int) -> None:
    """The subscriber is done with the commits up to this number."""
    called(connection, address, reading_to(connection, address, subscriber, number))


def unsubscribed(connection: Connection, address: Address, subscriber: str) -> None:
    """Nothing is kept for the subscriber any more."""
    called(connection, address, unsubscribing(connection, address, subscriber))


async def subscribing(connection: Connection, address: Address, subscriber: str) -> None:
    """What `subscribed` does, in the connection's loop."""
    await jetstream.check(connection, address.stream)
    record = await _changed(connection, address, lambda readers: {subscriber: 0, **readers})
    # Another's trimming that was decided before is carried out here, so that it does not happen later.
    await _purged(connection, address, record)


async def reading_to(connection: Connection, address: Address, subscriber: str, number: int) -> None:
    """What `read_to` does, in the connection's loop."""

    def moved(readers: dict[str, int]) -> dict[str, int]:
        if subscriber not in readers:
            raise RunError(f"{subscriber!r} is not subscribed.", where=place(address), hint="--fresh starts anew.")
        return {**readers, subscriber: max(number, readers[subscriber])}

    await _changed(connection, address, moved)


async def unsubscribing(connection: Connection, address: Address, subscriber: str) -> None:
    """What `unsubscribed` does, in the connection's loop."""

    def without(readers: dict[str, int]) -> dict[str, int]:
        return {name: number for name, number in readers.items() if name != subscriber}

    await _changed(connection, address, without)


def trim(connection: Connection, address: Address, limits: Limits) -> int:
    """Removes commits, with their parts, that all subscribers have read and no limit keeps; never the newest commit.

    Tells how many it removed. What nobody subscribes to is kept by the limits alone.
    """
    return called(connection, address, _trimmed(connection, address, limits))


def whole(connection: Connection, address: Address) -> bool:
    """Whether the channel still holds all that was ever committed to it."""
    return called(connection, address, _record(connection, address))[0].commits_below == 0


async def positions(connection: Connection, address: Address) -> dict[str, int]:
    """How far each subscriber has read."""
    return (await _record(connection, address))[0].readers


@dataclass(frozen=True, slots=True)
class _Record:
    """Who has read how far, and below which numbers trimming removes commits, and whatever there is."""

    readers: dict[str, int] = field(default_factory=dict)
    commits_below: int = 0
    all_below: int = 0


async def _record(connection: Connection, address: Address) -> tuple[_Record, int]:
    value, revision = await records.read(connection, *records.of_readers(address))
    return (_Record() if value is None else _Record(**value)), revision


async def _replaced(connection: Connection, address: Address, record: _Record, revision: int) -> bool:
    return await records.write(connection, *records.of_readers(address), asdict(record), revision)


async def _changed(
    connection: Connection, address: Address, change: Callable[[dict[str, int]], dict[str, int]]
) -> _Record:
    """Changes who has read how far, whoever else does at the same time."""
    while True:
        record, revision = await _record(connection, address)
        changed = replace(record, readers=change(record.readers))
        if changed == record or await _replaced(connection, address, changed, revision):
            return changed


async def _trimmed(connection: Connection, address: Address, limits: Limits) -> int:
    while True:
        record, revision = await _record(connection, address)
        removed, kept = await _divided(connection, address, record, limits)
        if not removed:
            return 0
        beyond = removed[-1].number + 1
        decided = _Record(record.readers, beyond, min(beyond, *map(oldest_held, kept)))
        # Written first: who subscribes between the decision and the removal would be told of commits that then vanish.
        if await _replaced(connection, address, decided, revision):
            await _purged(connection, address, decided)
            return len(removed)


async def _purged(connection: Connection, address: Address, record: _Record) -> None:
    """Commits go before the parts that they name, so that none is ever visible without its parts."""
    verb = f"STREAM.PURGE.{address.stream}"
    if record.all_below < record.commits_below:
        await jetstream.managed(connection, verb, {"filter": address.commits, "seq": record.commits_below})
    if record.all_below:
        await jetstream.managed(connection, verb, {"seq": record.all_below})


async def _divided(
    connection: Connection, address: Address, record: _Record, limits: Limits
) -> tuple[list[Placed], list[Placed]]:
    """The commits to remove, and some of those behind them: enough to know where their parts begin."""
    keeps = await _keeps(connection, address, record, limits)
    removed: list[Placed] = []
    kept: list[Placed] = []
    after = 0
    while len(kept) < _BEHIND:
        page = await jetstream.following(connection, address.stream, address.commits, after, limit=_PAGE)
        for message in page:
            commit = placed(address, message)
            (kept if kept or keeps(message, commit) else removed).append(commit)
        if len(page) < _PAGE:
            break
        after = page[-1].number
    return removed, kept


async def _keeps(
    connection: Connection, address: Address, record: _Record, limits: Limits
) -> Callable[[Stored, Placed], bool]:
    """Whether a commit is kept, when asked for one after the other from the oldest on."""
    subject = {"subjects_filter": address.commits}
    state = (await jetstream.managed(connection, f"STREAM.INFO.{address.stream}", subject))["state"]
    batches_left = (state.get("subjects") or {}).get(address.commits, 0)
    bytes_left = state["bytes"]
    now = time.time()  # noqa: TID251  it is compared with the time at which the server stored a message
    read_by_all = min(record.readers.values(), default=state["last_seq"])

    def keeps(message: Stored, commit: Placed) -> bool:
        nonlocal batches_left, bytes_left
        batches_left -= 1
        messages = 1 + sum(len(part.messages) for part in commit.commit.parts)
        bytes_left -= commit.commit.bytes + len(message.payload) + messages * _OVERHEAD
        return (
            batches_left <= 0
            or commit.number > read_by_all
            or (limits.keep_batches is not None and batches_left < limits.keep_batches)
            or (limits.keep_bytes is not None and bytes_left < limits.keep_bytes)
            or (limits.keep_seconds is not None and now - _stored_at(message) < limits.keep_seconds)
        )

    return keeps


def _stored_at(message: Stored) -> float:
    return datetime.fromisoformat(message.headers["Nats-Time-Stamp"]).timestamp()
