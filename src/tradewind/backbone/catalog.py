"""The catalogue of a deployment: small durable values by key, and the channels that are there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tradewind.backbone import jetstream, records
from tradewind.backbone.connection import Connection
from tradewind.backbone.jetstream import RefusedError, told
from tradewind.backbone.names import Address, token
from tradewind.backbone.reader import listed
from tradewind.backbone.retention import positions


@dataclass(frozen=True, slots=True)
class Running:
    """A channel as it is now: the batches that it keeps, and how far each of its subscribers has read."""

    address: Address
    batches: int
    rows: int
    bytes: int
    head: int
    subscribers: dict[str, int]


def put(connection: Connection, deployment: str, key: str, value: dict[str, Any]) -> None:
    """Writes a value, in place of the one that was there."""
    connection.call(records.write(connection, records.bucket_of(deployment), key, value))


def get(connection: Connection, deployment: str, key: str) -> dict[str, Any] | None:
    """The value of a key."""
    return connection.call(records.read(connection, records.bucket_of(deployment), key))[0]


def remove(connection: Connection, deployment: str, key: str) -> None:
    """Forgets a value, if it is there."""
    connection.call(records.remove(connection, records.bucket_of(deployment), key))


def all_(connection: Connection, deployment: str) -> dict[str, dict[str, Any]]:
    """Every value by its key."""
    return connection.call(records.every(connection, records.bucket_of(deployment)))


def channels(connection: Connection, deployment: str) -> list[Running]:
    """The channels of a deployment at all of its sites, by site and name."""
    try:
        return connection.call(_channels(connection, deployment))
    except RefusedError as refused:
        raise told(refused, f"deployment {deployment!r}") from None


async def _channels(connection: Connection, deployment: str) -> list[Running]:
    found: list[Running] = []
    offset, total = 0, 1
    while offset < total:
        subject = f"tw.{token(deployment)}.*.*.commit"
        page = await jetstream.managed(connection, "STREAM.LIST", {"offset": offset, "subject": subject})
        streams, total = page["streams"] or [], page["total"]
        offset += len(streams)
        found += [await _running(connection, stream) for stream in streams]
        if not streams:
            break
    return sorted(found, key=lambda one: (one.address.site, one.address.channel))


async def _running(connection: Connection, stream: dict[str, Any]) -> Running:
    names = stream["config"]["metadata"]
    address = Address(names["deployment"], names["site"], names["channel"])
    commits = await listed(connection, address)
    return Running(
        address,
        batches=len(commits),
        rows=sum(one.commit.rows for one in commits),
        bytes=stream["state"]["bytes"],
        head=commits[-1].number if commits else 0,
        subscribers=await positions(connection, address),
    )
