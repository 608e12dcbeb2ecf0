"""The value of an expression for one row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from tradewind.algebra.expressions.functions import FUNCTIONS
from tradewind.algebra.expressions.tree import Call, Case, Cast, Column, Expression, Field, Literal
from tradewind.algebra.expressions.typing import resolve
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DataType, is_fraction
from tradewind.interpreter.casts import convert
from tradewind.interpreter.comparison import compare
from tradewind.interpreter.functions import IMPLEMENTATIONS
from tradewind.interpreter.values import Value

Evaluator = Callable[[Sequence[Value]], Value]


def evaluator(expression: Expression, schema: Schema) -> Evaluator:
    """A function from a row's values to the expression's value.

    >>> from tradewind.algebra.expressions.typing import parse_expression
    >>> from tradewind.algebra.schema import parse_schema
    >>> columns = parse_schema("a INT, b STRING")
    >>> evaluator(parse_expression("if(a > 1, upper(b), 'low')", columns), columns)((2, "x"))
    'X'
    """
    resolved, type_ = resolve(expression, schema)
    value = _compiled(resolved, schema)
    if not is_fraction(type_):
        return value

    def canonical(row: Sequence[Value]) -> Value:
        return plain_zero(value(row))

    return canonical


def plain_zero(number: Value) -> Value:
    """One NaN and one zero: what compares equal must be the same row."""
    if number is None:
        return None
    return math.nan if math.isnan(number) else number + 0.0


def condition(expression: Expression, schema: Schema) -> Callable[[Sequence[Value]], bool]:
    """Whether a predicate is true for a row; NULL is not."""
    value = _compiled(expression, schema)
    return lambda row: value(row) is True


def _compiled(expression: Expression, schema: Schema) -> Evaluator:
    match expression:
        case Column(name=name):
            index = schema.index(name)
            return lambda row: row[index]
        case Literal(value=constant):
            return lambda row: constant
        case Field(of=of, name=name):
            return _field(_compiled(of, schema), _type(of, schema), name)
        case Cast(of=of, type=target):
            inner, source = _compiled(of, schema), _type(of, schema)
            return lambda row: convert(inner(row), source, target)
        case Case(branches=branches, otherwise=otherwise):
            return _case(
                [(_compiled(c, schema), _compiled(v, schema)) for c, v in branches], _compiled(otherwise, schema)
            )
        case Call():
            return _call(expression, schema)


def _type(expression: Expression, schema: Schema) -> DataType:
    return resolve(expression, schema)[1]


def _field(of: Evaluator, type_: DataType, name: str) -> Evaluator:
    index = [field for field, _ in type_.fields].index(name)

    def value(row: Sequence[Value]) -> Value:
        inner = of(row)
        return None if inner is None else inner[index]

    return value


def _case(branches: list[tuple[Evaluator, Evaluator]], otherwise: Evaluator) -> Evaluator:
    def value(row: Sequence[Value]) -> Value:
        for holds, then in branches:
            if holds(row) is True:
                return then(row)
        return otherwise(row)

    return value


def _call(call: Call, schema: Schema) -> Evaluator:
    arguments = [_compiled(argument, schema) for argument in call.arguments]
    match call.function:
        case "and":
            return lambda row: _all(argument(row) for argument in arguments)
        case "or":
            return lambda row: _negated(_all(_negated(argument(row)) for argument in arguments))
        case "if":
            return _case([(arguments[0], arguments[1])], arguments[2])
        case "coalesce":
            return lambda row: next((v for argument in arguments if (v := argument(row)) is not None), None)
        case "in":
            return _in(arguments, _type(call.arguments[0], schema))
        case "named_struct":
            return lambda row: tuple(argument(row) for argument in arguments[1::2])
    return _function(call, arguments, schema)


def _all(values: Iterable[Value]) -> bool | None:
    """True when all are, false when one is, else NULL."""
    unknown = False
    for value in values:
        if value is False:
            return False
        unknown = unknown or value is None
    return None if unknown else True


def _negated(value: bool | None) -> bool | None:
    return None if value is None else not value


def _in(arguments: list[Evaluator], type_: DataType) -> Evaluator:
    def value(row: Sequence[Value]) -> Value:
        subject, *candidates = (argument(row) for argument in arguments)
        if subject is None:
            return None
        if any(candidate is not None and compare(subject, candidate, type_) == 0 for candidate in candidates):
            return True
        return None if None in candidates else False

    return value


def _function(call: Call, arguments: list[Evaluator], schema: Schema) -> Evaluator:
    implementation = IMPLEMENTATIONS[call.function]
    strict = FUNCTIONS[call.function].strict
    types = tuple(_type(argument, schema) for argument in call.arguments)
    before = (types, _type(call, schema)) if implementation.typed else ()

    def value(row: Sequence[Value]) -> Value:
        values = [argument(row) for argument in arguments]
        if strict and any(one is None for one in values):
            return None
        return implementation.apply(*before, *values)

    return value
