"""Windows that a row alone tells: the row once for each window it lies in, with the window in a column of its own."""

from __future__ import annotations

import math

from pyspark.sql import DataFrame

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DataType, is_fraction
from tradewind.algebra.windows import Number, TimeWindow, ValueWindow
from tradewind.spark.types import ddl, quote

IN_WINDOW = "_window"
"""The column that holds a row's window: rows may have a `window` of their own."""

_FEW = 8
"""So many windows of a row are written out, which is faster than to count them off."""

START = "_window_start"
"""The column that holds a window's start, as a number where a window is over time."""


def in_windows(frame: DataFrame, window: TimeWindow | ValueWindow | None, schema: Schema) -> DataFrame:
    """The rows of a frame in their windows, which stand in `_window`; rows that lie in none are gone."""
    if window is None:
        return frame
    return at_starts(frame, window, schema).selectExpr("*", f"{window_sql(window, schema)} AS {IN_WINDOW}").drop(START)


def at_starts(frame: DataFrame, window: TimeWindow | ValueWindow, schema: Schema) -> DataFrame:
    """The rows of a frame with the starts of their windows. To group by these is faster than by Spark's own windows:
    a number is hashed, not a struct, and the window is worked out per group, not per row.
    """
    if isinstance(window, TimeWindow):
        return _at_times(frame, window)
    return frame.selectExpr("*", f"explode({_value_starts(window, schema.type_of(window.column))}) AS {START}")


def window_sql(window: TimeWindow | ValueWindow, schema: Schema) -> str:
    """The window that starts at a start."""
    if isinstance(window, TimeWindow):
        end = f"timestamp_micros({START} + {window.size}L)"
        return f"named_struct('start', timestamp_micros({START}), 'end', {end})"
    kind = ddl(schema.type_of(window.column))
    return f"named_struct('start', {_held(START, kind)}, 'end', {_held(f'{START} + {_number(window.size)}', kind)})"


def _at_times(frame: DataFrame, window: TimeWindow) -> DataFrame:
    time = f"unix_micros({quote(window.column)})"
    last = f"({time} - pmod({time} - {window.offset}L, {window.step}L))"
    many = math.ceil(window.size / window.step)
    if many == 1:
        rows = frame.selectExpr("*", f"{last} AS {START}").where(f"{START} IS NOT NULL")
    else:
        starts = f"sequence({last} - {(many - 1) * window.step}L, {last}, {window.step}L)"
        if many <= _FEW:
            starts = f"array({', '.join(f'{last} - {back * window.step}L' for back in range(many))})"
        rows = frame.where(f"{time} IS NOT NULL").selectExpr("*", f"explode({starts}) AS {START}")
    # Windows do not always follow one another closely.
    return rows if window.size % window.step == 0 else rows.where(f"{START} > {time} - {window.size}L")


def _number(value: Number) -> str:
    return f"{value!r}D" if isinstance(value, float) else f"{value}BD"


def _held(bound: str, kind: str) -> str:
    """A bound as a value of the attribute; NULL where the type ends before the window does."""
    if kind == "TIMESTAMP":
        return f"timestamp_micros(try_cast({bound} AS BIGINT))"
    if kind == "DATE":
        return f"date_from_unix_date(try_cast({bound} AS INT))"
    return f"try_cast({bound} AS {kind})"


def _value_starts(window: ValueWindow, type_: DataType) -> str:
    """An array of the starts of all windows that a value lies in, exact for whole numbers and decimals.

    The variables' names are odd because a column of the same name would be hidden by them.
    """
    value = quote(window.column)
    many = math.ceil(window.size / window.step) + 1
    if is_fraction(type_):
        number = f"CAST({value} AS DOUBLE)"
        ratio = f"({number} / {float(window.step)!r}D)"
        # Beyond 2^52 doubles are whole; floor() would have to give a BIGINT.
        whole = f"if(abs({ratio}) < 4503599627370496D, CAST(floor({ratio}) AS DOUBLE), {ratio})"
        starts = f"transform(sequence(0, {many}), _tw_i -> ({whole} - _tw_i) * {float(window.step)!r}D + 0D)"
        inside = f"_tw_s <= {number} AND {number} < _tw_s + {float(window.size)!r}D"
        return f"if(abs({number}) < double('Infinity'), filter({starts}, _tw_s -> {inside}), array())"
    match type_.name:
        case "TIMESTAMP":
            number = f"CAST(unix_micros({value}) AS DECIMAL(20,0))"
        case "DATE":
            number = f"CAST(unix_date({value}) AS DECIMAL(20,0))"
        case "DECIMAL":
            number = value
        case _:
            number = f"CAST({value} AS DECIMAL(20,0))"
    step, size = int(window.step), int(window.size)
    first = f"({number} - pmod({number}, {step}BD))"
    starts = f"transform(sequence(0, {many}), _tw_i -> {first} - CAST(_tw_i AS DECIMAL(10,0)) * {step}BD)"
    return f"if({value} IS NULL, array(), filter({starts}, _tw_s -> {number} < _tw_s + {size}BD))"
