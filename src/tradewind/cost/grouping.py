"""What flows out of operators that group: partial, combine, merge, finish, aggregate, top.

All give out, with every batch, the groups that changed since the one before. A leaf remembers nothing: it ships the
partials of the rows of each batch, so a group is shipped once for each batch that it has rows in. A merge of several
origins' partials gives out the groups of their rows together, not the sum of their groups. A revised answer counts as
one row.

Batches are taken to begin where windows begin. A row lies in `size / step` windows at once and has a partial in each;
where a batch is longer than a step, some windows see only a part of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial as partial_

from tradewind.algebra.aggregates import AggregateCall
from tradewind.algebra.expressions.tree import columns_of
from tradewind.algebra.operators.aggregation import WINDOW, Aggregate, Combine, Finish, Merge, Partial
from tradewind.algebra.operators.core import Top
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import INT, MICROS, DataType
from tradewind.algebra.windows import CountedWindow, SessionWindow, TimeWindow, ValueWindow, Window
from tradewind.cost.assumptions import Assumptions
from tradewind.cost.declared import DISTINCT
from tradewind.cost.flow import Figures, Flow, Windows
from tradewind.cost.groups import expected_groups, group_sizes
from tradewind.cost.packed import Values, column_bytes, window_bytes
from tradewind.cost.rows import Inputs
from tradewind.cost.selectivity import count_values
from tradewind.cost.states import Group, answer_bytes, state_bytes

_SLICES = 8
"""Windows that see a part of a batch are looked at in so many sizes of it."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What a grouping makes of a batch: rows, once for each of their windows, and groups."""

    seconds: float
    rows: float
    groups: float
    windows: Windows | None
    sizes: tuple[tuple[float, float], ...] = ()
    """Shares of the groups, each with the rows of a group."""

    def mean(self, of_group: Callable[[Group], float], values: float | None, skew: float) -> float:
        """The mean over all groups of something that depends on a group's rows and on their different values."""
        return sum(share * of_group(Group(rows, _different(values, skew, rows))) for share, rows in self.sizes)

    @property
    def group(self) -> float:
        """The rows of a group."""
        return self.rows / self.groups if self.groups > 0 else 0.0

    @property
    def in_window(self) -> float:
        """The rows of a window."""
        return self.rows / (self.windows.at_once if self.windows is not None else 1.0)


def _batch(flow: Flow, schema: Schema, keys: Sequence[str], seconds: float, assumed: Assumptions) -> Batch:
    """The groups by some keys in a batch."""
    rows = flow.lifted_per_second * seconds
    found = [flow.columns[key] for key in keys]
    told = [column.windows for column in found if column.windows is not None]
    columns = [
        (assumed.values(column, schema.type_of(key)), column.skew)
        for key, column in zip(keys, found, strict=True)
        if column.windows is None
    ]
    finest = min(told, key=lambda windows: windows.step, default=None)
    groups = _across(rows, seconds, finest, lambda some: expected_groups(some, columns))
    # Windows that see a part of a batch are taken to see their share of it.
    apart = 1.0 if finest is None else finest.at_once + max(1.0, seconds / finest.step) - 1
    return Batch(seconds, rows, groups, finest, tuple(group_sizes(rows / apart, columns)))


def _across(rows: float, seconds: float, windows: Windows | None, groups: Callable[[float], float]) -> float:
    """The groups of all windows that a batch has rows in."""
    if windows is None:
        return groups(rows)
    at_once, steps = windows.at_once, max(1.0, seconds / windows.step)
    full = rows / max(at_once, steps)
    part = min(at_once, steps) - 1
    found = (abs(at_once - steps) + 1) * groups(full)
    if part > 0:
        found += 2 * part * sum(groups(full * (one + 0.5) / _SLICES) for one in range(_SLICES)) / _SLICES
    return min(rows, found)


