"""What answers look like, for the interface's description. Answers are not checked against it: what the coordinator
says is passed on as it is, and a field more breaks nobody.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field


class ProblemShape(BaseModel):
    """One thing that is wrong in a file or a request."""

    where: str | None = None
    what: str
    hint: str | None = None


class ProblemsShape(BaseModel):
    """All that is wrong in a file or a request."""

    problems: list[ProblemShape]


class RefusalShape(BaseModel):
    """Why something was not done, and what helps."""

    what: str
    where: str | None = None
    hint: str | None = None


class FailureShape(BaseModel):
    """A bug: what is known of it stands in the coordinator's log under this number."""

    what: str = "internal error"
    id: str


class FragmentShape(BaseModel):
    """A fragment at a site."""

    state: str = Field(examples=["running", "starting", "paused", "ended", "failed"])
    batch: int | None = None
    rows: int | None = None
    rows_per_second: float | None = None
    seconds: float | None = None
    problem: str | None = None


class SiteShape(BaseModel):
    """A site as it was last heard of."""

    state: str = Field(examples=["alive", "late", "gone", "never", "revoked"])
    seen_seconds_ago: float | None = None
    epoch: int | None = None
    fragments: dict[str, FragmentShape] = {}
    memory_bytes: int | None = None
    cores: float | None = None
    problem: str | None = None


class LinkShape(BaseModel):
    """A link: what crossed it, what waits before it, and what was predicted. `bytes_per_second` is the plan's, as in
    `plan --json`.
    """

    start: str = Field(alias="from")
    to: str
    bytes: int | None = None
    rows: int | None = None
    backlog_bytes: int | None = None
    bytes_per_second: float | None = None
    measured_bytes_per_second: float | None = None
    predicted_bytes_per_second: float | None = None
    reached: bool | None = None


class WaitShape(BaseModel):
    """An origin (`stream/site`) that holds back a query, and for how long nothing has become known of it."""

    origin: str
    seconds: float | None = None
    since: str | None = None


class OriginShape(BaseModel):
    """Where a stream stands at a site. One that is idle is not waited for."""

    idle: bool | None = None
    mark: float | None = None
    silent_seconds: float | None = None
    silent_since: str | None = None


class QueryShape(BaseModel):
    """A query: its rows so far, and which origins they do not cover yet."""

    site: str | None = None
    final: int | None = None
    tentative: int | None = None
    missing: list[str] = []
    waits_for: list[WaitShape] = []
    behind_seconds: float | None = None
    fresh_within_seconds: float | None = None
    state: str | None = None
    cause: str | None = None


class CoordinatorShape(BaseModel):
    """Whether the coordinator that answers is the one that leads, and since when."""

    leader: bool | None = None
    since: str | None = None


class StatusShape(BaseModel):
    """The deployment, its sites, links and queries."""

    epoch: int | None = None
    deployment: str | None = None
    until_done: bool | None = None
    paused: bool | None = None
    state: str | None = Field(None, examples=["running", "paused", "ended", "stopped"])
    coordinator: CoordinatorShape | None = None
    sites: dict[str, SiteShape] = {}
    links: list[LinkShape] = []
    queries: dict[str, QueryShape] = {}
    origins: dict[str, OriginShape] = {}


class EntitiesShape(BaseModel):
    """Everything that has a name."""

    entities: list[dict[str, Any]]


class StreamsShape(BaseModel):
    """The streams that are declared."""

    streams: list[dict[str, Any]]


class RowsShape(BaseModel):
    """The current answer of a query, an object for each row, or a part of it: the rows with the latest times."""

    rows: list[dict[str, Any]]
    total: int
    """How many rows the whole answer has."""
    final: int
    """How many of all are final."""
    left_out: int
    """How many are not among the rows."""
    which: Literal["all", "newest", "oldest", "first"]
    """Which rows these are; the first by their columns where no column tells a time."""


class PushedShape(BaseModel):
    """How many rows a stream took."""

    pushed: int


class TokenShape(BaseModel):
    """A token with which a site may join once."""

    token: str


Anything = dict[str, Any]
