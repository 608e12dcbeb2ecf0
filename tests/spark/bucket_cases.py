"""Random nodes that look at a row's neighbours, and rows for them: late, repeated, taken back, tied, NULL, extreme.

`CASES` names the kinds of nodes; each makes one from a `random.Random`, and the same state makes the same one.
"""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

from tests.random_data import value
from tests.shorthand import SECOND, grouped, mapped, stream
from tradewind.algebra.expressions.typing import parse_condition
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Source
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor, pair_schema
from tradewind.algebra.times import HIGHEST, LOWEST
from tradewind.algebra.types import DataType
from tradewind.algebra.windows import CountedWindow, ValueWindow
from tradewind.interpreter.run import Weighted
from tradewind.interpreter.values import fixed, single

COLUMNS = (
    "n INT, b BIGINT, x DOUBLE, y FLOAT, d DECIMAL(5,2), e DECIMAL(38,10), s STRING, f BOOLEAN, t DATE, "
    "a ARRAY<DOUBLE>, p STRUCT<q: INT, r: STRING>, z BINARY"
)
KEYS = ("", "k", "k", "k", "x", "s", "p", "a", "d", "k s", "k p x", "f t")
ORIGINS = ("ams", "nyc")
TEXTS = ("", "a", "é", "z", "\uffff", "😀", "a😀")
LENGTHS = (1, 2, 5, 10)
_DECIMALS = tuple(map(Decimal, ("999.99", "-999.99", "0.01", "9999999999999999999999999999.9999999999", "-7", "0")))


def source(chance: random.Random, name: str = "rows", time: str = "ts") -> Source:
    late = chance.choice((0, 0, 2, 5)) * SECOND
    columns = f"{time} TIMESTAMP, k INT, {COLUMNS}"
    return stream(name, columns, time, late, revisions=chance.random() < 0.5)


def origin(chance: random.Random, **names: str) -> Operator:
    """A source, or one whose event time has been moved."""
    node = source(chance, **names)
    if chance.random() < 0.6:
        return node
    (time, _), *others = node.schema.columns
    kept = {name: f"`{name}`" for name, _ in others}
    moved = f"`{time}` - INTERVAL {chance.choice((1, 3))} SECONDS"
    return (
        mapped(node, **{time: moved, "was": f"`{time}`"} | kept)
        if chance.random() < 0.5
        else mapped(node, **{time: moved} | kept)
    )


def counted(chance: random.Random) -> Operator:
    node = origin(chance)
    timeout = chance.choice((None, None, 1, 3, 5))
    order = "ts" if timeout is not None else chance.choice(("ts", "ts", "ts", "x", "s", "n", "p", "e", "t", "a"))
    size, step = chance.choice((1, 2, 2, 3, 5)), chance.choice((1, 1, 2, 3, 5))
    timeout = None if timeout is None else timeout * SECOND
    slack = chance.choice((None, None, None, 0, 1, 3))
    return grouped(node, chance.choice(KEYS), CountedWindow(order, size, step, timeout, slack), c="count(*)")


def valued(chance: random.Random) -> Operator:
    node = origin(chance)
    column = chance.choice(("n", "b", "x", "y", "d", "e", "t", "ts"))
    lengths: list[float] = [chance.choice(LENGTHS), chance.choice(LENGTHS)]
    if column in ("x", "y") and chance.random() < 0.5:
        lengths = [chance.choice((0.1, 0.5, 1.5, 3.0)) for _ in range(2)]
    size, step = max(lengths), min(lengths)
    if column == "ts":
        size, step = size * SECOND, step * SECOND
    timeout = chance.choice((None, 1, 3, 10))
    slack = chance.choice((None, 0, 1, 3)) if timeout is not None else chance.choice((0, 1, 3))
    window = ValueWindow(column, size, step, None if timeout is None else timeout * SECOND, slack)
    return grouped(node, chance.choice(KEYS), window, c="count(*)")


def sorted_(chance: random.Random) -> Operator:
    by = chance.choice(("ts", "ts", "ts", "x", "s", "n", "p", "e", "a"))
    return Order(origin(chance), by, chance.choice((0, 1, 2, 4, 20)))


