"""Random expressions over all allowed functions and all types.

`expression(type, chance)` builds one of a wanted type from a `random.Random`; the same state gives the same expression.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections import defaultdict

from tests.spark.nasty_values import value
from tradewind.algebra.casting import convertible
from tradewind.algebra.expressions.functions import FUNCTIONS, TRUNC_UNITS
from tradewind.algebra.expressions.tree import Call, Case, Cast, Column, Expression, Field, Literal
from tradewind.algebra.expressions.typing import resolve
from tradewind.algebra.schema import Schema
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
    DataType,
    array,
    decimal,
    struct,
)
from tradewind.errors import InputError

Types = tuple[DataType, ...]

PAIR = struct(a=INT, b=DOUBLE)
TYPES = (
    BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, decimal(10, 2), decimal(18, 0), decimal(38, 10),
    decimal(38, 0), decimal(38, 38), STRING, BINARY, DATE, TIMESTAMP, INTERVAL, array(INT), array(STRING),
    array(DOUBLE), PAIR,
)  # fmt: skip
TARGETS = (*TYPES, array(TIMESTAMP), array(BINARY), array(decimal(38, 2)), struct(p=STRING, q=decimal(38, 5)))
"""What is converted to."""

SCHEMA = Schema(tuple((f"c{place}{copy}", type_) for place, type_ in enumerate(TYPES) for copy in "ab"))
"""Two columns of each type."""

INEXACT = frozenset(("exp", "ln", "log10", "log2", "pow"))
"""Java's and C's libraries may differ in the last digit of these. So they are compared with a tolerance, and never
stand inside other calls, which could make that digit any other.
"""

_PLACES = (0, 1, 2, 3, -1, -2, -9, -19, 400, -400, 2**31 - 1, -(2**31), None)
_DATES = (None, 0, -1, 20_454, -719_162, 2_932_896)
_OPERATORS = ("+", "-", "*", "/")


def _takes(name: str, types: Types) -> bool:
    """Whether a function takes these types, and answers alike everywhere."""
    if len(types) == 3 and name in _OPERATORS:
        return False
    # NULL div NULL has no type.
    return (name, types) != ("div", (NULL, NULL)) and FUNCTIONS[name].rule(types) is not None


@functools.cache
def signatures() -> dict[str, list[Types]]:
    """Argument types that each function takes: a million are tried, so not before a test needs them."""
    found: dict[str, list[Types]] = {}
    for name in FUNCTIONS:
        few = [t for n in (1, 2) for t in itertools.product((*TYPES, NULL), repeat=n) if _takes(name, t)]
        three = [t for t in itertools.product((*TYPES, NULL), repeat=3) if _takes(name, t)]
        found[name] = few + random.Random(1).sample(three, min(len(three), max(40, len(few))))
    return found


@functools.cache
def _results() -> dict[DataType, dict[str, list[Types]]]:
    found: dict[DataType, dict[str, list[Types]]] = defaultdict(lambda: defaultdict(list))
    for name, taken in signatures().items():
        for types in taken:
            rule = FUNCTIONS[name].rule(types)
            if rule is not None and name not in INEXACT:
                found[rule[1]][name].append(types)
    return found


def literal(type_: DataType, chance: random.Random) -> Expression:
    """A constant of a type; one with parts is made of constants."""
    if type_.name == "ARRAY":
        return Call("array", tuple(literal(type_.element, chance) for _ in range(chance.randrange(1, 4))))
    if type_.name == "STRUCT":
        pairs = ((Literal(name, STRING), literal(inner, chance)) for name, inner in type_.fields)
        return Call("named_struct", tuple(part for pair in pairs for part in pair))
    # Only dates of the years that a text may name can be constants.
    return Literal(chance.choice(_DATES) if type_ == DATE else value(type_, chance), type_)


def call(name: str, types: Types, chance: random.Random, depth: int) -> Expression:
    """A call of a function with arguments of these types."""
    arguments = [expression(type_, chance, depth) for type_ in types]
    if name == "negative" and isinstance(arguments[0], Literal):
        arguments[0] = _column(types[0], chance)
    if name == "date_trunc":
        arguments[0] = Literal(chance.choice(TRUNC_UNITS), STRING)
    if name == "round" and len(arguments) > 1:
        arguments[1] = Literal(chance.choice(_PLACES), INT)
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
        condition = expression(BOOLEAN, chance, depth - 1)
        return Case(((condition, expression(type_, chance, depth - 1)),), expression(type_, chance, depth - 1))
    if draw < 0.55:
        source = chance.choice([source for source in TYPES if convertible(source, type_)])
        return Cast(expression(source, chance, depth - 1), type_)
    known = _results().get(type_)
    if not known:
        return _leaf(type_, chance)
    name = chance.choice(sorted(known))
    try:
        return resolve(call(name, chance.choice(known[name]), chance, depth - 1), SCHEMA)[0]
    except InputError:
        return _leaf(type_, chance)


def _leaf(type_: DataType, chance: random.Random) -> Expression:
    if type_ in (INT, DOUBLE) and chance.random() < 0.1:
        return Field(_column(PAIR, chance), "a" if type_ == INT else "b")
    return _column(type_, chance) if type_ in TYPES and chance.random() < 0.75 else literal(type_, chance)


def _column(type_: DataType, chance: random.Random) -> Column:
    return Column(chance.choice([name for name, held in SCHEMA.columns if held == type_]))


def any_expression(chance: random.Random, depth: int = 2) -> Expression:
    """A resolved expression, with any function at its top as likely as any other."""
    while True:
        try:
            return resolve(_any(chance, depth), SCHEMA)[0]
        except InputError:
            continue


def _any(chance: random.Random, depth: int) -> Expression:
    kind = chance.choice((*signatures(), "cast", "cast", "cast", "case", "named_struct"))
    if kind in signatures():
        return call(kind, chance.choice(signatures()[kind]), chance, depth)
    if kind == "named_struct":
        pairs = ((Literal(name, STRING), expression(chance.choice(TYPES), chance, depth)) for name in ("x", "y z"))
        return Call("named_struct", tuple(part for pair in pairs for part in pair))
    if kind == "cast":
        source = chance.choice(TYPES)
        target = chance.choice([target for target in TARGETS if convertible(source, target)])
        return Cast(expression(source, chance, depth), target)
    return expression(chance.choice(TYPES), chance, depth)
