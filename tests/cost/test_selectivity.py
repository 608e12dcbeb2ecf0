"""The share of rows that conditions keep."""

import math
import random

import pytest

from tests.random_expressions import condition as random_condition
from tradewind.algebra.expressions.typing import parse_condition, parse_expression
from tradewind.algebra.schema import parse_schema
from tradewind.cost.selectivity import MISSING, OTHER, PATTERN, RANGE, count_values, share

SCHEMA = parse_schema("ts TIMESTAMP, status INT, domain STRING, other STRING, bytes BIGINT, ok BOOLEAN", "ts")
VALUES = {"ts": math.inf, "status": 12.0, "domain": 20_000.0, "other": 400.0, "bytes": 5_000.0, "ok": 2.0}


def values(expression) -> float:
    return count_values(expression, VALUES.__getitem__)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("status = 200", 1 / 12),
        ("200 = status", 1 / 12),
        ("status <> 200", 11 / 12),
        ("domain = other", 1 / 20_000),
        ("status IN (200, 304, 404)", 3 / 12),
        ("status NOT IN (200, 304, 404)", 9 / 12),
        ("status < 500", RANGE),
        ("bytes BETWEEN 1 AND 9", RANGE**2),
        ("domain LIKE 'a%'", PATTERN),
        ("startswith(domain, 'a')", PATTERN),
        ("domain IS NULL", MISSING),
        ("domain IS NOT NULL", 1 - MISSING),
        ("ok", OTHER),
        ("NOT ok", 1 - OTHER),
        ("status = 200 AND bytes > 5", RANGE / 12),
        ("status = 200 OR status = 304", 1 - (11 / 12) ** 2),
        ("pmod(xxhash64(domain), 1000000) < 50000", 0.05),
        ("pmod(xxhash64(domain), 4) = 3", 0.25),
        ("pmod(xxhash64(domain), 4) >= 3", 0.25),
        ("CASE WHEN status = 200 THEN true ELSE false END", 1 / 12),
        ("NOT CASE WHEN status = 200 THEN true ELSE false END", 11 / 12),
        ("hour(ts) = 12", 1 / 24),
        ("bytes % 10 = 3", 0.1),
        ("ts = TIMESTAMP '2026-01-01 00:00:00'", 1e-6),
    ],
)
def test_rules(text: str, wanted: float) -> None:
    assert share(parse_condition(text, SCHEMA), values) == pytest.approx(wanted)


def test_every_condition_keeps_a_share() -> None:
    chance = random.Random(1)
    for _ in range(300):
        assert 0 <= share(random_condition(SCHEMA, chance, 3), values) <= 1


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("status", 12),
        ("concat(domain, other)", 8e6),
        ("status + 1", 12),
        ("status > 3", 2),
        ("CASE WHEN ok THEN 'a' WHEN status = 1 THEN 'b' ELSE 'c' END", 3),
        ("ts", math.inf),
        ("hour(ts)", 24),
        ("pmod(bytes, 7)", 7),
    ],
)
def test_values_of_expressions(text: str, wanted: float) -> None:
    assert values(parse_expression(text, SCHEMA)) == wanted
