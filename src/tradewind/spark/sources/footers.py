"""What Parquet files say of themselves: whether Spark can read them as declared, how many rows they have, and when."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import INTEGER_BITS, DataType, is_integer
from tradewind.spark.sources.columnar import by_name, converts, mismatch
from tradewind.spark.sources.nested import FaultError
from tradewind.spark.sources.records import DAMAGED, unreadable

_UNITS = {"ms": 1_000, "us": 1}


class Footer(NamedTuple):
    """A file's rows, and the first and last event time if it tells them; `direct` if Spark can read it as it is."""

    rows: int
    direct: bool
    timed: bool = False
    """Whether the two times are known."""
    earliest: int | None = None
    latest: int | None = None


def footer_of(file: str, schema: Schema) -> Footer:
    """The footer of a file whose columns are, or can be converted to, the declared ones; a FaultError for others."""
    try:
        with pq.ParquetFile(file) as opened:
            found, told = opened.schema_arrow, opened.metadata
    except DAMAGED as error:
        raise FaultError(unreadable(error)) from None
    places = by_name(found)
    direct = True
    for name, type_ in schema.columns:
        if name.lower() in places:
            own = found.field(places[name.lower()]).type
            if not converts(own, type_):
                raise FaultError(mismatch(name, type_, own))
            direct = direct and _reads(own, type_)
    footer = Footer(told.num_rows, direct)
    place = places.get(schema.time.lower()) if schema.time is not None else None
    if place is None or pa.types.is_null(found.field(place).type):
        return footer._replace(timed=True)
    return _with_times(footer, told, found.field(place))


def _reads(found: pa.DataType, declared: DataType) -> bool:
    """Whether Spark reads a Parquet column of a type as the declared one and changes no value."""
    if pa.types.is_struct(found):
        inner = {field.name.lower(): field.type for field in found}
        return all(_reads(inner[n.lower()], t) for n, t in declared.fields if n.lower() in inner)
    if pa.types.is_list(found) or pa.types.is_large_list(found):
        return _reads(found.value_type, declared.element)
    if pa.types.is_signed_integer(found):
        return is_integer(declared) and found.bit_width <= INTEGER_BITS[declared]
    if pa.types.is_timestamp(found):
        return str(found.unit) in _UNITS
    if pa.types.is_decimal(found):
        return bool((found.precision, found.scale) == declared.parameters)
    if pa.types.is_floating(found):
        return int(found.bit_width) == (64 if declared.name == "DOUBLE" else 32)
    if pa.types.is_duration(found):
        return str(found.unit) == "us"
    if pa.types.is_dictionary(found):
        return declared.name == "STRING" and _reads(found.value_type, declared)
    return declared.name in ("STRING", "BINARY", "BOOLEAN", "DATE") or pa.types.is_null(found)


def _with_times(footer: Footer, told: pq.FileMetaData, column: pa.Field) -> Footer:
    """The footer with the bounds of the event time, if all row groups know theirs."""
    factor = _UNITS.get(column.type.unit)
    place = next((i for i in range(told.num_columns) if told.schema.column(i).path == column.name), None)
    if factor is None or place is None:
        return footer
    bounds: list[tuple[Any, Any]] = []
    for group in (told.row_group(i) for i in range(told.num_row_groups)):
        known = group.column(place).statistics
        if known is None or known.physical_type != "INT64":
            return footer
        if known.has_min_max:
            bounds.append((known.min_raw, known.max_raw))
        elif not known.has_null_count or known.null_count < group.num_rows:
            return footer
    if not bounds:
        return footer._replace(timed=True)
    earliest, latest = min(low for low, _ in bounds), max(high for _, high in bounds)
    return footer._replace(timed=True, earliest=earliest * factor, latest=latest * factor)
