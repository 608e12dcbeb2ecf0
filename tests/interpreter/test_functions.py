"""Each function against answers of Spark 4.3 (ANSI off, `try_` functions for arithmetic, UTC, Java 17)."""

import math
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.algebra.expressions.functions import FUNCTIONS
from tradewind.algebra.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TINYINT,
    DataType,
    TypeReader,
    array,
    parse_type,
    struct,
)
from tradewind.interpreter.casts import convert
from tradewind.interpreter.functions import IMPLEMENTATIONS
from tradewind.interpreter.hashing import xxh64
from tradewind.interpreter.values import EXACT

D, NAN, INF = Decimal, math.nan, math.inf
IN_THE_EVALUATOR = {"and", "or", "if", "coalesce", "in"}

# fmt: off
SPARK = [
    # function, argument types, [(arguments, what Spark answers)]
    ("+", "INT, INT", [((1, 2), 3), ((2_147_483_647, 1), None), ((-2_147_483_648, -1), None)]),
    ("+", "TINYINT, TINYINT", [((100, 27), 127), ((100, 28), None)]),
    ("+", "BIGINT, INT", [((9_223_372_036_854_775_807, 1), None),
        ((9_223_372_036_854_775_807, -1), 9_223_372_036_854_775_806)]),
    ("+", "DOUBLE, DOUBLE", [((0.1, 0.2), 0.30000000000000004), ((1e+308, 1e+308), INF), ((INF, -INF), NAN),
        ((-0.0, -0.0), -0.0)]),
    ("+", "FLOAT, FLOAT", [((0.10000000149011612, 0.20000000298023224), 0.30000001192092896),
        ((3.4028234663852886e+38, 3.4028234663852886e+38), INF)]),
    ("+", "DECIMAL(10,2), DECIMAL(5,3)", [((D("1.25"), D("0.125")), D("1.375")),
        ((D("99999999.99"), D("99.999")), D("100000099.989"))]),
    ("+", "DECIMAL(38,0), DECIMAL(38,0)", [((D(99999999999999999999999999999999999999), D(1)), None),
        ((D(99999999999999999999999999999999999999), D(-1)), D(99999999999999999999999999999999999998))]),
    ("+", "TIMESTAMP, INTERVAL", [((1_577_836_800_000_000, 3_600_000_000), 1_577_840_400_000_000),
        ((9_223_372_036_854_775_807, 1), None)]),
    ("+", "INTERVAL, TIMESTAMP", [((1, 2), 3)]),
    ("+", "INTERVAL, INTERVAL", [((9_223_372_036_854_775_807, 1), None), ((1, 2), 3)]),
    ("-", "INT, INT", [((1, 2), -1), ((-2_147_483_648, 1), None), ((-1, -2_147_483_648), 2_147_483_647)]),
    ("-", "DOUBLE, DOUBLE", [((0.3, 0.1), 0.19999999999999998), ((INF, INF), NAN), ((0.0, 0.0), 0.0)]),
    ("-", "DECIMAL(10,2), INT", [((D("1.50"), 2), D("-0.50"))]),
    ("-", "TIMESTAMP, TIMESTAMP", [((5, 7), -2), ((4_611_686_018_427_387_904, -4_611_686_018_427_387_904), None)]),
    ("-", "TIMESTAMP, INTERVAL", [((5, 7), -2)]),
    ("*", "INT, INT", [((6, 7), 42), ((65536, 65536), None), ((-2_147_483_648, -1), None)]),
    ("*", "DOUBLE, DOUBLE", [((0.1, 3.0), 0.30000000000000004), ((INF, 0.0), NAN), ((1e+200, 1e+200), INF),
        ((-1.0, 0.0), -0.0)]),
    ("*", "DECIMAL(38,10), DECIMAL(38,10)", [((D("1.5"), D("2.5")), D("3.750000")),
        ((D("1E+20"), D("1E+20")), None), ((D("1E-10"), D("0.5")), D("0.000000"))]),
    ("*", "INTERVAL, INT", [((3_600_000_000, 24), 86_400_000_000), ((4_611_686_018_427_387_904, 2), None)]),
    ("*", "INT, INTERVAL", [((-2, 1_500_000), -3_000_000)]),
    ("/", "INT, INT", [((7, 2), 3.5), ((1, 0), None), ((0, 0), None), ((-1, 3), -0.3333333333333333)]),
    ("/", "DOUBLE, DOUBLE", [((1.0, 0.0), None), ((1.0, -0.0), None), ((INF, INF), NAN), ((NAN, 0.0), None),
        ((1.0, INF), 0.0)]),
    ("/", "DECIMAL(10,2), DECIMAL(10,2)", [((D("1.00"), D("3.00")), D("0.3333333333333")),
        ((D("2.00"), D("3.00")), D("0.6666666666667")), ((D("1.00"), D("0.00")), None),
        ((D("99999999.99"), D("0.01")), D("9999999999.0000000000000"))]),
    ("/", "DECIMAL(38,10), DECIMAL(38,10)", [
        ((D("1E+20"), D("1E-10")), D("1000000000000000000000000000000.000000")),
        ((D(-1), D(7)), D("-0.142857"))]),
    ("%", "INT, INT", [((7, 3), 1), ((-7, 3), -1), ((7, -3), 1), ((-2_147_483_648, -1), 0), ((1, 0), None)]),
    ("%", "DOUBLE, DOUBLE", [((5.5, 2.0), 1.5), ((-5.5, 2.0), -1.5), ((INF, 2.0), NAN), ((2.0, INF), 2.0),
        ((-0.0, 1.0), -0.0), ((1.0, 0.0), None)]),
    ("%", "DECIMAL(10,2), DECIMAL(10,2)", [((D("-7.50"), D("2.00")), D("-1.50")), ((D("1.00"), D("0.00")), None)]),
    ("pmod", "INT, INT", [((-7, 3), 2), ((7, -3), 1), ((-7, -3), -1), ((7, 3), 1), ((1, 0), None),
        ((-1, -2_147_483_648), 2_147_483_647)]),
    ("pmod", "DOUBLE, DOUBLE", [((-5.5, 2.0), 0.5), ((-1e-20, 3.0), 0.0), ((NAN, 1.0), NAN)]),
    ("pmod", "DECIMAL(10,2), DECIMAL(10,2)", [((D("-7.50"), D("2.00")), D("0.50"))]),
    ("div", "INT, INT", [((7, 2), 3), ((-7, 2), -3), ((7, -2), -3), ((1, 0), None),
        ((-2_147_483_648, -1), 2_147_483_648)]),
    ("div", "DECIMAL(10,2), DECIMAL(10,2)", [((D("7.50"), D("2.00")), 3), ((D("-7.50"), D("2.00")), -3),
        ((D("1.00"), D("0.00")), None)]),
    ("negative", "INT", [((5,), -5), ((-5,), 5)]),
    ("negative", "DOUBLE", [((0.0,), -0.0), ((-INF,), INF), ((NAN,), NAN)]),
    ("negative", "DECIMAL(10,2)", [((D("-1.50"),), D("1.50")), ((D("0.00"),), D("0.00"))]),
    ("negative", "INTERVAL", [((7,), -7)]),
    ("=", "DOUBLE, DOUBLE", [((NAN, NAN), True), ((0.0, -0.0), True), ((1.0, NAN), False), ((1.0, None), None)]),
    ("=", "STRING, STRING", [(("a", "a"), True), (("a", "A"), False), (("é", "é"), False)]),
    ("=", "ARRAY<INT>, ARRAY<INT>", [(((1, None), (1, None)), True), (((1,), (1, 2)), False), (((), ()), True)]),
    ("=", "INT, DOUBLE", [((1, 1.0), True)]),
    ("=", "DATE, TIMESTAMP", [((1, 86_400_000_000), True)]),
    ("<>", "DOUBLE, DOUBLE", [((NAN, NAN), False), ((0.0, -0.0), False), ((1.0, 2.0), True)]),
    ("<", "DOUBLE, DOUBLE", [((INF, NAN), True), ((NAN, INF), False), ((-0.0, 0.0), False)]),
    ("<", "STRING, STRING", [(("a", "b"), True), (("Z", "a"), True), (("\uffff", "😀"), True), (("", "a"), True)]),
    ("<", "ARRAY<INT>, ARRAY<INT>", [(((1, None), (1, 2)), True), (((1,), (1, None)), True),
        (((2,), (1, 9)), False)]),
    ("<", "BINARY, BINARY", [((b'\x7f', b'\x80'), True), ((b'', b'\x00'), True)]),
    ("<", "BOOLEAN, BOOLEAN", [((False, True), True)]),
    ("<=", "DOUBLE, DOUBLE", [((NAN, NAN), True), ((NAN, 1.0), False)]),
    (">", "DOUBLE, DOUBLE", [((NAN, INF), True), ((None, 1.0), None)]),
    (">=", "DATE, DATE", [((1, 1), True), ((0, 1), False)]),
    ("<=>", "INT, INT", [((None, None), True), ((1, None), False), ((1, 1), True)]),
    ("<=>", "DOUBLE, DOUBLE", [((NAN, NAN), True), ((-0.0, 0.0), True)]),
    ("not", "BOOLEAN", [((True,), False), ((False,), True), ((None,), None)]),
    ("like", "STRING, STRING", [(("abc", "a%"), True), (("abc", "_b_"), True), (("abc", "b"), False),
        (("a%b", "a\\%b"), True), (("axb", "a\\%b"), False), (("a\\b", "a\\\\b"), True), (("a\nb", "a%b"), True),
        (("😀", "_"), True), (("", "%"), True), (("", "_"), False), (("a.c", "a.c"), True), (("abc", "a.c"), False),
        (("abcabc", "%bc%bc"), True), (("abc", "%bc%bc"), False), (("aab", "a%ab"), True)]),
    ("isnull", "INT", [((None,), True), ((1,), False)]),
    ("isnotnull", "INT", [((None,), False), ((1,), True)]),
    ("nullif", "INT, INT", [((1, 1), None), ((1, 2), 1), ((None, 1), None), ((1, None), 1)]),
    ("nullif", "DOUBLE, DOUBLE", [((NAN, NAN), None), ((-0.0, 0.0), None)]),
    ("greatest", "DOUBLE, DOUBLE, DOUBLE", [((NAN, 1.0, INF), NAN), ((None, -1.0, None), -1.0),
        ((-0.0, 0.0, -1.0), -0.0), ((None, None, None), None)]),
    ("greatest", "STRING, STRING", [(("a", "B"), "a"), (("\uffff", "😀"), "😀")]),
    ("least", "DOUBLE, DOUBLE", [((NAN, 1.0), 1.0), ((0.0, -0.0), 0.0), ((None, 2.0), 2.0)]),
    ("least", "ARRAY<INT>, ARRAY<INT>", [(((1,), (1, None)), (1,)), (((2,), (None,)), (None,))]),
    ("abs", "INT", [((-5,), 5), ((2_147_483_647,), 2_147_483_647)]),
    ("abs", "DOUBLE", [((-0.0,), 0.0), ((-INF,), INF)]),
    ("abs", "DECIMAL(10,2)", [((D("-1.50"),), D("1.50"))]),
    ("sign", "DOUBLE", [((-3.5,), -1.0), ((0.0,), 0.0), ((-0.0,), -0.0), ((NAN,), NAN), ((INF,), 1.0)]),
    ("sign", "INT", [((-7,), -1.0)]),
    ("ceil", "DOUBLE", [((1.2,), 2), ((-1.2,), -1), ((-0.5,), 0)]),
    ("ceil", "DECIMAL(10,2)", [((D("1.01"),), D(2)), ((D("-1.99"),), D(-1))]),
    ("ceil", "INT", [((5,), 5)]),
    ("floor", "DOUBLE", [((1.8,), 1), ((-1.2,), -2), ((9000000000000000.0,), 9_000_000_000_000_000)]),
    ("floor", "DECIMAL(10,2)", [((D("1.99"),), D(1)), ((D("-1.01"),), D(-2))]),
    ("floor", "DECIMAL(38,38)", [((D("-0.5"),), D(-1))]),
    ("sqrt", "DOUBLE", [((2.0,), 1.4142135623730951), ((-1.0,), NAN), ((-0.0,), -0.0), ((INF,), INF)]),
    ("exp", "DOUBLE", [((0.0,), 1.0), ((-INF,), 0.0), ((1000.0,), INF), ((-1000.0,), 0.0),
        ((2.0,), 7.38905609893065)]),
    ("ln", "DOUBLE", [((1.0,), 0.0), ((0.0,), None), ((-1.0,), None), ((NAN,), NAN), ((INF,), INF),
        ((10.0,), 2.302585092994046)]),
    ("log10", "DOUBLE", [((1000.0,), 3.0), ((0.0,), None), ((0.001,), -3.0)]),
    ("log2", "DOUBLE", [((8.0,), 3.0), ((-0.0,), None), ((10.0,), 3.3219280948873626)]),
    ("pow", "DOUBLE, DOUBLE", [((2.0, 10.0), 1024.0), ((-8.0, 0.3333333333333333), NAN), ((0.0, -1.0), INF),
        ((-0.0, -3.0), -INF), ((-0.0, -2.0), INF), ((1.0, NAN), NAN), ((NAN, 0.0), 1.0), ((-1.0, INF), NAN),
        ((0.5, INF), 0.0), ((1e+200, 2.0), INF), ((-1e+200, 3.0), -INF), ((4.0, 0.5), 2.0)]),
    ("isnan", "DOUBLE", [((NAN,), True), ((1.0,), False), ((None,), False)]),
    ("upper", "STRING", [(("aBc",), "ABC"), (("ÄÖÜß",), "ÄÖÜSS"), (("ΑΣ ΑΣ",), "ΑΣ ΑΣ"), (("İ",), "İ"),
        (("ﬁ",), "FI"), (("ǆ",), "Ǆ")]),
    ("lower", "STRING", [(("aBc",), "abc"), (("ÄÖÜß",), "äöüß"), (("ΑΣ ΑΣ",), "ας ας"), (("İ",), "i̇"),
        (("ﬁ",), "ﬁ"), (("ǆ",), "ǆ")]),
    ("trim", "STRING", [(("  a b  ",), "a b"), (("\ta\n",), "\ta\n"), (("\xa0a",), "\xa0a"), (("",), "")]),
    ("ltrim", "STRING", [(("  a  ",), "a  ")]),
    ("rtrim", "STRING", [(("  a  ",), "  a")]),
    ("reverse", "STRING", [(("abc",), "cba"), (("a😀é",), "é😀a")]),
    ("length", "STRING", [(("",), 0), (("a😀é",), 3), (("é",), 2)]),
    ("concat", "STRING, STRING, STRING", [(("a", "", "c"), "ac"), (("a", None, "c"), None)]),
    ("concat_ws", "STRING, STRING, STRING", [((",", "a", "b"), "a,b"), ((",", None, "b"), "b"),
        ((None, "a", "b"), None), ((",", None, None), ""), (("", "a", "b"), "ab")]),
    ("substring", "STRING, INT", [(("abc", 2), "bc"), (("abc", 0), "abc"), (("abc", -2), "bc"),
        (("abc", -5), "abc"), (("abc", 9), ""), (("a😀é", 2), "😀é")]),
    ("substring", "STRING, INT, INT", [(("abc", 1, 2), "ab"), (("abc", 0, 2), "ab"), (("abc", -2, 1), "b"),
        (("abc", -5, 3), "a"), (("abc", -5, 6), "abc"), (("abc", 2, -1), ""), (("abc", 2, 2_147_483_647), "bc"),
        (("abc", -2_147_483_648, 2_147_483_647), "ab")]),
    ("left", "STRING, INT", [(("abc", 2), "ab"), (("abc", 9), "abc"), (("abc", 0), ""), (("abc", -1), "")]),
    ("right", "STRING, INT", [(("abc", 2), "bc"), (("abc", 9), "abc"), (("abc", 0), ""), (("abc", -1), "")]),
    ("replace", "STRING, STRING, STRING", [(("abcabc", "b", "X"), "aXcaXc"), (("aaa", "aa", "b"), "ba"),
        (("abc", "", "X"), "abc"), (("abc", "b", ""), "ac"), (("", "", "x"), "")]),
    ("replace", "STRING, STRING", [(("abcb", "b"), "ac")]),
    ("split_part", "STRING, STRING, INT", [(("a,b,,c", ",", 2), "b"), (("a,b,,c", ",", 3), ""),
        (("a,b,,c", ",", -1), "c"), (("a,b", ",", 9), ""), (("a,b", ",", -9), ""), (("abc", "", 1), "abc"),
        (("abc", "", 2), ""), (("", ",", 1), ""), (("a.b", ".", 2), "b"), (("aaa", "aa", 2), "a")]),
    ("startswith", "STRING, STRING", [(("abc", "ab"), True), (("abc", ""), True), (("abc", "b"), False)]),
    ("endswith", "STRING, STRING", [(("abc", "bc"), True), (("abc", ""), True), (("abc", "b"), False)]),
    ("contains", "STRING, STRING", [(("abc", "b"), True), (("abc", ""), True), (("abc", "B"), False)]),
    ("instr", "STRING, STRING", [(("abc", "c"), 3), (("abc", "x"), 0), (("abc", ""), 1), (("a😀é", "é"), 3)]),
    ("lpad", "STRING, INT, STRING", [(("abc", 6, "xy"), "xyxabc"), (("abc", 2, "xy"), "ab"),
        (("abc", 6, ""), "abc"), (("abc", -1, "x"), ""), (("é", 3, "😀"), "😀😀é")]),
    ("lpad", "STRING, INT", [(("abc", 5), "  abc")]),
    ("rpad", "STRING, INT, STRING", [(("abc", 6, "xy"), "abcxyx"), (("abc", 2, "xy"), "ab"),
        (("abc", 6, ""), "abc"), (("abc", 0, "x"), "")]),
    ("rpad", "STRING, INT", [(("abc", 5), "abc  ")]),
    ("crc32", "STRING", [(("abc",), 891_568_578), (("",), 0), (("😀",), 88_978_756)]),
    ("crc32", "BINARY", [((b'\xff\x00',), 3_539_857_293)]),
    ("md5", "STRING", [(("abc",), "900150983cd24fb0d6963f7d28e17f72"), (("",), "d41d8cd98f00b204e9800998ecf8427e")]),
    ("md5", "BINARY", [((b'\xff\x00',), "e0e8bfafbb0689563b2fba789c97b3cc")]),
    ("xxhash64", "BOOLEAN", [((True,), -6_698_625_589_789_238_999)]),
    ("xxhash64", "TINYINT", [((-1,), 2_017_008_487_422_258_757)]),
    ("xxhash64", "INT", [((42,), -387_659_249_110_444_264), ((None,), 42)]),
    ("xxhash64", "BIGINT", [((42,), -6_876_166_290_308_861_218),
        ((-9_223_372_036_854_775_808,), -8_619_748_838_626_508_300)]),
    ("xxhash64", "FLOAT", [((1.5,), 6_163_473_420_726_370_430), ((-0.0,), 3_614_696_996_920_510_707),
        ((NAN,), 2_692_338_816_207_849_720)]),
    ("xxhash64", "DOUBLE", [((1.5,), 7_738_255_526_519_901_366), ((-0.0,), -5_252_525_462_095_825_812),
        ((0.0,), -5_252_525_462_095_825_812), ((NAN,), -3_127_944_061_524_951_246)]),
    ("xxhash64", "STRING", [(("",), -7_444_071_767_201_028_348), (("abc",), 1_423_657_621_850_124_518),
        (("😀😀😀😀😀😀😀😀😀",), -8_033_645_245_444_005_292)]),
    ("xxhash64", "BINARY", [((b'\xff',), -4_006_032_525_457_443_936)]),
    ("xxhash64", "DATE", [((18262,), 2_299_834_470_729_022_467)]),
    ("xxhash64", "TIMESTAMP", [((1_577_836_800_000_000,), 7_881_863_312_764_026_046)]),
    ("xxhash64", "INTERVAL", [((3_600_000_000,), 4_468_320_449_034_439_707)]),
    ("xxhash64", "DECIMAL(10,2)", [((D("1.50"),), -6_873_856_301_616_164_681)]),
    ("xxhash64", "DECIMAL(38,10)", [((D("1.5"),), -3_765_538_183_238_091_397),
        ((D("-9999999999999999999999999999.9999999999"),), -2_254_039_905_620_870_768)]),
    ("xxhash64", "ARRAY<INT>", [(((1, None, 2),), -8_133_857_028_838_179_022), (((),), 42), (((None,),), 42)]),
    ("xxhash64", "STRING, INT, DOUBLE", [(("a", 1, 2.0), 4_136_762_072_601_803_246),
        (("a", None, 2.0), -6_612_085_442_043_540_407), ((None, None, None), 42)]),
    ("date_trunc", "STRING, TIMESTAMP", [(("microsecond", 1_715_696_653_589_793), 1_715_696_653_589_793),
        (("microsecond", -62_135_596_800_000_001), -62_135_596_800_000_001)]),
    ("date_trunc", "STRING, TIMESTAMP", [(("millisecond", 1_715_696_653_589_793), 1_715_696_653_589_000),
        (("millisecond", -62_135_596_800_000_001), -62_135_596_800_001_000)]),
    ("date_trunc", "STRING, TIMESTAMP", [(("second", 1_715_696_653_589_793), 1_715_696_653_000_000),
        (("second", -62_135_596_800_000_001), -62_135_596_801_000_000)]),
    ("date_trunc", "STRING, TIMESTAMP", [(("minute", 1_715_696_653_589_793), 1_715_696_640_000_000),
        (("minute", -62_135_596_800_000_001), -62_135_596_860_000_000)]),
    ("date_trunc", "STRING, TIMESTAMP", [(("HOUR", 1_715_696_653_589_793), 1_715_695_200_000_000),
        (("HOUR", -62_135_596_800_000_001), -62_135_600_400_000_000)]),
    ("date_trunc", "STRING, TIMESTAMP", [(("day", 1_715_696_653_589_793), 1_715_644_800_000_000),
        (("day", -62_135_596_800_000_001), -62_135_683_200_000_000)]),
    ("date_trunc", "STRING, TIMESTAMP", [(("week", 1_715_696_653_589_793), 1_715_558_400_000_000),
        (("week", -62_135_596_800_000_001), -62_136_201_600_000_000)]),
    ("date_trunc", "STRING, TIMESTAMP", [(("month", 1_715_696_653_589_793), 1_714_521_600_000_000),
        (("month", -62_135_596_800_000_001), -62_138_275_200_000_000)]),
    ("date_trunc", "STRING, TIMESTAMP", [(("Quarter", 1_715_696_653_589_793), 1_711_929_600_000_000),
        (("Quarter", -62_135_596_800_000_001), -62_143_545_600_000_000)]),
    ("date_trunc", "STRING, TIMESTAMP", [(("year", 1_715_696_653_589_793), 1_704_067_200_000_000),
        (("year", -62_135_596_800_000_001), -62_167_219_200_000_000)]),
    ("date_trunc", "STRING, TIMESTAMP", [(("mon", 1_715_696_653_589_793), 1_714_521_600_000_000),
        (("mon", -62_135_596_800_000_001), -62_138_275_200_000_000)]),
    ("date_trunc", "STRING, TIMESTAMP", [(("decade", 1_715_696_653_589_793), None),
        (("decade", -62_135_596_800_000_001), None)]),
    ("year", "DATE", [((19858,), 2024), ((-719162,), 1), ((2_932_896,), 9999), ((-719529,), -1), ((11016,), 2000)]),
    ("quarter", "DATE", [((19858,), 2), ((-719162,), 1), ((2_932_896,), 4), ((-719529,), 4), ((11016,), 1)]),
    ("month", "DATE", [((19858,), 5), ((-719162,), 1), ((2_932_896,), 12), ((-719529,), 12), ((11016,), 2)]),
    ("day", "DATE", [((19858,), 15), ((-719162,), 1), ((2_932_896,), 31), ((-719529,), 31), ((11016,), 29)]),
    ("dayofweek", "DATE", [((19858,), 4), ((-719162,), 2), ((2_932_896,), 6), ((-719529,), 6), ((11016,), 3)]),
    ("dayofyear", "DATE", [((19858,), 136), ((-719162,), 1), ((2_932_896,), 365), ((-719529,), 365), ((11016,), 60)]),
    ("year", "TIMESTAMP", [((-1,), 1969)]),
    ("hour", "TIMESTAMP", [((1_715_696_653_589_793,), 14), ((-1,), 23), ((-62_135_596_800_000_000,), 0)]),
    ("minute", "TIMESTAMP", [((1_715_696_653_589_793,), 24), ((-1,), 59), ((-62_135_596_800_000_000,), 0)]),
    ("second", "TIMESTAMP", [((1_715_696_653_589_793,), 13), ((-1,), 59), ((-62_135_596_800_000_000,), 0)]),
    ("unix_seconds", "TIMESTAMP", [((1_715_696_653_589_793,), 1_715_696_653), ((-1,), -1),
        ((-62_135_596_800_000_000,), -62_135_596_800)]),
    ("unix_millis", "TIMESTAMP", [((1_715_696_653_589_793,), 1_715_696_653_589), ((-1,), -1),
        ((-62_135_596_800_000_000,), -62_135_596_800_000)]),
    ("unix_micros", "TIMESTAMP", [((1_715_696_653_589_793,), 1_715_696_653_589_793), ((-1,), -1),
        ((-62_135_596_800_000_000,), -62_135_596_800_000_000)]),
    ("date_add", "DATE, INT", [((0, 31), 31), ((0, -1), -1)]),
    ("date_sub", "DATE, INT", [((0, 31), -31)]),
    ("date_sub", "TIMESTAMP, INT", [((-1, 1), -2)]),
    ("datediff", "DATE, DATE", [((10, 3), 7), ((-719162, 2_932_896), -3_652_058)]),
    ("timestamp_seconds", "BIGINT", [((1,), 1_000_000), ((-1,), -1_000_000)]),
    ("timestamp_millis", "BIGINT", [((1,), 1000)]),
    ("timestamp_micros", "BIGINT", [((1,), 1)]),
    ("array", "INT, INT", [((1, None), (1, None))]),
    ("size", "ARRAY<INT>", [(((1, None),), 2), (((),), 0)]),
    ("element_at", "ARRAY<INT>, INT", [(((1, 2, 3), 1), 1), (((1, 2, 3), -1), 3), (((1, 2, 3), 4), None),
        (((1, 2, 3), -4), None), (((None,), 1), None)]),
    ("array_contains", "ARRAY<DOUBLE>, DOUBLE", [(((1.0, None), 1.0), True), (((1.0, None), 2.0), None),
        (((1.0,), 2.0), False), (((NAN,), NAN), True), (((-0.0,), 0.0), True), (((), 1.0), False)]),
]

