"""Bounds that conditions on a map's columns set on the columns that the map reads."""

from __future__ import annotations

import math
from decimal import Decimal

from tradewind.algebra.expressions.monotone import preimage
from tradewind.algebra.expressions.tree import Call, Expression, Literal
from tradewind.algebra.operators.core import Map
from tradewind.rewrites.moving import said_below

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<=>": "<=>"}


def comparisons(condition: Expression) -> list[tuple[Expression, str, Literal]]:
    """The comparisons with constants (`<`, `<=`, `>`, `>=`) that hold wherever the condition does."""
    match condition:
        case Call(function="<" | "<=" | ">" | ">=" as op, arguments=(of, Literal() as constant)):
            return [(of, op, constant)]
        case Call(function="=" | "<=>", arguments=(of, Literal() as constant)):
            return [(of, ">=", constant), (of, "<=", constant)]
        case Call(function=op, arguments=(Literal() as constant, of)) if op in _TURNED and not isinstance(of, Literal):
            return comparisons(Call(_TURNED[op], (of, constant)))
        case Call(function="in", arguments=(of, *rest)):
            return _spanned(of, rest)
    return []


def _spanned(of: Expression, choices: list[Expression]) -> list[tuple[Expression, str, Literal]]:
    """Between the least and the greatest of the values that are numbers; NULL is never equal, NaN is beyond bounds."""
    constants = [c for c in choices if isinstance(c, Literal) and isinstance(c.value, int | float | Decimal)]
    nulls = [c for c in choices if isinstance(c, Literal) and c.value is None]
    if not constants or len(constants) + len(nulls) < len(choices) or any(c.value != c.value for c in constants):
        return []
    ordered = sorted(constants, key=_number)
    return [(of, ">=", ordered[0]), (of, "<=", ordered[-1])]


def _number(constant: Literal) -> float | Decimal:
    return constant.value if isinstance(constant.value, int | float | Decimal) else math.nan


def bounds_below(condition: Expression, node: Map) -> list[Expression]:
    """Conditions on the map's input that hold for every row whose mapped row satisfies the condition."""
    found: list[Expression] = []
    for of, op, constant in comparisons(condition):
        below = said_below(of, dict(node.columns), node.schema, node.input.schema)
        bound = None if below is None else preimage(below, op, constant, node.input.schema)
        if bound is not None:
            found.append(Call(bound[1], (bound[0], bound[2])))
    return found
