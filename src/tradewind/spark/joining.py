"""Join and waitfor: rows that meet rows of another stream. Both sides are remembered as long as a match may come."""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Band, Join
from tradewind.algebra.operators.ordered import WaitFor, pair_schema
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DataType, common
from tradewind.algebra.windows import Number
from tradewind.spark.columns import (
    DUE,
    UNTIL,
    WEIGHT,
    consolidated,
    is_final_sql,
    latest,
    least,
    moment_sql,
    quoted,
    reaches_sql,
)
from tradewind.spark.differences import difference
from tradewind.spark.expressions import condition_sql
from tradewind.spark.step import Step, together
from tradewind.spark.types import ddl, quote

_OTHER = {DUE: "_due2", WEIGHT: "_weight2", UNTIL: "_until2"}
_LARGEST = 9223372036854775807


class _Sides(NamedTuple):
    """What is new and what is known of both sides, new rows included."""

    new_left: DataFrame | None
    new_right: DataFrame | None
    left: DataFrame | None
    right: DataFrame | None


def join(node: Join, step: Step) -> DataFrame | None:
    """All pairs that match and that at least one new row belongs to; for outer kinds also the rows left alone."""
    old_left, old_right = step.read(node, "left"), step.read(node, "right")
    new_left = _remember(node, step, "left")
    new_right = _remember(node, step, "right")
    sides = _Sides(new_left, new_right, together(old_left, new_left), together(old_right, new_right))
    match = _condition(node)
    pairs = together(_pairs(node, sides.new_left, sides.right, match), _pairs(node, old_left, sides.new_right, match))
    alone = [
        _alone(node, step, side, sides, match) for side in ("left", "right") if node.how in (side, "full")
    ]  # fmt: skip
    return together(pairs, *alone)


def _remember(node: Join, step: Step, side: str) -> DataFrame | None:
    source = node.left if side == "left" else node.right
    news = step.deltas[source]
    if news is None:
        return None
    until = no_match_after(node, side) if node.how == "inner" else _needed_until(node, side)
    return step.append(node, side, news.selectExpr("*", f"{until} AS {UNTIL}"))


class _TimeBand(NamedTuple):
    """A band on columns that tell the time: the columns, its bounds, and the columns' lags."""

    left: str
    right: str
    low: int | None
    high: int | None
    lag_left: int
    lag_right: int


def _time_bands(node: Join) -> list[_TimeBand]:
    found = []
    for band in node.bands():
        lag_left, lag_right = node.left.schema.lag(band.left), node.right.schema.lag(band.right)
        if lag_left is not None and lag_right is not None:
            low, high = (None if bound is None else int(bound) for bound in (band.low, band.high))
            found.append(_TimeBand(band.left, band.right, low, high, lag_left, lag_right))
    return found


def no_match_after(node: Join, side: str) -> str:
    """When the other side can no longer bring a match in time: the far end of a band on time, or never (NULL)."""
    bounds = []
    for band in _time_bands(node):
        if side == "left" and band.high is not None:
            bounds.append(moment_sql(band.left, node.left.schema, band.high + band.lag_right))
        if side == "right" and band.low is not None:
            bounds.append(moment_sql(band.right, node.right.schema, band.lag_left - band.low))
    return least(bounds)


def _needed_until(node: Join, side: str) -> str:
    """As long as a row that may still be found alone, or be taken back, could match this one."""
    bounds = []
    for band in _time_bands(node):
        if band.low is None or band.high is None:
            continue
        if side == "left":
            reach = band.high + max(band.lag_right, band.lag_left - band.low)
            bounds.append(moment_sql(band.left, node.left.schema, reach))
        else:
            reach = -band.low + max(band.lag_left, band.high + band.lag_right)
            bounds.append(moment_sql(band.right, node.right.schema, reach))
    return least(bounds)


def _condition(node: Join) -> str:
    """SQL for whether a row of the left and one of the right match."""
    left, right = node.left.schema, node.right.schema
    parts = []
    for a, b in node.keys:
        shared = common(left.type_of(a), right.type_of(b)) or left.type_of(a)
        parts.append(f"{_as(a, left.type_of(a), shared)} = {_as(b, right.type_of(b), shared)}")
    if node.band is not None:
        parts.append(_within(node.band, left, right))
    return " AND ".join(parts)


def _as(name: str, own: DataType, shared: DataType) -> str:
    return quote(name) if own == shared else f"CAST({quote(name)} AS {ddl(shared)})"


