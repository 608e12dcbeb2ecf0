"""Parcels: bytes that one site sends to another by way of their coordinator's server, piece by piece.

A piece is a message whose subject names who it is for and who it is from: a member may write in its own name only, and
read only what is for it. All of them are in one stream, which is there while something is sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from tradewind.backbone import jetstream
from tradewind.backbone.connection import Connection
from tradewind.backbone.jetstream import RefusedError, told
from tradewind.backbone.names import token
from tradewind.errors import RunError

STREAM = "tw_state"
PIECE = 512 << 10
"""Bytes of a piece."""
LARGEST = 1 << 30
"""Bytes of a parcel."""
_WHERE = "the coordinator's store"


def opened(connection: Connection) -> None:
    """Makes the stream, for the coordinator; what was in it is gone."""
    closed(connection)
    config = {
        "name": STREAM,
        "subjects": ["tw.state.>"],
        "retention": "limits",
        "storage": "file",
        "num_replicas": 1,
        "discard": "new",
        "max_bytes": LARGEST + (LARGEST >> 3),
        "max_msgs_per_subject": 1,
        "max_msg_size": PIECE + 1024,
        "max_msgs": -1,
        "max_age": 0,
        "max_consumers": -1,
        "allow_direct": True,
    }
    try:
        connection.call(jetstream.managed(connection, f"STREAM.CREATE.{STREAM}", config))
    except RefusedError as refused:
        raise told(refused, _WHERE) from None


def closed(connection: Connection) -> None:
    """Removes the stream, if it is there."""
    try:
        connection.call(jetstream.managed(connection, f"STREAM.DELETE.{STREAM}"))
    except RefusedError as refused:
        if not refused.missing:
            raise told(refused, _WHERE) from None


class Label(NamedTuple):
    """Who sends a parcel, whom it is for, and what tells it from others."""

    source: str
    target: str
    key: str

    def subject(self, number: int) -> str:
        """The subject of a piece.

        >>> Label("ams", "hq", "shop-1").subject(3)
        'tw.state.hq.ams.shop-1.3'
        """
        return f"tw.state.{token(self.target)}.{token(self.source)}.{token(self.key)}.{number}"


def send(connection: Connection, label: Label, number: int, piece: bytes) -> None:
    """Stores a piece of a parcel, in place of what it was before."""
    connection.call(connection.patiently(lambda: _sent(connection, label.subject(number), piece), "sending state"))


def pieces(connection: Connection, label: Label, count: int) -> Iterator[bytes]:
    """The pieces of a parcel, in order."""
    for number in range(count):
        found = connection.call(jetstream.last(connection, STREAM, label.subject(number)))
        if found is None:
            raise RunError(f"piece {number} of a fragment's state is not there.", where=_WHERE)
        yield found.payload


def may_write(site: str) -> str:
    """The subjects that a member may write to."""
    return f"tw.state.*.{token(site)}.>"


def may_read(site: str) -> str:
    """The questions by which a member gets what is for it."""
    return f"$JS.API.DIRECT.GET.{STREAM}.tw.state.{token(site)}.>"


async def _sent(connection: Connection, subject: str, piece: bytes) -> None:
    answer = json.loads((await connection.request(subject, piece)).data)
    if "error" in answer:
        what = str(answer["error"].get("description", ""))[:200]
        raise RunError(f"a fragment's state cannot be stored: {what}.", where=_WHERE)
