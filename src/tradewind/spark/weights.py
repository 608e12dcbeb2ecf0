"""Rows that count for more or less than one."""

from __future__ import annotations

from pyspark.sql import DataFrame

from tradewind.algebra.expressions.tree import Column, Field
from tradewind.algebra.operators.aggregation import WINDOW, Aggregate, Combine, Partial
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import ConnectionPoint, Filter, Join, Map, Source, Union
from tradewind.algebra.operators.derived import Derived
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor
from tradewind.algebra.windows import CountedWindow, TimeWindow, ValueWindow
from tradewind.spark.buckets.summing import sums_of
from tradewind.spark.buckets.waiting import equal_keys
from tradewind.spark.columns import WEIGHT


def is_unit(node: Operator) -> bool:
    """Whether each row that the node gives out counts for exactly one."""
    if isinstance(node, Derived):
        return is_unit(node.expand())
    if isinstance(node, Filter | Map | Union | ConnectionPoint) or (isinstance(node, Join) and node.append_only):
        return all(is_unit(child) for child in node.inputs)
    return isinstance(node, Partial | Combine) or (isinstance(node, Source) and node.append_only)


def exchanges(node: Operator) -> bool:
    """Whether no row both goes and comes in one batch's deltas of the node: an answer goes and another one comes.

    Groups differ, and the answers before and after do; what is worked out in buckets is netted there. A map must keep
    apart what was apart.
    """
    if isinstance(node, Derived):
        return exchanges(node.expand())
    if isinstance(node, Filter):
        return exchanges(node.input)
    if isinstance(node, Map):
        return exchanges(node.input) and _keeps_apart(node)
    if isinstance(node, Aggregate):
        if isinstance(node.window, CountedWindow) or (isinstance(node.window, ValueWindow) and not node.window.aligned):
            return sums_of(node) is not None
        return isinstance(node.window, TimeWindow | None)
    return isinstance(node, Order | Resample) or (isinstance(node, WaitFor) and equal_keys(node) is not None)


def _keeps_apart(node: Map) -> bool:
    """Whether every column of the input is there as it was; of an aggregate's own window its start or end is enough."""
    kept = {expression.name for _, expression in node.columns if isinstance(expression, Column)}
    if isinstance(node.input, Aggregate) and node.input.window is not None:
        window = Column(WINDOW)
        kept.update(WINDOW for _, found in node.columns if isinstance(found, Field) and found.of == window)
    return kept >= set(node.input.schema.names)


def single_copies(frame: DataFrame) -> DataFrame:
    """Each row as often as it is there, with weights of one and minus one."""
    copies = f"explode(array_repeat(CAST(sign({WEIGHT}) AS BIGINT), CAST(abs({WEIGHT}) AS INT))) AS {WEIGHT}"
    return frame.selectExpr(*(f"`{name}`" for name in frame.columns if name != WEIGHT), copies)
