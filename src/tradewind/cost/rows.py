"""What flows out of operators that take rows as they are: source, filter, map, union, read, update, resample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import Call, Column, Expression, Field, Literal, columns_of, conjuncts
from tradewind.algebra.operators.core import Columns, Filter, Map, Source, Union
from tradewind.algebra.operators.ordered import Resample
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import MICROS, DataType
from tradewind.cost.assumptions import Assumptions
from tradewind.cost.declared import HORIZON_SECONDS, READ_ROWS, OriginFigures, StreamFigures
from tradewind.cost.flow import Figures, Flow, Windows, pooled, shares
from tradewind.cost.groups import expected_groups
from tradewind.cost.packed import CONSTANT, Values, column_bytes
from tradewind.cost.selectivity import count_values, share
from tradewind.frontends.deployment.deployment import LookedAt

Inputs = tuple[Flow, ...]

_UNITS = {"second": 1.0, "minute": 60.0, "hour": 3_600.0, "day": 86_400.0, "week": 604_800.0}


def source(node: Source, _: Inputs, assumed: Assumptions) -> Flow:
    """The declared rates added up; the declared weight of a row is spread over its columns as predicted."""
    figures = assumed.declared.streams.get(node.stream, StreamFigures())
    origins = assumed.origins(node)
    rates = [origin.rows_per_second or 0.0 for origin in origins.values()]
    rows, parts = sum(rates), shares(rates)
    plain = {name: _source_column(node.stream, name, type_, figures) for name, type_ in node.schema.columns}
    weighed = []
    for name, origin in origins.items():
        if origin.row_bytes is None and (origin.looked_at is None or origin.looked_at.row_bytes is None):
            assumed.predicted(node.stream, name, sum(column.bytes for column in plain.values()))
        weighed.append(_weighed(plain, origin))
    columns = {name: pooled([one[name] for one in weighed], parts, parts) for name in plain}
    time = node.schema.time
    return Flow(
        rows,
        columns,
        frozenset((node.stream, name) for name in origins),
        lifted_per_second=rows,
        due=columns[time].bytes if time is not None else 0.0,
        read_per_second=rows,
        declared=all(origin.row_bytes is not None for origin in origins.values()),
    )


def _weighed(plain: Mapping[str, Figures], origin: OriginFigures) -> dict[str, Figures]:
    """The columns as they are at an origin: as wide as they were measured, and together as heavy as is known."""
    looked_at = origin.looked_at or LookedAt()
    widths = looked_at.widths
    bytes_ = {name: widths[name].row if name in widths else column.bytes for name, column in plain.items()}
    total = sum(bytes_.values())
    if origin.row_bytes is not None:
        scale = dict.fromkeys(plain, origin.row_bytes / total)
    else:
        # What is known of the whole row and not of its columns, the others account for.
        unseen = sum(weight for name, weight in bytes_.items() if name not in widths)
        rest = 1.0
        if looked_at.row_bytes is not None and unseen > 0:
            rest = max(0.0, looked_at.row_bytes - (total - unseen)) / unseen
        scale = {name: 1.0 if name in widths else rest for name in plain}
    found = {}
    for name, column in plain.items():
        weight = bytes_[name] * scale[name]
        fresh = widths[name].fresh * scale[name] if name in widths else None
        found[name] = replace(column, bytes=weight, scale=weight / column.bytes if column.bytes else 1.0, fresh=fresh)
    return found


def _source_column(stream: str, name: str, type_: DataType, figures: StreamFigures) -> Figures:
    distinct, skew, pool = figures.distinct.get(name), figures.skew.get(name, 0.0), f"{stream}.{name}"
    return Figures(column_bytes(type_, Values(distinct, skew)), distinct, skew, pool, (pool, distinct))


def filtered(node: Filter, inputs: Inputs, assumed: Assumptions) -> Flow:
    """The share of rows that the predicate keeps; columns that it asks alone have fewer values."""
    (flow,), schema = inputs, node.input.schema

    def values(expression: Expression) -> float:
        return count_values(expression, lambda name: assumed.values(flow.columns[name], schema.type_of(name)))

    kept, columns = 1.0, dict(flow.columns)
    for condition in conjuncts(node.predicate):
        asked = columns_of(condition)
        # What is declared of two streams covers all conditions between them.
        streams = {flow.columns[name].pool.partition(".")[0] for name in asked if flow.columns[name].pool}
        part = 1.0 if assumed.covers(streams) else share(condition, values)
        kept *= part
        if len(asked) == 1:
            (name,) = asked
            columns[name] = columns[name].narrowed(part, print_expression(condition))
    return replace(flow.thinned(kept), columns=columns)


def mapped(node: Map, inputs: Inputs, _: Assumptions) -> Flow:
    """As many rows; columns that are kept keep what is known of them."""
    return replace(inputs[0], columns=computed(node.columns, node.schema, inputs[0]))


def computed(expressions: Columns, schema: Schema, flow: Flow) -> dict[str, Figures]:
    """What is known of columns that expressions make."""
    return {name: _computed(expression, schema.type_of(name), flow) for name, expression in expressions}


def _computed(expression: Expression, type_: DataType, flow: Flow) -> Figures:
    if isinstance(expression, Column):
        return flow.columns[expression.name]
    if isinstance(expression, Literal):
        return Figures(CONSTANT, 1.0, pool=f"={expression.value!r}")

    def of_column(name: str) -> float:
        known = flow.columns[name].distinct
        return math.inf if known is None else known

    values = count_values(expression, of_column)
    distinct = None if math.isinf(values) else max(1.0, values)
    windows = _windows(expression, flow)
    weight = column_bytes(type_, Values(1.0 if windows is not None else distinct))
    return Figures(weight, None if windows is not None else distinct, windows=windows)


def _windows(expression: Expression, flow: Flow) -> Windows | None:
    """Times cut to a unit lie in windows of it, and what is made of one window column alone goes with its windows."""
    if isinstance(expression, Call) and expression.function == "date_trunc":
        unit = expression.arguments[0]
        seconds = _UNITS.get(str(unit.value).lower()) if isinstance(unit, Literal) else None
        return None if seconds is None else Windows(seconds, seconds)
    if isinstance(expression, Field) and isinstance(expression.of, Column):
        return flow.columns[expression.of.name].windows
    asked = columns_of(expression)
    found = [flow.columns[name].windows for name in asked]
    return found[0] if len(found) == 1 else None


def united(node: Union, inputs: Inputs, _: Assumptions) -> Flow:
    """All rows together; columns of the same stream draw from the same values."""
    parts = shares([flow.rows_per_second for flow in inputs])
    lifted = shares([flow.lifted_per_second for flow in inputs])
    columns = {name: pooled([flow.columns[name] for flow in inputs], parts, lifted) for name in node.schema.names}
    flushes = [flow.flush_seconds for flow in inputs if flow.flush_seconds is not None]
    return Flow(
        sum(flow.rows_per_second for flow in inputs),
        columns,
        frozenset().union(*(flow.streams for flow in inputs)),
        max(flushes, default=None),
        sum(flow.lifted_per_second for flow in inputs),
        due=sum(part * flow.due for part, flow in zip(parts, inputs, strict=True)),
        read_per_second=sum(flow.read_per_second for flow in inputs),
        declared=all(flow.declared for flow in inputs),
    )


def as_it_is(_: object, inputs: Inputs, __: Assumptions) -> Flow:
    """Order and connection point: the same rows."""
    return inputs[0]


def read(node: Read, inputs: Inputs, _: Assumptions) -> Flow:
    """Each row with what the table gives for it."""
    (flow,) = inputs
    added = node.schema.columns[len(flow.columns) :]
    columns = {**flow.columns, **{name: Figures(column_bytes(type_)) for name, type_ in added}}
    return replace(flow.thinned(READ_ROWS), columns=columns)


def updated(node: Update, inputs: Inputs, _: Assumptions) -> Flow:
    """One report for each row."""
    return replace(inputs[0], columns=computed(node.report, node.schema, inputs[0]))


def resampled(node: Resample, inputs: Inputs, assumed: Assumptions) -> Flow:
    """On a grid, a row per step for each group that was heard of within the largest gap; else as the other stream."""
    flow = inputs[0]
    types = dict(node.schema.columns)
    values = {name: replace(flow.columns[name], bytes=column_bytes(types[name])) for name in node.values}
    if node.at is not None:
        other = inputs[1]
        return replace(other, columns={**other.columns, **values}, streams=flow.streams | other.streams)
    keys = [(assumed.values(flow.columns[key], types[key]), flow.columns[key].skew) for key in node.keys]
    heard = (node.max_gap or HORIZON_SECONDS * MICROS) / MICROS
    step = (node.every or MICROS) / MICROS
    if any(math.isinf(count) for count, _ in keys):
        rows = flow.rows_per_second  # every row is a group of its own, with a grid of one step
    else:
        rows = expected_groups(flow.rows_per_second * heard, keys) / step
    kept = {name: values.get(name, flow.columns[name]) for name in node.schema.names}
    return Flow(rows, kept, flow.streams, lifted_per_second=rows, due=flow.due, read_per_second=flow.read_per_second)
