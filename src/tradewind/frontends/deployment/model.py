"""The contract of the deployment file: every key that may stand in it, and what its value must be.

    sites:      {ams: {cores: 2, workers: 1, region: eu, spark: "local[2]", memory: 1g, tables: …}}
    links:      [{between: [ams, hq], mbps: 50, ms: 9, usd_per_gb: 0.02, one_way: false}]
    streams:    {requests: {schema: "ts TIMESTAMP, …", time: ts, late_by: 10 seconds, at: {ams: {path: data/ams}}}}
    tables:     {limits: {schema: "card STRING, …", key: [card]}}
    aggregates: {geo_mean: {over: "x DOUBLE", lift: …, merge: …, finish: …}}
    boxes:      superboxes: flows with parameters that boxes may use by name (see `flow.superboxes`)
    flow:       boxes and arrows that all queries share: box name -> box
    queries:    {top: {sql: "SELECT …", deliver: {site: hq, format: parquet, path: out/top}, fresh_within: 30 seconds}}
    channels:   {keep: 1 hour, keep_megabytes: 64, most_megabytes: 1024}
    metrics:    named objectives of the user's own
    objective:  dollars | bytes | latency | load | utility | the name of a metric

A query says exactly one of three things:
- `sql:`, a SELECT over streams and over boxes of the top-level `flow:`;
- `from:`, the name of such a box, of a split's route (`box.route`) or of a stream;
- its own `flow:` of boxes, which may read the shared ones; the last is the result unless `output:` names another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from tradewind.errors import InputError
from tradewind.frontends.flow.fields import (
    Amount,
    BoxName,
    Duration,
    Name,
    Names,
    PositiveAmount,
    PositiveDuration,
    Share,
    Strict,
)
from tradewind.frontends.flow.superboxes import SuperboxKeys

_SECRET = re.compile(r"\$\{env:[A-Za-z_][A-Za-z0-9_]*\}")
_AMOUNT = re.compile(r"[1-9][0-9]{0,6}[mgMG]")
OBJECTIVES = ("dollars", "bytes", "latency", "load", "utility")


def _pair(value: Any) -> Any:
    if isinstance(value, list | tuple) and len(value) != 2:
        raise InputError(f"a link is between two sites, not {len(value)}.", hint="between: [ams, hq].")
    return value


def _database(text: str) -> str:
    """Where tables are kept. A password comes from the environment of the site, never from the file."""
    if _SECRET.fullmatch(text):
        return text
    if not text.startswith(("postgresql://", "sqlite:///")):
        raise InputError(f"{text.partition('://')[0][:20]!r} is no database.", hint="tables: ${env:TABLES_URL}.")
    if not all(map(_SECRET.fullmatch, _passwords(text))):
        raise InputError("a password stands in the file.", hint="postgresql://user:${env:PASSWORD}@host/database.")
    return text


def _passwords(url: str) -> list[str]:
    """What a URL of a database holds as passwords, in its authority and among its parameters. The colon in the name of
    a secret is none between a user and a password.

    >>> _passwords("postgresql://${env:NAME}@host/db"), _passwords("postgresql://me:open@host/db?password=${env:P}")
    ([], ['open', '${env:P}'])
    """
    user = re.match(rf"postgresql://(?:{_SECRET.pattern}|[^/@:])*+:([^/]*)@", url)
    given = re.findall(r"[?&](?:ssl)?password=([^&#]*)", url)
    return ([user[1]] if user is not None else []) + given


def _option(value: Any) -> Any:
    if not isinstance(value, str | int | float):
        raise InputError("an option's value is a text, a number, true or false.")
    return value


Text = Annotated[str, Field(min_length=1, max_length=100_000)]
Format = Annotated[str, Field(min_length=1, max_length=100)]
FilePath = Annotated[str, Field(min_length=1, max_length=4_000)]
Options = dict[str, Annotated[Any, BeforeValidator(_option)]]
Count = Annotated[int, Field(ge=1, le=10**15)]


def _memory(text: str) -> str:
    """Memory as Spark writes it."""
    if not _AMOUNT.fullmatch(text):
        raise InputError(f"{text[:20]!r} is no amount of memory.", hint="memory: 512m, or 2g.")
    return text.lower()


class Site(Strict):
    """A place with a Spark. `memory` is that of each worker's Spark, unless `tradewind agent --memory` gives another.

    `tables` says where stored tables are kept there; without it, in a file of the run.
    """

    cores: Annotated[int, Field(ge=1, le=10**6)] = 1
    region: Name | None = None
    spark: Text | None = None
    usd_per_core_hour: Amount = 0.0
    workers: Annotated[int, Field(ge=1, le=10**5)] = 1
    memory: Annotated[str, Field(max_length=20), AfterValidator(_memory)] = "1g"
    tables: Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(_database)] | None = None

    @property
    def memory_each(self) -> int:
        """The bytes of memory of each of its workers."""
        return int(self.memory[:-1]) * {"m": 2**20, "g": 2**30}[self.memory[-1]]

    @property
    def memory_bytes(self) -> int:
        """The bytes of memory of all its workers."""
        return self.memory_each * self.workers


class Link(Strict):
    """A network path between two sites, in both directions unless it is `one_way` (from the first to the second)."""

    instead: ClassVar[Mapping[str, tuple[str, str]]] = dict.fromkeys(
        ("from", "to", "source", "target"), ("between", "between: [a, b], one_way: true.")
    )
    between: Annotated[tuple[str, str], Field(strict=False), BeforeValidator(_pair)]
    mbps: PositiveAmount
    ms: Amount = 0.0
    usd_per_gb: PositiveAmount | None = None
    one_way: bool = False


class Origin(Strict):
    """A stream's source at one site; with rates only it can be planned but not run."""

    main: ClassVar = "path"
    format: Format | None = None
    path: FilePath | None = None
    rows_per_second: Amount | None = None
    row_bytes: PositiveAmount | None = None
    options: Options = Field(default_factory=dict)


