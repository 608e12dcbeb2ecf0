"""What is known of every row that an operator gives out, from the filters and constants below it."""

from __future__ import annotations

from functools import lru_cache

from tradewind.algebra.expressions.implication import contradicts, implies, respects_equality
from tradewind.algebra.expressions.tree import (
    Call,
    Column,
    Expression,
    Literal,
    children,
    columns_of,
    conjunction,
    conjuncts,
    substitute,
    with_children,
)
from tradewind.algebra.expressions.tree import walk as parts
from tradewind.algebra.operators.base import Operator, walk
from tradewind.algebra.operators.core import ConnectionPoint, Filter, Join, Map, Union
from tradewind.algebra.operators.derived import Derived
from tradewind.algebra.operators.ordered import Order, WaitFor
from tradewind.algebra.operators.stored import Read
from tradewind.algebra.properties import carrier, groups_by, passes

_LARGE = 40
"""Conditions of more parts than this are not followed further down."""


def facts(node: Operator) -> tuple[Expression, ...]:
    """Conditions that hold for every row of the output, as far as filters and constants below tell."""
    try:
        return _facts(node)
    except RecursionError:
        found: tuple[Expression, ...] = ()
        for below in walk(node):  # inputs first, so that none has to look far down
            found = _facts(below)
        return found


@lru_cache(maxsize=4096)
def _facts(node: Operator) -> tuple[Expression, ...]:
    if isinstance(node, Filter):
        return conjuncts(node.predicate) + _facts(node.input)
    if isinstance(node, Derived):
        return _facts(node.expand())
    if isinstance(node, Union):
        return _common_facts(node)
    if isinstance(node, Join):
        sides = {"inner": (node.left, node.right), "left": (node.left,), "right": (node.right,)}
        return tuple(fact for side in sides.get(node.how, ()) for fact in _facts(side))
    if isinstance(node, Order | ConnectionPoint | Read | WaitFor):
        return _facts(node.inputs[0])
    constants = [(n, e) for n, e in passes(node).items() if isinstance(e, Literal) and e.value is not None]
    return (*_lifted_facts(node), *(Call("=", (Column(name), value)) for name, value in constants))


def _common_facts(node: Union) -> tuple[Expression, ...]:
    known = [conjunction(_facts(member)) for member in node.members]
    candidates = dict.fromkeys(fact for each in known for fact in conjuncts(each))
    return tuple(fact for fact in candidates if all(implies(each, fact) for each in known))


def _lifted_facts(node: Operator) -> tuple[Expression, ...]:
    if not node.inputs:
        return ()
    below = _facts(node.inputs[carrier(node)])
    return tuple(dict.fromkeys(said for fact in below for said in lifted(fact, node)))


def lifted(condition: Expression, node: Operator) -> tuple[Expression, ...]:
    """A condition on the rows of the carrying input, said of the columns that pass; in several ways if these repeat."""
    if not columns_of(condition):
        return (condition,)
    named: dict[Expression, list[str]] = {}
    for name, expression in passes(node).items():
        if not isinstance(expression, Literal):
            named.setdefault(expression, []).append(name)
    found: dict[Expression, None] = {}
    for turn in range(max(map(len, named.values()), default=0)):
        names = {expression: some[min(turn, len(some) - 1)] for expression, some in named.items()}
        said = _renamed(condition, names)
        if said is not None and _carried(said, node):
            found[said] = None
    return tuple(found)


def _carried(condition: Expression, node: Operator) -> bool:
    """Whether a condition on passing columns says the same of the rows below: maps and groups lose a zero's sign."""
    loses = isinstance(node, Map) or groups_by(node) is not None
    return not loses or respects_equality(condition, node.schema)


def _renamed(expression: Expression, names: dict[Expression, str]) -> Expression | None:
    if expression in names:
        return Column(names[expression])
    if isinstance(expression, Column):
        return None
    parts = []
    for part in children(expression):
        found = _renamed(part, names)
        if found is None:
            return None
        parts.append(found)
    return with_children(expression, tuple(parts))


def holds(node: Operator, condition: Expression) -> bool:
    """Whether a condition is known to hold for every row of the output, perhaps for another reason in each input.

    False only means that it could not be shown.
    """
    try:
        return _holds(node, condition)
    except RecursionError:
        return False


@lru_cache(maxsize=4096)
def _holds(node: Operator, condition: Expression) -> bool:
    if implies(conjunction(facts(node)), condition):
        return True
    if isinstance(node, Filter | Order | ConnectionPoint):
        return _holds(node.input, condition)
    if isinstance(node, Union):
        return all(_holds(member, condition) for member in node.members)
    if isinstance(node, Join):
        sides = {"inner": (node.left, node.right), "left": (node.left,), "right": (node.right,)}.get(node.how, ())
        return any(columns_of(condition) <= set(side.schema.names) and _holds(side, condition) for side in sides)
    columns = passes(node)
    if not columns_of(condition) <= set(columns) or not _carried(condition, node):
        return False
    below = substitute(condition, columns)
    small = below == condition or sum(1 for _ in parts(below)) <= _LARGE
    return small and bool(node.inputs) and _holds(node.inputs[carrier(node)], below)


def disjoint(nodes: tuple[Operator, ...], keys: tuple[str, ...]) -> bool:
    """No two of the inputs can hold rows with equal keys, because conditions on the keys exclude one another.

    Allows: finishing groups, and cutting to the top, in each input before they are brought together.
    """
    return all(apart(one, two, keys) for place, one in enumerate(nodes) for two in nodes[place + 1 :])


def apart(one: Operator, two: Operator, keys: tuple[str, ...]) -> bool:
    """Whether conditions on the keys exclude that two inputs hold rows with equal keys."""
    told = [
        [fact for fact in facts(n) if columns_of(fact) <= set(keys) and respects_equality(fact, n.schema)]
        for n in (one, two)
    ]
    return any(contradicts(a, b) for a in told[0] for b in told[1])