def _windowed(window: Window | None, flow: Flow) -> tuple[Flow, float]:
    """The flow with what is known of the column `window`, and in how many windows a row lies."""
    if isinstance(window, TimeWindow):
        column = Figures(0.0, windows=Windows(window.size / MICROS, window.step / MICROS))
        return replace(flow, columns={**flow.columns, WINDOW: column}), window.size / window.step
    if isinstance(window, ValueWindow):
        under = flow.columns[window.column]
        column = Figures(0.0, under.distinct or DISTINCT, under.skew)
        return replace(flow, columns={**flow.columns, WINDOW: column}), float(window.size) / float(window.step)
    return flow, 1.0


def _key_figures(flow: Flow, schema: Schema, keys: Sequence[str], batch: Batch) -> dict[str, Figures]:
    """The columns that make the groups: in a batch, each value comes once for each group that it is in."""
    found = {}
    for key in keys:
        column, type_ = flow.columns[key], schema.type_of(key)
        if column.windows is not None:
            weight = _window_weight(type_, column.windows, batch)
        else:
            met = None
            if column.distinct is not None:
                met = min(batch.groups, expected_groups(batch.in_window, [(column.distinct, column.skew)]))
            values = Values(column.distinct, column.skew, max(1.0, batch.groups), met, new_bytes=column.fresh)
            weight = (column.scale if column.fresh is None else 1.0) * column_bytes(type_, values)
        found[key] = replace(column, bytes=weight)
    return found


def _window_weight(type_: DataType, windows: Windows, batch: Batch) -> float:
    mixed = windows.at_once + max(1.0, batch.seconds / windows.step) - 1
    both = window_bytes(type_, mixed)
    return both if type_.name == "STRUCT" else both / 2


def _flow(batch: Batch, columns: dict[str, Figures], below: Flow, lifted: float | None) -> Flow:
    """The groups of batches. By when they are final hardly takes anything: it is the same in all groups of a window."""
    rows = batch.groups / batch.seconds
    lifted = rows if lifted is None else lifted
    return Flow(rows, columns, below.streams, batch.seconds, lifted, read_per_second=below.read_per_second)


def partial(node: Partial, inputs: Inputs, assumed: Assumptions) -> Flow:
    """The states of the groups of each batch, once for each of their windows."""
    flow, batch, keys = _grouped(node, inputs[0], assumed)
    columns = _key_figures(flow, node.schema, keys, batch)
    for name, call in node.functions:
        values, skew = _argument(call, flow)
        value = node.schema.type_of(name).fields[0][1]
        columns[name] = Figures(batch.mean(partial_(state_bytes, call, value), values, skew), values, skew)
    return _flow(batch, columns, inputs[0], flow.lifted_per_second)


def aggregate(node: Aggregate, inputs: Inputs, assumed: Assumptions) -> Flow:
    """The answers of the groups that changed in each batch."""
    if isinstance(node.window, CountedWindow):
        return _counted(node, node.window, inputs[0])
    flow, batch, keys = _grouped(node, inputs[0], assumed)
    columns = _key_figures(flow, node.schema, keys, batch)
    if isinstance(node.window, SessionWindow):
        columns[WINDOW] = Figures(column_bytes(node.schema.type_of(WINDOW)))  # each group has its own
    for name, call in node.functions:
        values, skew = _argument(call, flow)
        group = Group(batch.group, _different(values, skew, batch.group))
        columns[name] = Figures(answer_bytes(call, node.schema.type_of(name), group))
    return _flow(batch, columns, inputs[0], None)


def _grouped(node: Aggregate | Partial, below: Flow, assumed: Assumptions) -> tuple[Flow, Batch, tuple[str, ...]]:
    flow, times = _windowed(node.window, below)
    flow = replace(flow, lifted_per_second=below.rows_per_second * times)
    keys = (*node.keys, WINDOW) if isinstance(node.window, TimeWindow | ValueWindow) else node.keys
    seconds = assumed.flush_seconds(node.window, below.streams)
    return flow, _batch(flow, node.schema, keys, seconds, assumed), keys


