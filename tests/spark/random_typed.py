"""Random expressions over all allowed functions and all types, and values that have caught someone out before.

`expression(type, chance)` builds one of a wanted type from a `random.Random`; the same state gives the same expression.
"""

from __future__ import annotations

import itertools
import math
import random
import struct
from collections import defaultdict
from decimal import Decimal
from typing import Any

from tradewind.algebra.casting import convertible
from tradewind.algebra.expressions.functions import FUNCTIONS, TRUNC_UNITS
from tradewind.algebra.expressions.tree import Call, Case, Cast, Column, Expression, Field, Literal
from tradewind.algebra.expressions.typing import resolve
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import (
    BIGINT, BINARY, BOOLEAN, DATE, DOUBLE, FLOAT, INT, INTEGER_BITS, INTERVAL, NULL, SMALLINT, STRING, TIMESTAMP, TINYINT,
    DataType, array, decimal, struct as struct_of,
)  # fmt: skip
from tradewind.errors import InputError
from tradewind.interpreter.values import single

PAIR = struct_of(a=INT, b=DOUBLE)
TYPES = (
    BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, decimal(10, 2), decimal(18, 0), decimal(38, 10), decimal(38, 0),
    decimal(38, 38), STRING, BINARY, DATE, TIMESTAMP, INTERVAL, array(INT), array(STRING), array(DOUBLE), PAIR,
)  # fmt: skip
SCHEMA = Schema(tuple((f"c{place}_{copy}", type_) for place, type_ in enumerate(TYPES) for copy in "ab"))

INEXACT = frozenset(("exp", "ln", "log10", "log2", "pow"))
"""Java's and C's libraries may differ in the last digit of these: they are compared with a tolerance, and never stand
inside other calls, which could make that digit any other.
"""

_WORDS = (
    "", " ", "a", "A", "abc", "aBc ", " x ", "%", "_", "a%", "%b%", "a\\%", "\\", "a\\", "a_c", "a\nb", "é", "e\u0301", "ß", "İ",
    "ΑΣ ΑΣ", "😀", "a😀é", "ﬁ", "\uffff", "\x00", "'", "`", '"', "${env:HOME}", "${spark.app.name}", ",", "a,b,,c", "a.b", "aaa",
    "null", "true", "T", " yes ", "no", "0", "1", "-1", "+1", " 12 ", "127", "128", "-129", "2147483648", "9223372036854775807",
    "-9223372036854775809", "00000000000000000000001", "1.5", ".5", "1.", "1e3", "1E400", "-1e-400", "1d", "1f", "0x1.8p1", "NaN",
    "nan", "inf", "-Infinity", "99999999.995", "-1.005", "1e-7", "0.1111111111111111111111111111111111111111", "１２", "١٢", "-0.0",
    "2020", "2020-2", "2020-02-29", "2019-02-29", "2020-1-2 x", "+10000-01-01", "-0001-12-31", "202", "12:34", "T12:34:56", "12:34Z",
    "2020-01-02 03", "2020-01-02T3:4", "2020-01-02 03:04:05.1234567", "2020-01-02T03:04:05Z", "2020-01-02 03:04:05+01:00",
    "2020-01-02 03:04:05 -1:3", "2020-01-02 03:04:05UTC+1", "2020-01-02 03:04:05 Europe/Paris", "2020-01-02 03:04:05 PST",
    "2020-01-02 03:04:05GMT0", "2020-01-02 03:04:05 GMT", "294247-01-10 04:00:54.775808", "1 02:03:04.5", "-0 00:00:01",
    "INTERVAL -'1 00:00:00' DAY TO SECOND", "1 day", "106751991 04:00:54.775808",
)  # fmt: skip
_ALPHABETS = ("0123456789", "0123456789.+-eE", "0123456789-: T.Z+", "ab%_\\", "aAéßΣς😀 İ", "abc,.")
_FRACTIONS = (
    0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 0.1, 1.005, 2.675, 1e-7, 1e7, 9999999.0, 0.001, 123456789.125, 1e10, 1e16, 1e21, 1e23, 2e23,
    8.41e21, 2.3177751362436413e25, 2.3184525677263325e17, 9007199254740993.0, 2.0**31, -(2.0**31) - 1, 2.0**63, -(2.0**63),
    -(2.0**63) - 2048, 9.2e18, 9.3e12, -9.3e12, 1e19, 1e38, -1e38, 1e300, 1.7976931348623157e308, 5e-324, -5e-324, 1e-45, 2.24e-44, 3.4e38,
    math.nan, math.inf, -math.inf,
)  # fmt: skip
_TIMES = (
    0,
    1,
    -1,
    1_715_696_653_589_793,
    -62_135_596_800_000_000,
    253_402_300_799_999_999,
    2**63 - 1,
    -(2**63),
    -(2**63) + 10**6,
)


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
            return _decimal(*type_.parameters, chance)
        case "STRING":
            return _text(chance)
        case "BINARY":
            return chance.choice((b"", b"a", b"\xff\x00", "é😀".encode(), chance.randbytes(chance.randrange(6))))
        case "ARRAY":
            return tuple(value(type_.element, chance) for _ in range(chance.randrange(4)))
        case "STRUCT":
            return tuple(value(inner, chance) for _, inner in type_.fields)
    return _whole(type_, chance)


