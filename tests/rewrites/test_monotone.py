"""Bounds that are followed back through functions lose no row: checked against the interpreter's own arithmetic."""

import math
import random
from decimal import Decimal

import pytest

from tradewind.algebra.expressions.monotone import direction, preimage
from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import Call, Literal
from tradewind.algebra.expressions.typing import parse_expression, resolve, type_of
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.times import HIGHEST, LOWEST
from tradewind.algebra.types import DATE, DOUBLE, INTEGER_BITS, TIMESTAMP, is_fraction
from tradewind.errors import InputError
from tradewind.interpreter.evaluate import condition, evaluator
from tradewind.interpreter.values import EXACT, fixed, single

SCHEMA = parse_schema("i INT, l BIGINT, t TINYINT, d DOUBLE, f FLOAT, ts TIMESTAMP, day DATE, m DECIMAL(9,2)")
FUNCTIONS = (
    "{x} + {c}", "{c} + {x}", "{x} - {c}", "{c} - {x}", "{x} * {c}", "{x} / {c}", "{x} div {c}", "-({x})", "floor({x})",
    "ceil({x})", "round({x})", "round({x}, {places})", "sqrt({x})", "exp({x})", "ln({x})", "log10({x})", "log2({x})",
    "pow({x}, {power})", "greatest({x}, {c})", "least({c}, {x})", "CAST({x} AS INT)", "CAST({x} AS BIGINT)",
    "CAST({x} AS DOUBLE)", "CAST({x} AS FLOAT)", "CAST({x} AS DECIMAL(12,3))",
    "CAST({x} AS DECIMAL(6,1))", "CAST({x} AS TINYINT)", "CAST({x} AS TIMESTAMP)", "CAST({x} AS DATE)",
    "date_trunc('{unit}', {x})", "{x} + INTERVAL '{seconds}' SECONDS", "{x} - INTERVAL '{seconds}' SECONDS",
    "unix_seconds({x})", "unix_millis({x})", "unix_micros({x})", "timestamp_seconds({x})", "timestamp_millis({x})",
    "timestamp_micros({x})", "date_add({x}, {places})", "date_sub({x}, {places})", "year({x})",
    "datediff({x}, DATE '2026-01-05')", "datediff(DATE '2026-01-05', {x})",
)  # fmt: skip
CONSTANTS = ("1", "-2", "3", "7L", "0.1", "-0.1", "2.5", "1e300", "-1e-300", "0", "100", "CAST(2.5D AS FLOAT)", "1e-3")
UNITS = ("microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year")
DOUBLES = (
    0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 1e-320, 5e-324, 1e308, -1e308, math.inf, -math.inf, math.nan, 2.0**63, 0.1,
    2.0**53, 1e15 + 0.3, 16777217.0, 3.4028235e38, 1e-45, None,
)  # fmt: skip


def _value(type_, chance):
    if chance.random() < 0.05:
        return None
    if is_fraction(type_):
        value = chance.choice((*DOUBLES, chance.uniform(-10, 10), chance.uniform(-1e6, 1e6)))
        return value if value is None or type_ == DOUBLE else single(value)
    if type_ in INTEGER_BITS:
        half = 2 ** (INTEGER_BITS[type_] - 1)
        return chance.choice(
            (0, 1, -1, 5, -7, half - 1, -half, chance.randrange(-100, 100), chance.randrange(-half, half))
        )
    if type_.name == "DECIMAL":
        return Decimal(chance.choice((0, 1, -5, 999_999_999, -999_999_999, chance.randrange(-1000, 1000)))).scaleb(-2)
    base = chance.choice(
        (0, 1_767_225_600_000_000, chance.randrange(LOWEST, HIGHEST), chance.randrange(-(10**13), 10**13))
    )
    micros = base + chance.choice((0, 1, -1, 3_600_000_000, 86_400_000_000, chance.randrange(10**10)))
    return micros if type_ == TIMESTAMP else micros // 86_400_000_000


def _expression(chance):
    text = column = chance.choice(SCHEMA.names)
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3))):
        text = chance.choice(FUNCTIONS).format(
            x=text, c=chance.choice(CONSTANTS), places=chance.choice((0, 1, 2, -1, 3)), unit=chance.choice(UNITS),
            power=chance.choice((2, 3, 0.5, 1.5, 5, 1, -1, 0)), seconds=chance.choice((1, 60, -3600, 86400)),
        )  # fmt: skip
    return column, parse_expression(text, SCHEMA)


def _near(value, type_, chance):
    if is_fraction(type_):
        moved = chance.choice((value, math.nextafter(value, math.inf), math.nextafter(value, -math.inf), value + 1))
        return moved if type_ == DOUBLE else single(moved)
    if type_.name == "DECIMAL":
        step = Decimal(chance.choice((0, 0, 1, -1))).scaleb(-type_.parameters[1])
        return fixed(EXACT.add(value, step), type_)
    return value + chance.choice((0, 0, 1, -1))


