"""Conversions against answers of Spark 4.3's `try_cast` (UTC, Java 17)."""

import itertools
import math
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tradewind.algebra.casting import convertible
from tradewind.algebra.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    array,
    decimal,
    parse_type,
    struct,
)
from tradewind.interpreter.casts import convert
from tradewind.interpreter.values import single

D, NAN, INF = Decimal, math.nan, math.inf

# fmt: off
SPARK: list[tuple[str, str, list]] = [
    # from, to, [(value, what Spark answers)]
    ("STRING", "BOOLEAN", [("true", True), (" T ", True), ("YES", True), ("1", True), ("0", False), ("n", False),
        ("on", None), ("", None)]),
    ("STRING", "TINYINT", [("127", 127), ("128", None), ("-128", -128), (" 1\t", 1), ("1.0", None), ("+1", 1),
        ("", None), ("-", None), ("1\x7f", 1)]),
    ("STRING", "BIGINT", [("9223372036854775807", 9_223_372_036_854_775_807), ("9223372036854775808", None),
        ("00000000000000000000001", 1), ("1e3", None), ("１２", None)]),
    ("STRING", "DOUBLE", [("1.5", 1.5), (" .5 ", 0.5), ("1.", 1.0), ("1e400", INF), ("-1e-400", -0.0), ("1d", 1.0),
        ("0x1.8p1", 3.0), ("NaN", NAN), ("nan", NAN), ("+NaN", NAN), ("+nan", None), ("inf", INF),
        ("-Infinity", -INF), ("1_0", None), ("", None), ("1\x7f", None), ("4.9e-324", 5e-324)]),
    ("STRING", "FLOAT", [("16777217", 16777216.0), ("16777217.0000000001", 16777218.0), ("3.4028236e38", INF),
        ("7.0064923216240854e-46", 1.401298464324817e-45), ("0.1", 0.10000000149011612)]),
    ("STRING", "DECIMAL(10,2)", [("1.005", D("1.01")), ("-1.005", D("-1.01")), ("99999999.994", D("99999999.99")),
        ("99999999.995", None), ("1e3", D("1000.00")), ("1e-400", D("0.00")), ("1d", None), ("", None),
        ("-0", D("0.00")), (" 1 ", D("1.00")), ("١٢", D("12.00"))]),
    ("STRING", "DECIMAL(38,38)", [
        ("0.1111111111111111111111111111111111111111", D("0.11111111111111111111111111111111111111")), ("1", None)]),
    ("STRING", "BINARY", [("aé", b'a\xc3\xa9')]),
    ("STRING", "DATE", [("2020", 18262), ("2020-2", 18293), ("2020-02-29", 18321), ("2019-02-29", None),
        ("2020-1-2 x", 18263), ("2020-01-02T", 18263), ("2020 ", 18262), ("2020x", None), ("202", None),
        ("0001-01-01", -719162), ("+10000-01-01", 2_932_897), ("-0001-12-31", -719529), (" 1970-01-02 ", 1),
        ("9999999-01-01", None), ("20200102", None)]),
    ("STRING", "TIMESTAMP", [("2020", 1_577_836_800_000_000), ("2020-01", 1_577_836_800_000_000),
        ("2020-01-02", 1_577_923_200_000_000), ("2020-01-02 03", 1_577_934_000_000_000),
        ("2020-01-02T3:4", 1_577_934_240_000_000), ("2020-01-02 03:04:05.5", 1_577_934_245_500_000),
        ("2020-01-02 03:04:05.1234567", 1_577_934_245_123_456), ("2020-01-02T03:04:05Z", 1_577_934_245_000_000),
        ("2020-01-02 03:04:05+01:00", 1_577_930_645_000_000), ("2020-01-02 03:04:05 -1:3", 1_577_938_025_000_000),
        ("2020-01-02 03:04:05+0130", 1_577_928_845_000_000), ("2020-01-02 03:04:05UTC+1", 1_577_930_645_000_000),
        ("2020-01-02 03:04:05 GMT", 1_577_934_245_000_000), ("2020-01-02 03:04:05z", None),
        ("2020-01-02 03:04:05+18:01", None), ("2020-01-02 03:04+01:00", None), ("2020-01-02T", None),
        ("2020-01-02 24:00:00", None), ("2020-01-02  03", None), ("0001-01-01", -62_135_596_800_000_000),
        ("9999-12-31 23:59:59.999999", 253_402_300_799_999_999),
        ("294247-01-10 04:00:54.775807", 9_223_372_036_854_775_807), ("294247-01-10 04:00:54.775808", None)]),
    ("STRING", "INTERVAL", [("1 02:03:04.5", 93_784_500_000), ("-0 00:00:01", -1_000_000),
        ("INTERVAL -'1 00:00:00' DAY TO SECOND", -86_400_000_000), ("1 day", None), ("1 24:00:00", None),
        ("106751991 04:00:54.775808", None)]),
    ("BOOLEAN", "STRING", [(True, "true"), (False, "false")]),
    ("BOOLEAN", "INT", [(True, 1)]),
    ("BOOLEAN", "DOUBLE", [(True, 1.0)]),
    ("BOOLEAN", "DECIMAL(1,1)", [(True, None), (False, D("0.0"))]),
    ("INT", "TINYINT", [(127, 127), (128, None), (-129, None)]),
    ("INT", "BOOLEAN", [(0, False), (-5, True)]),
    ("INT", "STRING", [(-7, "-7")]),
    ("INT", "DECIMAL(5,2)", [(999, D("999.00")), (1000, None), (-1, D("-1.00"))]),
    ("INT", "TIMESTAMP", [(1, 1_000_000), (-1, -1_000_000)]),
    ("INT", "INTERVAL", [(1, 1_000_000)]),
    ("BIGINT", "DOUBLE", [(9_223_372_036_854_775_807, 9.223372036854776e+18),
        (9_007_199_254_740_993, 9007199254740992.0)]),
    ("DOUBLE", "STRING", [(10000000000.0, "1.0E10"), (10000000.0, "1.0E7"), (9999999.0, "9999999.0"),
        (100000.0, "100000.0"), (0.001, "0.001"), (0.00099, "9.9E-4"), (1e-05, "1.0E-5"), (0.002, "0.002"),
        (-0.0, "-0.0"), (NAN, "NaN"), (INF, "Infinity"), (-INF, "-Infinity"),
        (0.3333333333333333, "0.3333333333333333"), (5e-324, "4.9E-324"),
        (1.7976931348623157e+308, "1.7976931348623157E308"), (123456789.125, "1.23456789125E8"),
        (2.3184525677263325e+17, "2.31845256772633248E17"), (1e+16, "1.0E16")]),
    ("FLOAT", "STRING", [(0.10000000149011612, "0.1"), (16777216.0, "1.6777216E7"), (10000000000.0, "1.0E10"),
        (1.401298464324817e-45, "1.4E-45"), (3.4028234663852886e+38, "3.4028235E38"),
        (208734924242944.0, "2.08734924E14")]),
    ("DOUBLE", "INT", [(1.9, 1), (-1.9, -1), (2147483647.9, 2_147_483_647), (2147483648.0, None), (NAN, None),
        (INF, None)]),
    ("DOUBLE", "BIGINT", [(9.2e+18, 9_200_000_000_000_000_000), (9.223372036854776e+18, 9_223_372_036_854_775_807),
        (1e+19, None), (-9.223372036854776e+18, -9_223_372_036_854_775_808)]),
    ("DOUBLE", "FLOAT", [(0.1, 0.10000000149011612), (1e+39, INF), (1e-50, 0.0), (-0.0, -0.0)]),
    ("DOUBLE", "DECIMAL(10,2)", [(1.005, D("1.01")), (2.675, D("2.68")), (NAN, None), (100000000.0, None),
        (-0.001, D("0.00"))]),
    ("FLOAT", "DECIMAL(20,18)", [(0.10000000149011612, D("0.100000001490116120"))]),
    ("DOUBLE", "BOOLEAN", [(0.0, False), (-0.0, False), (NAN, True), (0.1, True)]),
    ("DOUBLE", "TIMESTAMP", [(1.5, 1_500_000), (-1.0000009, -1_000_000), (NAN, None), (10000000000000.0, None)]),
    ("DECIMAL(10,2)", "STRING", [(D("1.50"), "1.50"), (D("0.00"), "0.00"), (D("-0.01"), "-0.01")]),
    ("DECIMAL(10,10)", "STRING", [(D("1E-7"), "0.0000001000")]),
    ("DECIMAL(10,2)", "INT", [(D("1.99"), 1), (D("-1.99"), -1)]),
    ("DECIMAL(10,2)", "TINYINT", [(D("127.99"), 127), (D("128.00"), None)]),
    ("DECIMAL(10,2)", "DOUBLE", [(D("0.10"), 0.1)]),
    ("DECIMAL(10,2)", "DECIMAL(5,1)", [(D("1.25"), D("1.3")), (D("-1.25"), D("-1.3")), (D("9999.94"), D("9999.9")),
        (D("9999.95"), None)]),
    ("DECIMAL(10,2)", "TIMESTAMP", [(D("-1.50"), -1_500_000)]),
    ("DECIMAL(20,10)", "INTERVAL", [(D("1.0000005"), 1_000_001), (D("-1.0000005"), -1_000_001)]),
    ("BINARY", "STRING", [(b'a\xc3\xa9', "aé"), (b'', "")]),
    ("DATE", "STRING", [(0, "1970-01-01"), (-719162, "0001-01-01"), (2_932_897, "+10000-01-01"),
        (-719529, "-0001-12-31")]),
    ("DATE", "TIMESTAMP", [(1, 86_400_000_000), (-1, -86_400_000_000)]),
    ("TIMESTAMP", "STRING", [(0, "1970-01-01 00:00:00"), (1, "1970-01-01 00:00:00.000001"),
        (100000, "1970-01-01 00:00:00.1"), (-1, "1969-12-31 23:59:59.999999"),
        (-62_135_596_800_000_000, "0001-01-01 00:00:00"), (253_402_300_800_000_000, "+10000-01-01 00:00:00")]),
    ("TIMESTAMP", "DATE", [(-1, -1), (86_400_000_000, 1)]),
    ("TIMESTAMP", "BIGINT", [(1_999_999, 1), (-1, -1)]),
    ("TIMESTAMP", "TINYINT", [(127_000_000, 127), (128_000_000, None)]),
    ("TIMESTAMP", "DOUBLE", [(1_500_000, 1.5), (-1, -1e-06)]),
    ("TIMESTAMP", "DECIMAL(20,6)", [(-62_135_596_800_000_001, D("-62135596800.000001"))]),
    ("TIMESTAMP", "DECIMAL(10,0)", [(1_500_000, D(2))]),
    ("INTERVAL", "STRING", [(0, "INTERVAL '0 00:00:00' DAY TO SECOND"),
        (-1, "INTERVAL '-0 00:00:00.000001' DAY TO SECOND"),
        (90_061_000_001, "INTERVAL '1 01:01:01.000001' DAY TO SECOND"),
        (-9_223_372_036_854_775_808, "INTERVAL '-106751991 04:00:54.775808' DAY TO SECOND")]),
    ("INTERVAL", "BIGINT", [(1_999_999, 1), (-1_999_999, -1)]),
    ("INTERVAL", "DECIMAL(10,1)", [(1_950_000, D("2.0")), (-50000, D("-0.1"))]),
    ("ARRAY<INT>", "ARRAY<STRING>", [((1, None), ("1", None)), ((), ())]),
    ("ARRAY<STRING>", "ARRAY<INT>", [(("1", "x", None), (1, None, None))]),
    ("ARRAY<DOUBLE>", "STRING", [((1.5, None, NAN), "[1.5, null, NaN]"), ((), "[]")]),
    ("ARRAY<ARRAY<INT>>", "STRING", [(((1, None), None, ()), "[[1, null], null, []]")]),
]

