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


def in_windows(frame: DataFrame, window: TimeWindow | ValueWindow | None, schema: Schema) -> DataFrame:
    """The rows of a frame in their windows, which stand in `_window`; rows that lie in none are gone."""
    if window is None:
        return frame
    if isinstance(window, TimeWindow):
        return frame.selectExpr("*", f"{_over_time(window)} AS {IN_WINDOW}")
    starts = _value_starts(window, schema.type_of(window.column))
    rows = frame.selectExpr("*", f"explode({starts}) AS _start")
    kind = ddl(schema.type_of(window.column))
    bounds = f"named_struct('start', {_held('_start', kind)}, 'end', {_held(f'_start + {_number(window.size)}', kind)})"
    return rows.selectExpr("*", f"{bounds} AS {IN_WINDOW}").drop("_start")


def _over_time(window: TimeWindow) -> str:
    size, step = f"'{window.size} microseconds'", f"'{window.step} microseconds'"
    return f"window({quote(window.column)}, {size}, {step}, '{window.offset} microseconds')"


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
