"""The nodes of an expression. Everything that is ever handed to Spark is printed from these and from nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from tradewind.algebra.types import BOOLEAN, DataType

LiteralValue = None | bool | int | float | str | bytes | Decimal
"""A constant. TIMESTAMP is microseconds and DATE days since 1970, INTERVAL microseconds."""


@dataclass(frozen=True, slots=True)
class Column:
    """The value of a column of the input row."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant with its type."""

    value: LiteralValue
    type: DataType

    def __eq__(self, other: object) -> bool:
        # 1 == 1.0 == True in Python, and nan != nan: as constants they differ, and nan is nan.
        return isinstance(other, Literal) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, DataType]:
        return repr(self.value), self.type


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct."""

    of: Expression
    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """An allow-listed function, or an operator under its symbol, applied to arguments."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion; what cannot be converted becomes NULL."""

    of: Expression
    type: DataType


@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first branch whose condition is true, else `otherwise`."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression


Expression = Column | Literal | Field | Call | Cast | Case

TRUE = Literal(True, BOOLEAN)
FALSE = Literal(False, BOOLEAN)


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct parts of an expression, in order."""
    match expression:
        case Column() | Literal():
            return ()
        case Field(of=of) | Cast(of=of):
            return (of,)
        case Call(arguments=arguments):
            return arguments
        case Case(branches=branches, otherwise=otherwise):
            return (*(part for branch in branches for part in branch), otherwise)


def with_children(expression: Expression, parts: tuple[Expression, ...]) -> Expression:
    """The same expression over other parts."""
    match expression:
        case Column() | Literal():
            return expression
        case Field(name=name):
            return Field(parts[0], name)
        case Cast(type=type_):
            return Cast(parts[0], type_)
        case Call(function=function):
            return Call(function, parts)
        case Case():
            pairs = tuple(zip(parts[:-1:2], parts[1:-1:2], strict=True))
            return Case(pairs, parts[-1])


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and all its parts, outermost first."""
    yield expression
    for child in children(expression):
        yield from walk(child)


def depth(expression: Expression) -> int:
    """How many parts lie inside one another at most; counted without recursion, for which it may be too deep."""
    deepest, level = 0, [expression]
    while level:
        deepest += 1
        level = [child for part in level for child in children(part)]
    return deepest


def transform(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Apply `change` to every part, innermost first."""
    parts = tuple(transform(child, change) for child in children(expression))
    return change(with_children(expression, parts) if parts else expression)


def columns_of(expression: Expression) -> frozenset[str]:
    """The names of the columns an expression reads."""
    return frozenset(part.name for part in walk(expression) if isinstance(part, Column))


def substitute(expression: Expression, columns: dict[str, Expression]) -> Expression:
    """Put an expression in the place of each named column."""
    return transform(expression, lambda e: columns.get(e.name, e) if isinstance(e, Column) else e)


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """The conditions that are all asked at once by `a AND b AND …`."""
    if isinstance(expression, Call) and expression.function == "and":
        return tuple(part for argument in expression.arguments for part in conjuncts(argument))
    return () if expression == TRUE else (expression,)


def conjunction(parts: tuple[Expression, ...] | list[Expression]) -> Expression:
    """All conditions at once, each named only once."""
    flat = tuple(dict.fromkeys(piece for part in parts for piece in conjuncts(part)))
    if not flat:
        return TRUE
    return flat[0] if len(flat) == 1 else Call("and", flat)
