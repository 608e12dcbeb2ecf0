"""Aggregate, and the three parts it can be split into: partial, merge, finish."""

from __future__ import annotations

from dataclasses import dataclass

from tradewind.algebra.aggregates import AggregateCall
from tradewind.algebra.operators.base import Linear, Operator
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import INTERVAL, DataType, is_orderable
from tradewind.algebra.windows import TimeWindow, Window
from tradewind.errors import GraphError

Functions = tuple[tuple[str, AggregateCall], ...]
WINDOW = "window"
"""The name of the column that holds an aggregate's window."""


@dataclass(frozen=True, eq=False, repr=False)
class Aggregate(Operator):
    """One row per group (and window) with the answers of all functions over its rows.

    A row's weight counts: three times +1 is three rows, and -1 takes one back. A group without rows has no answer.
    """

    input: Operator
    keys: tuple[str, ...]
    functions: Functions
    window: Window | None = None

    def output(self) -> Schema:
        """The keys, the window, the answers."""
        answers = [(name, call.type(self.input.schema)) for name, call in self.functions]
        for name, type_ in answers:
            if type_ == INTERVAL:
                raise GraphError(f"{name!r} would be an INTERVAL.", hint="aggregate unix_micros() of the time.")
        return grouped(self, self.keys, self.window, answers)


@dataclass(frozen=True, eq=False, repr=False)
class Partial(Linear):
    """The lifted and merged states of the rows at hand, per group and window; it remembers nothing between batches."""

    input: Operator
    keys: tuple[str, ...]
    functions: Functions
    window: Window | None = None

    def output(self) -> Schema:
        """The keys, the window, the opaque states."""
        if self.window is not None and not self.window.aligned:
            raise GraphError(f"rows in windows of {self.window} cannot be aggregated apart.")
        return grouped(
            self, self.keys, self.window, [(n, call.state_type(self.input.schema)) for n, call in self.functions]
        )


@dataclass(frozen=True, eq=False, repr=False)
class Merge(Operator):
    """One state per group out of many partials, in whatever order they come. Its calls carry no arguments."""

    input: Operator
    keys: tuple[str, ...]
    functions: Functions

    def output(self) -> Schema:
        """As the partials'; it tells the time by its keys."""
        schema = self.input.schema
        _require_states(self)
        wanted = (*self.keys, *(name for name, _ in self.functions))
        if schema.names != wanted:
            raise GraphError(f"a merge of ({', '.join(wanted)}) does not fit partials of ({schema}).")
        return Schema(schema.columns, tuple((n, lag) for n, lag in schema.times if n.split(".")[0] in self.keys))


@dataclass(frozen=True, eq=False, repr=False)
class Finish(Operator):
    """Each state turned into its answer; the other columns stay. Its calls carry no arguments."""

    input: Operator
    functions: Functions

    def output(self) -> Schema:
        """The states' columns hold answers."""
        _require_states(self)
        calls = dict(self.functions)
        columns = [(n, finished_type(calls[n], t) if n in calls else t) for n, t in self.input.schema.columns]
        return Schema(tuple(columns), self.input.schema.times)


def finished_type(call: AggregateCall, state: DataType) -> DataType:
    """The type of the answer that a state of the given type holds."""
    if call.user is not None:
        return call.user.result
    found = call.definition.result(state.fields[0][1])
    if found is None:
        raise GraphError(f"{call.function} cannot finish {state}.")
    return found


def detached(functions: Functions) -> Functions:
    """The calls as a merge or a finish names them: what was lifted is behind them."""
    return tuple((name, AggregateCall(c.function, (), c.parameters, c.user)) for name, c in functions)


def _require_states(node: Merge | Finish) -> None:
    for name, call in node.functions:
        type_ = node.input.schema.type_of(name)
        if type_.name != "STATE" or type_.fields[0][0] != call.function:
            raise GraphError(f"{name!r} is {type_}, not a state of {call.function}.")


def grouped(
    node: Aggregate | Partial, keys: tuple[str, ...], window: Window | None, answers: list[tuple[str, DataType]]
) -> Schema:
    """The schema of grouped rows, and which of its columns tell when a group is settled."""
    schema = node.input.schema
    for key in keys:
        if not is_orderable(schema.type_of(key)):
            raise GraphError(f"{key!r} is {schema.type_of(key)} and cannot be grouped by.")
    if window is not None:
        window.check(schema)
        if WINDOW in keys:
            raise GraphError(
                "the rows have a window already.", hint="rename that column, or group by it without a new window."
            )
    for _, call in node.functions:
        if call.definition.ordered and schema.time is None:
            raise GraphError(f"{call} needs event time.", hint="declare `time:` on the stream and keep that column.")
    if not keys and not answers and window is None:
        raise GraphError("an aggregate needs keys or functions.")
    columns = [(key, schema.type_of(key)) for key in keys]
    times = [(name, lag) for name, lag in schema.times if name.split(".")[0] in keys]
    if window is not None:
        columns.append((WINDOW, window.type(schema)))
        times.extend(_window_times(window, schema))
    return Schema((*columns, *answers), tuple(times))


def _window_times(window: Window, schema: Schema) -> list[tuple[str, int]]:
    lag = window.lag(schema)
    if lag is None:
        return []
    found = [(WINDOW, lag), (f"{WINDOW}.end", lag - 1)]
    if isinstance(window, TimeWindow):
        found.append((f"{WINDOW}.start", window.size - 1 + lag))
    return found
