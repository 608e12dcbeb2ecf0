"""What an operator promises, and what each promise allows.

Rules and planners ask these questions and never an operator's class, so that a new operator that can answer them takes
part in every rule at once.
"""

from __future__ import annotations

from functools import singledispatch

from tradewind.algebra.expressions.monotone import direction
from tradewind.algebra.expressions.tree import Column, Expression, columns_of
from tradewind.algebra.operators.aggregation import Aggregate, Combine, Finish, Merge, Partial
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Band, ConnectionPoint, Filter, Join, Map, Source, Top, Union
from tradewind.algebra.operators.derived import Derived
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.windows import CountedWindow, ValueWindow


def row_local(node: Operator) -> bool:
    """Each output row comes from one input row, looked at alone.

    Allows: running it wherever its rows are, on any batch, and before or after anything else that is row-local.
    """
    return isinstance(node, Filter | Map | Finish)


def linear(node: Operator) -> bool:
    """The output for a sum of inputs is the sum of the outputs, weights included.

    Allows: feeding it deltas instead of whole inputs, and pushing it through a union.
    """
    return isinstance(node, Filter | Map | Union | Finish | ConnectionPoint) or (
        isinstance(node, Join) and node.how == "inner"
    )


def barrier(node: Operator) -> bool:
    """Nothing may be moved across it: someone may attach there, or it has effects.

    Forbids: every rule that exchanges it with a neighbour.
    """
    return isinstance(node, ConnectionPoint | Read | Update)


def order_sensitive(node: Operator) -> bool:
    """The answer depends on the order in which rows arrive.

    Forbids: splitting its input over sites, or merging streams below it in another order.
    """
    if isinstance(node, Aggregate) and node.window is not None:
        return getattr(node.window, "slack", None) is not None
    return isinstance(node, Order)


def awaits_marks(node: Operator) -> bool:
    """Some of its rows come only when a mark tells that nothing else will.

    Forbids: changing whose marks it sees; the answer would come to be the same, but not at every moment.
    """
    if isinstance(node, Aggregate):
        return isinstance(node.window, CountedWindow) and node.window.timeout is not None
    outer = isinstance(node, Join) and node.how != "inner"
    return outer or isinstance(node, Order) or (isinstance(node, Resample) and node.at is not None)


def mergeable(node: Operator) -> bool:
    """Its answer can be put together from answers on parts of the input.

    Allows: an aggregation tree: partials where the rows are, merges on the way, one finish.
    """
    if not isinstance(node, Aggregate):
        return False
    window_fits = node.window is None or node.window.aligned
    return window_fits and all(call.definition.mergeable for _, call in node.functions)


def invertible(node: Operator) -> bool:
    """Every function takes rows back.

    Allows: partials of streams that are revised.
    """
    if not isinstance(node, Aggregate | Partial | Combine | Merge):
        return False
    return all(call.definition.invertible for _, call in node.functions)


def splittable(node: Operator) -> bool:
    """Its work can begin on parts of its input, wherever they are.

    Allows: opening a union below it, so that each input is made smaller before it travels.
    """
    if mergeable(node):
        return invertible(node) or all(append_only(child) for child in node.inputs)
    return row_local(node) or isinstance(node, Top)


def groups_by(node: Operator) -> tuple[str, ...] | None:
    """The columns that keep its groups apart: what a group gives depends on its own rows alone.

    Allows: asking a filter on these columns below, and running it on each of several inputs that are disjoint on them.
    """
    if isinstance(node, Aggregate | Partial | Combine | Merge):
        return node.keys
    if isinstance(node, Top):
        return node.per
    return node.keys if isinstance(node, Resample) and node.at is None else None


def reads_whole_rows(node: Operator) -> bool:
    """All columns of its (first) input matter, named or not: they decide ties, or others may ask for them.

    Forbids: leaving out columns below it.
    """
    if isinstance(node, Aggregate) and isinstance(node.window, CountedWindow):
        return True
    return barrier(node) or isinstance(node, Top | Order | Resample | Derived)


