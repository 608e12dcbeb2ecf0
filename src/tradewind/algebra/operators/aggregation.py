"""Aggregate, and the parts it can be split into: partial, any number of combines, merge, finish."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tradewind.algebra.aggregates import AggregateCall
from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.operators.base import Linear, Operator
from tradewind.algebra.operators.core import ConnectionPoint, Filter, Map, Source, Union
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import INTERVAL, DataType, is_orderable
from tradewind.algebra.windows import TimeWindow, Window, tiles
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
class Combine(Linear):
    """The partials at hand, merged into those of coarser groups: fewer keys, or longer windows that theirs tile. It
    remembers nothing between batches.

    States that are not named in `functions` are left out. Its calls carry no arguments.
    """

    input: Operator
    keys: tuple[str, ...]
    functions: Functions
    window: TimeWindow | None = None

    def output(self) -> Schema:
        """The keys, the coarser window, the states; a coarser window is settled as soon after its end as theirs."""
        schema = self.input.schema
        _require_states(self)
        _require_keys(self.keys, schema)
        if not all(_only_come(one) for one in _made_by(self.input)):
            raise GraphError(
                "partials that may be taken back cannot be combined.", hint="combine before the merge, not after it."
            )
        if not self.keys and not self.functions and self.window is None:
            raise GraphError("a combine needs keys or functions.")
        columns = [(key, schema.type_of(key)) for key in self.keys]
        times = _key_times(self.keys, schema)
        if self.window is not None:
            columns.append((WINDOW, _coarser(self, self.window).type(schema)))
            times.extend(_window_times(self.window, schema.lag(WINDOW)))
        return Schema((*columns, *((name, schema.type_of(name)) for name, _ in self.functions)), tuple(times))


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
        return Schema(schema.columns, tuple(_key_times(self.keys, schema)))


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


def _require_states(node: Combine | Merge | Finish) -> None:
    for name, call in node.functions:
        type_ = node.input.schema.type_of(name)
        if type_.name != "STATE" or type_.fields[0][0] != call.function:
            raise GraphError(f"{name!r} is {type_}, not a state of {call.function}.")


def grouped(
    node: Aggregate | Partial, keys: tuple[str, ...], window: Window | None, answers: list[tuple[str, DataType]]
) -> Schema:
    """The schema of grouped rows, and which of its columns tell when a group is settled."""
    schema = node.input.schema
    _require_keys(keys, schema)
    if window is not None:
        window.check(schema)
        _require_no_window(keys)
    for _, call in node.functions:
        if call.definition.ordered and schema.time is None:
            raise GraphError(f"{call} needs event time.", hint="declare `time:` on the stream and keep that column.")
    if not keys and not answers and window is None:
        raise GraphError("an aggregate needs keys or functions.")
    columns = [(key, schema.type_of(key)) for key in keys]
    times = _key_times(keys, schema)
    if window is not None:
        columns.append((WINDOW, window.type(schema)))
        times.extend(_window_times(window, window.lag(schema)))
    return Schema((*columns, *answers), tuple(times))


def _require_keys(keys: tuple[str, ...], schema: Schema) -> None:
    for key in keys:
        if not is_orderable(schema.type_of(key)):
            raise GraphError(f"{key!r} is {schema.type_of(key)} and cannot be grouped by.")


def _require_no_window(keys: tuple[str, ...]) -> None:
    if WINDOW in keys:
        raise GraphError(
            "the rows have a window already.", hint="rename that column, or group by it without a new window."
        )


def _key_times(keys: tuple[str, ...], schema: Schema) -> list[tuple[str, int]]:
    return [(name, lag) for name, lag in schema.times if name.split(".")[0] in keys]


def _window_times(window: Window, lag: int | None) -> list[tuple[str, int]]:
    if lag is None:
        return []
    found = [(WINDOW, lag), (f"{WINDOW}.end", lag - 1)]
    if isinstance(window, TimeWindow):
        found.append((f"{WINDOW}.start", window.size - 1 + lag))
    return found


def windows_of(node: Operator) -> frozenset[Window]:
    """The windows that the node's `window` column is known to hold: those of the partials and combines that made it.

    What comes from a source was made elsewhere, and nothing is known of it here.
    """
    found = set()
    for one in _made_by(node, as_it_is=WINDOW):
        made = one.window if isinstance(one, Partial | Combine) else None
        if made is not None:
            found.add(made)
        elif not isinstance(one, Source):
            raise GraphError(
                "it is not known which windows the partials are in.",
                hint="give the partial aggregate a window, and keep its column as it is.",
            )
    return frozenset(found)


def _coarser(node: Combine, window: Window) -> TimeWindow:
    """The window, if it can be put together from those that the partials are in."""
    if not isinstance(window, TimeWindow):
        raise GraphError(f"partials cannot be combined in windows of {window}.", hint="only in windows over time.")
    window.check_lengths()
    _require_no_window(node.keys)
    if WINDOW not in node.input.schema.names:
        raise GraphError("the partials have no window.", hint="give the partial aggregate one that is shorter.")
    for fine in windows_of(node.input):
        if not isinstance(fine, TimeWindow) or not tiles(fine, window):
            raise GraphError(
                f"windows of {window} are not made of whole windows of {fine}.",
                hint="the shorter ones must lie side by side, and fit into size, step and offset of the longer ones.",
            )
    return window


def _only_come(node: Operator) -> bool:
    """Whether its rows are never taken back: a partial gives new states for what its input takes back, and states that
    come from a source are partials that travelled.
    """
    travelled = isinstance(node, Source) and any(type_.name == "STATE" for _, type_ in node.schema.columns)
    return travelled or isinstance(node, Partial | Combine) or node.append_only


def _made_by(node: Operator, as_it_is: str | None = None) -> Iterator[Operator]:
    """Where the rows of a node come from, past all that only picks and gathers them, or maps them and keeps a column
    `as_it_is`.
    """
    seen: set[Operator] = set()
    stack = [node]
    while stack:
        one = stack.pop()
        if one in seen:
            continue
        seen.add(one)
        if isinstance(one, Filter | Union | ConnectionPoint) or _hands_on(one, as_it_is):
            stack.extend(one.inputs)
        elif one.derived:
            stack.append(one.inputs[0])  # a split or a sample picks from it; of a superbox it is the body
        else:
            yield one


def _hands_on(node: Operator, column: str | None) -> bool:
    """Whether it is a map or a combine that leaves a column as it is; without a column, any map."""
    if isinstance(node, Map):
        return column is None or (column, Column(column)) in node.columns
    return isinstance(node, Combine) and node.window is None and column in node.keys
