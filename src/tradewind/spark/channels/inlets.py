"""Channels that a fragment reads: which commits a batch holds, and their rows as frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from tradewind.backbone.channels import Reader, fetch_part, fetch_parts
from tradewind.backbone.commits import Commit, Part, Placed
from tradewind.backbone.connection import Connection, shared
from tradewind.backbone.names import Address
from tradewind.backbone.retention import read_to, subscribed
from tradewind.spark.channels.tickets import Tickets
from tradewind.spark.packing import unpacked
from tradewind.spark.step import together

Wanted = tuple[Address, Part]
"""A part, and the channel that holds it."""


@dataclass(slots=True)
class Inlets:
    """The channels of one fragment, by name, each with its address at the fragment's site.

    With `one_each`, a batch takes one commit of each channel at most: where the order of arrival counts, rows of two
    must not be mixed.
    """

    connection: Connection
    addresses: Mapping[str, Address]
    fragment: str
    tickets: Tickets
    one_each: bool = False
    _readers: dict[str, Reader] = field(init=False)
    _schemas: dict[str, StructType] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._readers = {name: Reader(self.connection, address) for name, address in self.addresses.items()}
        for address in self.addresses.values():
            subscribed(self.connection, address, self.fragment)

    def tracked(self, spark: SparkSession) -> DataFrame:
        """A streaming frame by which Spark tracks what is new."""
        return self.tickets.tracked(spark, one_each=self.one_each)

    def between(self, start: Mapping[str, int], end: Mapping[str, int]) -> dict[str, list[Placed]]:
        """The commits of each channel that a batch moves, behind where it stood."""
        return {name: self._readers[name].commits(start.get(name, 0), upto=number) for name, number in end.items()}

    def done(self, end: Mapping[str, int]) -> None:
        """Commits up to here will not be asked for again."""
        for name, number in end.items():
            if name in self.addresses and number:
                read_to(self.connection, self.addresses[name], self.fragment, number)

    def heads(self) -> dict[str, int]:
        """The newest commit of each channel."""
        return {name: reader.head() for name, reader in self._readers.items()}

    def rows(self, spark: SparkSession, commits: Mapping[str, Sequence[Commit]]) -> DataFrame | None:
        """The rows of some channels' commits, fetched when they are asked for; None when there are none."""
        alike: dict[str, tuple[StructType, list[Wanted]]] = {}
        for channel, some in commits.items():
            parts = [part for commit in some for part in commit.parts if part.rows]
            if parts:
                schema = self._schema(channel, parts[0])
                wanted = alike.setdefault(schema.json(), (schema, []))[1]
                wanted.extend((self.addresses[channel], part) for part in parts)
        return together(*(self._fetched(spark, schema, wanted) for schema, wanted in alike.values()))

    def _fetched(self, spark: SparkSession, schema: StructType, wanted: Sequence[Wanted]) -> DataFrame:
        shares = _shares(wanted, spark.sparkContext.defaultParallelism)
        tasks = len(shares)
        return spark.range(0, tasks, 1, tasks).mapInArrow(_fetcher(self.connection.url, shares), schema)

    def _schema(self, channel: str, part: Part) -> StructType:
        if channel not in self._schemas:
            address = self.addresses[channel]
            batch = unpacked(fetch_part(self.connection, address, part), address.stream)
            self._schemas[channel] = from_arrow_schema(batch.schema)
        return self._schemas[channel]


def _shares(wanted: Sequence[Wanted], most: int) -> list[list[Wanted]]:
    """The parts in as many shares as there are cores, each a run of parts with about as many rows."""
    rows = sum(part.rows for _, part in wanted)
    count = max(1, min(most, len(wanted), rows // 50_000))
    shares: list[list[Wanted]] = [[] for _ in range(count)]
    before = 0
    for one in wanted:
        shares[min(count - 1, before * count // rows)].append(one)
        before += one[1].rows
    return [share for share in shares if share]


def _fetcher(
    url: str, shares: Sequence[Sequence[Wanted]]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def fetch(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        connection = shared(url)
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                for address, some in groupby(shares[number], key=lambda one: one[0]):
                    for payload in fetch_parts(connection, address, [part for _, part in some]):
                        yield unpacked(payload, address.stream)

    return fetch


def marks_in(commits: Sequence[Commit], origins: Sequence[str]) -> dict[str, float]:
    """Where origins stand after some commits; those that have promised nothing are left out."""
    found: dict[str, Any] = {}
    for commit in commits:
        found |= {origin: commit.marks[origin] for origin in origins if origin in commit.marks}
    return found
