"""Types, names and rows as Spark and Arrow have them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DataType
from tradewind.errors import DataError, InternalError
from tradewind.interpreter.checking import canonical
from tradewind.interpreter.values import Value, fixed

_ARROW = {
    "BOOLEAN": pa.bool_(), "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64(),
    "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "STRING": pa.string(), "BINARY": pa.binary(), "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"), "INTERVAL": pa.duration("us"), "VOID": pa.null(),
}  # fmt: skip
_NUMBERS = {"DATE": pa.int32(), "TIMESTAMP": pa.int64(), "INTERVAL": pa.int64()}
"""What the interpreter holds as a whole number and Arrow would give as a Python object, of a narrower range."""


def quote(name: str) -> str:
    """A name that Spark takes for no word of its own.

    >>> quote("end"), quote("a`b")
    ('`end`', '`a``b`')
    """
    return "`" + name.replace("`", "``") + "`"


def ddl(type_: DataType) -> str:
    """A type as Spark reads it.

    >>> from tradewind.algebra.types import TIMESTAMP, window_of
    >>> ddl(window_of(TIMESTAMP))
    'STRUCT<`start`: TIMESTAMP, `end`: TIMESTAMP>'
    """
    match type_.name:
        case "STATE":
            raise _no_state(type_)
        case "INTERVAL":
            return "INTERVAL DAY TO SECOND"
        case "ARRAY":
            return f"ARRAY<{ddl(type_.element)}>"
        case "STRUCT":
            return f"STRUCT<{', '.join(f'{quote(name)}: {ddl(inner)}' for name, inner in type_.fields)}>"
    return str(type_)


def schema_ddl(schema: Schema) -> str:
    """The columns as Spark reads them.

    >>> from tradewind.algebra.schema import parse_schema
    >>> schema_ddl(parse_schema("ts TIMESTAMP, tags ARRAY<STRING>"))
    '`ts` TIMESTAMP, `tags` ARRAY<STRING>'
    """
    return ", ".join(f"{quote(name)} {ddl(type_)}" for name, type_ in schema.columns)


def arrow_type(type_: DataType) -> pa.DataType:
    """The Arrow type that Spark gives for a type, and wants."""
    return _arrow(type_, _ARROW)


def arrow_schema(schema: Schema) -> pa.Schema:
    """The columns as Arrow has them. Any may be NULL."""
    return pa.schema([pa.field(name, arrow_type(type_)) for name, type_ in schema.columns])


def to_arrow(rows: Iterable[Sequence[Value]], schema: Schema) -> pa.Table:
    """Rows as the interpreter holds them, in columns."""
    given = list(rows)
    arrays = []
    for place, (_, type_) in enumerate(schema.columns):
        values = [row[place] for row in given]
        if _holds_decimals(type_):
            values = [_with_digits(value, type_) for value in values]
        arrays.append(pa.array(values, arrow_type(type_)))
    return pa.table(arrays, schema=arrow_schema(schema))


def from_arrow(table: pa.Table, schema: Schema) -> list[tuple[Value, ...]]:
    """The rows of a table as the interpreter holds them: one NaN, one zero, times as whole numbers."""
    columns = []
    for column, (_, type_) in zip(table.cast(arrow_schema(schema)).columns, schema.columns, strict=True):
        plain = column.cast(_arrow(type_, _ARROW | _NUMBERS)).to_pylist()
        columns.append([_value(value, type_) for value in plain])
    return [canonical(row, schema) for row in zip(*columns, strict=True)]


def _arrow(type_: DataType, simple: dict[str, pa.DataType]) -> pa.DataType:
    match type_.name:
        case "STATE":
            raise _no_state(type_)
        case "DECIMAL":
            return pa.decimal128(*type_.parameters)
        case "ARRAY":
            return pa.list_(pa.field("element", _arrow(type_.element, simple)))
        case "STRUCT":
            return pa.struct([pa.field(name, _arrow(inner, simple)) for name, inner in type_.fields])
    return simple[type_.name]


def _holds_decimals(type_: DataType) -> bool:
    return type_.name == "DECIMAL" or any(_holds_decimals(inner) for _, inner in type_.fields)


def _with_digits(value: Value, type_: DataType) -> Value:
    """A value whose decimals have the digits of their types: Arrow would read beyond its tables for odd ones."""
    if value is None:
        return None
    match type_.name:
        case "DECIMAL":
            exact = fixed(value, type_)
            if exact is None or exact != value:
                raise DataError(f"{value!r:.60} does not fit {type_}.", hint="give no more digits than the type has.")
            return exact
        case "ARRAY":
            return tuple(_with_digits(part, type_.element) for part in value)
        case "STRUCT":
            return tuple(_with_digits(part, inner) for part, (_, inner) in zip(value, type_.fields, strict=True))
    return value


def _value(value: Value, type_: DataType) -> Value:
    """A value from Arrow with tuples in the places of its lists and dictionaries."""
    if value is None:
        return None
    match type_.name:
        case "ARRAY":
            return tuple(_value(part, type_.element) for part in value)
        case "STRUCT":
            return tuple(_value(value[name], inner) for name, inner in type_.fields)
    return value


def _no_state(type_: DataType) -> InternalError:
    return InternalError(f"{type_} is an aggregate's state, for which there is no Spark type here.")
