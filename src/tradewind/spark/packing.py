"""Rows as they travel: Arrow record batches in the IPC stream format, packed by zstd: buffer by buffer where they are
long, since that is quick, and as a whole where they are short and their schema is as long as they are.

A column of weights that are all one is left out on the way; most streams have no others.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from tradewind.errors import DataError
from tradewind.spark.columns import WEIGHT

_LONG = pa.ipc.IpcWriteOptions(compression="zstd")
_SHORT = pa.ipc.IpcWriteOptions()
_WHOLE = pa.Codec("zstd", compression_level=3)
_SHORT_BYTES = 64_000
_PACKED = b"\x28\xb5\x2f\xfd"
"""How everything begins that zstd has packed as a whole."""
MOST_BYTES = 64_000_000
"""Rows that are longer than this together, unpacked, go as several parts."""


def packed(batch: pa.RecordBatch) -> bytes:
    """The payload of a part."""
    plain = _loose(_without_unit_weights(batch))
    if plain.nbytes < _SHORT_BYTES:
        return bytes(_WHOLE.compress(_streamed(plain, _SHORT)))
    return bytes(_streamed(plain, _LONG))


def weight(batch: pa.RecordBatch) -> int:
    """The bytes of rows by themselves, without their schema, as they are packed in long parts."""
    plain = _loose(_without_unit_weights(batch))
    empty = pa.RecordBatch.from_pylist([], schema=plain.schema)
    return len(_streamed(plain, _LONG)) - len(_streamed(empty, _LONG))


def _streamed(batch: pa.RecordBatch, options: pa.ipc.IpcWriteOptions) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def unpacked(payload: bytes, where: str) -> pa.RecordBatch:
    """The rows of a part, with their weights."""
    try:
        source = pa.BufferReader(payload)
        whole = payload[: len(_PACKED)] == _PACKED
        with pa.ipc.open_stream(pa.CompressedInputStream(source, "zstd") if whole else source) as reader:
            batch = reader.read_next_batch()
    except (pa.ArrowException, StopIteration, OSError) as error:
        raise DataError(f"a part holds no rows that can be read: {error}.", where=where) from None
    if WEIGHT in batch.schema.names:
        return batch
    ones = pa.repeat(pa.scalar(1, pa.int64()), batch.num_rows)
    return pa.RecordBatch.from_arrays([*batch.columns, ones], schema=batch.schema.append(pa.field(WEIGHT, pa.int64())))


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


def _without_unit_weights(batch: pa.RecordBatch) -> pa.RecordBatch:
    place = batch.schema.get_field_index(WEIGHT)
    if place < 0 or not pc.all(pc.equal(batch.column(place), 1)).as_py():
        return _with_weight_last(batch, place)
    return batch.drop_columns([WEIGHT])


def _with_weight_last(batch: pa.RecordBatch, place: int) -> pa.RecordBatch:
    """Where weights are left out they are put back behind all others, so that is where they belong."""
    names = [name for name in batch.schema.names if name != WEIGHT]
    return batch.select([*names, WEIGHT]) if place >= 0 else batch


def _loose(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows with a schema in which everything may be NULL: what Spark knows of that differs by batch."""
    schema = pa.schema([pa.field(one.name, _nullable(one.type)) for one in batch.schema])
    return batch if batch.schema.equals(schema, check_metadata=True) else batch.cast(schema)


def _nullable(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(one.name, _nullable(one.type)) for one in type_])
    if pa.types.is_list(type_):
        return pa.list_(pa.field(type_.value_field.name, _nullable(type_.value_type)))
    return type_