# Where Spark runs over, takes the nearest number it has, asks the clock or a zone's changing rules, there is no answer.
NONE_HERE = [
    ("BIGINT", "TIMESTAMP", 2**62), ("DECIMAL(38,0)", "TIMESTAMP", D("1E+30")), ("STRING", "TIMESTAMP", "12:34:56"),
    ("STRING", "TIMESTAMP", "T12:34"), ("STRING", "TIMESTAMP", "2020-01-01 00:00:00 Europe/Paris"),
    ("DATE", "TIMESTAMP", 2**31 - 1), ("BIGINT", "INTERVAL", 2**62),
]
# fmt: on

SIMPLE = (
    BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, decimal(10, 2), STRING, BINARY, DATE, TIMESTAMP, INTERVAL,
)  # fmt: skip
NUMBERS = {TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, decimal(10, 2)}
SPARK_ACCEPTS = {
    BOOLEAN: NUMBERS | {STRING},
    **dict.fromkeys((TINYINT, SMALLINT, INT, BIGINT), NUMBERS | {BOOLEAN, STRING, TIMESTAMP, INTERVAL}),
    **dict.fromkeys((FLOAT, DOUBLE), NUMBERS | {BOOLEAN, STRING, TIMESTAMP}),
    decimal(10, 2): NUMBERS | {BOOLEAN, STRING, TIMESTAMP, INTERVAL},
    STRING: set(SIMPLE),
    BINARY: {STRING},
    DATE: {STRING, TIMESTAMP},
    TIMESTAMP: NUMBERS | {STRING, DATE},
    INTERVAL: NUMBERS - {FLOAT, DOUBLE} | {STRING},
}

