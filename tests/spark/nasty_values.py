"""Values of every type that have caught someone out before, and random ones beside them."""

from __future__ import annotations

import math
import random
import struct
from decimal import Decimal
from typing import Any

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DATE, FLOAT, INTEGER_BITS, INTERVAL, NULL, TIMESTAMP, DataType
from tradewind.interpreter.values import single

_WORDS = (
    "", " ", "a", "A", "abc", "aBc ", " x ", "%", "_", "a%", "%b%", "a\\%", "\\", "a\\", "a_c", "a\nb", "é",
    "e\u0301", "ß", "İ", "ΑΣ ΑΣ", "😀", "a😀é", "ﬁ", "\uffff", "\x00", "'", "`", '"', "${env:HOME}",
    "${spark.app.name}", ",", "a,b,,c", "a.b", "aaa", "--", "/*", "null", "true", "T", " yes ", "no", "0", "1", "-1",
    "+1", " 12 ", "127", "128", "-129", "2147483648", "9223372036854775807", "-9223372036854775809",
    "00000000000000000000001", "1.5", ".5", "1.", "1e3", "1E400", "-1e-400", "1d", "1f", "0x1.8p1", "NaN", "nan",
    "inf", "-Infinity", "99999999.995", "-1.005", "1e-7", "0.1111111111111111111111111111111111111111", "１２", "١٢",
    "-0.0", "2020", "2020-2", "2020-02-29", "2019-02-29", "2020-1-2 x", "+10000-01-01", "-0001-12-31", "202", "12:34",
    "T12:34:56", "12:34Z", "2020-01-02 03", "2020-01-02T3:4", "2020-01-02 03:04:05.1234567", "2020-01-02T03:04:05Z",
    "2020-01-02 03:04:05+01:00", "2020-01-02 03:04:05 -1:3", "2020-01-02 03:04:05UTC+1",
    "2020-01-02 03:04:05 Europe/Paris", "2020-01-02 03:04:05 PST", "2020-01-02 03:04:05GMT0",
    "2020-01-02 03:04:05 GMT", "294247-01-10 04:00:54.775808", "1 02:03:04.5", "-0 00:00:01", "1 day",
    "INTERVAL -'1 00:00:00' DAY TO SECOND", "106751991 04:00:54.775808",
)  # fmt: skip
_ALPHABETS = ("0123456789", "0123456789.+-eE", "0123456789-: T.Z+", "ab%_\\", "aAéßΣς😀 İ", "abc,.")
_FRACTIONS = (
    0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 0.1, 1.005, 2.675, 1e-7, 1e7, 9999999.0, 0.001, 123456789.125, 1e10,
    1e16, 1e21, 1e23, 2e23, 8.41e21, 2.3177751362436413e25, 2.3184525677263325e17, 9007199254740993.0, 2.0**31,
    -(2.0**31) - 1, 2.0**63, -(2.0**63), -(2.0**63) - 2048, 2.0**-24, -(2.0**89), 9.2e18, 9.3e12, -9.3e12, 1e19, 1e38,
    -1e38, 1e300, 1.7976931348623157e308, 5e-324, -5e-324, 1e-45, 2.24e-44, 3.4e38, math.nan, math.inf, -math.inf,
)  # fmt: skip
_TIMES = (
    0, 1, -1, 1_715_696_653_589_793, -62_135_596_800_000_000, 253_402_300_799_999_999, 2**63 - 1, -(2**63),
    -(2**63) + 10**6,
)  # fmt: skip


def value(type_: DataType, chance: random.Random) -> Any:
    """A value of a type; now and then NULL."""
    if chance.random() < 0.08 or type_ == NULL:
        return None
    match type_.name:
        case "BOOLEAN":
            return chance.random() < 0.5
        case "FLOAT" | "DOUBLE":
            return _fraction(type_, chance)
        case "DECIMAL":
            return _decimal(type_, chance)
        case "STRING":
            return _text(chance)
        case "BINARY":
            return chance.choice((b"", b"a", b"\xff\x00", "é😀".encode(), chance.randbytes(chance.randrange(6))))
        case "ARRAY":
            return tuple(value(type_.element, chance) for _ in range(chance.randrange(4)))
        case "STRUCT":
            return tuple(value(inner, chance) for _, inner in type_.fields)
    return _whole(type_, chance)


def rows(schema: Schema, count: int, chance: random.Random) -> list[tuple[Any, ...]]:
    """Rows of a schema."""
    return [tuple(value(type_, chance) for _, type_ in schema.columns) for _ in range(count)]


def _whole(type_: DataType, chance: random.Random) -> int:
    half: int = 2 ** (INTEGER_BITS.get(type_, 32 if type_ == DATE else 64) - 1)
    draw = chance.random()
    if draw < 0.35:
        return chance.choice((0, 1, -1, 2, 3, -3, 7, 10))
    if draw < 0.55:
        return chance.choice((half - 1, -half, -half + 1, half // 2))
    if type_ in (TIMESTAMP, INTERVAL) and draw < 0.8:
        return chance.choice(_TIMES)
    return chance.randrange(-half, half) >> chance.randrange(half.bit_length())


def _fraction(type_: DataType, chance: random.Random) -> float:
    draw = chance.random()
    if draw < 0.6:
        found = chance.choice(_FRACTIONS)
    elif draw < 0.75:
        found = chance.randrange(-(10**6), 10**6) / 10 ** chance.randrange(8)
    elif draw < 0.8:
        found = 2.0 ** chance.randrange(-1074, 1024)
    elif draw < 0.9:
        found = float(chance.randrange(2**70) >> chance.randrange(70))
    else:
        found = struct.unpack("<d", chance.randbytes(8))[0]
    # One NaN and one zero, as every stream gives them.
    found = single(found) if type_ == FLOAT else found
    return math.nan if math.isnan(found) else found + 0.0


def _decimal(type_: DataType, chance: random.Random) -> Decimal:
    precision, scale = type_.parameters
    largest = 10**precision - 1
    draw = chance.random()
    if draw < 0.3:
        digits = chance.choice((0, 1, -1, 10**scale, -(10**scale), 5 * 10**scale // 2))
    elif draw < 0.5:
        digits = chance.choice((largest, -largest, largest // 2))
    else:
        digits = chance.randrange(-largest, largest) // 10 ** chance.randrange(precision)
    digits = max(min(digits, largest), -largest)
    return Decimal((int(digits < 0), tuple(map(int, str(abs(digits)))), -scale))


def _text(chance: random.Random) -> str:
    draw = chance.random()
    if draw < 0.7:
        return chance.choice(_WORDS)
    if draw < 0.9:
        alphabet = chance.choice(_ALPHABETS)
        return "".join(chance.choice(alphabet) for _ in range(chance.randrange(12)))
    blocks = ((0x20, 0x600), (0x1E00, 0x2FFF), (0x10400, 0x10450))
    return "".join(chr(chance.randrange(*chance.choice(blocks))) for _ in range(4))