ROUNDED = [
    # type, places, [(value, what Spark answers)]
    ("DOUBLE", 0, [(2.5, 3.0), (-2.5, -3.0), (0.5, 1.0), (1.005, 1.0), (2.675, 3.0), (-0.4, 0.0), (1e+300, 1e+300),
        (NAN, NAN), (INF, INF), (-0.0, 0.0)]),
    ("DOUBLE", 2, [(2.5, 2.5), (-2.5, -2.5), (0.5, 0.5), (1.005, 1.01), (2.675, 2.68), (-0.4, -0.4),
        (1e+300, 1e+300), (NAN, NAN), (INF, INF), (-0.0, 0.0)]),
    ("DOUBLE", -1, [(2.5, 0.0), (-2.5, 0.0), (0.5, 0.0), (1.005, 0.0), (2.675, 0.0), (-0.4, 0.0), (1e+300, 1e+300),
        (NAN, NAN), (INF, INF), (-0.0, 0.0)]),
    ("DOUBLE", 3, [(1234.5678, 1234.568), (5e-324, 0.0), (2.8980211416829425e+18, 2.8980211416829425e+18)]),
    ("DOUBLE", 400, [(1234.5678, 1234.5678), (5e-324, 5e-324), (2.8980211416829425e+18, 2.8980211416829425e+18)]),
    ("DOUBLE", -3, [(1234.5678, 1000.0), (5e-324, 0.0), (2.8980211416829425e+18, 2.898021141682943e+18)]),
    ("DOUBLE", -400, [(1234.5678, 0.0), (5e-324, 0.0), (2.8980211416829425e+18, 0.0)]),
    ("INT", 0, [(15, 15), (-15, -15), (14, 14), (25, 25), (2_147_483_640, 2_147_483_640)]),
    ("INT", 1, [(15, 15), (-15, -15), (14, 14), (25, 25), (2_147_483_640, 2_147_483_640)]),
    ("INT", -1, [(15, 20), (-15, -20), (14, 10), (25, 30), (2_147_483_640, 2_147_483_640)]),
    ("INT", -2, [(15, 0), (-15, 0), (14, 0), (25, 0), (2_147_483_640, 2_147_483_600)]),
    ("INT", -12, [(15, 0), (-15, 0), (14, 0), (25, 0), (2_147_483_640, 0)]),
    ("TINYINT", -1, [(124, 120), (-5, -10)]),
]

