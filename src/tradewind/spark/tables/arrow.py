"""Rows in Arrow and in Python: columns as Spark hands them over, values as the interpreter wants them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DataType, is_fraction
from tradewind.errors import InternalError
from tradewind.interpreter.evaluate import plain_zero
from tradewind.interpreter.rows import FOREVER, Bag, Row, Time, Values
from tradewind.interpreter.values import Value

DUE, WEIGHT = "_due", "_weight"
"""Beside a stream's own columns: by when a row is settled (NULL is FOREVER), and how many of it there are."""

_SIMPLE: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(), "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64(),
    "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "STRING": pa.string(), "BINARY": pa.binary(), "VOID": pa.null(),
    "DATE": pa.date32(), "TIMESTAMP": pa.timestamp("us", tz="UTC"), "INTERVAL": pa.duration("us"),
}  # fmt: skip
_COUNTED = _SIMPLE | {"DATE": pa.int32(), "TIMESTAMP": pa.int64(), "INTERVAL": pa.int64()}
"""As the interpreter has them: times are counted in days and microseconds."""

_MANY = 256
"""Fewer rows would not get smaller by compression, which takes longer than all else."""


def arrow_type(type_: DataType, simple: Mapping[str, pa.DataType] = _SIMPLE) -> pa.DataType:
    """How Arrow calls a type.

    >>> from tradewind.algebra.types import parse_type
    >>> arrow_type(parse_type("ARRAY<DECIMAL(5,2)>"))
    ListType(list<element: decimal128(5, 2)>)
    """
    if type_.name == "DECIMAL":
        return pa.decimal128(*type_.parameters)
    if type_.name == "ARRAY":
        return pa.list_(pa.field("element", arrow_type(type_.element, simple)))
    if type_.name == "STRUCT":
        return pa.struct([(name, arrow_type(inner, simple)) for name, inner in type_.fields])
    if type_.name not in simple:
        raise InternalError(f"a table's boxes cannot be handed values of type {type_}.")
    return simple[type_.name]


def rows_in(table: pa.Table, schema: Schema) -> Iterator[Values]:
    """The rows of an Arrow table that has the schema's columns, in whatever order."""
    return zip(*(_values(table.column(name), type_) for name, type_ in schema.columns), strict=True)


def deltas_in(table: pa.Table, schema: Schema) -> Iterator[tuple[Row, int]]:
    """The rows of an Arrow table of deltas, each with its weight."""
    return zip(map(Row, rows_in(table, schema), dues_in(table)), weights_in(table), strict=True)


def dues_in(table: pa.Table) -> list[Time]:
    """By when each row of an Arrow table of deltas is settled."""
    return [FOREVER if due is None else due for due in table.column(DUE).cast(pa.int64()).to_pylist()]


def weights_in(table: pa.Table) -> list[int]:
    """How many there are of each row of an Arrow table."""
    weights: list[int] = table.column(WEIGHT).cast(pa.int64()).to_pylist()
    return weights


def rows_table(rows: Sequence[Values], schema: Schema) -> pa.Table:
    """An Arrow table of rows."""
    return pa.table(
        {
            name: pa.array([row[place] for row in rows], arrow_type(type_))
            for place, (name, type_) in enumerate(schema.columns)
        }
    )


def delta_table(rows: Sequence[Values], dues: Iterable[Time], weights: Iterable[int], schema: Schema) -> pa.Table:
    """An Arrow table of deltas."""
    settled = [None if due == FOREVER else due for due in dues]
    table = rows_table(rows, schema).append_column(DUE, pa.array(settled, pa.int64()))
    return table.append_column(WEIGHT, pa.array(list(weights), pa.int64()))


def bag_table(rows: Bag, schema: Schema) -> pa.Table:
    """An Arrow table of deltas that add up to a bag."""
    return delta_table([row.values for row in rows], [row.due for row in rows], rows.values(), schema)


def counted_table(rows: Counter[Values], schema: Schema) -> pa.Table:
    """An Arrow table of rows by how many there are of each."""
    table = rows_table(list(rows), schema)
    return table.append_column(WEIGHT, pa.array(list(rows.values()), pa.int64()))


def counted_in(table: pa.Table, schema: Schema) -> Counter[Values]:
    """The rows of an Arrow table by how many there are of each."""
    return Counter(dict(zip(rows_in(table, schema), weights_in(table), strict=True)))


def packed(table: pa.Table) -> bytes:
    """An Arrow table as bytes to be kept."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4" if table.num_rows >= _MANY else None)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def unpacked(data: bytes) -> pa.Table:
    """The Arrow table that was packed."""
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()


def _values(column: pa.ChunkedArray, type_: DataType) -> list[Value]:
    """The values of a column, with times as numbers, one NaN and one zero."""
    plain = column.cast(arrow_type(type_)).cast(arrow_type(type_, _COUNTED))
    meant = _meaning(type_)
    return [meant(value) for value in plain.to_pylist()] if meant else plain.to_pylist()


def _meaning(type_: DataType) -> Callable[[Value], Value] | None:
    """What makes the interpreter's value of one that Arrow gives as Python; None where they are the same."""
    if is_fraction(type_):
        return plain_zero
    if type_.name == "ARRAY":
        inner = _meaning(type_.element) or _same
        return lambda values: None if values is None else tuple(map(inner, values))
    if type_.name == "STRUCT":
        parts = [(name, _meaning(part) or _same) for name, part in type_.fields]
        return lambda value: None if value is None else tuple(meant(value[name]) for name, meant in parts)
    return None


def _same(value: Value) -> Value:
    return value
