"""Which rows of one group belong together: the meaning of every kind of window."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import ROUND_FLOOR, Decimal
from typing import NamedTuple

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DataType, is_fraction, is_integer
from tradewind.algebra.windows import CountedWindow, SessionWindow, TimeWindow, ValueWindow, Window
from tradewind.interpreter.comparison import order_key
from tradewind.interpreter.rows import FOREVER, Bag, Row, Time, content_order, copies, is_final
from tradewind.interpreter.values import EXACT, Value, fixed, whole


class Pane(NamedTuple):
    """One window's rows, its value in the `window` column, and by when it is settled."""

    window: Value
    rows: Bag
    due: Time


def panes(window: Window, group: Bag, schema: Schema, mark: Time) -> Iterator[Pane]:
    """The windows of one group's rows."""
    match window:
        case TimeWindow():
            return _over_time(window, group, schema)
        case SessionWindow():
            return _sessions(window, group, schema)
        case CountedWindow():
            return _counted(window, group, schema, mark)
        case ValueWindow():
            return _over_values(window, group, schema)


def starts(window: TimeWindow, time: int) -> Iterator[int]:
    """The starts of the windows that a time lies in, latest first."""
    start = time - (time - window.offset) % window.step
    while start > time - window.size:
        yield start
        start -= window.step


def _over_time(window: TimeWindow, group: Bag, schema: Schema) -> Iterator[Pane]:
    column, lag = schema.index(window.column), schema.lag(window.column) or 0
    found: dict[int, Bag] = {}
    for row, weight in group.items():
        if row.values[column] is not None:
            for start in starts(window, row.values[column]):
                found.setdefault(start, Bag())[row] = weight
    for start, rows in found.items():
        end = start + window.size
        yield Pane((start, end), rows, end - 1 + lag)


def _sessions(window: SessionWindow, group: Bag, schema: Schema) -> Iterator[Pane]:
    column, lag = schema.index(window.column), schema.lag(window.column) or 0
    for run in _runs(group, schema, lambda row: row.values[column], window.gap + 1):
        first, last = run[0].values[column], run[-1].values[column]
        end = last + window.gap
        yield Pane((first, end), Bag(run), end + lag)


def _runs(group: Bag, schema: Schema, time: Callable[[Row], Value], gap: int | None) -> Iterator[list[Row]]:
    """The rows in order, cut wherever one follows another by the gap or more; each row as often as it is there."""
    content = content_order(schema)
    timed = [row for row in copies(group) if time(row) is not None]
    run: list[Row] = []
    for row in sorted(timed, key=lambda row: (time(row), content(row))):
        if run and gap is not None and time(row) - time(run[-1]) >= gap:
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def _counted(window: CountedWindow, group: Bag, schema: Schema, mark: Time) -> Iterator[Pane]:
    column, lag = schema.index(window.order), schema.lag(window.order)
    type_ = schema.type_of(window.order)
    if window.timeout is None:
        content = content_order(schema)
        ordered = [row for row in copies(group) if row.values[column] is not None]
        ordered.sort(key=lambda row: (order_key(row.values[column], type_), content(row)))
        runs = iter([ordered])
    else:
        runs = _runs(group, schema, lambda row: row.values[column], window.timeout)
    for run in runs:
        deadline = run[-1].values[column] + window.timeout if window.timeout is not None and run else None
        for first in range(0, len(run), window.step):
            rows = run[first : first + window.size]
            start, end = rows[0].values[column], rows[-1].values[column]
            if len(rows) == window.size:
                due = FOREVER if lag is None else end + lag
                yield Pane((start, end, False), Bag(rows), due)
            elif deadline is not None and lag is not None and is_final(deadline - 1 + lag, mark):
                # That nothing came is only known once the mark has passed the deadline.
                yield Pane((start, deadline, True), Bag(rows), deadline - 1 + lag)


def _over_values(window: ValueWindow, group: Bag, schema: Schema) -> Iterator[Pane]:
    column, type_ = schema.index(window.column), schema.type_of(window.column)
    time = schema.index(schema.time) if schema.time else 0
    lag = schema.lag(schema.time) or 0 if schema.time else 0

    def time_of(row: Row) -> Value:
        return row.values[time]

    found: dict[Value, Bag] = {}
    for row, weight in group.items():
        for start in value_starts(window, row.values[column], type_):
            found.setdefault(start, Bag())[row] += weight
    for start, rows in found.items():
        bounds = (_held(start, type_), _held(_plus(start, window.size), type_))
        if window.timeout is None:
            yield Pane(bounds, rows, FOREVER)
            continue
        for run in _runs(rows, schema, time_of, window.timeout):
            yield Pane(bounds, Bag(run), time_of(run[-1]) + window.timeout - 1 + lag)


def value_starts(window: ValueWindow, value: Value, type_: DataType) -> Iterator[Value]:
    """The starts of the value windows that a value lies in, greatest first; NULL, NaN and infinities lie in none."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return
    highest = _floor(value, window.step)
    for number in range(highest, highest - math.ceil(window.size / window.step) - 1, -1):
        start = _times(number, window.step, type_)
        if start <= value < _plus(start, window.size):
            yield start


def _floor(value: Value, step: float) -> int:
    if isinstance(value, Decimal):
        return int((EXACT.divide(value, Decimal(step))).to_integral_value(ROUND_FLOOR))
    return math.floor(value / step) if isinstance(value, float) else int(value // step)


def _times(number: int, step: float, type_: DataType) -> Value:
    if is_fraction(type_):
        return number * step + 0.0
    return Decimal(number * step) if type_.name == "DECIMAL" else number * step


def _plus(start: Value, size: float) -> Value:
    return EXACT.add(start, Decimal(size)) if isinstance(start, Decimal) else start + size


def _held(bound: Value, type_: DataType) -> Value:
    """A window's bound as a value of the attribute; NULL where the type ends before the window does."""
    if is_integer(type_):
        return whole(bound, type_)
    return fixed(bound, type_) if type_.name == "DECIMAL" else bound
