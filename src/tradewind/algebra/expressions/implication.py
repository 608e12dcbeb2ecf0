"""When one condition implies or excludes another, as far as comparisons of one expression with constants can tell.

Both answers are safe: False only means that it could not be shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tradewind.algebra.expressions.tree import (
    FALSE,
    TRUE,
    Call,
    Case,
    Cast,
    Expression,
    Literal,
    children,
    conjuncts,
    walk,
)  # fmt: skip
from tradewind.algebra.expressions.typing import type_of
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DataType, is_fraction

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<=>": "<=>"}


@dataclass(frozen=True, slots=True)
class _Allowed:
    """The values an expression may have: a finite set, or a range with open or closed ends; never NULL."""

    of: Expression
    values: frozenset[Any] | None = None
    low: Any = None
    low_open: bool = False
    high: Any = None
    high_open: bool = False

    def holds(self, value: Any) -> bool:
        if self.values is not None:
            return value in self.values
        above = self.low is None or value > self.low or (value == self.low and not self.low_open)
        below = self.high is None or value < self.high or (value == self.high and not self.high_open)
        return above and below

    def within(self, other: _Allowed) -> bool:
        if self.values is not None:
            return all(other.holds(value) for value in self.values)
        if other.values is not None:
            return False
        low = other.low is None or (
            self.low is not None
            and (self.low > other.low or (self.low == other.low and (self.low_open or not other.low_open)))
        )
        high = other.high is None or (
            self.high is not None
            and (self.high < other.high or (self.high == other.high and (self.high_open or not other.high_open)))
        )
        return low and high

    def apart(self, other: _Allowed) -> bool:
        if self.values is not None:
            return not any(other.holds(value) for value in self.values)
        if other.values is not None:
            return other.apart(self)
        return _ends_before(self, other) or _ends_before(other, self)


def _ends_before(left: _Allowed, right: _Allowed) -> bool:
    if left.high is None or right.low is None:
        return False
    return bool(left.high < right.low or (left.high == right.low and (left.high_open or right.low_open)))


def implies(given: Expression, wanted: Expression) -> bool:
    """Whether every row for which `given` is true makes `wanted` true.

    >>> from tradewind.algebra.expressions.parse import parse_raw
    >>> implies(parse_raw("a < 5 AND b = 1"), parse_raw("a < 9")), implies(parse_raw("a < 9"), parse_raw("a < 5"))
    (True, False)
    """
    known = conjuncts(given)
    return FALSE in known or all(any(_implies_one(fact, part) for fact in known) for part in conjuncts(wanted))


def _implies_one(given: Expression, wanted: Expression) -> bool:
    if given == wanted:
        return True
    if isinstance(given, Call) and given.function == "or":
        return all(implies(branch, wanted) for branch in given.arguments)
    if isinstance(wanted, Call) and wanted.function == "or":
        return any(implies(given, branch) for branch in wanted.arguments)
    have = _allowed(given)
    if have is None:
        return False
    if wanted == Call("isnotnull", (have.of,)):
        return True
    want = _allowed(wanted)
    return want is not None and want.of == have.of and have.within(want)


def contradicts(left: Expression, right: Expression) -> bool:
    """Whether no row can make both conditions true.

    >>> from tradewind.algebra.expressions.parse import parse_raw
    >>> contradicts(parse_raw("a < 5"), parse_raw("a >= 5")), contradicts(parse_raw("a < 5"), parse_raw("a > 1"))
    (True, False)
    """
    return any(_contradicts_one(a, b) or _contradicts_one(b, a) for a in conjuncts(left) for b in conjuncts(right))


def _contradicts_one(left: Expression, right: Expression) -> bool:
    if FALSE in (left, right):
        return True
    match right:
        case Call(function="not", arguments=(Case(branches=((condition, then),), otherwise=other),)) if (
            then == TRUE and other == FALSE
        ):
            return implies(left, condition)
        case Call(function="not", arguments=(condition,)) if implies(left, condition):
            return True
    one, two = _allowed(left), _allowed(right)
    return one is not None and two is not None and one.of == two.of and one.apart(two)


def _allowed(condition: Expression) -> _Allowed | None:
    match condition:
        case Call(function="<" | "<=" | ">" | ">=" | "=" | "<=>" as op, arguments=(of, Literal() as constant)):
            return _range(of, op, constant)
        case Call(function="<" | "<=" | ">" | ">=" | "=" | "<=>" as op, arguments=(Literal() as constant, of)):
            return _range(of, _FLIPPED[op], constant)
        case Call(function="in", arguments=(of, *rest)):
            constants = [value for value in rest if isinstance(value, Literal) and _usable(value)]
            return _Allowed(of, frozenset(c.value for c in constants)) if len(constants) == len(rest) else None
        case Call(function="not", arguments=(of,)):
            return _Allowed(of, frozenset([False]))
    return _Allowed(condition, frozenset([True]))


def _range(of: Expression, op: str, constant: Literal) -> _Allowed | None:
    if not _usable(constant) or isinstance(of, Literal):
        return None
    value = constant.value
    match op:
        case "=" | "<=>":
            return _Allowed(of, frozenset([value]))
        case "<" | "<=":
            return _Allowed(of, None, high=value, high_open=op == "<")
    return _Allowed(of, None, low=value, low_open=op == ">")


def _usable(constant: Literal) -> bool:
    """NULL compares with nothing, and NaN does not sort as Python sorts it."""
    return constant.value is not None and not (isinstance(constant.value, float) and math.isnan(constant.value))


def respects_equality(expression: Expression, schema: Schema) -> bool:
    """Whether the answer is the same for all values that count as equal: -0.0 and 0.0 are one value, but two texts.

    Only such a condition holds for a whole group when it holds for one row of it.
    """
    if not any(_could_tell(part) for part in walk(expression)):
        return True
    return not any(
        _could_tell(part) and any(_has_fraction(type_of(inner, schema)) for inner in children(part))
        for part in walk(expression)
    )


def _could_tell(part: Expression) -> bool:
    """Conversions to text, and powers below zero: 1 / -0.0 is another infinity than 1 / 0.0."""
    match part:
        case Call(function="pow", arguments=(_, Literal(value=int() | float() as power))) if power >= 0:
            return False
    return (isinstance(part, Cast) and _has_text(part.type)) or (isinstance(part, Call) and part.function == "pow")


def _has_text(type_: DataType) -> bool:
    return type_.name == "STRING" or any(_has_text(inner) for _, inner in type_.fields)


def _has_fraction(type_: DataType) -> bool:
    return is_fraction(type_) or any(_has_fraction(inner) for _, inner in type_.fields)
