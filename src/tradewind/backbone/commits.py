"""A commit: the message that makes a fragment's batch visible on a channel, and says how far its origins are."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple

from tradewind.errors import DataError

_MOST_BYTES = 64_000_000
"""No commit is longer than this, inflated."""

Payload = bytes
"""What a message holds; a commit has a property of the other name."""


class Part(NamedTuple):
    """Some rows of a batch: the numbers, in their stream, of the messages that hold its bytes, mostly one."""

    messages: tuple[int, ...]
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Commit:
    """A batch of a channel. Batches are numbered on from epoch to epoch; a closing commit comes behind its batch.

    `marks` say for each origin up to which event time, in microseconds since 1970, everything has been sent; an origin
    that has not promised anything is not there. `late` says whether rows may lie behind marks of earlier commits.
    A `closing` commit holds what would be true if nothing more came, and counts only as long as nothing does.
    `before` is the number of the commit that it was copied from, in the stream at the other end of a link.
    """

    fragment: str
    epoch: int
    batch: int
    parts: tuple[Part, ...] = ()
    marks: Mapping[str, int] = field(default_factory=dict)
    late: bool = False
    closing: bool = False
    before: int | None = None

    @property
    def order(self) -> tuple[int, bool]:
        """Where it stands among the commits of its channel, whoever wrote them."""
        return self.batch, self.closing

    @property
    def rows(self) -> int:
        """How many rows its parts hold."""
        return sum(part.rows for part in self.parts)

    @property
    def bytes(self) -> int:
        """How many bytes its parts hold."""
        return sum(part.bytes for part in self.parts)

    def encoded(self) -> Payload:
        """The message's payload: a JSON array of its fields, in their order; deflated where that is shorter, as most of
        a commit are marks of origins with names and times alike.
        """
        plain = json.dumps(list(asdict(self).values()), separators=(",", ":")).encode()
        return min(plain, zlib.compress(plain, 9), key=len)


class Placed(NamedTuple):
    """A commit with its number in its stream."""

    number: int
    commit: Commit


def _inflated(payload: bytes) -> bytes:
    if payload[:1] == b"[":
        return payload
    inflating = zlib.decompressobj()
    found = inflating.decompress(payload, _MOST_BYTES)
    if inflating.unconsumed_tail or not inflating.eof:
        raise ValueError("it is cut off, or too long")
    return found


def decoded(payload: bytes, where: str) -> Commit:
    """The commit that a payload holds; an error that names the place when it holds none."""
    try:
        names = [one.name for one in fields(Commit)]
        data: dict[str, Any] = dict(zip(names, json.loads(_inflated(payload)), strict=True))
        data["parts"] = tuple(
            Part(tuple(map(int, numbers)), int(rows), int(size)) for numbers, rows, size in data["parts"]
        )
        data["marks"] = {str(origin): int(mark) for origin, mark in data["marks"].items()}
        return Commit(**data)
    except (ValueError, TypeError, KeyError, AttributeError, zlib.error) as error:
        raise DataError(
            f"a commit cannot be read: {error}.",
            where=where,
            hint="the channel was written by something else, or its store is damaged; --fresh starts anew.",
        ) from None
