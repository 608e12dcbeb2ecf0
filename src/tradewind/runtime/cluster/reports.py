"""What a site tells its coordinator, every second: how it is, and how its fragments, links and answers are.

A report is data from another machine, so it is checked when it is read: its form, its sizes, and whose it is.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tradewind.errors import DataError

_LONGEST = 4_000_000
"""Bytes of a report."""
_MICROS = 1e6

Name = Annotated[str, Field(max_length=300)]
Said = Annotated[str, Field(max_length=2_000)]
Count = Annotated[int, Field(ge=0, le=1 << 62)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]

State = Literal["starting", "running", "paused", "ended", "failed", "stopped"]


class _Told(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class FragmentTold(_Told):
    """How a fragment is: the batch that it is at, what it has read, and how long its last batch took."""

    state: State
    batch: int = -1
    rows: Count = 0
    seconds: Seconds = 0.0
    problem: Said | None = None
    earliest: int | None = None
    """The first event time that it has read of its streams, in microseconds since 1970, and the last."""
    latest: int | None = None
    taken: Annotated[dict[Name, Count], Field(max_length=10_000)] = {}
    """Rows that came by each channel that it reads."""


class LinkTold(_Told):
    """What came over a link, told by the site at its end."""

    start: Name
    end: Name
    bytes: Count = 0
    rows: Count = 0
    messages: Count = 0
    batches: Count = 0
    control_bytes: Count = 0
    backlog_bytes: Count = 0
    round_trip_ms: float | None = None
    reached: bool = True


class WaitTold(_Told):
    """An origin that holds back an answer, and for how long its mark has not moved."""

    origin: Name
    seconds: Seconds = 0.0


class AnswerTold(_Told):
    """How many rows a query's answer has, whom it waits for, and how far its origins are (microseconds since 1970)."""

    final: int = 0
    tentative: int = 0
    missing: Annotated[list[Name], Field(max_length=10_000)] = []
    waits_for: Annotated[list[WaitTold], Field(max_length=10_000)] = []
    settled: float | None = None
    newest: float | None = None

    @property
    def behind_seconds(self) -> float | None:
        """From what is settled to the newest row, where both are known."""
        if self.settled is None or self.newest is None:
            return None
        gap = (self.newest - self.settled) / _MICROS
        return round(gap, 1) if math.isfinite(gap) else None


class ReadTold(_Told):
    """What was read of a stream at a site."""

    stream: Name
    rows: Count = 0
    bad: Count = 0
    late: Count = 0
    dropped: Count = 0
    earliest: int | None = None
    latest: int | None = None
    missing_files: Count = 0


class OriginTold(_Told):
    """Where a stream stands at a site: its mark, if it has promised any, whether it is idle, and for how long it has
    been silent.
    """

    stream: Name
    origin: Name
    mark: float | None = None
    idle: bool = False
    silent_seconds: Seconds | None = None


class ChannelTold(_Told):
    """A channel as it is at a site: what it holds, and whether that is all that was ever sent on it."""

    name: Name
    batches: Count = 0
    rows: Count = 0
    bytes: Count = 0
    readers: Count = 0
    whole: bool = True


class Proposal(_Told):
    """What a site has decided to do in another way: to split a fragment over its agents, or to make it one again."""

    kind: Literal["split", "merge"]
    fragment: Name
    over: Annotated[int, Field(ge=2, le=1_000)] | None = None


class SiteReport(_Told):
    """What an agent tells."""

    site: Name
    agent: Name
    """Which process it is: another one each time that the agent is started."""
    number: Count
    """Grows with each report of a process."""
    epoch: Count
    """What it works on, or is about to."""
    state: Literal["idle", "starting", "running", "paused", "ended", "failed", "stopped"]
    run: Name | None = None
    """The title of the deployment that it tells of: for a moment that may still be the one before."""
    listens: Name | None = None
    cores: Count = 1
    memory_bytes: Count = 0
    disk_free_bytes: Count = 0
    problem: Said | None = None
    restarts: Count = 0
    refused: Count = 0
    """Requests over links that were not answered, because they asked for what they may not have."""
    fragments: Annotated[dict[Name, FragmentTold], Field(max_length=10_000)] = {}
    links: Annotated[list[LinkTold], Field(max_length=10_000)] = []
    answers: Annotated[dict[Name, AnswerTold], Field(max_length=10_000)] = {}
    read: Annotated[list[ReadTold], Field(max_length=10_000)] = []
    origins: Annotated[list[OriginTold], Field(max_length=10_000)] = []
    channels: Annotated[list[ChannelTold], Field(max_length=10_000)] = []
    saving: Name | None = None
    """The key of the savepoint that is being taken."""
    saved: bool = False
    """Whether the site has saved its part."""
    unsaved: Said | None = None
    """Why it could not."""
    proposes: Annotated[list[Proposal], Field(max_length=100)] = []
    warnings: Annotated[list[Said], Field(max_length=10_000)] = []
    """Of streams that arise there: places that are missing, columns that files lack, files that are gone."""

    def encoded(self) -> bytes:
        """As it is sent."""
        return self.model_dump_json().encode()


def report_of(site: str, payload: bytes) -> SiteReport:
    """The report that a site sent; a `DataError` when it is none, or speaks for another site."""
    if len(payload) > _LONGEST:
        raise DataError("a report is too long.", where=f"site {site}")
    try:
        found = SiteReport.model_validate_json(payload)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise DataError(f"a report cannot be read: {first['msg']}.", where=f"site {site}") from None
    if found.site != site:
        raise DataError("a report speaks for another site.", where=f"site {site}")
    return found
