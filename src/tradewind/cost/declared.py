"""What a deployment declares about its streams and queries, and what is assumed where it declares nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tradewind.algebra.types import MICROS
from tradewind.frontends.deployment.deployment import Deployment, LookedAt

ROWS_PER_SECOND = 1_000.0
"""The rate of a stream at an origin that declares none."""
DISTINCT = 1_000.0
"""The number of values of a column that declares none; times and floating numbers have as many as there are rows."""
FLUSH_SECONDS = 10.0
"""How often partials are shipped where neither a wish nor a window says it."""
LEAST_FLUSH_SECONDS = 1.0
"""No wish makes partials be shipped more often."""
FLUSHES_PER_WISH = 3.0
"""An answer is as fresh as is wished if partials are shipped so many times in that span: it also has to travel and to
be merged.
"""
HORIZON_SECONDS = 3_600.0
"""How long a join without a band, or a resampling without a largest gap, remembers rows."""
BAND_SHARE = 0.1
"""The share of pairs that lie within a band of numbers."""
READ_ROWS = 1.0
"""The rows that a table gives for a row that asks it."""


@dataclass(frozen=True, slots=True)
class OriginFigures:
    """What is declared of a stream at one site."""

    rows_per_second: float | None = None
    row_bytes: float | None = None
    looked_at: LookedAt | None = None
    """What a look at its data told besides."""


@dataclass(frozen=True, slots=True)
class StreamFigures:
    """What is declared of a stream: at each origin, and of its columns."""

    origins: Mapping[str, OriginFigures] = field(default_factory=dict)
    distinct: Mapping[str, float] = field(default_factory=dict)
    skew: Mapping[str, float] = field(default_factory=dict)
    """The exponent of Zipf's law that a column's values follow; 0, and not listed, is uniform."""


@dataclass(frozen=True, slots=True)
class QueryFigures:
    """What is declared of a query: how fresh its answer is wished, and selectivities by the names of two streams, in
    alphabetical order.
    """

    fresh_seconds: float | None = None
    selectivity: Mapping[tuple[str, str], float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Declared:
    """All declared figures."""

    streams: Mapping[str, StreamFigures] = field(default_factory=dict)
    queries: Mapping[str, QueryFigures] = field(default_factory=dict)


def declared_statistics(deployment: Deployment) -> Declared:
    """The figures in a deployment; no data is looked at."""
    streams = {
        name: StreamFigures(
            {
                site: OriginFigures(origin.rows_per_second, origin.row_bytes, stream.looked_at.get(site))
                for site, origin in stream.origins.items()
            },
            {column: float(count) for column, count in stream.distinct.items()},
            dict(stream.skew),
        )
        for name, stream in deployment.streams.items()
    }
    queries = {
        name: QueryFigures(None if query.fresh_within is None else query.fresh_within / MICROS, dict(query.selectivity))
        for name, query in deployment.queries.items()
    }
    return Declared(streams, queries)