# Where Spark runs over, stops or answers with the nearest number it has, there is no answer.
NONE_HERE = [
    ("negative", "INT", (-2_147_483_648,)), ("abs", "TINYINT", (-128,)), ("abs", "BIGINT", (-(2**63),)),
    ("div", "BIGINT, BIGINT", (-(2**63), -1)), ("div", "DECIMAL(38,0), DECIMAL(38,0)", (D("1E+30"), D(1))),
    ("floor", "DOUBLE", (NAN,)), ("floor", "DOUBLE", (1e19,)), ("ceil", "DOUBLE", (INF,)), ("ceil", "FLOAT", (-INF,)),
    ("round", "INT, INT", (2_147_483_647, -1)), ("round", "TINYINT, INT", (127, -1)),
    ("date_add", "DATE, INT", (1, 2_147_483_647)), ("date_sub", "DATE, INT", (-2, 2_147_483_647)),
    ("datediff", "DATE, DATE", (2_147_483_647, -1)), ("timestamp_seconds", "BIGINT", (2**62,)),
    ("timestamp_millis", "BIGINT", (2**62,)), ("date_trunc", "STRING, TIMESTAMP", ("hour", -(2**63))),
    ("date_trunc", "STRING, TIMESTAMP", ("year", -(2**63))), ("size", "ARRAY<INT>", (None,)),
    ("element_at", "ARRAY<INT>, INT", ((1,), 0)), ("split_part", "STRING, STRING, INT", ("a", ",", 0)),
    ("like", "STRING, STRING", ("a\\b", "a\\b")), ("like", "STRING, STRING", ("a", "a\\")),
]
# fmt: on


