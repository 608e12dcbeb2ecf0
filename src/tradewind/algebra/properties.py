"""What an operator promises, and what each promise allows.

Rules and planners ask these questions and never an operator's class, so that a new operator that can answer them takes part in
every rule at once.
"""

from __future__ import annotations

from functools import singledispatch

from tradewind.algebra.expressions.implication import contradicts
from tradewind.algebra.expressions.tree import Column, Expression, columns_of, conjuncts, substitute
from tradewind.algebra.operators.aggregation import Aggregate, Finish, Merge, Partial
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import ConnectionPoint, Filter, Join, Map, Source, Top, Union
from tradewind.algebra.operators.derived import Derived
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor
from tradewind.algebra.operators.stored import Read, Update


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
    return isinstance(node, Aggregate | Partial | Merge) and all(c.definition.invertible for _, c in node.functions)


@singledispatch
def append_only(node: Operator) -> bool:
    """Rows are never taken back once they are given out.

    Allows: aggregates that cannot take rows back, and consumers that cannot correct themselves.
    """
    return False


@append_only.register
def _(node: Source) -> bool:
    return not node.revisions


@append_only.register(Filter)
@append_only.register(Map)
@append_only.register(Union)
@append_only.register(ConnectionPoint)
@append_only.register(WaitFor)
@append_only.register(Partial)
@append_only.register(Derived)
def _(node: Operator) -> bool:
    if isinstance(node, Derived):
        return append_only(node.expand())
    return all(append_only(child) for child in node.inputs)


@append_only.register
def _(node: Join) -> bool:
    return node.how == "inner" and all(append_only(child) for child in node.inputs)


def bounded_state(node: Operator) -> bool:
    """What it must remember does not grow with the length of the stream, once marks advance.

    Allows: running it for ever without a horizon.
    """
    if row_local(node) or isinstance(node, Union | Source | Partial | ConnectionPoint | Order | WaitFor):
        return True
    if isinstance(node, Aggregate | Merge | Top):
        return bool(node.schema.times)
    if isinstance(node, Join):
        return bool(node.schema.times) and all(
            b is not None for band in node.bands()[:1] for b in (band.low, band.high)
        )
    return isinstance(node, Resample) and node.max_gap is not None


@singledispatch
def passes(node: Operator) -> dict[str, Expression]:
    """Output columns that are computed from one input row alone, as expressions over the (first) input's columns.

    Allows: a filter on these columns to be asked below the operator instead, with the expressions put in their place.
    """
    return {}


@passes.register(Filter)
@passes.register(Order)
@passes.register(WaitFor)
@passes.register(Union)
def _(node: Operator) -> dict[str, Expression]:
    return {name: Column(name) for name in node.schema.names}


@passes.register
def _(node: Map) -> dict[str, Expression]:
    return dict(node.columns)


@passes.register(Aggregate)
@passes.register(Partial)
@passes.register(Merge)
def _(node: Aggregate | Partial | Merge) -> dict[str, Expression]:
    """A filter on group keys takes or leaves whole groups."""
    return {name: Column(name) for name in node.keys}


@passes.register
def _(node: Finish) -> dict[str, Expression]:
    finished = {name for name, _ in node.functions}
    return {name: Column(name) for name in node.schema.names if name not in finished}


@passes.register
def _(node: Top) -> dict[str, Expression]:
    return {name: Column(name) for name in node.per}


@passes.register
def _(node: Resample) -> dict[str, Expression]:
    return {name: Column(name) for name in node.keys} if node.at is None else {}


def key_preserving(node: Operator, keys: tuple[str, ...]) -> bool:
    """The named output columns are columns of the input, unchanged.

    Allows: rows that were kept apart by these keys below the operator to count as kept apart above it.
    """
    found = passes(node)
    return all(isinstance(found.get(key), Column) for key in keys)


def facts(node: Operator, depth: int = 8) -> tuple[Expression, ...]:
    """Conditions that hold for every row of the output, as far as filters below tell."""
    if depth == 0:
        return ()
    if isinstance(node, Filter):
        return conjuncts(node.predicate) + facts(node.input, depth - 1)
    if isinstance(node, Derived):
        return facts(node.expand(), depth)
    through = {below.name: above for above, below in passes(node).items() if isinstance(below, Column)}
    if isinstance(node, Union):
        first, *rest = (facts(member, depth - 1) for member in node.members)
        return tuple(fact for fact in first if all(fact in others for others in rest))
    if not through or not node.inputs or isinstance(node, WaitFor):
        return facts(node.input, depth - 1) if isinstance(node, WaitFor) else ()
    known = facts(node.inputs[0], depth - 1)
    renamed = {below: Column(above) for below, above in through.items()}
    return tuple(substitute(fact, dict(renamed)) for fact in known if columns_of(fact) <= set(through))


def disjoint(nodes: tuple[Operator, ...], keys: tuple[str, ...]) -> bool:
    """No two of the inputs can hold rows with equal keys, because conditions on the keys exclude one another.

    Allows: finishing groups, and cutting to the top, in each input before they are brought together.
    """
    on_keys = [tuple(fact for fact in facts(node) if columns_of(fact) <= set(keys)) for node in nodes]
    return all(
        any(contradicts(a, b) for a in on_keys[i] for b in on_keys[j])
        for i in range(len(nodes))
        for j in range(i + 1, len(nodes))
    )
