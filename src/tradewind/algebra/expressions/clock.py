"""Which expressions still tell the time: from a row's value one knows by when all rows with this value are settled."""

from __future__ import annotations

from tradewind.algebra.expressions.tree import Call, Cast, Column, Expression, Field, Literal
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DATE, TIMESTAMP

UNIT_MICROS = {
    "microsecond": 1, "millisecond": 1_000, "second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000,
    "day": 86_400_000_000, "week": 604_800_000_000, "month": 31 * 86_400_000_000, "quarter": 92 * 86_400_000_000,
    "year": 366 * 86_400_000_000,
}  # fmt: skip
"""The longest that each unit of `date_trunc` can be."""


def lag_of(expression: Expression, schema: Schema) -> int | None:
    """The lag of an expression's value behind the time it tells, or None when it tells none.

    A time column has its own lag; adding an interval takes it off; cutting to a unit adds the unit.
    """
    match expression:
        case Column(name=name):
            return schema.lag(name)
        case Field(of=Column(name=name), name=part):
            return schema.lag(f"{name}.{part}")
        case Cast(of=of, type=type_) if type_ in (TIMESTAMP, DATE):
            inner = lag_of(of, schema)
            # A day as a time is its first moment; a time as a day may be as late as its last.
            return None if inner is None else inner + (0 if type_ == TIMESTAMP else UNIT_MICROS["day"] - 1)
        case Call(function="+" | "-" as sign, arguments=(of, Literal(value=int(shift)))):
            inner = lag_of(of, schema)
            return None if inner is None else inner - (shift if sign == "+" else -shift)
        case Call(function="+", arguments=(Literal(value=int(shift)), of)):
            inner = lag_of(of, schema)
            return None if inner is None else inner - shift
        case Call(function="date_trunc", arguments=(Literal(value=str(unit)), of)):
            inner = lag_of(of, schema)
            return None if inner is None else inner + UNIT_MICROS[unit.lower()] - 1
    return None
