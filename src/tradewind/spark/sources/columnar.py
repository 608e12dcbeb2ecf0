"""Files that have columns and types of their own: Parquet, ORC, Arrow.

A column that a file lacks is NULL. A column of another type is converted where nothing can be lost (a narrower number,
a time in another unit); where something could, the whole file is bad. Spark reads Parquet files itself when their types
are what it can read without changing a value; all others are converted first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as po
import pyarrow.parquet as pq

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import INTEGER_BITS, DataType, is_fraction, is_integer
from tradewind.spark.sources.nested import FaultError, normalised
from tradewind.spark.sources.parsing import Found, Reading
from tradewind.spark.sources.probing import crashes_on
from tradewind.spark.sources.records import DAMAGED, Letter, Part, unreadable
from tradewind.spark.sources.texts import in_range
from tradewind.spark.types import arrow_schema, arrow_type

_ROWS = 100_000
Tables = Iterator[pa.Table]


def parse_parquet(part: Part, reading: Reading) -> Iterator[Found]:
    """The rows of a Parquet file."""
    return _parsed(part, reading, _parquet)


def parse_orc(part: Part, reading: Reading) -> Iterator[Found]:
    """The rows of an ORC file."""
    return _parsed(part, reading, _orc)


def parse_arrow(part: Part, reading: Reading) -> Iterator[Found]:
    """The rows of an Arrow file or stream."""
    return _parsed(part, reading, _arrow)


def _parsed(part: Part, reading: Reading, tables: Callable[[str], Tables]) -> Iterator[Found]:
    read = 0
    if reading.careful and crashes_on(tables.__name__, part.file):
        yield _letter(read, "the file cannot be read: it is damaged so badly that reading it crashes", reading)
        return
    try:
        for table in tables(part.file):
            # Offsets and texts of a damaged file may point anywhere; nothing that works on them looks first.
            table.validate(full=True)
            rows = fitted(table, reading.schema, bounded=reading.bounded)
            yield Found(rows, (), rows.num_rows)
            read += rows.num_rows
    except FaultError as error:
        yield _letter(read, str(error), reading)
    except DAMAGED as error:
        yield _letter(read, unreadable(error), reading)


def _letter(number: int, reason: str, reading: Reading) -> Found:
    return Found(arrow_schema(reading.schema).empty_table(), [Letter(number, reason, b"")], 0)


def _parquet(file: str) -> Tables:
    """The rows of a Parquet file; pages that have a checksum are held against it."""
    with pq.ParquetFile(file, coerce_int96_timestamp_unit="us", page_checksum_verification=True) as opened:
        yield opened.schema_arrow.empty_table()  # so that a wrong type is found even in a file without rows
        for group in range(opened.num_row_groups):
            try:
                for batch in opened.iter_batches(_ROWS, [group], use_threads=False):
                    table = pa.Table.from_batches([batch])
                    table.validate(full=True)
                    yield table
            except DAMAGED as error:
                raise FaultError(f"row group {group}: {unreadable(error)}; the rest of the file was not read") from None


def _orc(file: str) -> Tables:
    """The rows of an ORC file, as many as it says that it has."""
    opened = po.ORCFile(file)
    yield opened.schema.empty_table()
    read = 0
    for number in range(opened.nstripes):
        table = pa.Table.from_batches([opened.read_stripe(number)])
        yield table
        read += table.num_rows
    if read != opened.nrows:
        raise FaultError(f"the file cannot be read: it says that it has {opened.nrows} rows, and has {read}")


def _arrow(file: str) -> Tables:
    """The rows of an Arrow file or stream."""
    with pa.OSFile(file) as source:
        if source.read(6) == b"ARROW1":
            opened = pa.ipc.open_file(source)
            yield opened.schema.empty_table()
            for number in range(opened.num_record_batches):
                yield pa.Table.from_batches([opened.get_batch(number)])
            return
        source.seek(0)
        stream = pa.ipc.open_stream(source)
        yield stream.schema.empty_table()
        for batch in stream:
            yield pa.Table.from_batches([batch])


def fitted(table: pa.Table, schema: Schema, *, bounded: bool = True) -> pa.Table:
    """The declared columns of a table, in their types; a FaultError where something could be lost, or, if times are
    bounded, where one lies beyond the years 1 to 9999.
    """
    places = by_name(table.schema)
    arrays = []
    for name, type_ in schema.columns:
        if name.lower() not in places:
            arrays.append(pa.nulls(table.num_rows, arrow_type(type_)))
            continue
        column = table.column(places[name.lower()])
        if not converts(column.type, type_):
            raise FaultError(mismatch(name, type_, column.type))
        array = normalised(_converted(column.combine_chunks(), type_))
        if bounded and not in_range(array):
            raise FaultError(f"column {name}: a time beyond the years 1 to 9999")
        arrays.append(array)
    return pa.table(arrays, schema=arrow_schema(schema))


def by_name(schema: pa.Schema) -> dict[str, int]:
    """The places of columns by their names in small letters; a name that is there twice is an error."""
    places: dict[str, int] = {}
    for place, name in enumerate(schema.names):
        if name.lower() in places:
            raise FaultError(f"the file has two columns {name!r}")
        places[name.lower()] = place
    return places


def mismatch(name: str, declared: DataType, found: pa.DataType) -> str:
    """That a file's column is of another type than the declared."""
    return f"column {name}: declared {declared}, found {found}"


