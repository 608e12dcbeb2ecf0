"""What each operator gives for a micro-batch: filters and maps as they are, all others with what they remember."""

from __future__ import annotations

from functools import singledispatch

from pyspark.sql import DataFrame

from tradewind.algebra.operators.aggregation import Aggregate, Combine, Finish, Merge, Partial
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import ConnectionPoint, Filter, Join, Map, Top, Union
from tradewind.algebra.operators.derived import Derived
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.windows import CountedWindow, SessionWindow, ValueWindow
from tradewind.errors import InternalError
from tradewind.spark import grouping, grouping_anew, joining, ranking, storing
from tradewind.spark.bucketed import ordered, paned
from tradewind.spark.buckets.waiting import equal_keys
from tradewind.spark.columns import ARRIVAL, DUE, WEIGHT
from tradewind.spark.expressions import condition_sql, spark_sql
from tradewind.spark.step import Step, together
from tradewind.spark.types import quote


def advance(node: Operator, step: Step) -> DataFrame | None:
    """What is new from an operator in this batch; None for nothing."""
    if isinstance(node, Derived):
        return _expanded(node, step)
    return _advance(node, step)


def _expanded(node: Derived, step: Step) -> DataFrame | None:
    """A derived operator is what it stands for; a superbox's body has been done as its first input."""
    meant = node.expand()
    if meant in node.inputs:
        return step.deltas[meant]
    step.stands_for(node, meant)
    return advance(meant, step)


@singledispatch
def _advance(node: Operator, step: Step) -> DataFrame | None:
    raise InternalError(f"Spark does not know {node.kind}.")


@_advance.register
def _(node: Filter, step: Step) -> DataFrame | None:
    news = step.deltas[node.input]
    return None if news is None else news.where(condition_sql(node.predicate, node.input.schema))


@_advance.register
def _(node: Map, step: Step) -> DataFrame | None:
    news = step.deltas[node.input]
    if news is None:
        return None
    hidden = [name for name in (DUE, WEIGHT, *ARRIVAL) if name in news.columns]
    return news.selectExpr(
        *(f"{spark_sql(expression, node.input.schema)} AS {quote(name)}" for name, expression in node.columns), *hidden
    )


@_advance.register
def _(node: Union, step: Step) -> DataFrame | None:
    return together(*(step.deltas[member] for member in node.members))


@_advance.register
def _(node: ConnectionPoint, step: Step) -> DataFrame | None:
    return step.deltas[node.input]


@_advance.register
def _(node: Aggregate, step: Step) -> DataFrame | None:
    match node.window:
        case CountedWindow():
            return paned(node, step)
        case ValueWindow(aligned=False):
            return paned(node, step)
        case SessionWindow():
            return grouping_anew.sessions(node, step)
    return grouping.aggregate(node, step) if grouping_anew.keeps_states(node) else grouping_anew.recomputed(node, step)


@_advance.register
def _(node: WaitFor, step: Step) -> DataFrame | None:
    return ordered(node, step) if equal_keys(node) is not None else joining.wait_for(node, step)


_advance.register(Partial)(grouping.partial)
_advance.register(Combine)(grouping.combine)
_advance.register(Merge)(grouping.merge)
_advance.register(Finish)(grouping.finish)
_advance.register(Join)(joining.join)
_advance.register(Top)(ranking.top)
_advance.register(Read)(storing.read)
_advance.register(Update)(storing.update)
_advance.register(Order)(ordered)
_advance.register(Resample)(ordered)