def _counted(node: Aggregate, window: CountedWindow, flow: Flow) -> Flow:
    """A window is complete every `step` rows."""
    rows = flow.rows_per_second / window.step
    group = Group(window.size, window.size)
    columns = {key: flow.columns[key] for key in node.keys}
    columns[WINDOW] = Figures(column_bytes(node.schema.type_of(WINDOW)))
    for name, call in node.functions:
        columns[name] = Figures(answer_bytes(call, node.schema.type_of(name), group))
    return Flow(rows, columns, flow.streams, lifted_per_second=rows, read_per_second=flow.read_per_second)


def combine(node: Combine, inputs: Inputs, assumed: Assumptions) -> Flow:
    """One state for each coarser group of a batch, once for each of its windows."""
    flow, times = _windowed(node.window, inputs[0])
    keys = node.keys if node.window is None else (*node.keys, WINDOW)
    return _together(node, replace(flow, lifted_per_second=flow.lifted_per_second * times), keys, assumed)


def merge(node: Merge, inputs: Inputs, assumed: Assumptions) -> Flow:
    """One state for each group of all rows that the partials of a batch stand for."""
    return _together(node, inputs[0], node.keys, assumed)


def _together(node: Combine | Merge, flow: Flow, keys: tuple[str, ...], assumed: Assumptions) -> Flow:
    seconds = flow.flush_seconds if flow.flush_seconds is not None else assumed.flush_seconds(None, flow.streams)
    batch = _batch(flow, node.schema, keys, seconds, assumed)
    columns = _key_figures(flow, node.schema, keys, batch)
    for name, call in node.functions:
        state = flow.columns[name]
        weigh = partial_(state_bytes, call, node.schema.type_of(name).fields[0][1])
        columns[name] = replace(state, bytes=batch.mean(weigh, state.distinct, state.skew))
    return _flow(batch, columns, flow, flow.lifted_per_second)


def finish(node: Finish, inputs: Inputs, _: Assumptions) -> Flow:
    """As many answers as there are states."""
    (flow,) = inputs
    rows = flow.lifted_per_second / flow.rows_per_second if flow.rows_per_second > 0 else 1.0
    columns = dict(flow.columns)
    for name, call in node.functions:
        state = flow.columns[name]
        group = Group(rows, _different(state.distinct, state.skew, rows))
        columns[name] = Figures(answer_bytes(call, node.schema.type_of(name), group))
    return replace(flow, columns=columns, lifted_per_second=flow.rows_per_second)


def top(node: Top, inputs: Inputs, assumed: Assumptions) -> Flow:
    """At most k rows for each group that changed in a batch."""
    (flow,) = inputs
    seconds = flow.flush_seconds if flow.flush_seconds is not None else assumed.flush_seconds(None, flow.streams)
    plain = replace(flow, lifted_per_second=flow.rows_per_second)
    groups = _batch(plain, node.schema, node.per, seconds, assumed).groups
    rows = min(flow.rows_per_second, node.k * groups / seconds)
    columns = dict(flow.columns)
    if node.rank is not None:
        columns[node.rank] = Figures(column_bytes(INT, Values(node.k)), float(node.k))
    return Flow(rows, columns, flow.streams, seconds, rows, due=flow.due, read_per_second=flow.read_per_second)


def _argument(call: AggregateCall, flow: Flow) -> tuple[float | None, float]:
    """The number of values that a call is made over, where it is known, and their skew."""
    if len(call.arguments) != 1:
        return None, 0.0

    def of_column(name: str) -> float:
        known = flow.columns[name].distinct
        return math.inf if known is None else known

    values = count_values(call.arguments[0], of_column)
    asked = columns_of(call.arguments[0])
    skew = flow.columns[next(iter(asked))].skew if len(asked) == 1 else 0.0
    return (None, 0.0) if math.isinf(values) else (max(1.0, values), skew)


def _different(values: float | None, skew: float, rows: float) -> float:
    return rows if values is None else expected_groups(rows, [(values, skew)])