doubles = st.floats() | st.integers(-(2**63), 2**63).map(float)
bigints = st.integers(-(2**63), 2**63 - 1)
VALUES = {
    BOOLEAN: st.booleans(),
    TINYINT: st.integers(-128, 127),
    SMALLINT: st.integers(-(2**15), 2**15 - 1),
    INT: st.integers(-(2**31), 2**31 - 1),
    BIGINT: bigints,
    FLOAT: doubles.map(single),
    DOUBLE: doubles,
    decimal(10, 2): st.integers(1 - 10**10, 10**10 - 1).map(lambda number: D(number).scaleb(-2)),
    STRING: st.text() | st.from_regex(r"[+-]?[0-9]{1,6}(-[0-9]{1,2}){0,2}([ T][0-9:.+-]{0,20})?", fullmatch=True),
    BINARY: st.binary(),
    DATE: st.integers(-(2**31), 2**31 - 1),
    TIMESTAMP: bigints,
    INTERVAL: bigints,
}


@pytest.mark.parametrize(
    ("source", "target", "value", "expected"),
    [(source, target, *case) for source, target, cases in SPARK for case in cases],
)
def test_converts_as_spark(source, target, value, expected):
    assert convertible(parse_type(source), parse_type(target))
    assert repr(convert(value, parse_type(source), parse_type(target))) == repr(expected)


