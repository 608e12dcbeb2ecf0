"""Numbers as they are written: their types and what is computed with them are just what plain Spark SQL gives."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException

from tests.spark.test_expressions import assert_alike, same, simple_string
from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.typing import parse_expression, type_of
from tradewind.algebra.schema import Schema, parse_schema
from tradewind.errors import InputError
from tradewind.interpreter.comparison import group_key
from tradewind.interpreter.evaluate import evaluator
from tradewind.spark.types import from_arrow, to_arrow

pytestmark = pytest.mark.spark

COLUMNS = parse_schema("i INT, l BIGINT, d DECIMAL(10,2), w DECIMAL(24,6), x DOUBLE")
ROWS = [
    (7, -250, Decimal("19.99"), Decimal("-3.141593"), 2.5),
    (0, 3, Decimal("0.00"), Decimal("1000000.000001"), -0.75),
    (-3, 1_000_000, Decimal("-1234.56"), Decimal("0.000005"), 1e-3),
    (None, None, None, None, None),
]
LITERALS = [
    "0.10", "1.19", "00.5", ".5", "5.", "0.0", "0.00", "-0.0", "-.5", "1e0", "1.5e3", "-2E-3", "1D", "1.19D", ".5F",
    "1.19F", "16777217F", "0.1F", "5BD", "1.19BD", "5.BD", "1.5e3BD", "1e-3BD", "0e5BD", "1L", "1S", "1Y", "-128Y",
    "128Y", "-32768S", "1.5L", "2147483647", "2147483648", "-2147483648", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "-9223372036854775809", "9" * 38, "9" * 39, "0" * 40 + "1.5", "0." + "1" * 38,
    "0." + "1" * 39, "1." + "1" * 38, "1e37BD", "1e38BD", "1e-38BD", "1e-39BD", "1e39F", "1e400", "1e400D", "1e308",
]  # fmt: skip


def written(chance: random.Random, digits: int, of_whole: tuple[str, ...] = ("L", "S", "Y", "F")) -> str:
    """A number of at most so many digits, in one of the ways to write it."""
    whole = "".join(chance.choices("0123456789", k=chance.randint(1, digits)))
    part = "".join(chance.choices("0123456789", k=chance.randint(1, digits)))
    text = chance.choice([whole, whole, f"{whole}.{part}", f"{whole}.{part}", f".{part}", f"{whole}."])
    exponent = chance.choice(["", "", "", f"e{chance.randint(-3, 3)}"])
    suffixes = ["", "", "", "D", "BD", "bd"] + ([] if "." in text or exponent else [*of_whole])
    return text + exponent + chance.choice(suffixes)


def formula(chance: random.Random, depth: int) -> str:
    """A small expression over the columns and numbers."""
    if depth == 0:
        # Narrow types run over, and a FLOAT with whole numbers is another type: see docs/spark_sql_differences.md.
        return chance.choice([*COLUMNS.names, written(chance, 3, of_whole=("L",))])
    a, b = (formula(chance, chance.randrange(depth)) for _ in range(2))
    wholes = chance.choice(["i", "l", "d", "w", "3", "2.5"])
    return chance.choice(
        [
            *(f"({a} {operator} {b})" for operator in ("+", "-", "*", "/", "%", "<", "=", ">=", "<>", "<=>")),
            f"({wholes} div {chance.choice(['i', 'd', '7', '0.3'])})", f"-({a})", f"pmod({a}, {b})", f"abs({a})",
            f"round({a}, {chance.randint(-2, 4)})", f"round({a})", f"floor({a})", f"ceil({a})", f"coalesce({a}, {b})",
            f"greatest({a}, {b})", f"nullif({a}, {b})", f"if(i > 0.5, {a}, {b})", f"({a} IN ({b}, 2.5))",
            f"CASE WHEN d > 1.5 THEN {a} ELSE {b} END", f"CAST({a} AS DECIMAL(12,3))",
        ]
    )  # fmt: skip


def fitting(texts: list[str]) -> list[str]:
    """Those that are no comparison of a condition with a number, or the like."""
    return [text for text in texts if _fits(text)]


def _fits(text: str) -> bool:
    try:
        parse_expression(text, COLUMNS)
    except InputError as error:
        if "BOOLEAN" not in str(error):
            raise
        return False
    return True


def assert_like_spark(spark, texts: list[str], data: list[tuple], schema: Schema) -> None:
    """The interpreter, the text that we print and the text itself give the same types and values on Spark."""
    expressions = [parse_expression(text, schema) for text in texts]
    assert_alike(spark, expressions, data, schema)
    assert [parse_expression(print_expression(each), schema) for each in expressions] == expressions
    types = [type_of(expression, schema) for expression in expressions]
    columns = [f"{text} AS r{place}" for place, text in enumerate(texts)]
    frame = spark.createDataFrame(to_arrow(data, schema)).selectExpr(*columns)
    for field, text, type_ in zip(frame.schema, texts, types, strict=True):
        assert field.dataType.simpleString() == simple_string(spark, type_), text
    found = from_arrow(frame.toArrow(), Schema(tuple((f"r{place}", type_) for place, type_ in enumerate(types))))
    for place, (text, expression) in enumerate(zip(texts, expressions, strict=True)):
        answer = evaluator(expression, schema)
        for row, results in zip(data, found, strict=True):
            wanted, given = group_key(answer(row), types[place]), group_key(results[place], types[place])
            assert same(given, wanted, 0.0), f"{text} gives {wanted!r}, and {given!r} on Spark, for {row}"


def assert_read_like_spark(spark, texts: list[str]) -> None:
    """What Spark reads is read, what it refuses is refused."""
    read = []
    for text in texts:
        try:
            spark.range(1).selectExpr(text)
        except PySparkException:
            with pytest.raises(InputError):
                parse_expression(text, COLUMNS)
        else:
            read.append(text)
    assert_like_spark(spark, read, ROWS[:1], COLUMNS)


def test_literals(spark):
    assert_read_like_spark(spark, LITERALS)


@settings(max_examples=3)
@given(st.integers(0, 2**32))
def test_random_literals(spark, seed):
    chance = random.Random(seed)
    texts = [chance.choice(["", "-", "- "]) + written(chance, chance.choice([3, 10, 20, 40])) for _ in range(40)]
    assert_read_like_spark(spark, texts)


@settings(max_examples=4)
@given(st.integers(0, 2**32))
def test_random_arithmetic(spark, seed):
    chance = random.Random(seed)
    texts = fitting([formula(chance, chance.randint(1, 2)) for _ in range(60)])
    assert_like_spark(spark, texts, ROWS, COLUMNS)


def test_tax_on_a_price_is_rounded_as_spark_rounds_it(spark):
    schema = parse_schema("qty INT, price DECIMAL(10,2)")
    data = [(qty, Decimal(cents).scaleb(-2)) for qty, cents in ((25, 6254), (1, 50), (7, 12345), (3, -150))]
    texts = ["round(qty * price * 1.19, 2)", "qty * price * 1.19", "price > 0.5", "price * 2", "price / 3"]
    assert_like_spark(spark, texts, data, schema)


def test_our_own_answers_are_the_interpreters(spark):
    """Where plain Spark raises, or takes NULL for a number (docs/spark_sql_differences.md)."""
    schema = parse_schema("i INT, n DECIMAL(38,0), s DECIMAL(38,38)")
    data = [(None, None, None), (5, Decimal("9" * 38), Decimal("1e-38")), (-5, Decimal("-" + "9" * 38), Decimal("0.5"))]
    texts = [
        "NOT (i > 99999999999999999999)", "i < 99999999999999999999.5", "n % s", "pmod(n, s)", "n % 1e-38BD",
        "round(n, -1)", "round(n, -38)", "round(n, -39)", "round(n - 5, -1)", "round(s, 37)", "round(s, 0)",
    ]  # fmt: skip
    assert_alike(spark, [parse_expression(text, schema) for text in texts], data, schema)
