"""Rows as programs hold them: tuples, dictionaries and data frames, with Python's own times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Protocol

import pyarrow as pa

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DataType, is_integer
from tradewind.errors import DataError, closest
from tradewind.interpreter.run import GivenRow, Weighted
from tradewind.interpreter.values import Value
from tradewind.spark.columns import WEIGHT
from tradewind.spark.sources.columnar import by_name
from tradewind.spark.sources.nested import FaultError
from tradewind.spark.types import arrow_type

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_Converter = Callable[[Any], Value]

FORMS = {
    "TIMESTAMP": "a datetime.datetime or whole microseconds since 1970",
    "DATE": "a datetime.date or whole days since 1970",
    "INTERVAL": "a datetime.timedelta or whole microseconds",
    "STRUCT": "a tuple or a dictionary of its fields' values",
    "ARRAY": "a list or a tuple of its elements",
}
"""What a program may give for a type, where that is not plain."""


class ArrowStream(Protocol):
    """A table of any library that speaks Arrow's C stream interface: pandas, Polars, DuckDB, Arrow itself."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as a capsule."""


PythonRows = ArrowStream | Sequence[GivenRow | Mapping[str, Any]]


def weighted_rows(rows: Iterable[Any], schema: Schema, *, revisions: bool) -> list[Weighted]:
    """Tuples and dictionaries as tuples of the interpreter's values, with their weights. Whether the values are of
    their types is not looked at.
    """
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise DataError(f"expected rows, not {rows!r:.60}.", hint="give a list of tuples or dictionaries, or a table.")
    converters = [
        (place, converter) for place, (_, type_) in enumerate(schema.columns) if (converter := _converter(type_))
    ]
    found = []
    for number, row in enumerate(rows):
        values, weight = row if isinstance(row, Weighted) else (row, 1)
        if not isinstance(values, tuple) and isinstance(values, Mapping):
            values, weight = _by_name(values, weight, number, schema, revisions=revisions)
        if converters and isinstance(values, tuple) and len(values) == len(schema.columns):
            values = _converted(values, converters)
        found.append(Weighted(values, weight))
    return found


def _by_name(
    row: Mapping[str, Any], weight: Any, number: int, schema: Schema, *, revisions: bool
) -> tuple[tuple[Any, ...], Any]:
    """A dictionary's values in the order of the columns; a column that it lacks is NULL."""
    strange = next((name for name in row if name not in schema.names and not (revisions and name == WEIGHT)), None)
    if strange is not None:
        guess = closest(str(strange), schema.names)
        hint = f"did you mean {guess!r}? " if guess else ""
        if strange == WEIGHT:
            hint = "declare `revisions: true` on the stream. "
        raise DataError(f"row {number} has a column {strange!r}.", hint=f"{hint}the stream's columns: {schema}.")
    given = row.get(WEIGHT, weight)
    if isinstance(given, bool) or not isinstance(given, int):
        raise DataError(f"row {number} has the weight {given!r:.60}.", hint="a weight is a whole number.")
    return tuple(row.get(name) for name in schema.names), given


def _converted(values: tuple[Value, ...], converters: Iterable[tuple[int, _Converter]]) -> tuple[Value, ...]:
    changed: list[Value] | None = None
    for place, converter in converters:
        value = values[place]
        # Most rows hold whole numbers already, and they are pushed by the million.
        if value is not None and type(value) is not int:
            if changed is None:
                changed = list(values)
            changed[place] = converter(value)
    return values if changed is None else tuple(changed)


def _converter(type_: DataType) -> _Converter | None:
    """What makes a type's value of what Python has for it, and leaves everything else as it is; None where Python's
    value is ours.
    """
    match type_.name:
        case "TIMESTAMP":
            return _micros
        case "DATE":
            return _days
        case "INTERVAL":
            return lambda value: int(value // _MICROSECOND) if isinstance(value, timedelta) else value
        case "ARRAY":
            return lambda value: _elements(value, type_.element)
        case "STRUCT":
            return lambda value: _fields(value, type_)
    return None


def _micros(value: Any) -> Value:
    if not isinstance(value, datetime):
        return value
    if _is_missing(value):
        return None
    # Without a zone it is UTC, as in files, tables and SQL.
    zoned = value.replace(tzinfo=UTC) if value.utcoffset() is None else value
    return int((zoned - _EPOCH) // _MICROSECOND)


def _days(value: Any) -> Value:
    if isinstance(value, datetime):
        # A time of day would be lost.
        return None if _is_missing(value) else value
    return (value - _FIRST_DAY).days if isinstance(value, date) else value


def _is_missing(value: datetime) -> bool:
    """Whether it is pandas' NaT, which is a datetime and nothing else; it does not even equal itself."""
    return value != value  # noqa: PLR0124 - only NaN differs from itself


def _elements(value: Any, element: DataType) -> Value:
    return tuple(_inner(part, element) for part in value) if isinstance(value, list | tuple) else value


def _fields(value: Any, type_: DataType) -> Value:
    names = [name for name, _ in type_.fields]
    if isinstance(value, Mapping) and not set(value) - set(names):
        value = tuple(value.get(name) for name in names)
    if not isinstance(value, tuple) or len(value) != len(names):
        return value
    return tuple(_inner(part, inner) for part, (_, inner) in zip(value, type_.fields, strict=True))


def _inner(value: Any, type_: DataType) -> Value:
    converter = _converter(type_)
    return value if value is None or converter is None else converter(value)


def is_table(rows: object) -> bool:
    """Whether these are rows in columns, of any library that speaks Arrow's C interfaces."""
    return hasattr(rows, "__arrow_c_stream__") or isinstance(rows, pa.RecordBatch)


def table_of(frame: object) -> pa.Table:
    """A data frame, or what else is a table for Arrow."""
    try:
        return pa.table(frame).replace_schema_metadata(None)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise FaultError(str(error).rstrip(".")) from None


def narrowed(table: pa.Table, schema: Schema, *, fractions: bool) -> pa.Table:
    """The table with whole numbers as narrow as the schema wants them, if each of them fits: programs have them in 64
    bits, and data frames as `fractions` where some are missing.
    """
    places = by_name(table.schema)
    for name, type_ in schema.columns:
        place = places.get(name.lower())
        if place is None or not is_integer(type_):
            continue
        column = table.column(place)
        if pa.types.is_integer(column.type) or (fractions and pa.types.is_floating(column.type)):
            try:
                narrow = column.cast(arrow_type(type_))
            except pa.ArrowInvalid as error:
                raise FaultError(f"column {name}: declared {type_}, found {column.type}: {error}") from None
            table = table.set_column(place, table.field(place).with_type(narrow.type), narrow)
    return table
