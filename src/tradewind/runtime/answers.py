"""The answer of a query now, added up from everything that was delivered."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from tradewind.algebra.plain import as_object
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BIGINT, BOOLEAN, DATE, TIMESTAMP, window_of
from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import Query
from tradewind.interpreter.comparison import order_key
from tradewind.spark.columns import WEIGHT
from tradewind.spark.delivery import FINAL
from tradewind.spark.sinks import Files, Pulled, Sink
from tradewind.spark.types import arrow_schema, from_arrow, to_arrow

Answer = Counter[tuple[Any, ...]]
"""Rows, each with whether it is final behind its columns, by how many there are of it."""


def delivered_schema(schema: Schema) -> Schema:
    """What delivered rows look like."""
    return Schema((*schema.columns, (FINAL, BOOLEAN), (WEIGHT, BIGINT)))


def answer_of(name: str, query: Query, base: Path) -> Answer:
    """The rows that a query's delivered files add up to."""
    deliver = query.deliver
    if deliver.path is None:
        raise InputError(
            f"query {name!r} is not delivered to files: there is nothing to look up.", hint="deliver: {path: out/…}."
        )
    sink = Files(base / deliver.path, deliver.format or "parquet", deliver.options, query.operator.schema)
    if not sink.folder.is_dir():
        raise InputError(
            f"nothing has been delivered for {name!r} yet.", where=str(sink.folder), hint="tradewind run FILE."
        )
    return added_up(sink.read(sink.published()), query.operator.schema)


def added_up(tables: Iterable[pa.Table], schema: Schema) -> Answer:
    """The sum of delivered rows; what cancels out is gone."""
    wanted = delivered_schema(schema)
    total: Answer = Counter()
    for table in tables:
        for *row, weight in delivered_rows(table, wanted):
            total[tuple(row)] += weight
    return Counter({row: weight for row, weight in total.items() if weight})


def delivered_rows(table: pa.Table, wanted: Schema) -> list[tuple[Any, ...]]:
    """The rows of one delivered table."""
    return from_arrow(table.select(list(wanted.names)), wanted)


class Answers:
    """The answers of a run's queries, from what its sinks have delivered; those that are pulled are added up here."""

    def __init__(self) -> None:
        self._sums: dict[str, Answer] = {}
        self._lock = threading.Lock()

    def table(self, name: str, sink: Sink, schema: Schema) -> pa.Table:
        """The rows of an answer now, sorted, each as often as it is there: its columns and `_final`."""
        if isinstance(sink, Files):
            answer = added_up(sink.delivered(), schema)
        elif isinstance(sink, Pulled):
            answer = self._pulled(name, sink, schema)
        else:
            raise InputError(f"the rows of {name!r} are not kept.", hint="deliver it to files, or with format: memory.")
        shown = Schema((*schema.columns, (FINAL, BOOLEAN)))
        return to_arrow(in_order(answer, shown), shown)

    def _pulled(self, name: str, sink: Pulled, schema: Schema) -> Answer:
        with self._lock:
            tables = sink.taken()
            if tables is None:
                self._sums.pop(name, None)
                raise InputError(
                    f"more rows of {name!r} were delivered than are held for adding them up.",
                    hint="deliver it to files (path: out/…), or ask more often: what was added up takes less room.",
                )
            total = added_up(tables, schema)
            total.update(self._sums.get(name, Counter()))
            self._sums[name] = Counter({row: weight for row, weight in total.items() if weight})
            return self._sums[name].copy()


def in_order(answer: Answer, schema: Schema) -> list[tuple[Any, ...]]:
    """The rows of an answer, each as often as it is there, sorted by their columns."""
    types = [type_ for _, type_ in schema.columns]
    return sorted(answer.elements(), key=lambda row: tuple(order_key(v, t) for v, t in zip(row, types, strict=True)))


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some rows of an answer as JSON holds them, sorted by their columns, and what they are taken from."""

    rows: list[dict[str, Any]]
    total: int
    """How many rows the answer has."""
    final: int
    """How many of all are final."""
    which: Literal["all", "newest", "oldest", "first"]
    """What was chosen: by their time, or where no column tells one, the first by their columns."""

    def told(self) -> dict[str, Any]:
        """All of it, with how many rows were left out."""
        left_out = self.total - len(self.rows)
        return {
            "rows": self.rows, "total": self.total, "final": self.final, "left_out": left_out, "which": self.which,
        }  # fmt: skip


def excerpt(answer: Answer, schema: Schema, limit: int | None = None, *, oldest: bool = False) -> Excerpt:
    """At most so many rows of an answer to a query with this schema: those with the latest times, or the earliest."""
    shown = Schema((*schema.columns, (FINAL, BOOLEAN)))
    rows = in_order(answer, shown)
    total, final = len(rows), sum(1 for row in rows if row[-1])
    time = time_column(schema)
    which: Literal["all", "newest", "oldest", "first"] = "all"
    if limit is not None and total > limit:
        which = "first" if time is None else "oldest" if oldest else "newest"
        places = list(range(total))
        if time is not None:
            place, type_ = schema.index(time), schema.type_of(time)
            # Of rows with the same time, those that come later by their columns are taken for newer.
            places.sort(key=lambda number: order_key(rows[number][place], type_))
        kept = places[-limit:] if which == "newest" else places[:limit]
        rows = [rows[number] for number in sorted(kept)]
    return Excerpt([as_object(row, shown) for row in rows], total, final, which)


def time_column(schema: Schema) -> str | None:
    """The column by which rows are newer or older: one that tells when they are settled, or else the first time.

    >>> from tradewind.algebra.schema import parse_schema
    >>> time_column(parse_schema("seen DATE, ts TIMESTAMP", time="ts")), time_column(parse_schema("n INT, day DATE"))
    ('ts', 'day')
    """
    settling = [name for name, _ in schema.times if name in schema.names]
    times = [name for name, type_ in schema.columns if type_ in (TIMESTAMP, DATE, window_of(TIMESTAMP))]
    return next(iter([*settling, *times]), None)


def rows_of(table: pa.Table, schema: Schema) -> Counter[tuple[Any, ...]]:
    """The rows of a plain table, by how many there are of each."""
    return Counter(from_arrow(table.cast(arrow_schema(schema)), schema))
