"""Small durable records by key, in key-value buckets of JetStream, which other NATS clients can read as such."""

from __future__ import annotations

import json
import re
from typing import Any

from tradewind.backbone import jetstream
from tradewind.backbone.connection import Connection
from tradewind.backbone.jetstream import RefusedError
from tradewind.backbone.names import Address, token


def bucket_of(deployment: str, kind: str | None = None) -> str:
    """The bucket of a deployment, or that of one kind of records of ours."""
    return "_".join(filter(None, ("tw", token(deployment), kind)))


def of_readers(address: Address) -> tuple[str, str]:
    """The bucket and the key of the record of who has read how far in a channel."""
    return bucket_of(address.deployment, "readers"), address.stream


async def read(connection: Connection, bucket: str, key: str) -> tuple[dict[str, Any] | None, int]:
    """A record and its revision; nothing and zero if there is none."""
    try:
        found = await jetstream.last(connection, _stream(bucket), _subject(bucket, key))
    except RefusedError as refused:
        if not refused.missing:
            raise
        found = None
    return (None, 0) if found is None else (json.loads(found.payload), found.number)


async def write(
    connection: Connection, bucket: str, key: str, value: dict[str, Any], revision: int | None = None
) -> bool:
    """Writes a record; with a revision only if it is still of that revision, and tells whether it was."""
    headers = {} if revision is None else {"Nats-Expected-Last-Subject-Sequence": str(revision)}
    payload = json.dumps(value, separators=(",", ":")).encode()

    async def attempt() -> int:
        return await jetstream.stored(connection, _stream(bucket), _subject(bucket, key), payload, headers)

    while True:
        try:
            await connection.patiently(attempt, "writing a record")
        except RefusedError as refused:
            if refused.missing:
                await jetstream.managed(connection, f"STREAM.CREATE.{_stream(bucket)}", _config(bucket))
            elif refused.wrong_last:
                return False
            else:
                raise
        else:
            return True


async def every(connection: Connection, bucket: str) -> dict[str, dict[str, Any]]:
    """All records of a bucket by their keys."""
    try:
        found = await jetstream.following(connection, _stream(bucket), f"$KV.{bucket}.>", 0)
    except RefusedError as refused:
        if not refused.missing:
            raise
        return {}
    return {_key(one.subject.rpartition(".")[2]): json.loads(one.payload) for one in found}


async def remove(connection: Connection, bucket: str, key: str) -> None:
    """Removes a record, if it is there."""
    try:
        await jetstream.managed(connection, f"STREAM.PURGE.{_stream(bucket)}", {"filter": _subject(bucket, key)})
    except RefusedError as refused:
        if not refused.missing:
            raise


def _stream(bucket: str) -> str:
    return f"KV_{bucket}"


def _subject(bucket: str, key: str) -> str:
    """A key as one word of a subject: what may not stand there is written by its bytes."""
    word = re.sub(r"[^A-Za-z0-9_-]", lambda sign: "".join(f"={byte:02x}" for byte in sign[0].encode()), key)
    return f"$KV.{bucket}.{word}"


def _key(word: str) -> str:
    return re.sub(rb"=(..)", lambda byte: bytes.fromhex(byte[1].decode()), word.encode()).decode()


def _config(bucket: str) -> dict[str, Any]:
    return {
        "name": _stream(bucket),
        "subjects": [f"$KV.{bucket}.>"],
        "retention": "limits",
        "storage": "file",
        "num_replicas": 1,
        "discard": "new",
        "max_msgs_per_subject": 1,
        "max_bytes": -1,
        "max_msgs": -1,
        "max_consumers": -1,
        "max_msg_size": -1,
        "allow_direct": True,
        "allow_rollup_hdrs": True,
        "deny_delete": True,
    }
