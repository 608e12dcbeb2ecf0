"""Expressions as Spark SQL that gives, for every row, what the interpreter gives.

The text relies on the session's settings in `SETTINGS`. docs/spark.md says what is printed instead of plain Spark's
functions, and why.
"""

from __future__ import annotations

import math

from tradewind.algebra.expressions.dialect import deep_stack
from tradewind.algebra.expressions.functions import FUNCTIONS, rounded_type, struct_type
from tradewind.algebra.expressions.tree import Call, Case, Cast, Column, Expression, Field, Literal
from tradewind.algebra.expressions.typing import require_boolean, resolve
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DOUBLE, FLOAT, DataType, is_fraction, is_integer
from tradewind.errors import InternalError
from tradewind.spark.casts import cast_sql
from tradewind.spark.functions import call_sql
from tradewind.spark.literals import literal_sql, one_zero, text_sql
from tradewind.spark.spans import hull, span_of
from tradewind.spark.terms import Term, type_span, within
from tradewind.spark.types import quote

_WRONG_RULES = (
    # It takes upper(lower(x)) for upper(x), which is not so for a few letters.
    "SimplifyCaseConversionExpressions",
    # It takes try_add(try_add(x, 1), -1) for x, which is not so for the greatest x.
    "ReorderAssociativeOperator",
)
"""Rules of Catalyst's that change answers."""

SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # Else Spark puts settings and the machine's environment in the place of `${…}`, in names too.
    "spark.sql.variable.substitute": "false",
    "spark.sql.optimizer.excludedRules": ",".join(
        f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in _WRONG_RULES
    ),
}
"""How a session must be set for the printed text to mean what it says."""


def spark_sql(expression: Expression, schema: Schema) -> str:
    """An expression over the columns of `schema`, as text that Spark gives the same type and values.

    >>> from tradewind.algebra.expressions.typing import parse_expression
    >>> from tradewind.algebra.schema import parse_schema
    >>> columns = parse_schema("status INT, x DOUBLE")
    >>> [spark_sql(parse_expression(text, columns), columns) for text in ("status < 500", "status + 1", "x * 2")]
    ['(`status` < 500)', 'try_add(`status`, 1)', '((`x` * 2.0D) + 0.0D)']
    """
    with deep_stack():
        term = _term(resolve(expression, schema)[0], schema)
    return one_zero(term) if is_fraction(term.type) else term.sql


def condition_sql(predicate: Expression, schema: Schema) -> str:
    """A predicate for Spark's `where`, which takes NULL for false as the interpreter does."""
    return spark_sql(require_boolean(predicate, schema), schema)


def _term(expression: Expression, schema: Schema) -> Term:
    match expression:
        case Column(name=name):
            type_ = schema.type_of(name)
            return Term(quote(name), type_, simple=True, span=type_span(type_))
        case Literal():
            return _literal(expression)
        case Field(of=of, name=name):
            return _field(_term(of, schema), name)
        case Cast(of=of, type=target):
            return _cast(_term(of, schema), target)
        case Case(branches=branches, otherwise=otherwise):
            return _case([(_term(c, schema), _term(v, schema)) for c, v in branches], _term(otherwise, schema))
        case Call(function=name, arguments=arguments):
            return _call(name, [_term(argument, schema) for argument in arguments])


def _literal(literal: Literal) -> Term:
    value, type_ = literal.value, literal.type
    span = (value, value) if is_integer(type_) and isinstance(value, int) else type_span(type_)
    signed = isinstance(value, float) and value == 0 and math.copysign(1.0, value) < 0
    return Term(literal_sql(literal), type_, simple=True, constant=literal, span=span, signed=signed)


def _field(of: Term, name: str) -> Term:
    inner = of.type.field(name)
    if inner is None:
        raise InternalError(f"{of.type} has no field {name!r}.")
    return Term(f"{of}[{text_sql(name)}]", inner, simple=of.simple, span=type_span(inner), signed=of.signed)


def _cast(of: Term, target: DataType) -> Term:
    span = of.span if within(of.span, target) else type_span(target)
    made = of.type.name in ("STRING", "ARRAY", "STRUCT") or (of.type, target) == (DOUBLE, FLOAT)
    return Term(cast_sql(of, target), target, span=span, signed=of.signed or made)


def _case(branches: list[tuple[Term, Term]], otherwise: Term) -> Term:
    whens = " ".join(f"WHEN {condition} THEN {value}" for condition, value in branches)
    values = [*(value for _, value in branches), otherwise]
    return Term(
        f"CASE {whens} ELSE {otherwise} END",
        otherwise.type,
        span=hull([value.span for value in values]),
        signed=any(value.signed for value in values),
    )


def _call(name: str, arguments: list[Term]) -> Term:
    if name == "named_struct":
        result = struct_type(
            [str(each.constant.value) for each in arguments[::2] if each.constant],
            [each.type for each in arguments[1::2]],
        )
    else:
        fitted = FUNCTIONS[name].rule(tuple(argument.type for argument in arguments))
        if fitted is None:
            raise InternalError(f"{name!r} was typed but does not fit its arguments.")
        result = fitted[1]
        if name == "round":
            digits = arguments[1].constant if len(arguments) > 1 else None
            result = rounded_type(fitted[0][0], digits.value if digits and isinstance(digits.value, int) else 0)
    signed = name in _SIGNED or (name in _HANDED_ON and any(argument.signed for argument in arguments))
    return Term(call_sql(name, arguments, result), result, span=span_of(name, arguments, result), signed=signed)


_SIGNED = ("*", "/", "%", "pmod", "negative", "pow")
"""Functions that give -0.0 for numbers of which none is."""

_HANDED_ON = (
    "+", "-", "sign", "sqrt", "if", "coalesce", "nullif", "greatest", "least", "array", "element_at", "named_struct",
)  # fmt: skip
"""Functions that give -0.0 when an argument is, or has it inside."""