class StreamKeys(Strict):
    """A stream: its columns, its event time and how late rows come, where it arises, and what is known about it.

    After a silence of `idle_after` an origin does not hold back the mark any more.
    """

    instead: ClassVar[Mapping[str, tuple[str, str]]] = dict.fromkeys(
        ("with_idleness", "withIdleness", "idle_timeout", "idleness"), ("idle_after", "idle_after: 1 minute.")
    )

    main: ClassVar = "schema"
    columns: Text = Field(alias="schema")
    time: Text | None = None
    late_by: Duration = 0
    idle_after: PositiveDuration | None = None
    revisions: bool = False
    at: dict[Name, Origin] = Field(default_factory=dict)
    distinct: dict[str, Count] = Field(default_factory=dict)
    skew: dict[str, Amount] = Field(default_factory=dict)
    leave_region: Literal["aggregated", "never", "free"] = "free"
    on_bad: Literal["fail", "dead_letter"] = "fail"


class TableKeys(Strict):
    """A stored table."""

    main: ClassVar = "schema"
    columns: Text = Field(alias="schema")
    key: Names = ()


class AggregateKeys(Strict):
    """A user-defined aggregate: lift over the columns in `over`, merge over the states a and b, finish over `state`."""

    over: Text
    lift: Text
    merge: Text
    finish: Text


class Deliver(Strict):
    """Where a query's rows go."""

    main: ClassVar = "site"
    site: Name
    format: Format | None = None
    path: FilePath | None = None
    options: Options = Field(default_factory=dict)


class QueryKeys(Strict):
    """A question, where its answer goes, and what is wished of it."""

    main: ClassVar = "sql"
    sql: Text | None = None
    flow: dict[str, Any] | None = Field(default=None, min_length=1)
    output: Text | None = None
    start: Text | None = Field(default=None, alias="from")
    deliver: Deliver
    fresh_within: PositiveDuration | None = None
    error: Share = 0.0
    priority: PositiveAmount = 1.0
    revise_within: Duration | None = None
    tentative: bool = True
    selectivity: dict[str, Share] = Field(default_factory=dict)
    pin: dict[Name, Name] = Field(default_factory=dict)


class ChannelKeys(Strict):
    """What channels between sites keep beyond what their readers still need, each of them, and how large one may grow.

    What is kept is there for queries that come later. With several `keep`s, what one of them keeps is kept.
    """

    keep: Duration | None = None
    keep_batches: Annotated[int, Field(ge=0)] | None = None
    keep_megabytes: Amount = 64.0
    most_megabytes: PositiveAmount = 1024.0


class DeploymentFile(Strict):
    """The whole file. That it has sites and streams is checked apart: the rest can be checked without them."""

    model_config = ConfigDict(title="Tradewind deployment")

    sites: dict[Name, Site] = Field(default_factory=dict)
    links: Annotated[tuple[Link, ...], Field(strict=False)] = ()
    streams: dict[Name, StreamKeys] = Field(default_factory=dict)
    tables: dict[Name, TableKeys] = Field(default_factory=dict)
    aggregates: dict[Name, AggregateKeys] = Field(default_factory=dict)
    boxes: dict[BoxName, SuperboxKeys] = Field(default_factory=dict)
    flow: dict[str, Any] = Field(default_factory=dict)
    queries: dict[Name, QueryKeys] = Field(default_factory=dict)
    channels: ChannelKeys = ChannelKeys()
    metrics: dict[Name, Any] = Field(default_factory=dict)
    objective: Text = "dollars"
