"""Numbers that are written in a text: their types and values are those that Spark derives from it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.algebra.aggregates import aggregate_call, parse_aggregate, user_aggregate
from tradewind.algebra.expressions.parse import parse_raw
from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import Call, Cast, Column, Literal
from tradewind.algebra.expressions.typing import parse_expression, resolve, type_of
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.types import DOUBLE, FLOAT, decimal
from tradewind.errors import ExpressionError
from tradewind.interpreter.evaluate import evaluator

ROW = parse_schema("qty INT, big BIGINT, price DECIMAL(10,2), x DOUBLE, f FLOAT")


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("1.19", "DECIMAL(3,2)", "1.19"), ("0.10", "DECIMAL(2,2)", "0.10"), ("00.5", "DECIMAL(1,1)", "0.5"),
        (".5", "DECIMAL(1,1)", "0.5"), ("5.", "DECIMAL(1,0)", "5"), ("0.00", "DECIMAL(2,2)", "0.00"),
        ("-0.0", "DECIMAL(1,1)", "0.0"), ("- 1.5", "DECIMAL(2,1)", "-1.5"), ("1e0", "DOUBLE", "1.0"),
        ("1.5E3", "DOUBLE", "1500.0"), ("1.19D", "DOUBLE", "1.19"), ("1.19bd", "DECIMAL(3,2)", "1.19"),
        ("5BD", "DECIMAL(1,0)", "5"), ("1.5e3BD", "DECIMAL(4,0)", "1500"), ("1e-3BD", "DECIMAL(3,3)", "0.001"),
        ("7L", "BIGINT", "7"), ("7S", "SMALLINT", "7"), ("-128Y", "TINYINT", "-128"),
        ("2147483647", "INT", "2147483647"),
        ("2147483648", "BIGINT", "2147483648"), ("-2147483648", "INT", "-2147483648"),
        ("9223372036854775808", "DECIMAL(19,0)", "9223372036854775808"),
        ("-9223372036854775808", "BIGINT", "-9223372036854775808"), ("9" * 38, "DECIMAL(38,0)", "9" * 38),
        ("-" + "9" * 38, "DECIMAL(38,0)", "-" + "9" * 38),
        ("-(1." + "1" * 37 + ")", "DECIMAL(38,37)", "-1." + "1" * 37),
        ("0" * 50 + "1.5", "DECIMAL(2,1)", "1.5"),
        ("CAST(1.5 AS DECIMAL)", "DECIMAL(10,0)", "2"), ("1.5::DECIMAL(3,2)", "DECIMAL(3,2)", "1.50"),
        ("CAST(5 AS DECIMAL(3,1))", "DECIMAL(3,1)", "5.0"), ("CAST('1.5' AS DECIMAL(10,0))", "DECIMAL(10,0)", "2"),
    ],
)  # fmt: skip
def test_a_number_has_the_type_that_spark_gives_it(text: str, type_: str, value: str) -> None:
    expression, found = resolve(parse_raw(text), ROW)
    assert str(found) == type_
    answer = evaluator(expression, ROW)((None,) * 5)
    assert (format(answer, "f") if isinstance(answer, Decimal) else str(answer)) == value
    assert parse_expression(print_expression(expression), ROW) == expression


def test_a_float_is_the_nearest_to_its_digits_and_not_to_the_nearest_double() -> None:
    assert parse_raw("16777217.0000000001F") == Cast(Literal(16777218.0, DOUBLE), FLOAT)
    assert parse_raw("-1e-60F") == Cast(Literal(-0.0, DOUBLE), FLOAT)


@pytest.mark.parametrize(
    "text", ["1" + "0" * 38, "0." + "1" * 39, "1." + "1" * 38, "1e38BD", "1e-39BD", "1e999999BD", "1e-999999BD"]
)
def test_too_many_digits_are_told(text: str) -> None:
    with pytest.raises(ExpressionError, match="more than 38 digits") as caught:
        parse_expression(f"x > {text}", ROW, where="line 3")
    assert "line 3" in str(caught.value)
    assert "DOUBLE" in str(caught.value.hint)


@pytest.mark.parametrize("text", ["1e39F", "1e999999F", "1e400", "1e400D", "128Y", "32768S", "9223372036854775808L"])
def test_what_the_type_cannot_hold_is_told(text: str) -> None:
    with pytest.raises(ExpressionError, match="out of range"):
        parse_expression(f"x > {text}", ROW)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("qty * price * 1.19", "DECIMAL(25,4)"), ("price + 1", "DECIMAL(11,2)"), ("1L - price", "DECIMAL(11,2)"),
        ("price + qty", "DECIMAL(13,2)"), ("price * 2", "DECIMAL(12,2)"), ("price / 3", "DECIMAL(14,6)"),
        ("price % 3", "DECIMAL(3,2)"), ("pmod(1.5, qty)", "DECIMAL(2,1)"), ("price div 3", "BIGINT"),
        ("qty / 2", "DOUBLE"), ("x + 1.5", "DOUBLE"), ("f * 1.5", "DOUBLE"), ("f + price", "DOUBLE"),
        ("round(price, 1)", "DECIMAL(10,1)"), ("round(price)", "DECIMAL(9,0)"), ("round(price, 5)", "DECIMAL(11,2)"),
        ("round(price, -20)", "DECIMAL(21,0)"), ("floor(price)", "DECIMAL(9,0)"), ("ceil(5BD)", "DECIMAL(1,0)"),
        ("coalesce(qty, 1.5)", "DECIMAL(11,1)"), ("if(qty > 1, 1, 1.5)", "DECIMAL(11,1)"), ("nullif(1, 2.5)", "INT"),
        ("sqrt(1.5)", "DOUBLE"),
    ],
)  # fmt: skip
def test_arithmetic_with_decimals_has_the_types_of_spark(text: str, type_: str) -> None:
    expression = parse_expression(text, ROW)
    assert str(type_of(expression, ROW)) == type_
    assert parse_expression(print_expression(expression), ROW) == expression


def test_tax_on_a_price_is_exact() -> None:
    row = (25, None, Decimal("62.54"), None, None)
    found = evaluator(parse_expression("round(qty * price * 1.19, 2)", ROW), ROW)(row)
    assert str(found) == "1860.57"


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**6), max_value=10**6))
def test_decimals_are_read_back_as_they_are_printed(value: Decimal) -> None:
    for text in (f"{value:f}", f"CAST({value:f} AS DECIMAL(20,6))", f"price > {value:f}", f"x > {value:f}"):
        expression = parse_expression(text, ROW)
        assert parse_expression(print_expression(expression), ROW) == expression


def test_parameters_may_be_written_as_any_number() -> None:
    ways = ("0.95", "0.95D", "95e-2", "0.950BD")
    assert len({parse_aggregate(f"approx_percentile(x, {way})", ROW) for way in ways}) == 1


def test_a_decimal_is_taken_where_a_user_aggregate_wants_a_double() -> None:
    scaled = user_aggregate("scaled", over="v DOUBLE, by DOUBLE", lift="v * by", merge="a + b", finish="state")
    call = Call("scaled", (Column("x"), Literal(Decimal("0.5"), decimal(1, 1))))
    assert aggregate_call(call, ROW, {"scaled": scaled}).arguments == (Column("x"), Literal(0.5, DOUBLE))
