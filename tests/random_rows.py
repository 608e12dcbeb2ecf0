"""Random rows for a declared stream: event times within some minutes, and words that the examples ask for."""

import random
from typing import Any

from tests.random_data import value
from tradewind.algebra.schema import Schema

SECOND = 1_000_000
WORDS = {
    "exchange": ["NYSE", "NASDAQ"],
    "action": ["buy", "look"],
    "ticker": ["A", "B", "C"],
    "message": ["COMPRESSOR FAILED", "OK"],
}


def rows(schema: Schema, count: int, mix: random.Random, span: int = 600) -> list[tuple[Any, ...]]:
    """Rows of a schema in no order; the event time is never NULL."""
    return [tuple(_value(name, schema, mix, span) for name in schema.names) for _ in range(count)]


def _value(name: str, schema: Schema, mix: random.Random, span: int) -> Any:
    if name == schema.time:
        return mix.randrange(span) * SECOND
    return mix.choice(WORDS[name]) if name in WORDS else value(schema.type_of(name), mix)
