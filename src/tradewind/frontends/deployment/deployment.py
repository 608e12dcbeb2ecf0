"""A checked deployment: what was declared, and each query as an operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tradewind.algebra.aggregates import UserAggregate
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Source
from tradewind.algebra.tables import Table
from tradewind.errors import GraphError, unknown
from tradewind.frontends.arguments import place, text
from tradewind.frontends.catalog import Catalog
from tradewind.frontends.deployment.model import ChannelKeys, Deliver, Link, Origin, Site
from tradewind.frontends.deployment.questions import asked_in_sql
from tradewind.frontends.fluent import Stream


@dataclass(frozen=True, slots=True)
class Width:
    """The packed bytes of a column's values: of each row as rows come, and of each value that is new in its batch."""

    row: float
    fresh: float


@dataclass(frozen=True, slots=True)
class Backlog:
    """What a run reads that ends when all that is there has been read: in how many micro-batches, and how many seconds
    of the streams' own time that is.
    """

    batches: int
    seconds: float


@dataclass(frozen=True, slots=True)
class LookedAt:
    """What a look at a stream's data at a site told, for planning alone. Nobody declares it."""

    row_bytes: float | None = None
    widths: Mapping[str, Width] = field(default_factory=dict)
    """Of the columns that some query reads."""
    backlog: Backlog | None = None


@dataclass(frozen=True, slots=True)
class DeclaredStream:
    """A stream: its source operator, what is known of it at each site, and what may be done with its rows."""

    source: Source
    origins: Mapping[str, Origin]
    distinct: Mapping[str, int]
    leave_region: str
    on_bad: str
    skew: Mapping[str, float] = field(default_factory=dict)
    idle_after: int | None = None
    """Microseconds of silence after which an origin is not waited for any more; None: it always is."""
    looked_at: Mapping[str, LookedAt] = field(default_factory=dict)
    """By site."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question, where its answer is delivered, and what is wished of it; lengths of time are microseconds."""

    operator: Operator
    deliver: Deliver
    fresh_within: int | None = None
    error: float = 0.0
    priority: float = 1.0
    revise_within: int | None = None
    tentative: bool = True
    selectivity: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """Declared selectivities of joins, by the two streams' names in alphabetical order."""
    pin: Mapping[str, str] = field(default_factory=dict)
    """Kinds of operators that must run at a site."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """All that a deployment file declares, checked; `name` is the file's, and its paths are relative to its folder."""

    name: str
    sites: Mapping[str, Site]
    links: tuple[Link, ...]
    streams: Mapping[str, DeclaredStream]
    queries: Mapping[str, Query]
    catalog: Catalog
    """What further queries may name: the streams and the boxes of the shared flow."""
    objective: str = "dollars"
    metrics: Mapping[str, object] = field(default_factory=dict)
    channels: ChannelKeys = field(default_factory=ChannelKeys)

    @property
    def tables(self) -> Mapping[str, Table]:
        """The stored tables by name."""
        return self.catalog.tables

    @property
    def aggregates(self) -> Mapping[str, UserAggregate]:
        """The user-defined aggregates by name."""
        return self.catalog.aggregates

    @property
    def one_site(self) -> str | None:
        """The site at which all streams that are read arise and all answers go; None when there are several."""
        if len(self.sites) == 1:
            return next(iter(self.sites))
        used = {site for name in self.graph().sources() for site in self.streams[name].origins}
        used |= {query.deliver.site for query in self.queries.values()}
        return used.pop() if len(used) == 1 else None

    def stream(self, name: str) -> Stream:
        """A declared stream, or a box of the shared flow, to ask more of in Python."""
        return Stream.named(name, self.catalog)

    @place("sql")
    def sql(self, query: str) -> Stream:
        """The answer of a SELECT, to ask more of in Python: the graph that `sql:` of a query in the file would be."""
        return Stream(asked_in_sql(text(query, "a SELECT"), self.catalog), self.catalog)

    @place("graph")
    def graph(self, *names: str) -> Graph:
        """The named queries, or all, as one graph; what they have in common is there once."""
        if not self.queries:
            raise GraphError(f"{self.name} has no queries.", hint="declare one under `queries:`.")
        for name in names:
            if text(name, "a query's name") not in self.queries:
                raise unknown("query", name, self.queries)
        return Graph(tuple((name, self.queries[name].operator) for name in names or self.queries))
