"""What sites tell while a fragment moves: how far they are with it, as soon as that changes."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tradewind.backbone.names import token
from tradewind.errors import DataError

SUBJECT = "tw.report.*.move"
_LONGEST = 1_000_000
"""Bytes of a report."""

_Name = Annotated[str, Field(max_length=300)]
_Order = Annotated[int, Field(ge=0, le=1 << 62)]
_Orders = Annotated[dict[_Name, _Order | None], Field(max_length=10_000)]
_Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def move_subject(site: str) -> str:
    """The subject of a site's reports on a move."""
    return f"tw.report.{token(site)}.move"


class _Told(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class HandedTold(_Told):
    """A state that was sent, what was said last on the fragment's channels, and for how long it has stood still."""

    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    size: Annotated[int, Field(ge=0, le=1 << 31)]
    pieces: Annotated[int, Field(ge=1, le=10_000)]
    state_bytes: Annotated[int, Field(ge=0, le=1 << 40)]
    said: _Orders
    stopped_ago: _Seconds = 0.0
    batch_ago: _Seconds | None = None
    """Seconds since its last batch, if one was seen."""


class MoveTold(_Told):
    """How far a site is with a move. Orders tell commits of one channel apart, and None is before the first."""

    site: _Name
    term: _Order
    read: _Orders = {}
    """Where it leaves: how far the fragment has read each channel; one of which that is not known yet is left out."""
    kept: _Orders = {}
    """Where it goes: from which commit on each channel is there; one that is not linked yet is left out."""
    heads: _Orders = {}
    """The newest commits of the channels that the fragment writes."""
    handed: HandedTold | None = None
    begun_ago: _Seconds | None = None
    """Where it goes: seconds since it was begun there,"""
    batch_ago: _Seconds | None = None
    """and since its first batch."""
    recut: bool = False
    """Where a fragment is split, or made one again: whether all is there that begins with it."""
    problem: Annotated[str, Field(max_length=2_000)] | None = None

    def encoded(self) -> bytes:
        """As it is sent."""
        return self.model_dump_json().encode()


def told_of(site: str, payload: bytes) -> MoveTold:
    """What a site told; a `DataError` when it is nothing of the kind, or speaks for another site."""
    if len(payload) > _LONGEST:
        raise DataError("a report on a move is too long.", where=f"site {site}")
    try:
        found = MoveTold.model_validate_json(payload)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise DataError(f"a report on a move cannot be read: {first['msg']}.", where=f"site {site}") from None
    if found.site != site:
        raise DataError("a report on a move speaks for another site.", where=f"site {site}")
    return found
