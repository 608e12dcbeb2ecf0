"""Channels: batches of rows written as parts, made visible by one commit message, and read by their commits."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tradewind.backbone import jetstream, records
from tradewind.backbone.commits import Commit, Placed
from tradewind.backbone.connection import Connection
from tradewind.backbone.jetstream import RefusedError, called, place
from tradewind.backbone.names import Address
from tradewind.backbone.parts import fetch_part, fetch_parts, publish_part, publish_parts
from tradewind.backbone.reader import Reader, newest, placed
from tradewind.backbone.room import size_limit
from tradewind.errors import InputError, RunError

__all__ = [
    "Limits",
    "Publisher",
    "Reader",
    "create",
    "delete",
    "fetch_part",
    "fetch_parts",
    "inherit",
    "publish_part",
    "publish_parts",
]

_GIB = 1 << 30
# How much larger a stream is made when it has no room for a commit, whose parts it holds already.
_COMMIT_ROOM = 1 << 20
# The header that tells whose commit it was when the acknowledgement got lost.
_WRITER = "writer"


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a channel's stream may become, and what it keeps beyond what subscribers still need.

    Without any of the `keep`s nothing beyond is kept; with several, what one of them keeps is kept. Bytes are those of
    the store.
    """

    max_bytes: int = _GIB
    keep_seconds: float | None = None
    keep_batches: int | None = None
    keep_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.max_bytes <= 0 or any(
            one is not None and one < 0 for one in (self.keep_seconds, self.keep_batches, self.keep_bytes)
        ):
            raise InputError("a channel's limits are not negative, and its size is above zero.", where="limits")


def create(
    connection: Connection,
    address: Address,
    limits: Limits = Limits(),  # noqa: B008  it is frozen
    first: int = 1,
) -> None:
    """Makes the channel's stream, or gives the one that is there these limits. `first` is what the first message of a
    new one is numbered.
    """
    called(connection, address, _created(connection, address, limits, first))


def delete(connection: Connection, address: Address) -> None:
    """Removes the channel's stream with all that it holds, if there is one."""

    async def deleted() -> None:
        try:
            await jetstream.managed(connection, f"STREAM.DELETE.{address.stream}")
        except RefusedError as refused:
            if not refused.missing:
                raise
        await records.remove(connection, *records.of_readers(address))

    called(connection, address, deleted())


def inherit(connection: Connection, address: Address, last: Commit, limits: Limits = Limits()) -> None:  # noqa: B008
    """Makes the stream of a channel whose writer comes from another site, and lets it begin with a commit that says
    where the channel stood there. A stream that is there, as a copy that has all of it, stays as it is.
    """
    create(connection, address, limits)
    if Reader(connection, address).last() is None:
        called(connection, address, _begun(connection, address))
        Publisher(connection, address, last.fragment, last.epoch).commit(last)


async def _begun(connection: Connection, address: Address) -> None:
    """Writes down that something was sent before: who comes later must not take the channel for whole."""
    bucket, key = records.of_readers(address)
    while True:
        value, revision = await records.read(connection, bucket, key)
        known = {"readers": {}, "all_below": 0, **(value or {}), "commits_below": 1}
        if await records.write(connection, bucket, key, known, revision):
            return


async def _created(connection: Connection, address: Address, limits: Limits, first: int) -> None:
    try:
        await jetstream.check(connection, address.stream)
        verb = "UPDATE"
    except RefusedError as refused:
        if not refused.missing:
            raise
        verb = "CREATE"
        # Positions in a stream that somebody else deleted mean nothing in a new one.
        await records.remove(connection, *records.of_readers(address))
    config = _config(address, limits.max_bytes, limits.max_bytes)
    begins = {"first_seq": first} if verb == "CREATE" and first > 1 else {}
    await jetstream.managed(connection, f"STREAM.{verb}.{address.stream}", config | begins)


def _config(address: Address, size: int, wanted: int) -> dict[str, Any]:
    return {
        "name": address.stream,
        "subjects": [address.parts, address.commits],
        "retention": "limits",
        "storage": "file",
        "num_replicas": 1,
        "discard": "new",
        "max_bytes": size,
        "max_age": 0,
        "max_msgs": -1,
        "max_msgs_per_subject": -1,
        "max_msg_size": -1,
        "max_consumers": -1,
        "allow_direct": True,
        "duplicate_window": 100_000_000,  # nanoseconds: repetitions are told by their order, not by message ids
        "metadata": {
            "max_bytes": str(wanted),
            "deployment": address.deployment,
            "site": address.site,
            "channel": address.channel,
        },
    }


class Publisher:
    """The one who commits a fragment's batches; of several, only one of the youngest epoch gets through."""

    def __init__(self, connection: Connection, address: Address, fragment: str, epoch: int) -> None:
        self._connection = connection
        self._address = address
        self.fragment = fragment
        self.epoch = epoch
        self.last = Reader(connection, address).last()
        self._refuse_old(epoch)

    def commit(self, commit: Commit) -> Placed | None:
        """Makes a batch visible. None if it, or a later one, is visible already.

        Bears repetition: a lost acknowledgement, a replayed batch and a second writer never make it visible twice.
        """
        return called(self._connection, self._address, self._committed(commit))

    async def _committed(self, commit: Commit) -> Placed | None:
        connection, address = self._connection, self._address
        headers = {_WRITER: secrets.token_hex(8)}
        while True:
            self._refuse_old(commit.epoch)
            if self.last is not None and commit.order <= self.last.commit.order:
                return None
            before = self.last.number if self.last is not None else 0
            headers["Nats-Expected-Last-Subject-Sequence"] = str(before)
            try:
                number = await connection.patiently(
                    lambda: commit_stored(connection, address, commit, headers), "committing"
                )
            except RefusedError as refused:
                if not refused.wrong_last:
                    raise
                following = await jetstream.following(connection, address.stream, address.commits, before, limit=1)
                self.last = await newest(connection, address)
                # The first that followed is ours when only its acknowledgement got lost.
                if following and following[0].headers.get(_WRITER) == headers[_WRITER]:
                    return placed(address, following[0])
            else:
                self.last = Placed(number, commit)
                return self.last

    def _refuse_old(self, epoch: int) -> None:
        if self.last is not None and self.last.commit.epoch > epoch:
            raise RunError(
                f"epoch {epoch} of fragment {self.fragment!r} is over: epoch {self.last.commit.epoch} has committed.",
                where=place(self._address),
                hint="another run has taken over; this one must end.",
            )


async def commit_stored(connection: Connection, address: Address, commit: Commit, headers: Mapping[str, str]) -> int:
    """Stores a commit, in a full stream too, and tells its number; one attempt."""
    payload = commit.encoded()
    while True:
        try:
            return await jetstream.stored(connection, address.stream, address.commits, payload, headers)
        except RefusedError as refused:
            if not refused.full:
                raise
        await _enlarged(connection, address, len(payload))


async def _enlarged(connection: Connection, address: Address, size: int) -> None:
    """Gives a full stream room for a commit: what its parts took is of no use to anybody without it."""
    info = await jetstream.check(connection, address.stream)
    enough = info["state"]["bytes"] + size + _COMMIT_ROOM
    config = _config(address, enough, size_limit(info))
    await jetstream.managed(connection, f"STREAM.UPDATE.{address.stream}", config)
