"""From nodes of the algebra to operators over buckets."""

from __future__ import annotations

from functools import singledispatch

from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor
from tradewind.algebra.windows import CountedWindow, ValueWindow
from tradewind.errors import InternalError
from tradewind.spark.buckets.at_times import TimesResampler
from tradewind.spark.buckets.counted import CountedPanes
from tradewind.spark.buckets.gathering import names_of
from tradewind.spark.buckets.on_grid import GridResampler
from tradewind.spark.buckets.operator import BucketOperator
from tradewind.spark.buckets.sorter import Sorter
from tradewind.spark.buckets.valued import ValuePanes
from tradewind.spark.buckets.waiting import Waiter, equal_keys


@singledispatch
def bucket_operator(node: Operator) -> BucketOperator:
    """The operator that does a node's work on one bucket; for aggregates, finding the panes."""
    raise InternalError(f"{node.kind} is not done by buckets.")


@bucket_operator.register
def _(node: Aggregate) -> BucketOperator:
    if isinstance(node.window, CountedWindow):
        return CountedPanes.of(node, node.window)
    if isinstance(node.window, ValueWindow) and not node.window.aligned:
        return ValuePanes.of(node, node.window)
    raise InternalError(f"windows of {node.window} are not done by buckets.")


@bucket_operator.register
def _(node: Order) -> BucketOperator:
    return Sorter.of(node)


@bucket_operator.register
def _(node: Resample) -> BucketOperator:
    return GridResampler.of(node) if node.at is None else TimesResampler.of(node, node.at)


@bucket_operator.register
def _(node: WaitFor) -> BucketOperator:
    keys = equal_keys(node)
    if keys is None:
        raise InternalError("only waiting for equal keys is done by buckets.")
    return Waiter.of(node, keys)


def needs_arrival(node: Operator) -> bool:
    """Whether the order in which rows arrive makes a difference."""
    slack = node.slack if isinstance(node, Order) else getattr(getattr(node, "window", None), "slack", None)
    return slack is not None


def bucket_keys(node: Operator) -> tuple[tuple[str, ...], ...]:
    """For each input, the columns by which rows may be spread over buckets; without any there is one bucket."""
    if isinstance(node, WaitFor):
        return equal_keys(node) or ((), ())
    keys = getattr(node, "keys", ())
    return tuple(names_of(child.schema, keys) for child in node.inputs)
