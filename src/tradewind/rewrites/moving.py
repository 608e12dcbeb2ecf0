"""Steps that several rules take: putting filters, and saying a condition in terms of what lies below."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tradewind.algebra.expressions.implication import respects_equality
from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import (
    Column,
    Expression,
    Field,
    Literal,
    columns_of,
    conjunction,
    conjuncts,
    substitute,
    walk,
)
from tradewind.algebra.expressions.typing import parse_expression, type_of
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter
from tradewind.algebra.properties import carrier, groups_by, passes
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import is_fraction
from tradewind.errors import InputError


def filtered(node: Operator, conditions: Sequence[Expression]) -> Operator:
    """The rows for which all conditions hold; the node itself when there are none."""
    return Filter(node, conjunction(list(conditions))) if conditions else node


def with_input(node: Operator, place: int, new: Operator) -> Operator:
    """The node with one of its inputs exchanged."""
    return node.with_inputs(tuple(new if i == place else old for i, old in enumerate(node.inputs)))


def split(
    conditions: Sequence[Expression], moves: Callable[[Expression], bool]
) -> tuple[list[Expression], list[Expression]]:
    """Those that move, and those that stay."""
    moved = [condition for condition in conditions if moves(condition)]
    return moved, [condition for condition in conditions if condition not in moved]


def push_passing(node: Filter) -> Operator | None:
    """The filter's conditions on columns that pass through its input, asked below it; None when there are none."""
    below = node.input
    columns = passes(below)
    if not columns or not all(expression == Column(name) for name, expression in columns.items()):
        return None
    whole_groups = groups_by(below) is not None

    def moves(condition: Expression) -> bool:
        known = columns_of(condition) <= set(columns)
        return known and (not whole_groups or respects_equality(condition, below.schema))

    moved, stay = split(conjuncts(node.predicate), moves)
    if not moved:
        return None
    place = carrier(below)
    return filtered(with_input(below, place, filtered(below.inputs[place], moved)), stay)


def said_below(
    expression: Expression, columns: Mapping[str, Expression], above: Schema, below: Schema
) -> Expression | None:
    """An expression over computed columns as one over what these are computed from; None when it cannot be said so.

    A computed zero has lost its sign once it is in a column: what would see the sign must stay above.
    """
    read = {name: columns[name] for name in columns_of(expression)}
    computed = [name for name, inner in read.items() if not isinstance(inner, Column)]
    if any(is_fraction(above.type_of(name)) for name in computed) and not respects_equality(expression, above):
        return None
    put = substitute(expression, read)
    try:
        # Written and read again, it looks as if someone had asked it there: `(a OR b) OR c` is `a OR b OR c`.
        found = parse_expression(print_expression(put), below) if computed else put
        same = type_of(found, below) == type_of(expression, above)
    except InputError:  # a constant put in the place of a column can make a conversion impossible that was not
        return None
    return found if same else None


def plain(expression: Expression) -> bool:
    """Whether computing it costs nothing: a column, a field of one, or a constant."""
    return isinstance(expression, Column | Literal) or (isinstance(expression, Field) and plain(expression.of))


def size(expression: Expression) -> int:
    """How many parts an expression has."""
    return sum(1 for _ in walk(expression))