def _whole(type_: DataType, chance: random.Random) -> int:
    half = 2 ** (INTEGER_BITS.get(type_, 32 if type_ == DATE else 64) - 1)
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
    elif draw < 0.8:
        found = chance.randrange(-(10**6), 10**6) / 10 ** chance.randrange(8)
    elif draw < 0.9:
        found = float(chance.randrange(2**70) >> chance.randrange(70))
    else:
        found = struct.unpack("<d", chance.randbytes(8))[0]
    found = math.nan if math.isnan(found) else found
    return (single(found) if type_ == FLOAT else found) + 0.0


def _decimal(precision: int, scale: int, chance: random.Random) -> Decimal:
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
    return "".join(
        chr(chance.choice((chance.randrange(32, 0x600), chance.randrange(0x1E00, 0x2FFF)))) for _ in range(4)
    )


def literal(type_: DataType, chance: random.Random) -> Expression:
    """A constant of a type; one with parts is made of constants."""
    if type_.name == "ARRAY":
        parts = tuple(literal(type_.element, chance) for _ in range(chance.randrange(1, 4)))
        return Call("array", parts)
    if type_.name == "STRUCT":
        parts = tuple(part for name, inner in type_.fields for part in (Literal(name, STRING), literal(inner, chance)))
        return Call("named_struct", parts)
    if type_ == DATE:
        return Literal(chance.choice((None, 0, -1, 20_454, -719_162, 2_932_896)), DATE)
    return Literal(value(type_, chance), type_)


_OPERATORS = ("+", "-", "*", "/")


def _unlike(name: str, types: tuple[DataType, ...]) -> bool:
    """Calls on which the interpreter and Spark cannot agree."""
    return (name == "div" and types == (NULL, NULL)) or (name == "/" and decimal(38, 38) in types)


def _signatures() -> dict[str, list[tuple[DataType, ...]]]:
    few = (*TYPES, NULL)
    found: dict[str, list[tuple[DataType, ...]]] = {}
    for name, function in FUNCTIONS.items():
        fitting = [
            t for n in (1, 2) for t in itertools.product(few, repeat=n) if function.rule(t) and not _unlike(name, t)
        ]
        three = [t for t in itertools.product(few, repeat=3) if name not in _OPERATORS and function.rule(t)]
        found[name] = fitting + (random.Random(1).sample(three, min(len(three), max(40, len(fitting)))))
    return found


SIGNATURES = _signatures()
"""Argument types that each function takes."""

_RESULTS: dict[DataType, list[tuple[str, tuple[DataType, ...]]]] = defaultdict(list)
for _name, _fitting in SIGNATURES.items():
    for _types in _fitting:
        if _name not in INEXACT and (_rule := FUNCTIONS[_name].rule(_types)):
            _RESULTS[_rule[1]].append((_name, _types))


