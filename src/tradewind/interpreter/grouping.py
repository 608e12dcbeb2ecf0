"""The meaning of aggregate, partial, combine, merge and finish."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tradewind.algebra.aggregates import AggregateCall
from tradewind.algebra.operators.aggregation import WINDOW, Aggregate, Combine, Finish, Functions, Merge, Partial
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BOOLEAN, DataType
from tradewind.algebra.windows import TimeWindow
from tradewind.errors import DataError
from tradewind.interpreter.aggregates import Meaning, State, meaning
from tradewind.interpreter.comparison import group_key
from tradewind.interpreter.evaluate import Evaluator, evaluator
from tradewind.interpreter.ordering import within_slack
from tradewind.interpreter.rows import FOREVER, Bag, Delta, Row, Time, Values, bag, clock, copies
from tradewind.interpreter.values import Value
from tradewind.interpreter.windows import panes, starts


class _Prepared(NamedTuple):
    """A function ready to be fed: its meaning, how to get its value from a row, and the place of the event time."""

    meaning: Meaning
    arguments: list[Evaluator]
    user: bool
    time: int | None


def _prepared(functions: Functions, schema: Schema) -> list[_Prepared]:
    time = schema.index(schema.time) if schema.time else None
    found = []
    for _, call in functions:
        arguments = [evaluator(argument, schema) for argument in call.arguments]
        found.append(_Prepared(meaning(call, _value_type(call, schema)), arguments, call.user is not None, time))
    return found


def _value_type(call: AggregateCall, schema: Schema) -> DataType:
    return call.state_type(schema).fields[0][1]


def lifted(function: _Prepared, rows: Bag) -> State | None:
    """The state of some rows, or None where no value is there to be lifted."""
    state = None
    for row, weight in rows.items():
        value = _value(function, row.values)
        if value is None or not weight:
            continue
        time = row.values[function.time] if function.time is not None else None
        one = function.meaning.lift(value, FOREVER if time is None else time, weight)
        state = one if state is None else function.meaning.merge(state, one)
    return state


def _value(function: _Prepared, values: Values) -> Value:
    if function.user:
        given = tuple(argument(values) for argument in function.arguments)
        return None if None in given else given
    return function.arguments[0](values) if function.arguments else True


def _finished(function: Meaning, state: State | None) -> Value:
    return function.empty if state is None else function.finish(state)


def groups(rows: Iterable[tuple[Row, int]], keys: tuple[str, ...], schema: Schema) -> dict[Values, Bag]:
    """The rows by the values of the key columns."""
    places = [(schema.index(key), schema.type_of(key)) for key in keys]
    found: dict[Values, Bag] = {}
    for row, weight in rows:
        key = tuple(group_key(row.values[index], type_) for index, type_ in places)
        found.setdefault(key, Bag())[row] += weight
    return found


def aggregate(node: Aggregate, log: list[Delta], mark: Time) -> Bag:
    """One row for each group and window that holds rows."""
    schema = node.input.schema
    functions = _prepared(node.functions, schema)
    due_of = clock(node.schema)
    slack = getattr(node.window, "slack", None)
    rows = within_slack(log, node.keys, _ordering(node), slack, schema) if slack is not None else bag(log)
    answer: Bag = Bag()
    for key, group in groups(rows.items(), node.keys, schema).items():
        if node.window is None:
            found: list[tuple[Values, Bag, Time]] = [((), group, FOREVER)]
        else:
            found = [((pane.window,), pane.rows, pane.due) for pane in panes(node.window, group, schema, mark)]
        for window, members, due in found:
            if sum(members.values()) > 0:
                finished = (_finished(f.meaning, lifted(f, members)) for f in functions)
                values = (*key, *window, *finished)
                answer[Row(values, min(due, due_of(values)))] += 1
    return answer


def _ordering(node: Aggregate) -> str:
    return str(getattr(node.window, "order", None) or getattr(node.window, "column", None))


def partial(node: Partial, news: list[Delta]) -> list[Delta]:
    """The states of the new rows alone: nothing is remembered, nothing is ever taken back."""
    schema = node.input.schema
    functions = _prepared(node.functions, schema)
    due_of = clock(node.schema)
    found = []
    for key, group in groups(news, node.keys, schema).items():
        parts: list[tuple[Values, Bag]] = [((), group)]
        if node.window is not None:
            parts = [((pane.window,), pane.rows) for pane in panes(node.window, group, schema, FOREVER)]
        for window, members in parts:
            values = (*key, *window, *(lifted(f, members) for f in functions))
            found.append(Delta(Row(values, due_of(values)), 1))
    return found


def combine(node: Combine, news: list[Delta]) -> list[Delta]:
    """The states of the new partials of each coarser group, merged: nothing is remembered."""
    if any(weight < 0 for _, weight in news):
        raise DataError("a partial is taken back.", hint="what is taken back comes as a partial of its own.")
    schema = node.input.schema
    due_of = clock(node.schema)
    found = []
    for key, group in groups(news, node.keys, schema).items():
        parts: list[tuple[Values, Bag]] = [((), group)]
        if node.window is not None:
            parts = [((window,), rows) for window, rows in _coarser(node.window, group, schema.index(WINDOW)).items()]
        for window, members in parts:
            values = (*key, *window, *_merged_states(node.functions, schema, members))
            found.append(Delta(Row(values, due_of(values)), 1))
    return found


def _coarser(window: TimeWindow, group: Bag, place: int) -> dict[tuple[int, int], Bag]:
    """The partials by the longer windows that theirs lie in."""
    found: dict[tuple[int, int], Bag] = {}
    for row, weight in group.items():
        for start in starts(window, row.values[place][0]):
            found.setdefault((start, start + window.size), Bag())[row] += weight
    return found


def merge(node: Merge, rows: Bag) -> Bag:
    """One state for each group: all its partials', in whatever order they came."""
    schema = node.schema
    due_of = clock(schema)
    answer: Bag = Bag()
    for key, group in groups(rows.items(), node.keys, schema).items():
        values = (*key, *_merged_states(node.functions, schema, group))
        answer[Row(values, due_of(values))] += 1
    return answer


def _merged_states(functions: Functions, schema: Schema, partials: Bag) -> list[State | None]:
    """One state for each function, out of those of all the partials."""
    found: list[State | None] = []
    for name, call in functions:
        place, means = schema.index(name), meaning(call, _state_of(schema, name))
        state = None
        for row in copies(partials):
            state = _merged(means, state, row.values[place])
        found.append(state)
    return found


def _merged(function: Meaning, a: State | None, b: State | None) -> State | None:
    if a is None or b is None:
        return b if a is None else a
    return function.merge(a, b)


def _state_of(schema: Schema, name: str) -> DataType:
    fields = schema.type_of(name).fields
    return fields[0][1] if fields else BOOLEAN


def finish(node: Finish, row: Row) -> Row:
    """The row with answers in the place of states."""
    schema = node.input.schema
    calls = dict(node.functions)
    values = []
    for name, value in zip(schema.names, row.values, strict=True):
        if name in calls:
            values.append(_finished(meaning(calls[name], _state_of(schema, name)), value))
        else:
            values.append(value)
    return Row(tuple(values), row.due)
