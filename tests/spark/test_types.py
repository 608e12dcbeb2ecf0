"""Types and rows on their way to Spark and back."""

import math
import random
from decimal import Decimal

import pytest

from tests.spark.nasty_values import rows
from tests.spark.random_typed import SCHEMA
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.types import DOUBLE, TIMESTAMP, DataType, struct
from tradewind.errors import DataError, InternalError
from tradewind.spark.types import arrow_schema, arrow_type, ddl, from_arrow, quote, schema_ddl, to_arrow


def test_rows_come_back_as_they_were():
    data = rows(SCHEMA, 200, random.Random(1))
    table = to_arrow(data, SCHEMA)
    assert table.schema == arrow_schema(SCHEMA)
    # repr tells -0.0 from 0.0 and lets NaN be NaN.
    assert repr(from_arrow(table, SCHEMA)) == repr(data)


def test_there_is_one_zero_and_one_nan():
    schema = parse_schema("x DOUBLE, a ARRAY<DOUBLE>, s STRUCT<f: FLOAT>")
    (row,) = from_arrow(to_arrow([(-0.0, (-0.0, -math.nan), (-0.0,))], schema), schema)
    assert repr(row) == "(0.0, (0.0, nan), (0.0,))"


def test_no_rows():
    assert from_arrow(to_arrow([], SCHEMA), SCHEMA) == []


def test_decimals_have_their_types_digits():
    schema = parse_schema("d DECIMAL(38,10)")
    given = [(Decimal("1.5"),), (Decimal("0E-300"),), (None,)]
    assert (
        repr(from_arrow(to_arrow(given, schema), schema))
        == "[(Decimal('1.5000000000'),), (Decimal('0E-10'),), (None,)]"
    )


@pytest.mark.parametrize("odd", ["1.555", "1E+8", "1E-300", "123456789"])
def test_decimals_that_do_not_fit_are_refused(odd):
    for schema, value in (("d DECIMAL(10,2)", Decimal(odd)), ("a ARRAY<DECIMAL(10,2)>", (None, Decimal(odd)))):
        with pytest.raises(DataError, match="does not fit"):
            to_arrow([(value,)], parse_schema(schema))


def test_types_for_spark():
    assert ddl(struct(**{"a`b": TIMESTAMP})) == "STRUCT<`a``b`: TIMESTAMP>"
    assert (
        schema_ddl(parse_schema("i INTERVAL, `a b` DECIMAL(5,2)")) == "`i` INTERVAL DAY TO SECOND, `a b` DECIMAL(5,2)"
    )
    assert quote("select") == "`select`"


def test_an_aggregates_state_has_no_type_here():
    state = DataType("STATE", (), (("sum", DOUBLE),))
    for convert in (ddl, arrow_type):
        with pytest.raises(InternalError, match="no Spark type"):
            convert(state)


@pytest.mark.spark
def test_spark_takes_and_gives_these_types(spark):
    data = rows(SCHEMA, 50, random.Random(2))
    frame = spark.createDataFrame(to_arrow(data, SCHEMA))
    declared = spark.createDataFrame([], schema_ddl(SCHEMA)).schema
    assert frame.schema.simpleString() == declared.simpleString()
    found = frame.toArrow()
    assert found.schema == arrow_schema(SCHEMA)
    assert repr(from_arrow(found, SCHEMA)) == repr(data)