def call(name: str, types: tuple[DataType, ...], chance: random.Random, depth: int) -> Expression:
    """A call of a function with arguments of these types."""
    arguments = [expression(type_, chance, depth) for type_ in types]
    if name == "negative" and isinstance(arguments[0], Literal):
        arguments[0] = Column(next(name for name, held in SCHEMA.columns if held == types[0]))
    if name == "date_trunc":
        arguments[0] = Literal(chance.choice(TRUNC_UNITS), STRING)
    if name == "round" and len(arguments) > 1:
        arguments[1] = Literal(chance.choice((0, 1, 2, 3, -1, -2, -9, -19, 400, -400, 2**31 - 1, -(2**31), None)), INT)
    if name in ("lpad", "rpad"):
        arguments[1] = Literal(chance.choice((-1, 0, 1, 3, 10)), INT)
    if name == "in" and chance.random() < 0.3:
        arguments += [literal(types[-1], chance) for _ in range(12)]
    return Call(name, tuple(arguments))


def expression(type_: DataType, chance: random.Random, depth: int = 2) -> Expression:
    """Any expression of a type."""
    draw = chance.random()
    if depth == 0 or draw < 0.25 or type_ == NULL:
        return _leaf(type_, chance)
    if draw < 0.35:
        return Case(
            ((expression(BOOLEAN, chance, depth - 1), expression(type_, chance, depth - 1)),),
            expression(type_, chance, depth - 1),
        )
    if draw < 0.55:
        sources = [source for source in TYPES if convertible(source, type_)]
        return Cast(expression(chance.choice(sources), chance, depth - 1), type_)
    known = _RESULTS.get(type_)
    if not known:
        return _leaf(type_, chance)
    by_name: dict[str, list[tuple[DataType, ...]]] = defaultdict(list)
    for name, types in known:
        by_name[name].append(types)
    name = chance.choice(sorted(by_name))
    made = call(name, chance.choice(by_name[name]), chance, depth - 1)
    try:
        return resolve(made, SCHEMA)[0]
    except InputError:
        return _leaf(type_, chance)


def _leaf(type_: DataType, chance: random.Random) -> Expression:
    columns = [name for name, held in SCHEMA.columns if held == type_]
    if type_ in (INT, DOUBLE) and chance.random() < 0.1:
        return Field(
            Column(chance.choice([name for name, held in SCHEMA.columns if held == PAIR])), "a" if type_ == INT else "b"
        )
    if columns and chance.random() < 0.75:
        return Column(chance.choice(columns))
    return literal(type_, chance)


def top(chance: random.Random, depth: int = 2) -> Expression:
    """A resolved expression, of any function as likely as of any other."""
    while True:
        kind = chance.choice((*SIGNATURES, "cast", "cast", "cast", "case", "named_struct"))
        if kind in SIGNATURES:
            found = call(kind, chance.choice(SIGNATURES[kind]), chance, depth)
        elif kind == "named_struct":
            found = Call(
                "named_struct",
                tuple(p for n in "xy" for p in (Literal(n, STRING), expression(chance.choice(TYPES), chance, depth))),
            )
        elif kind == "cast":
            source = chance.choice(TYPES)
            target = chance.choice(
                [
                    t
                    for t in (*TYPES, array(TIMESTAMP), struct_of(p=STRING, q=decimal(38, 5)), array(decimal(38, 2)))
                    if convertible(source, t)
                ]
            )
            found = Cast(expression(source, chance, depth), target)
        else:
            found = expression(chance.choice(TYPES), chance, depth)
        try:
            return resolve(found, SCHEMA)[0]
        except InputError:
            continue


def rows(count: int, chance: random.Random) -> list[tuple[Any, ...]]:
    """Rows of `SCHEMA`."""
    return [tuple(value(type_, chance) for _, type_ in SCHEMA.columns) for _ in range(count)]
