"""The answer of a query now, added up from everything that was delivered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BIGINT, BOOLEAN
from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import Query
from tradewind.interpreter.comparison import order_key
from tradewind.spark.columns import WEIGHT
from tradewind.spark.delivery import FINAL
from tradewind.spark.sinks import Files
from tradewind.spark.types import arrow_schema, from_arrow

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


def in_order(answer: Answer, schema: Schema) -> list[tuple[Any, ...]]:
    """The rows of an answer, each as often as it is there, sorted by their columns."""
    types = [type_ for _, type_ in schema.columns]
    return sorted(answer.elements(), key=lambda row: tuple(order_key(v, t) for v, t in zip(row, types, strict=True)))


def rows_of(table: pa.Table, schema: Schema) -> Counter[tuple[Any, ...]]:
    """The rows of a plain table, by how many there are of each."""
    return Counter(from_arrow(table.cast(arrow_schema(schema)), schema))
