"""What a flow takes on a link beside its rows' own columns.

A micro-batch crosses a link as a part, the frame around its packed rows, and a commit with the watermarks of its
origins. A batch in which nothing is left of the rows that were read is a commit alone. A run that ends when all is read
says so by one commit more. Rows say by when they are final, if none of their columns does.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import TIMESTAMP
from tradewind.cost.assumptions import Assumptions
from tradewind.cost.flow import Figures, Flow
from tradewind.cost.packed import RUN_ROWS, Values, commit_bytes, heads_bytes, part_frame_bytes, short_run_bytes
from tradewind.cost.states import leaves


def sent(flow: Flow, schema: Schema, assumed: Assumptions) -> Flow:
    """The flow with all that its batches take beside their rows' columns."""
    if flow.declared and flow.flush_seconds is None:
        return replace(flow, beside_per_second=0.0)  # a declared weight is all that a row takes
    due = 0.0 if tells_due(schema) else flow.due
    spelled = flow.rows_per_second * due
    seconds = flow.flush_seconds
    if seconds is None:
        seconds = assumed.flush_seconds(None, flow.streams)
    rows, read = flow.rows_per_second * seconds, max(flow.read_per_second, flow.rows_per_second) * seconds
    columns = sum(leaves(type_) for _, type_ in schema.columns) + (due > 0)
    if flow.flush_seconds is None:
        spelled += flow.rows_per_second * sum(_newer(column, rows) for column in flow.columns.values())
    weight = due + sum(column.bytes for column in flow.columns.values())
    part = part_frame_bytes() + heads_bytes(columns, max(1.0, rows), weight)
    commit = commit_bytes(len(flow.streams))
    beside = (_some(rows) * part + _some(read) * commit) / seconds
    backlog = assumed.backlog(flow.streams)
    if backlog is not None:
        beside += commit / backlog.seconds
    return replace(flow, beside_per_second=spelled + beside)


def tells_due(schema: Schema) -> bool:
    """Whether a column says by when rows are final, so that it need not be said once more."""
    told = [(name, lag) for name, lag in schema.times if name in schema.names]
    return len(told) == 1 and told[0][1] == 0 and schema.type_of(told[0][0]) == TIMESTAMP


def _newer(column: Figures, rows: float) -> float:
    """What a row of a column takes in a batch of so few rows beyond what it takes in long ones."""
    if column.fresh is None or column.distinct is None or rows >= RUN_ROWS:
        return 0.0
    values = Values(column.distinct, column.skew, max(1.0, rows))
    return short_run_bytes(column.bytes, column.fresh, values) - column.bytes


def _some(rows: float) -> float:
    """The probability that a batch of so many rows in the mean has any."""
    return -math.expm1(-rows) if rows < 30 else 1.0
