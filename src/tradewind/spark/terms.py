"""Parts of an expression, printed: their text, and what is known about them when the next part is printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tradewind.algebra.expressions.tree import Literal
from tradewind.algebra.types import INTEGER_BITS, DataType
from tradewind.spark.types import ddl

Span = tuple[int, int]
"""The least and the greatest whole number that a part can be."""


_SHORT = 1_000
"""Texts up to this length repeat their parts, which Spark finds and works out once. In longer ones parts are bound to a
name, which is slower, but else texts would double with each part that lies in another.
"""


@dataclass(frozen=True, slots=True)
class Term:
    """A printed part. Its text can stand anywhere: operators are in brackets.

    A `simple` one, a name or a constant, may be said twice. `signed` says that -0.0 may come out of it.
    """

    sql: str
    type: DataType
    simple: bool = False
    constant: Literal | None = None
    span: Span | None = None
    signed: bool = False

    def __str__(self) -> str:
        return self.sql

    @property
    def is_null(self) -> bool:
        """Whether it is the constant NULL."""
        return self.constant is not None and self.constant.value is None


def null(type_: DataType) -> str:
    """NULL of a type."""
    return "NULL" if type_.name == "VOID" else f"CAST(NULL AS {ddl(type_)})"


def infix(left: Term | str, operator: str, right: Term | str) -> str:
    """Two parts with an operator between them."""
    return f"({left} {operator} {right})"


def call(function: str, *arguments: Term | str) -> str:
    """A function of parts."""
    return f"{function}({', '.join(map(str, arguments))})"


def bound(term: Term, body: Callable[[str], str]) -> str:
    """A text that says a part more than once."""
    said = body(term.sql)
    if term.simple or len(said) <= _SHORT:
        return said
    return f"element_at(transform(array({term}), v -> {body('v')}), 1)"


def bound_pair(left: Term, right: Term, body: Callable[[str, str], str]) -> str:
    """A text that says two parts more than once."""
    said = body(left.sql, right.sql)
    if (left.simple and right.simple) or len(said) <= _SHORT:
        return said
    # Both are bound at once: inside a function's body no part stands that might have a column named as its variable.
    pair = f"named_struct('l', {left}, 'r', {right})"
    return f"element_at(transform(array({pair}), v -> {body('v.l', 'v.r')}), 1)"


def type_span(type_: DataType) -> Span | None:
    """What the values of an integer type can be."""
    if type_ not in INTEGER_BITS:
        return None
    half: int = 2 ** (INTEGER_BITS[type_] - 1)
    return -half, half - 1


def within(span: Span | None, type_: DataType) -> bool:
    """Whether every number of a span is one of an integer type's."""
    limits = type_span(type_)
    return span is not None and limits is not None and limits[0] <= span[0] and span[1] <= limits[1]
