"""Rows as the interpreter sees them: values, the time by which they are settled, and a weight."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DataType
from tradewind.interpreter.comparison import order_key
from tradewind.interpreter.values import Value

Values = tuple[Value, ...]
Time = int | float
"""Microseconds since 1970, or one of the two infinities."""

FOREVER = math.inf
"""The mark of a stream that has ended, and the settle time of what can change until then."""

NEVER = -math.inf
"""The mark of a stream that has not begun."""


_DAY = 86_400_000_000


class Row(NamedTuple):
    """Values, and `due`: once the mark has passed it, no row that is in time can change them."""

    values: Values
    due: Time


class Delta(NamedTuple):
    """So many of a row more (or, below zero, fewer)."""

    row: Row
    weight: int


Bag = Counter[Row]
"""How many there are of each row."""


def bag(deltas: Iterable[Delta]) -> Bag:
    """The sum of deltas; what cancels out is gone."""
    total: Bag = Counter()
    for row, weight in deltas:
        total[row] += weight
    return tidy(total)


def tidy(total: Bag) -> Bag:
    """Without the rows of which there are none."""
    return Counter({row: weight for row, weight in total.items() if weight})


def is_final(due: Time, mark: Time) -> bool:
    """Whether a row that is settled at `due` can be relied on at this mark."""
    return due < mark or mark == FOREVER


def difference(new: Bag, old: Bag, order: Callable[[Row], Value]) -> list[Delta]:
    """The deltas that lead from one bag to another: first what goes, then what comes, each in order."""
    gone = sorted((row for row in old if new[row] < old[row]), key=order)
    come = sorted((row for row in new if new[row] > old[row]), key=order)
    return [Delta(row, new[row] - old[row]) for row in (*gone, *come)]


def content_order(schema: Schema) -> Callable[[Row], Value]:
    """An order of rows that depends on nothing but what is in them."""
    types = [type_ for _, type_ in schema.columns]
    return lambda row: (tuple(sort_key(v, t) for v, t in zip(row.values, types, strict=True)), row.due)


def sort_key(value: Value, type_: DataType) -> Value:
    """What sorts a value of any type, opaque states included."""
    return (1, repr(value)) if type_.name == "STATE" else order_key(value, type_)


def copies(total: Bag) -> Iterator[Row]:
    """Each row as often as there is one of it; rows that are owed are passed over."""
    for row, weight in total.items():
        for _ in range(weight):
            yield row


def clock(schema: Schema) -> Callable[[Values], Time]:
    """The moment by which rows of a schema are settled, read off the columns that tell the time; FOREVER when none
    does.
    """
    tellers = [
        (schema.index(name), lag, schema.type_of(name).name) for name, lag in schema.times if name in schema.names
    ]

    def due(values: Values) -> Time:
        known = [moment(values[i], kind) + lag for i, lag, kind in tellers]
        return min(known, default=FOREVER)

    return due


def moment(value: Value, kind: str) -> Time:
    """The time that a value of a column tells: itself, the last microsecond of a window, the first of a day."""
    if value is None or (kind == "STRUCT" and value[1] is None):
        return FOREVER
    found: Time = value[1] - 1 if kind == "STRUCT" else value * _DAY if kind == "DATE" else value
    return found
