"""Figures that a question needs: the declared ones, or stated defaults, with a warning for each default used."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import replace

from tradewind.algebra.operators.core import Source
from tradewind.algebra.types import MICROS, DataType
from tradewind.algebra.windows import CountedWindow, SessionWindow, TimeWindow, Window
from tradewind.cost.declared import (
    DISTINCT,
    FLUSH_SECONDS,
    FLUSHES_PER_WISH,
    LEAST_FLUSH_SECONDS,
    ROWS_PER_SECOND,
    Declared,
    OriginFigures,
    QueryFigures,
    StreamFigures,
)
from tradewind.cost.flow import Figures
from tradewind.errors import InputError, unknown
from tradewind.frontends.deployment.deployment import Backlog

_ENDLESS = ("TIMESTAMP", "DOUBLE", "FLOAT", "STRUCT", "ARRAY", "STATE", "INTERVAL")
"""Types whose values are taken to differ in every row."""
_FEW = {"BOOLEAN": 2.0, "DATE": 2.0}
"""Types with few values at a time."""


class Assumptions:
    """The figures that hold for one query, or for none in particular; it remembers which ones were missing."""

    def __init__(self, declared: Declared, query: str | None = None, flush_seconds: float | None = None) -> None:
        if query is not None and query not in declared.queries:
            raise unknown("query", query, declared.queries)
        if flush_seconds is not None and not 0 < flush_seconds < math.inf:
            raise InputError(f"partials cannot be shipped every {flush_seconds:g} seconds.")
        self.declared = declared
        self._query = declared.queries[query] if query is not None else _any_query(declared)
        self._flush = flush_seconds
        self._warnings: dict[str, None] = {}

    @property
    def warnings(self) -> list[str]:
        """What was missing and what was assumed instead, once each."""
        return list(self._warnings)

    def warn(self, text: str) -> None:
        """Remember that something was assumed."""
        self._warnings.setdefault(text)

    def origins(self, source: Source) -> dict[str, OriginFigures]:
        """What is known of each origin that a source reads; its rate is there, be it assumed."""
        figures = self.declared.streams.get(source.stream, StreamFigures())
        names = source.origins or tuple(figures.origins) or ("",)
        found = {}
        for name in dict.fromkeys(names):
            at = f"stream {source.stream!r}" + (f" at {name!r}" if name else "")
            origin = figures.origins.get(name, OriginFigures())
            if origin.rows_per_second is None:
                self.warn(f"{at} has no rows_per_second: {ROWS_PER_SECOND:,.0f} rows/s are assumed.")
                origin = replace(origin, rows_per_second=ROWS_PER_SECOND)
            found[name] = origin
        return found

    def predicted(self, stream: str, origin: str, weight: float) -> None:
        """Remember that the weight of a stream's rows was predicted."""
        at = f"stream {stream!r}" + (f" at {origin!r}" if origin else "")
        self.warn(f"{at} has no row_bytes: {weight:,.1f} bytes a row are predicted from its columns.")

    def values(self, column: Figures, type_: DataType) -> float:
        """How many values a column has; infinitely many where each row has its own."""
        if column.distinct is not None:
            return column.distinct
        if type_.name in _ENDLESS:
            return math.inf
        if type_.name in _FEW:
            return _FEW[type_.name]
        if column.pool:
            stream, _, name = column.pool.partition(".")
            self.warn(f"stream {stream!r} has no distinct count of {name!r}: {DISTINCT:,.0f} values are assumed.")
        return DISTINCT

    def backlog(self, streams: Iterable[tuple[str, str]]) -> Backlog | None:
        """In how many micro-batches some streams at their origins are read to their end; None if that is not known of
        each. The one with the most takes longest.
        """
        found = []
        for stream, origin in streams:
            figures = self.declared.streams.get(stream, StreamFigures()).origins.get(origin, OriginFigures())
            if figures.looked_at is None or figures.looked_at.backlog is None:
                return None
            found.append(figures.looked_at.backlog)
        return max(found, key=lambda backlog: backlog.batches / backlog.seconds, default=None)

    def flush_seconds(self, window: Window | None, streams: Iterable[tuple[str, str]] = ()) -> float:
        """The time between two batches of partials: as given, as what is there is read, or as often as the wish asks,
        or once a window.
        """
        if self._flush is not None:
            return self._flush
        backlog = self.backlog(streams)
        if backlog is not None:
            return backlog.seconds / backlog.batches
        size = length(window)
        wish = self._query.fresh_seconds
        if wish is None:
            return size or FLUSH_SECONDS
        return max(LEAST_FLUSH_SECONDS, min(wish / FLUSHES_PER_WISH, size or math.inf))

    def selectivity(self, left: Iterable[str], right: Iterable[str]) -> float | None:
        """The product of the declared selectivities between the streams of two sides; None where the query has none.

        A query that declares some declares all: pairs that it does not name keep all their rows.
        """
        if not self._query.selectivity:
            return None
        pairs = {(min(a, b), max(a, b)) for a in left for b in right if a != b}
        return math.prod(self._query.selectivity.get(pair, 1.0) for pair in sorted(pairs)) if pairs else None

    def covers(self, streams: Collection[str]) -> bool:
        """Whether declared selectivities speak of conditions between some streams: a query declares all or none."""
        return len(streams) > 1 and bool(self._query.selectivity)


def _any_query(declared: Declared) -> QueryFigures:
    """What holds where no query is named: all selectivities, and no wish; of several for a pair, the first."""
    found: dict[tuple[str, str], float] = {}
    for query in declared.queries.values():
        found = {**query.selectivity, **found}
    return QueryFigures(None, found)


def length(window: Window | None) -> float | None:
    """The seconds that a window lasts, where it lasts a known time."""
    match window:
        case TimeWindow(size=size):
            return size / MICROS
        case SessionWindow(gap=gap):
            return gap / MICROS
        case CountedWindow(timeout=int() as timeout):
            return timeout / MICROS
    return None