def converts(found: pa.DataType, declared: DataType) -> bool:
    """Whether every value of a file's type is a value of the declared one."""
    if pa.types.is_null(found):
        return True
    if pa.types.is_dictionary(found):
        return converts(found.value_type, declared)
    if pa.types.is_struct(found):
        inner = {field.name.lower(): field.type for field in found}
        fields = declared.fields if declared.name == "STRUCT" else ()
        return bool(fields) and all(converts(inner.get(n.lower(), pa.null()), t) for n, t in fields)
    if pa.types.is_list(found) or pa.types.is_large_list(found) or pa.types.is_fixed_size_list(found):
        return declared.name == "ARRAY" and converts(found.value_type, declared.element)
    return _simple_converts(found, declared)


def _simple_converts(found: pa.DataType, declared: DataType) -> bool:
    kinds: dict[str, Callable[[pa.DataType], bool]] = {
        "BOOLEAN": pa.types.is_boolean,
        "STRING": lambda t: pa.types.is_string(t) or pa.types.is_large_string(t) or t == pa.string_view(),
        "BINARY": lambda t: pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_fixed_size_binary(t),
        "DATE": pa.types.is_date,
        "TIMESTAMP": pa.types.is_timestamp,
        "INTERVAL": pa.types.is_duration,
    }
    if declared.name in kinds:
        return bool(kinds[declared.name](found))
    whole = _whole_bits(found)
    if is_integer(declared):
        return whole is not None and whole <= INTEGER_BITS[declared]
    if is_fraction(declared):
        bits, most = (53, 64) if declared.name == "DOUBLE" else (24, 32)
        return whole <= bits if whole is not None else bool(pa.types.is_floating(found)) and found.bit_width <= most
    if declared.name == "DECIMAL":
        precision, scale = declared.parameters
        if whole is not None:
            return whole * 30103 // 100_000 + 1 <= precision - scale
        return (
            bool(pa.types.is_decimal(found))
            and found.scale <= scale
            and found.precision - found.scale <= precision - scale
        )
    return False


def _whole_bits(type_: pa.DataType) -> int | None:
    """How many bits a signed number needs to hold every value of an integer type."""
    if not pa.types.is_integer(type_):
        return None
    return int(type_.bit_width) + (1 if pa.types.is_unsigned_integer(type_) else 0)


def _converted(array: pa.Array, declared: DataType) -> pa.Array:
    """An array whose type converts, in the declared one."""
    wanted = arrow_type(declared)
    if array.type == wanted:
        return array
    if pa.types.is_dictionary(array.type):
        return _converted(array.dictionary_decode(), declared)
    if pa.types.is_struct(array.type):
        inner = {array.type.field(i).name.lower(): array.field(i) for i in range(array.type.num_fields)}
        nothing = pa.nulls(len(array))
        parts = [_converted(inner.get(name.lower(), nothing), type_) for name, type_ in declared.fields]
        return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=array.is_null())
    if declared.name == "ARRAY" and not pa.types.is_null(array.type):
        plain = array.cast(pa.list_(array.type.value_type))
        return pa.ListArray.from_arrays(
            plain.offsets, _converted(plain.values, declared.element), type=wanted, mask=plain.is_null()
        )
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        # What is finer than a microsecond is cut, before 1970 as after it.
        array = pc.floor_temporal(array, unit="microsecond")
    return array.cast(wanted)