def read_types(text: str) -> tuple[DataType, ...]:
    reader = TypeReader(text)
    found = [reader.type()]
    while reader.peek() == ",":
        reader.next()
        found.append(reader.type())
    return tuple(found)


def answer(function, types, arguments):
    """What the evaluator does with a call."""
    rule = FUNCTIONS[function].rule(types)
    assert rule is not None
    wanted, result = rule
    values = [convert(*each) for each in zip(arguments, types, wanted, strict=True)]
    if FUNCTIONS[function].strict and None in values:
        return None
    implementation = IMPLEMENTATIONS[function]
    return implementation.apply(wanted, result, *values) if implementation.typed else implementation.apply(*values)


def flat(table):
    return [(*head, *case) for *head, cases in table for case in cases]


@pytest.mark.parametrize(("function", "types", "arguments", "expected"), flat(SPARK))
def test_answers_as_spark(function, types, arguments, expected):
    # repr tells 0.0 from -0.0 and 1 from True, and lets NaN be NaN.
    assert repr(answer(function, read_types(types), arguments)) == repr(expected)


@pytest.mark.parametrize(("type_", "places", "value", "expected"), flat(ROUNDED))
def test_rounds_as_spark(type_, places, value, expected):
    assert repr(answer("round", (parse_type(type_), INT), (value, places))) == repr(expected)
    if places == 0:
        assert repr(answer("round", (parse_type(type_),), (value,))) == repr(expected)


