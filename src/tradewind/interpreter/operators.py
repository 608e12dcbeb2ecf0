"""The meaning of every operator: from what is known of its inputs to the deltas of its output.

Linear operators look at the new rows alone. All others work out their whole answer anew and give the difference:
slow, and plain.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import NamedTuple

from tradewind.algebra.operators.aggregation import Aggregate, Combine, Finish, Merge, Partial
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import ConnectionPoint, Filter, Join, Map, Top, Union
from tradewind.algebra.operators.derived import Derived
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor
from tradewind.algebra.operators.stored import Read, Update
from tradewind.errors import InternalError
from tradewind.interpreter import grouping, joining, ordering, resampling, storing
from tradewind.interpreter.evaluate import condition, evaluator
from tradewind.interpreter.rows import Bag, Delta, Row, Time, content_order, difference


class Known(NamedTuple):
    """What an input has given so far: all of it in order, its sum, and what is new."""

    log: list[Delta]
    bag: Bag
    news: list[Delta]


Updates = Sequence[tuple[Update, Bag]]


def deltas_of(node: Operator, inputs: list[Known], before: Bag, mark: Time, updates: Updates) -> list[Delta]:
    """What the operator adds to its output, given what it gave before."""
    if isinstance(node, Derived):
        return _expanded(node, inputs, before, mark, updates)
    linear = new_rows(node, inputs)
    if linear is not None:
        return linear
    after = whole(node, inputs, mark, updates)
    order = ordering.order_of(node) if isinstance(node, Order) else content_order(node.schema)
    return difference(after, before, order)


def _expanded(node: Derived, inputs: list[Known], before: Bag, mark: Time, updates: Updates) -> list[Delta]:
    """A derived operator means what it stands for. A superbox's body has been run already, as its first input."""
    meant = node.expand()
    if meant in node.inputs:
        return inputs[node.inputs.index(meant)].news
    if meant.inputs != node.inputs:
        raise InternalError(f"{node.kind} does not stand for one operator over its own inputs.")
    return deltas_of(meant, inputs, before, mark, updates)


@singledispatch
def new_rows(node: Operator, inputs: list[Known]) -> list[Delta] | None:
    """For linear operators, the deltas that the new rows give; None for the others."""
    return None


@new_rows.register
def _(node: Filter, inputs: list[Known]) -> list[Delta]:
    holds = condition(node.predicate, node.input.schema)
    return [delta for delta in inputs[0].news if holds(delta.row.values)]


@new_rows.register
def _(node: Map, inputs: list[Known]) -> list[Delta]:
    columns = [evaluator(expression, node.input.schema) for _, expression in node.columns]
    return [
        Delta(Row(tuple(column(row.values) for column in columns), row.due), weight) for row, weight in inputs[0].news
    ]


@new_rows.register
def _(node: Union, inputs: list[Known]) -> list[Delta]:
    return [delta for known in inputs for delta in known.news]


@new_rows.register
def _(node: ConnectionPoint, inputs: list[Known]) -> list[Delta]:
    return list(inputs[0].news)


@new_rows.register
def _(node: Partial, inputs: list[Known]) -> list[Delta]:
    return grouping.partial(node, inputs[0].news)


@new_rows.register
def _(node: Combine, inputs: list[Known]) -> list[Delta]:
    return grouping.combine(node, inputs[0].news)


@new_rows.register
def _(node: Finish, inputs: list[Known]) -> list[Delta]:
    return [Delta(grouping.finish(node, row), weight) for row, weight in inputs[0].news]


@new_rows.register
def _(node: Update, inputs: list[Known]) -> list[Delta]:
    """What is reported; what is done to the table is seen by those who read it."""
    columns = [evaluator(expression, node.input.schema) for _, expression in node.report]
    return [
        Delta(Row(tuple(column(row.values) for column in columns), row.due), weight) for row, weight in inputs[0].news
    ]


@singledispatch
def whole(node: Operator, inputs: list[Known], mark: Time, updates: Updates) -> Bag:
    """The whole answer of an operator on all its input."""
    raise InternalError(f"the interpreter does not know {node.kind}.")


@whole.register
def _(node: Join, inputs: list[Known], mark: Time, updates: Updates) -> Bag:
    return joining.join(node, inputs[0].bag, inputs[1].bag, mark)


@whole.register
def _(node: Aggregate, inputs: list[Known], mark: Time, updates: Updates) -> Bag:
    return grouping.aggregate(node, inputs[0].log, mark)


@whole.register
def _(node: Merge, inputs: list[Known], mark: Time, updates: Updates) -> Bag:
    return grouping.merge(node, inputs[0].bag)


@whole.register
def _(node: Top, inputs: list[Known], mark: Time, updates: Updates) -> Bag:
    return ordering.top(node, inputs[0].bag)


@whole.register
def _(node: Order, inputs: list[Known], mark: Time, updates: Updates) -> Bag:
    return ordering.order(node, inputs[0].log, mark)


@whole.register
def _(node: Resample, inputs: list[Known], mark: Time, updates: Updates) -> Bag:
    return resampling.resample(node, inputs[0].bag, inputs[1].bag if node.at else Bag(), mark)


@whole.register
def _(node: WaitFor, inputs: list[Known], mark: Time, updates: Updates) -> Bag:
    return joining.wait_for(node, inputs[0].bag, inputs[1].bag)


@whole.register
def _(node: Read, inputs: list[Known], mark: Time, updates: Updates) -> Bag:
    mine = [(update, rows) for update, rows in updates if update.table.name == node.table.name]
    return storing.read(node, inputs[0].bag, mine)