@pytest.mark.parametrize(("source", "target", "value"), NONE_HERE)
def test_converts_to_null_where_spark_has_no_right_answer(source, target, value):
    assert convert(value, parse_type(source), parse_type(target)) is None


@pytest.mark.parametrize(("source", "target"), list(itertools.product(SIMPLE, SIMPLE)))
def test_pairs_are_those_of_spark(source, target):
    assert convertible(source, target) == (source == target or target in SPARK_ACCEPTS[source])


def test_pairs_of_nested_types():
    assert convertible(NULL, array(INT))
    assert convertible(struct(a=INT), STRING)
    assert convertible(struct(a=INT), struct(b=STRING))
    assert not convertible(struct(a=INT), struct(a=INT, b=INT))
    assert not convertible(array(DATE), array(INT))
    assert not convertible(STRING, array(INT))


def test_structs_convert_field_by_field():
    source, target = struct(a=STRING, b=array(INT)), struct(x=INT, y=array(STRING))
    assert convert(("x", (1, None)), source, target) == (None, ("1", None))
    assert convert((None, (1, None)), source, STRING) == "{null, [1, null]}"


@given(st.data())
def test_nothing_raises_and_results_are_of_their_type(data):
    source, target = data.draw(st.sampled_from(SIMPLE)), data.draw(st.sampled_from(SIMPLE))
    assume(convertible(source, target))
    result = convert(data.draw(VALUES[source]), source, target)
    # Only what lies within the type's limits is written as text and read back as itself.
    if result is not None and target != BINARY:
        assert repr(convert(convert(result, target, STRING), STRING, target)) == repr(result)


@pytest.mark.parametrize("type_", [each for each in SIMPLE if each not in (STRING, BINARY)], ids=str)
@given(data=st.data())
def test_text_says_the_whole_value(type_, data):
    value = data.draw(VALUES[type_])
    back = convert(convert(value, type_, STRING), STRING, type_)
    assert repr(back) == repr(value)


@given(value=doubles)
def test_converting_again_changes_nothing(value):
    for target in (FLOAT, INT, decimal(10, 2)):
        once = convert(value, DOUBLE, target)
        again = convert(convert(once, target, DOUBLE), DOUBLE, target)
        assert repr(again) == repr(once)