@pytest.mark.parametrize(("function", "types", "arguments"), NONE_HERE)
def test_answers_null_where_spark_has_no_right_answer(function, types, arguments):
    assert answer(function, read_types(types), arguments) is None


SIMPLE_VALUES = {
    "BOOLEAN": st.booleans(),
    "STRING": st.text() | st.sampled_from(["hour", "week", "year", "%", "\\"]),
    "BINARY": st.binary(),
    "FLOAT": st.floats(width=32),
    "DOUBLE": st.floats(),
}


def values_of(type_: DataType) -> st.SearchStrategy:
    if type_.name == "ARRAY":
        return st.lists(values_of(type_.element), max_size=3).map(tuple)
    if type_.name == "DECIMAL":
        precision, scale = type_.parameters
        largest = 10**precision - 1
        return st.integers(-largest, largest).map(lambda number: D(number).scaleb(-scale, EXACT))
    if type_.name in SIMPLE_VALUES:
        return SIMPLE_VALUES[type_.name]
    largest = 2 ** ({TINYINT: 8, INT: 32, DATE: 32}.get(type_, 64) - 1)
    return st.sampled_from([-largest, largest - 1]) | st.integers(-50, 50) | st.integers(-largest, largest - 1)


@settings(max_examples=1500)
@given(st.data())
def test_nothing_raises(data):
    function, types, _ = data.draw(st.sampled_from(SPARK))
    wanted = read_types(types)
    arguments = [data.draw(values_of(type_) | st.none()) for type_ in wanted]
    if function in ("lpad", "rpad"):
        arguments[1] = data.draw(st.integers(-1000, 1000))
    answer(function, wanted, arguments)


