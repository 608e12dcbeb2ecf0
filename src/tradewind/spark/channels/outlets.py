"""A channel that a fragment writes: a batch's rows go out as parts that nobody sees, and one commit makes them seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from tradewind.backbone.channels import Publisher, publish_parts
from tradewind.backbone.commits import Commit, Part
from tradewind.backbone.connection import Connection, shared
from tradewind.backbone.names import Address
from tradewind.spark.packing import in_pieces, packed

Note = Mapping[str, Any]
_RESULT = "messages ARRAY<BIGINT>, rows BIGINT, bytes BIGINT"
_RESULT_ARROW = pa.schema([("messages", pa.list_(pa.int64())), ("rows", pa.int64()), ("bytes", pa.int64())])


@dataclass(slots=True)
class Outlet:
    """A channel at the site where it is made."""

    connection: Connection
    address: Address
    fragment: str
    epoch: int
    _publisher: Publisher = field(init=False)

    def __post_init__(self) -> None:
        self._publisher = Publisher(self.connection, self.address, self.fragment, self.epoch)

    def stage(self, rows: DataFrame | None, *, few: bool) -> list[Any]:
        """Send a batch's rows, invisibly; the parts that they went out as. Where they are `few` one part will do."""
        if rows is None:
            return []
        frame = rows.coalesce(1) if few else rows
        sent = frame.mapInArrow(_sender(self.connection.url, self.address), _RESULT).collect()
        return [[list(row.messages), row.rows, row.bytes] for row in sent]

    def publish(self, note: Note, marks: Mapping[str, float]) -> None:
        """Let readers see a batch, and where its origins stand; what they see already they do not see twice."""
        parts = tuple(Part(tuple(messages), rows, size) for messages, rows, size in note["parts"])
        promised = {origin: int(mark) for origin, mark in marks.items() if math.isfinite(mark)}
        last = self._publisher.last
        if not parts and not note["closing"] and last is not None and last.commit.marks == promised:
            return  # nothing that readers do not know
        self._publisher.commit(
            Commit(self.fragment, self.epoch, note["batch"], parts, promised, note["late"], note["closing"])
        )


def _sender(url: str, address: Address) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def send(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pieces = (piece for batch in batches if batch.num_rows for piece in in_pieces(batch))
        payloads = ((packed(piece), piece.num_rows) for piece in pieces)
        sent = publish_parts(shared(url), address, payloads)
        columns = [list(column) for column in zip(*((list(p.messages), p.rows, p.bytes) for p in sent), strict=True)]
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(column, type_)
                for column, type_ in zip(columns or [[], [], []], _RESULT_ARROW.types, strict=True)
            ],
            schema=_RESULT_ARROW,
        )

    return send