def asks_time(node: Operator) -> bool:
    """It reads the event time of its inputs without naming the column.

    Forbids: leaving out, below it, the first column that tells the time.
    """
    if isinstance(node, Aggregate | Partial):
        timed = isinstance(node.window, ValueWindow) and node.window.timeout is not None
        return timed or any(call.definition.ordered for _, call in node.functions)
    return isinstance(node, Resample | WaitFor | Read | Update)


def append_only(node: Operator) -> bool:
    """Rows are never taken back once they are given out.

    Allows: aggregates that cannot take rows back, and consumers that cannot correct themselves.
    """
    return node.append_only


def bounded_state(node: Operator) -> bool:
    """What it must remember does not grow with the length of the stream, once marks advance.

    Allows: running it for ever without a horizon.
    """
    if row_local(node) or isinstance(node, Union | Source | Partial | Combine | ConnectionPoint | Order | WaitFor):
        return True
    if isinstance(node, Aggregate | Merge | Top):
        return bool(node.schema.times)
    if isinstance(node, Join):
        return not growing_sides(node)
    return isinstance(node, Resample) and node.max_gap is not None


def growing_sides(node: Join) -> tuple[Operator, ...]:
    """The inputs of a join whose rows it must keep for ever, because a match may come at any time.

    Rows of an inner join are kept until the other side can bring no match. Of an outer one they are needed longer, to
    tell who stays alone, so that a bound in one direction is not enough.
    """
    timed = [band for band in node.bands() if _on_times(node, band)]
    if any(band.low is not None and band.high is not None for band in timed):
        return ()
    if node.how != "inner":
        return node.inputs
    left = () if any(band.high is not None for band in timed) else (node.left,)
    right = () if any(band.low is not None for band in timed) else (node.right,)
    return (*left, *right)


def _on_times(node: Join, band: Band) -> bool:
    return node.left.schema.lag(band.left) is not None and node.right.schema.lag(band.right) is not None


@singledispatch
def passes(node: Operator) -> dict[str, Expression]:
    """Output columns that are computed from one row of the carrying input alone, as expressions over its columns.

    Allows: a filter on these columns to be asked below the operator instead, with the expressions put in their place.
    (Not so for an order with slack: who is dropped depends on who else arrives.)
    """
    return {}


def carrier(node: Operator) -> int:
    """Which input's rows pass (see `passes`)."""
    return 1 if isinstance(node, Resample) and node.at is not None else 0


@passes.register(Filter)
@passes.register(WaitFor)
@passes.register(Union)
def _(node: Operator) -> dict[str, Expression]:
    return {name: Column(name) for name in node.schema.names}


@passes.register
def _(node: Map) -> dict[str, Expression]:
    return dict(node.columns)


@passes.register(Aggregate)
@passes.register(Partial)
@passes.register(Combine)
@passes.register(Merge)
@passes.register(Top)
def _(node: Operator) -> dict[str, Expression]:
    """A filter on what makes the groups takes or leaves whole groups."""
    return {name: Column(name) for name in groups_by(node) or ()}


@passes.register
def _(node: Finish) -> dict[str, Expression]:
    finished = {name for name, _ in node.functions}
    return {name: Column(name) for name in node.schema.names if name not in finished}


@passes.register
def _(node: Resample) -> dict[str, Expression]:
    """On a grid, whole groups; at the times of another stream, that stream's own rows."""
    return {name: Column(name) for name in (node.keys if node.at is None else node.at.schema.names)}


def monotone(node: Operator, column: str) -> tuple[str, int] | None:
    """The input column that an output column grows with (+1) or against (-1), and which of the two.

    Allows: a bound on the output column to be turned into a bound on the input column, asked below.
    """
    expression = passes(node).get(column)
    read = columns_of(expression) if expression is not None else frozenset()
    if expression is None or len(read) != 1:
        return None
    (name,) = read
    found = direction(expression, name, node.inputs[carrier(node)].schema)
    return (name, found) if found else None


def key_preserving(node: Operator, keys: tuple[str, ...]) -> bool:
    """The named output columns are columns of the input, unchanged.

    Allows: rows that were kept apart by these keys below the operator to count as kept apart above it.
    """
    found = passes(node)
    return all(isinstance(found.get(key), Column) for key in keys)