def test_every_allowed_function_is_implemented_and_no_other():
    assert set(IMPLEMENTATIONS) == set(FUNCTIONS) - IN_THE_EVALUATOR | {"named_struct"}


def test_every_implemented_function_is_tried():
    tried = {function for function, _, _ in SPARK} | {"round", "named_struct"}
    assert tried == set(IMPLEMENTATIONS)


def test_structs_keep_the_order_of_their_values():
    assert IMPLEMENTATIONS["named_struct"].apply(1, None, "x") == (1, None, "x")


def test_hashes_structs_as_spark():
    inner = struct(a=struct(d=DOUBLE), b=array(INT))
    hashed = IMPLEMENTATIONS["xxhash64"].apply
    assert hashed((struct(a=INT, b=INT, c=STRING),), BIGINT, (1, None, "x")) == 8510603489595372987
    assert hashed((inner,), BIGINT, ((NAN,), (1, None))) == -4126618434635169373


@pytest.mark.parametrize("length", [0, 3, 4, 8, 31, 32, 33, 63, 64, 100])
def test_hash_depends_on_every_byte(length):
    data = bytes(range(length))
    changed = {xxh64(data[:place] + b"\xff" + data[place + 1 :], 42) for place in range(length)}
    assert len(changed | {xxh64(data, 42)}) == length + 1


def test_like_takes_no_exponential_time():
    assert answer("like", (STRING, STRING), ("a" * 5000, "%a" * 50 + "%b")) is False