def _within(band: Band, left: Schema, right: Schema) -> str:
    """`low <= right - left <= high`, without leaving the type where the distance does."""
    a, b = quote(band.left), quote(band.right)
    types = left.type_of(band.left), right.type_of(band.right)
    if types[0].name == "TIMESTAMP":
        a, b = f"unix_micros({a})", f"unix_micros({b})"
    shared = common(*types) or types[0]
    if shared.name in ("FLOAT", "DOUBLE"):
        apart = f"(CAST({b} AS DOUBLE) - CAST({a} AS DOUBLE))"
    elif shared.name == "DECIMAL":
        apart = f"(CAST({b} AS {ddl(shared)}) - CAST({a} AS {ddl(shared)}))"
    else:
        a, b = f"CAST({a} AS BIGINT)", f"CAST({b} AS BIGINT)"
        apart = f"coalesce(try_subtract({b}, {a}), if({b} > {a}, {_LARGEST}L, -{_LARGEST}L))"
        known = f"{a} IS NOT NULL AND {b} IS NOT NULL"
        return " AND ".join([known, *_bounded(apart, band)])
    return " AND ".join(_bounded(apart, band))


def _bounded(apart: str, band: Band) -> list[str]:
    low = [] if band.low is None else [f"{apart} >= {_bound(band.low)}"]
    return low + ([] if band.high is None else [f"{apart} <= {_bound(band.high)}"])


def _bound(value: Number) -> str:
    return f"{value!r}D" if isinstance(value, float) else f"{value}L" if abs(value) <= _LARGEST else f"{value}BD"


def _renamed(frame: DataFrame) -> DataFrame:
    for name, other in _OTHER.items():
        frame = frame.withColumnRenamed(name, other)
    return frame


def _pairs(node: Join, left: DataFrame | None, right: DataFrame | None, match: str) -> DataFrame | None:
    if left is None or right is None:
        return None
    both = left.join(_renamed(right), f.expr(match), "inner")
    due = latest(DUE, _OTHER[DUE])
    return both.selectExpr(*quoted(node.schema.names), f"{due} AS {DUE}", f"{WEIGHT} * {_OTHER[WEIGHT]} AS {WEIGHT}")


def _alone(node: Join, step: Step, side: str, sides: _Sides, match: str) -> DataFrame | None:
    """The rows of a side that no row will match any more, with NULLs for the other side: now less before."""
    own, other = (sides.left, sides.right) if side == "left" else (sides.right, sides.left)
    stored = step.read(node, f"alone-{side}")
    answers = None
    if own is not None:
        schema = (node.left if side == "left" else node.right).schema
        due = latest(DUE, f"({no_match_after(node, side)})")
        dated = own.selectExpr(*quoted(schema.names), f"{due} AS {DUE}", WEIGHT)
        reached = dated.where(reaches_sql(DUE, step.clocks[node].threshold))
        there = consolidated(reached, [*schema.names, DUE])
        if other is not None:
            matched = (node.right if side == "left" else node.left).schema
            there = there.join(consolidated(other, [*matched.names, DUE]).drop(DUE, WEIGHT), f.expr(match), "left_anti")
        settled = there.where(is_final_sql(DUE, step.clocks[node].now))
        shown = [
            quote(name) if name in schema.names else f"CAST(NULL AS {ddl(type_)}) AS {quote(name)}"
            for name, type_ in node.schema.columns
        ]
        answers = settled.selectExpr(*shown, DUE, WEIGHT)
    return difference(node, step, answers, stored, role=f"alone-{side}")


def wait_for(node: WaitFor, step: Step) -> DataFrame | None:
    """The rows that have their signal, settled when the first one is: now less before."""
    own, other = node.input.schema, node.signal.schema
    # A signal comes no earlier than its row, so it is kept as long as the row is.
    longest = max(own.lag(str(own.time)) or 0, node.timeout + (other.lag(str(other.time)) or 0))
    reach = moment_sql(str(own.time), own, longest)
    rows = _known(node, step, "rows", node.input, reach)
    signals = _known(node, step, "signals", node.signal, moment_sql(str(other.time), other, longest))
    stored = step.read(node, "answers")
    if rows is None or signals is None:
        return difference(node, step, None, stored) if stored is not None else None
    start, at = f"unix_micros({quote(str(own.time))})", f"unix_micros({quote(str(other.time))})"
    match = f"{start} <= {at} AND {at} < {start} + {node.timeout}L"
    holds = condition_sql(node.predicate, pair_schema(own, other))
    present = consolidated(signals, [*other.names, DUE]).where(f"{WEIGHT} > 0")
    waiting = consolidated(rows, [*own.names, DUE, UNTIL])
    met = waiting.join(_renamed(present), f.expr(f"({match}) AND ({holds})"), "inner")
    first = met.groupBy(*quoted([*own.names, DUE, UNTIL, WEIGHT])).agg(f.expr(f"min({_OTHER[DUE]})").alias("_first"))
    answers = first.selectExpr(*quoted(own.names), f"{latest(DUE, '_first')} AS {DUE}", WEIGHT)
    return difference(node, step, answers, stored, until=reach)


def _known(node: WaitFor, step: Step, role: str, source: Operator, until: str) -> DataFrame | None:
    old = step.read(node, role)
    news = step.deltas[source]
    new = step.append(node, role, news.selectExpr("*", f"{until} AS {UNTIL}")) if news is not None else None
    return together(old, new)
