"""Operators that look at a row's neighbours in time: order, resample, waitfor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar
from typing import Literal as OneOf

from tradewind.algebra.expressions.tree import Expression
from tradewind.algebra.expressions.typing import require_boolean
from tradewind.algebra.operators.base import Linear, Operator
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DOUBLE, DataType, is_numeric, is_orderable
from tradewind.algebra.windows import require_time
from tradewind.errors import GraphError


@dataclass(frozen=True, eq=False, repr=False)
class Order(Linear):
    """The rows in the order of a column, as far as a buffer of `slack` rows can sort them; a row that comes later
    still is dropped.
    """

    input: Operator
    by: str
    slack: int

    def output(self) -> Schema:
        """As the input's; it tells the time only where rows are never taken back."""
        if self.slack < 0:
            raise GraphError("slack must be zero tuples or more.")
        if not is_orderable(self.input.schema.type_of(self.by)):
            raise GraphError(f"{self.by!r} is {self.input.schema.type_of(self.by)} and cannot be ordered.")
        # Where rows are taken back, one that was let go may have to wait again: nothing is settled before the end.
        return self.input.schema if self.input.append_only else Schema(self.input.schema.columns)


@dataclass(frozen=True, eq=False, repr=False)
class Resample(Operator):
    """Values of a stream at other times: on a grid of `every`, or at the times of the rows of `at`.

    Per group of `keys`, `previous` takes the latest value at or before the time, `linear` draws a line between the
    neighbours. A grid runs from a group's first row to its last. Neighbours farther apart than `max_gap` are not
    connected.
    """

    input: Operator
    keys: tuple[str, ...]
    values: tuple[str, ...]
    method: OneOf["previous", "linear"]
    every: int | None = None
    at: Operator | None = None
    max_gap: int | None = None
    takes: ClassVar = ("input", "at")

    def output(self) -> Schema:
        """On a grid: keys, time, values. At another stream's times: its columns, then the values."""
        schema = self.input.schema
        if self.method not in ("previous", "linear"):
            raise GraphError(f"unknown method {self.method!r}.", hint="previous or linear.")
        if (self.every is None) == (self.at is None):
            raise GraphError("resample needs either a grid (every) or another stream (at).")
        if any(length is not None and length <= 0 for length in (self.every, self.max_gap)):
            raise GraphError("resample's grid and largest gap must be longer than nothing.")
        if not self.values:
            raise GraphError("resample needs the columns whose values are wanted.")
        require_time(schema, None, "rows")
        values = tuple((name, self._value_type(name)) for name in self.values)
        return self._on_grid(schema, values) if self.at is None else self._at_times(self.at.schema, values)

    def _value_type(self, name: str) -> DataType:
        type_ = self.input.schema.type_of(name)
        if self.method == "previous":
            return type_
        if not is_numeric(type_):
            raise GraphError(f"{name!r} is {type_}; a line can only be drawn between numbers.")
        return DOUBLE

    def _on_grid(self, schema: Schema, values: tuple[tuple[str, DataType], ...]) -> Schema:
        time = schema.time
        keys = tuple((name, schema.type_of(name)) for name in self.keys)
        lag = schema.lag(time) if time else None
        times = ((time, lag + self.max_gap),) if time and lag is not None and self.max_gap is not None else ()
        return Schema((*keys, (str(time), schema.type_of(str(time))), *values), times)

    def _at_times(self, other: Schema, values: tuple[tuple[str, DataType], ...]) -> Schema:
        require_time(other, None, "rows")
        for key in self.keys:
            if other.type_of(key) != self.input.schema.type_of(key):
                raise GraphError(f"the key {key!r} has another type in the other stream.")
        reach = 0 if self.method == "previous" else self.max_gap
        own = self.input.schema.lag(str(self.input.schema.time))
        lag = other.lag(str(other.time))
        known = lag is not None and own is not None and reach is not None
        times = ((str(other.time), max(lag or 0, (own or 0) + (reach or 0))),) if known else ()
        return Schema((*other.columns, *values), times)


@dataclass(frozen=True, eq=False, repr=False)
class WaitFor(Linear):
    """Each row of the input for which, less than `timeout` later, a row of `signal` satisfies the predicate with it;
    others are dropped.
    """

    input: Operator
    signal: Operator
    predicate: Expression
    timeout: int
    takes: ClassVar = ("input", "signal")

    def output(self) -> Schema:
        """As the input's; a row may have waited for the timeout."""
        own, other = self.input.schema, self.signal.schema
        if self.timeout <= 0:
            raise GraphError("waitfor needs a timeout longer than nothing.")
        require_time(own, None, "rows")
        require_time(other, None, "rows")
        both = pair_schema(own, other)
        if require_boolean(self.predicate, both) != self.predicate:
            raise GraphError("the predicate was not resolved against both inputs.")
        signal_lag = other.lag(str(other.time)) or 0
        return Schema(
            own.columns, tuple((n, max(lag, self.timeout + signal_lag)) for n, lag in own.times if n == own.time)
        )


def pair_schema(left: Schema, right: Schema) -> Schema:
    """The columns of a pair of rows; names must differ."""
    clash = {name.lower() for name in left.names} & {name.lower() for name in right.names}
    if clash:
        raise GraphError(f"both inputs have columns named {', '.join(sorted(clash))}.", hint="rename them on one side.")
    return Schema(left.columns + right.columns)
