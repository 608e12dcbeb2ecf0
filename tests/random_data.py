"""Random rows for the streams of random graphs: out of order, repeated, with NULLs and odd numbers, several origins."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from decimal import Decimal

from tests.random_expressions import BASE, SECOND, TEXTS
from tests.random_graphs import ORIGINS
from tradewind.algebra.graph import Graph
from tradewind.algebra.types import DataType, is_fraction, is_integer
from tradewind.interpreter.run import Weighted
from tradewind.interpreter.values import single

Rows = dict[str, dict[str, list[tuple | Weighted]]]


def value(type_: DataType, chance: random.Random):
    """A value of a small domain."""
    if type_.name == "TIMESTAMP":
        return BASE + chance.randrange(0, 40) * SECOND + chance.choice((0, 0, 0, 500_000))
    if chance.random() < 0.08:
        return None
    if is_integer(type_):
        extreme = 2**31 - 1 if type_.name == "INT" else 2**63 - 1
        return chance.choice((extreme, -extreme - 1)) if chance.random() < 0.03 else chance.choice((0, 1, 1, 2, 3, 4))
    if is_fraction(type_):
        odd = chance.choice((math.nan, math.inf, -math.inf, 1e300, -1e-320))
        plain = chance.choice((0.0, 0.5, 1.0, 1.5, 2.0, 2.5, -1.0, -2.25, 3.0))
        found = odd if chance.random() < 0.06 else plain
        if type_.name == "FLOAT":
            return math.nan if math.isnan(found) else single(found)
        return found
    match type_.name:
        case "BOOLEAN":
            return chance.random() < 0.5
        case "DECIMAL":
            return Decimal(chance.randrange(10_000)).scaleb(-type_.parameters[1])
        case "DATE":
            return chance.randrange(100)
        case "ARRAY":
            return tuple(value(type_.element, chance) for _ in range(chance.randrange(3)))
        case "STRUCT":
            return tuple(value(inner, chance) for _, inner in type_.fields)
    return chance.choice(TEXTS)


def random_data(graph: Graph, chance: random.Random, most: int = 12) -> Rows:
    """Rows for each stream that the graph reads."""
    data: Rows = {}
    for stream, source in sorted(graph.sources().items()):
        origins = sorted(ORIGINS)
        chance.shuffle(origins)
        data[stream] = {origin: _rows(source.schema.columns, chance, most, source.revisions) for origin in origins}
    return data


def _rows(
    columns: Sequence[tuple[str, DataType]], chance: random.Random, most: int, revised: bool
) -> list[tuple | Weighted]:
    rows: list[tuple] = [tuple(value(type_, chance) for _, type_ in columns) for _ in range(chance.randrange(most + 1))]
    rows.sort(key=lambda row: row[0] + chance.randrange(6) * SECOND)
    if rows and chance.random() < 0.5:
        rows.append(chance.choice(rows))
    if not revised:
        return list(rows)
    back = [Weighted(row, -1) for row in chance.sample(rows, len(rows) // 2)]
    return [*rows, *back]
