"""Random rows for any schema: event times within some minutes, small domains so that rows meet, NULLs now and then."""

import random
from decimal import Decimal
from typing import Any

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DataType

SECOND = 1_000_000
WORDS = {
    "exchange": ["NYSE", "NASDAQ"], "action": ["buy", "look"], "ticker": ["A", "B", "C"],
    "message": ["COMPRESSOR FAILED", "OK"],
}  # fmt: skip


def value(name: str, type_: DataType, mix: random.Random, span: int) -> Any:
    """One value of a type; times lie within `span` seconds."""
    match type_.name:
        case "TIMESTAMP":
            return mix.randrange(span) * SECOND
        case "STRING":
            return mix.choice(WORDS.get(name, ["a", "b", "c", "d"]))
        case "BOOLEAN":
            return mix.random() < 0.5
        case "DOUBLE" | "FLOAT":
            return mix.choice([-20.5, 0.0, 1.5, 7.25, 30.0, 360.0, 1000.0])
        case "DECIMAL":
            return Decimal(mix.randrange(10_000)).scaleb(-type_.parameters[1])
        case "DATE":
            return mix.randrange(100)
        case "ARRAY":
            return tuple(value(name, type_.element, mix, span) for _ in range(mix.randrange(3)))
        case "STRUCT":
            return tuple(value(field, inner, mix, span) for field, inner in type_.fields)
    return mix.choice([0, 1, 2, 3, 50, 100, 404, 500])


def rows(schema: Schema, count: int, mix: random.Random, span: int = 600, nulls: float = 0.05) -> list[tuple[Any, ...]]:
    """Rows of a schema in no order; the event time is never NULL."""
    made = []
    for _ in range(count):
        row = [
            None if name != schema.time and mix.random() < nulls else value(name, type_, mix, span)
            for name, type_ in schema.columns
        ]
        made.append(tuple(row))
    return made