def _resampled(chance: random.Random) -> dict[str, Any]:
    method = chance.choice(("previous", "linear"))
    names = ("n", "b", "x", "y", "d", "e") if method == "linear" else ("n", "x", "d", "s", "p", "a", "z", "f")
    gap = chance.choice((None, 1, 3, 8))
    return {
        "method": method,
        "values": tuple(chance.sample(names, chance.choice((1, 2)))),
        "max_gap": None if gap is None else gap * SECOND,
    }


def gridded(chance: random.Random) -> Operator:
    asked = _resampled(chance)
    keys = tuple(key for key in chance.choice(KEYS).split() if key not in asked["values"])
    every = chance.choice((SECOND, 2 * SECOND, 700_000))
    return Resample(origin(chance), keys, every=every, **asked)


def at_times(chance: random.Random) -> Operator:
    asked = _resampled(chance)
    keys = tuple(chance.choice(KEYS).split())
    other = origin(chance, name="others", time="at")
    kept = {name: f"`{name}`" for name in other.schema.names if name not in asked["values"] or name in keys}
    keys = tuple(key for key in keys if key not in asked["values"])
    kept = {name: text for name, text in kept.items() if name not in asked["values"]}
    return Resample(origin(chance), keys, at=mapped(other, **kept), **asked)


def waiting(chance: random.Random) -> Operator:
    other = origin(chance, name="signals", time="at")
    signal = mapped(other, **{f"{name}_2": f"`{name}`" for name in other.schema.names})
    node = origin(chance)
    keys = chance.sample(("k", "n", "x", "y", "d", "s", "f", "t", "z"), chance.choice((1, 1, 1, 2)))
    sides = [chance.sample((key, f"{key}_2"), 2) for key in keys]
    predicate = parse_condition(
        " AND ".join(f"{one} = {two}" for one, two in sides), pair_schema(node.schema, signal.schema)
    )
    return WaitFor(node, signal, predicate, chance.choice((1, 3, 8)) * SECOND)


CASES = {
    "counted": counted, "valued": valued, "sorted": sorted_, "gridded": gridded, "at_times": at_times,
    "waiting": waiting,
}  # fmt: skip


def rows(node: Source, chance: random.Random, most: int, extreme: bool) -> list[tuple | Weighted]:
    """Rows of a source, roughly in time."""
    found: list[tuple | Weighted] = []
    pool: list[tuple] = []
    now = 0
    for _ in range(chance.randrange(most + 1)):
        if pool and chance.random() < 0.25:
            row = chance.choice(pool)
        else:
            row = tuple(_value(type_, now, chance, extreme) for _, type_ in node.schema.columns)
            pool.append(row)
        weight = chance.choice((1, 1, 1, 1, 2, 3, -1, -1, -2)) if node.revisions else chance.choice((1, 1, 1, 1, 2))
        found.append(Weighted(row, weight))
        now += chance.choice((0, 0, 0, 1, 1, 2, 6))
    return found


def _value(type_: DataType, now: int, chance: random.Random, extreme: bool) -> Any:
    if type_.name == "TIMESTAMP":
        if chance.random() < 0.06:
            return None
        if extreme and chance.random() < 0.05:
            return chance.choice((LOWEST, HIGHEST, 0, -1))
        return (now + chance.choice((0, 0, 0, -1, -2, -5, 1))) * SECOND + chance.choice((0, 0, 0, 0, 500_000, 1))
    if chance.random() < 0.06:
        return None
    match type_.name:
        case "BINARY":
            return chance.choice((b"", b"\xff", b"a"))
        case "STRING":
            return chance.choice(TEXTS)
        case "INT":
            return chance.choice((2**31 - 1, -(2**31))) if chance.random() < 0.05 else chance.choice((0, 1, 1, 2, 7))
        case "BIGINT" if chance.random() < 0.2:
            return chance.choice((2**63 - 1, -(2**63), 2**53 + 1, -(2**60) - 7))
        case "DOUBLE" if chance.random() < 0.2:
            return chance.choice((0.1, 1e16, -1e-300, 1e300, 123456.789, 5e-324, -0.0, chance.uniform(-5, 5)))
        case "FLOAT" if chance.random() < 0.2:
            return single(chance.choice((0.1, -1e-30, 1234.56, -0.0, chance.uniform(-5, 5))))
        case "DECIMAL" if chance.random() < 0.2:
            return fixed(chance.choice(_DECIMALS), type_)
    return value(type_, chance)