def _constant(expression, value, chance):
    type_ = type_of(expression, SCHEMA)
    if value is None or isinstance(value, str):
        return None
    constant = _near(value, type_, chance)
    if constant is None:
        return None
    bounds = {DATE: (LOWEST // 86_400_000_000, HIGHEST // 86_400_000_000), TIMESTAMP: (LOWEST, HIGHEST)}
    low, high = bounds.get(type_, (-math.inf, math.inf))
    if type_ in INTEGER_BITS:
        low, high = -(2 ** (INTEGER_BITS[type_] - 1)), 2 ** (INTEGER_BITS[type_] - 1) - 1
    return Literal(constant, type_) if not low > constant and not constant > high else None


@pytest.mark.parametrize("seed", range(8))
def test_no_row_is_lost(seed):
    chance = random.Random(seed)
    followed = 0
    for _ in range(1500):
        try:
            column, expression = _expression(chance)
        except InputError:
            continue
        place, type_ = SCHEMA.index(column), SCHEMA.type_of(column)
        rows = [
            tuple(_value(type_, chance) if i == place else None for i in range(len(SCHEMA.names))) for _ in range(25)
        ]
        compute = evaluator(expression, SCHEMA)
        constant = _constant(expression, compute(rows[0]), chance)
        op = chance.choice(("<", "<=", ">", ">="))
        found = preimage(expression, op, constant, SCHEMA) if constant else None
        if found is None:
            continue
        followed += 1
        asked = condition(resolve(Call(op, (expression, constant)), SCHEMA)[0], SCHEMA)
        below = resolve(Call(found[1], (found[0], found[2])), SCHEMA)[0]
        implied = condition(below, SCHEMA)
        for row in rows:
            if asked(row):
                assert implied(row), (print_expression(expression), op, constant, print_expression(below), row[place])
    assert followed > 100


def _followed(text, op, constant):
    end = parse_expression(constant, SCHEMA)
    assert isinstance(end, Literal)
    return preimage(parse_expression(text, SCHEMA), op, end, SCHEMA)


@pytest.mark.parametrize(
    ("text", "op", "constant", "wanted"),
    [
        ("i + 1", "<", "5", "i < 4"),
        ("2 * i", "<=", "7", "i <= 3"),
        ("10 - i", "<", "3", "i > 7"),
        ("-(i)", ">=", "3", "i <= -3"),
        ("floor(d)", "<", "3L", "d < 3.0D"),
        ("ceil(d)", ">", "3L", "d > 3.0D"),
        ("d + 1.5D", "<", "5.0D", "d < 3.5D"),
        ("CAST(i AS DOUBLE)", "<=", "3.7D", "i <= 3"),
        ("CAST(ts AS DATE)", "<", "DATE '2026-01-02'", "ts < TIMESTAMP '2026-01-02T00:00:00Z'"),
        ("date_trunc('hour', ts)", ">=", "TIMESTAMP '2026-01-01 10:30:00'", "ts >= TIMESTAMP '2026-01-01T11:00:00Z'"),
        ("date_trunc('hour', ts)", "<=", "TIMESTAMP '2026-01-01 10:30:00'", "ts < TIMESTAMP '2026-01-01T11:00:00Z'"),
        ("ts + INTERVAL '1' HOUR", ">", "TIMESTAMP '2026-01-01'", "ts > TIMESTAMP '2025-12-31T23:00:00Z'"),
        ("unix_seconds(ts)", "<", "60L", "ts < TIMESTAMP '1970-01-01T00:01:00Z'"),
        ("timestamp_seconds(l)", "<", "TIMESTAMP '1970-01-01 00:01:00'", "l < 60L"),
        ("year(day)", "<=", "2025", "day < DATE '2026-01-01'"),
        ("sqrt(d)", "<", "3.0D", "d < 9.0D"),
        ("greatest(i, 3)", ">", "5", "i > 5"),
        ("least(i, 9)", "<", "5", "i < 5"),
        ("floor((10 - i) / 2)", "<", "3L", "i > 4"),
        ("i * 1.5", ">", "3.0", "i > 2"),
        ("m + 0.05", "<=", "1.0", "m <= CAST(0.95BD AS DECIMAL(9,2))"),
        ("CAST(i AS DECIMAL(11,1))", "<", "2.5", "i <= 2"),
    ],
)
def test_exact_bounds(text, op, constant, wanted):
    found = _followed(text, op, constant)
    assert found is not None
    assert print_expression(Call(found[1], (found[0], found[2]))) == wanted


@pytest.mark.parametrize(
    ("text", "op", "constant"),
    [
        ("-(d)", ">", "3.0D"),  # NaN stays NaN, which is above 3
        ("sqrt(d)", ">", "3.0D"),  # the root of a number below zero is NaN
        ("greatest(i, 3)", "<", "5"),  # NULL is passed over
        ("least(i, 3)", ">", "1"),
        ("pow(d, 2.0D)", ">", "4.0D"),
        ("i * 0", "<", "4"),
        ("i % 5", "<", "4"),
        ("i + i", "<", "4"),
        ("i + 1", "<", "-2147483648"),  # beyond the type's range there is no constant to compare with
        ("CAST(i AS STRING)", "<", "'4'"),
        ("i", "<", "4"),
    ],
)
def test_no_bound(text, op, constant):
    assert _followed(text, op, constant) is None


@pytest.mark.parametrize(
    ("text", "column", "wanted"),
    [
        ("2 * i - 1", "i", 1),
        ("7 - floor(d)", "d", -1),
        ("date_trunc('day', ts)", "ts", 1),
        ("i % 3", "i", None),
        ("i + l", "i", None),
    ],
)
def test_direction(text, column, wanted):
    assert direction(parse_expression(text, SCHEMA), column, SCHEMA) == wanted
