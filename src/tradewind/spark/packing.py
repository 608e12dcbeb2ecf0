"""Rows as they travel: Arrow record batches in the IPC stream format, packed by zstd, buffer by buffer; or, where they
are short, deflated as a whole with what all of them have in common left out, if that is shorter (see `brief`).

Columns of ours that can be told from the others are left out on the way: weights that are all one, and when rows fall
due where that is their time.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from tradewind.errors import DataError
from tradewind.spark import brief
from tradewind.spark.columns import DUE, WEIGHT

_LONG = pa.ipc.IpcWriteOptions(compression="zstd")
_SHORT = pa.ipc.IpcWriteOptions()
_SHORT_BYTES = 64_000
_TIME = b"due"
MOST_BYTES = 64_000_000
"""Rows that are longer than this together, unpacked, go as several parts."""


def packed(batch: pa.RecordBatch) -> bytes:
    """The payload of a part."""
    plain = _bare(batch)
    long = bytes(_streamed(plain, _LONG))
    if plain.nbytes >= _SHORT_BYTES:
        return long
    return min(brief.deflated(_streamed(plain, _SHORT).to_pybytes()), long, key=len)


def weight(batch: pa.RecordBatch) -> int:
    """The bytes of rows by themselves, without their schema, as they are packed in long parts."""
    plain = _bare(batch)
    empty = pa.RecordBatch.from_pylist([], schema=plain.schema)
    return len(_streamed(plain, _LONG)) - len(_streamed(empty, _LONG))


def width(values: pa.Array) -> float:
    """The bytes of a column's values by themselves in a long part."""
    batch = _bare(pa.RecordBatch.from_arrays([values], names=["a"]))
    least = batch.slice(0, 1).take(pa.array([0] if batch.num_rows else [], pa.int64()))
    return float(max(0, len(_streamed(batch, _LONG)) - len(_streamed(least, _LONG))))


def _streamed(batch: pa.RecordBatch, options: pa.ipc.IpcWriteOptions) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def unpacked(payload: bytes, where: str) -> pa.RecordBatch:
    """The rows of a part, with their weights."""
    try:
        whole = payload[: len(brief.FIRST)] == brief.FIRST
        with pa.ipc.open_stream(brief.inflated(payload) if whole else payload) as reader:
            batch = reader.read_next_batch()
    except (pa.ArrowException, StopIteration, OSError, ValueError) as error:
        raise DataError(f"a part holds no rows that can be read: {error}.", where=where) from None
    time = (batch.schema.metadata or {}).get(_TIME)
    rows = {name: batch.column(place) for place, name in enumerate(batch.schema.names)}
    if time is not None:
        rows[DUE] = rows[time.decode()].cast(pa.int64())
    weights = rows.pop(WEIGHT, None)
    rows[WEIGHT] = pa.repeat(pa.scalar(1, pa.int64()), batch.num_rows) if weights is None else weights
    return pa.RecordBatch.from_pydict(rows)


def in_pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch as it is, or cut where it is too long for one part."""
    pieces = min(batch.num_rows, -(-batch.nbytes // MOST_BYTES))
    if pieces <= 1:
        yield batch
        return
    step = -(-batch.num_rows // pieces)
    for start in range(0, batch.num_rows, step):
        # A slice keeps all of its buffers; taking the rows copies only theirs.
        yield batch.slice(start, step).take(pa.array(range(min(step, batch.num_rows - start))))


def _bare(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows without what can be told from the rest; and the same schema whatever Spark knows of NULLs in a batch.

    What is left out is put back behind all others, so that is where it belongs if it is not.
    """
    names = batch.schema.names
    time = _time(batch) if DUE in names else None
    last = [DUE] if DUE in names and time is None else []
    if WEIGHT in names and not pc.all(pc.equal(batch.column(names.index(WEIGHT)), 1)).as_py():
        last.append(WEIGHT)
    plain = batch.select([*(name for name in names if name not in (DUE, WEIGHT)), *last])
    metadata = None if time is None else {_TIME: time.encode()}
    schema = pa.schema([pa.field(one.name, _nullable(one.type)) for one in plain.schema], metadata)
    return plain if plain.schema.equals(schema, check_metadata=True) else plain.cast(schema)


def _time(batch: pa.RecordBatch) -> str | None:
    """The column that says when rows fall due, if one does for all of them."""
    due = batch.column(batch.schema.get_field_index(DUE))
    for place, one in enumerate(batch.schema):
        if pa.types.is_timestamp(one.type) and one.type.unit == "us":
            column = batch.column(place)
            if column.null_count == due.null_count == 0 and pc.all(pc.equal(column.cast(pa.int64()), due)).as_py():
                return str(one.name)
    return None


def _nullable(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(one.name, _nullable(one.type)) for one in type_])
    if pa.types.is_list(type_):
        return pa.list_(pa.field(type_.value_field.name, _nullable(type_.value_type)))
    return type_
