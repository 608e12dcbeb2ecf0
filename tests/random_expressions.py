"""Random conditions, computed columns and aggregates over a schema, with constants that decide something."""

from __future__ import annotations

import math
import random

from tradewind.algebra.aggregates import AggregateCall, parse_aggregate, user_aggregate
from tradewind.algebra.expressions.tree import Call, Cast, Column, Expression, Literal
from tradewind.algebra.expressions.typing import resolve
from tradewind.algebra.operators.aggregation import Functions
from tradewind.algebra.operators.core import Columns
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    STRING,
    TIMESTAMP,
    DataType,
    is_fraction,
    is_integer,
    is_numeric,
)
from tradewind.errors import InputError

SECOND = 1_000_000
BASE = 1_767_225_600 * SECOND
"""2026-01-01: where the streams' times begin."""

TEXTS = ("a", "b", "c", "ab", "")
LARGEST = user_aggregate("largest", over="v DOUBLE", lift="v", merge="greatest(a, b)", finish="state")


def small_columns(schema: Schema) -> list[str]:
    """Columns with few values, by which grouping and joining make sense."""
    return [name for name, type_ in schema.columns if is_integer(type_) or type_ in (STRING, DOUBLE, BOOLEAN, DATE)]


def constant(type_: DataType, chance: random.Random) -> Literal:
    """A constant from where the values lie; now and then an extreme one."""
    if is_integer(type_):
        extreme = {INT: 2**31 - 1, BIGINT: 2**63 - 1}.get(type_, 100)
        return Literal(chance.choice((0, 1, 1, 2, 2, 3, 4, -1, extreme)), type_)
    if is_fraction(type_):
        value = chance.choice((0.0, 0.5, 1.0, 1.5, 2.0, -1.0, 3.25, 1e300 if type_ == DOUBLE else 1e30))
        odd = chance.choice((math.nan, math.inf, -math.inf))
        return Literal(odd if chance.random() < 0.03 else value, type_)
    if type_ == TIMESTAMP:
        return Literal(BASE + chance.randrange(0, 45) * SECOND, TIMESTAMP)
    if type_ == DATE:
        return Literal(20454 + chance.choice((-1, 0, 1)), DATE)
    if type_ == BOOLEAN:
        return Literal(chance.random() < 0.5, BOOLEAN)
    return Literal(chance.choice(TEXTS), STRING)


def _compared(of: Expression, schema: Schema, chance: random.Random) -> Expression:
    """A comparison of a typed expression with a constant."""
    of, type_ = resolve(of, schema)
    if type_ == INTERVAL:
        return resolve(Call("<", (of, Literal(10 * SECOND, INTERVAL))), schema)[0]
    value = constant(type_ if type_ != FLOAT else DOUBLE, chance)
    if chance.random() < 0.15 and type_ != BOOLEAN:
        return resolve(Call("in", (of, value, constant(value.type, chance), constant(value.type, chance))), schema)[0]
    op = chance.choice(("<", "<=", ">", ">=", ">=", "<=", "<>", "<>", "=", "<=>"))
    sides = (value, of) if chance.random() < 0.1 else (of, value)
    return resolve(Call(op, sides), schema)[0]


def computed(schema: Schema, chance: random.Random, depth: int = 2) -> Expression:
    """A column or something computed from one; often monotone."""
    name, type_ = chance.choice(schema.columns)
    inner: Expression = Column(name)
    if depth > 1 and chance.random() < 0.3:
        inner = computed(schema, chance, depth - 1)
        type_ = resolve(inner, schema)[1]
    options = _functions(inner, type_, chance)
    for _ in range(6):
        try:
            return resolve(chance.choice(options), schema)[0]
        except InputError:
            continue
    return Column(name)


def _functions(x: Expression, type_: DataType, chance: random.Random) -> list[Expression]:
    if is_numeric(type_):
        c = constant(chance.choice((INT, DOUBLE)), chance)
        calls = [Call(op, (x, c)) for op in ("+", "-", "*", "/", "div", "%")]
        calls += [Call("-", (c, x)), Call("negative", (x,)), Call("floor", (x,)), Call("ceil", (x,))]
        calls += [
            Call("greatest", (x, c)),
            Call("least", (x, c)),
            Call("round", (x, Literal(chance.choice((-1, 0, 1)), INT))),
        ]
        calls += [Call(f, (x,)) for f in ("sqrt", "ln", "exp", "abs")] + [Call("pow", (x, Literal(3.0, DOUBLE)))]
        casts = [Cast(x, t) for t in (INT, BIGINT, DOUBLE, FLOAT, STRING, TIMESTAMP)]
        choice = Call("coalesce", (x, c))
        return [*calls, *casts, choice]
    if type_ == TIMESTAMP:
        unit = Literal(chance.choice(("second", "minute", "hour", "day")), STRING)
        shift = Literal(chance.choice((-3, 4, 60)) * SECOND, INTERVAL)
        units = [Call(f, (x,)) for f in ("unix_seconds", "unix_millis", "second", "year")]
        return [Call("date_trunc", (unit, x)), Call("+", (x, shift)), Call("-", (x, shift)), Cast(x, DATE), *units]
    if type_ == DATE:
        return [Call("date_add", (x, Literal(1, INT))), Cast(x, TIMESTAMP), Call("year", (x,))]
    if type_ == STRING:
        return [Call("upper", (x,)), Call("length", (x,)), Call("concat", (x, Literal("b", STRING))), Cast(x, INT)]
    return [x, Call("isnull", (x,))]


def joined(op: str, *conditions: Expression) -> Expression:
    """The conditions in one AND or OR, as the parser would give them: without one in the other."""
    parts: list[Expression] = []
    for one in conditions:
        parts.extend(one.arguments if isinstance(one, Call) and one.function == op else (one,))
    return Call(op, tuple(parts))


def condition(schema: Schema, chance: random.Random, depth: int = 2) -> Expression:
    """Any condition on a row."""
    draw = chance.random()
    if depth > 0 and draw < 0.25:
        return joined(chance.choice(("and", "or")), *(condition(schema, chance, depth - 1) for _ in range(2)))
    if draw < 0.3:
        inner = condition(schema, chance, 0)
        plain = isinstance(inner, Call) and inner.function in ("isnull", "isnotnull")
        return inner if plain else Call("not", (inner,))
    if draw < 0.36:
        name = chance.choice(schema.names)
        return Call(chance.choice(("isnull", "isnotnull")), (Column(name),))
    if draw < 0.37:
        return Literal(chance.choice((True, False, None)), BOOLEAN)
    if draw < 0.43:
        texts = [name for name, type_ in schema.columns if type_ in (STRING, DOUBLE, INT)]
        if texts:
            as_text = Cast(Column(chance.choice(texts)), STRING)
            return resolve(Call("=", (as_text, Literal(chance.choice(("0.0", "-0.0", "1", "a")), STRING))), schema)[0]
    for _ in range(5):
        of = computed(schema, chance) if draw < 0.75 else Column(chance.choice(schema.names))
        try:
            return _compared(of, schema, chance)
        except InputError:
            continue
    return Call("isnotnull", (Column(schema.names[0]),))


def key_condition(schema: Schema, chance: random.Random, columns: tuple[str, ...] = ()) -> Expression:
    """A simple condition on a column with few values."""
    names = columns or tuple(small_columns(schema)) or schema.names
    name = chance.choice(names)
    if chance.random() < 0.1:
        hashed = Call("pmod", (Call("xxhash64", (Column(name),)), Literal(2, BIGINT)))
        return resolve(Call("=", (hashed, Literal(chance.choice((0, 1)), BIGINT))), schema)[0]
    return _compared(Column(name), schema, chance)


def map_columns(schema: Schema, chance: random.Random) -> Columns:
    """Some columns kept or renamed, the event time mostly among them, and some computed."""
    kept = [name for name in schema.names if chance.random() < 0.75 or (name == schema.time and chance.random() < 0.9)]
    columns: list[tuple[str, Expression]] = []
    for name in kept:
        renamed = f"{name}2" if chance.random() < 0.1 else name
        columns.append((renamed, Column(name)))
    for stem in chance.sample(("c", "d", "e"), chance.choice((0, 1, 1, 2))):
        expression = (
            computed(schema, chance) if chance.random() < 0.9 else constant(chance.choice((INT, STRING)), chance)
        )
        columns.append((f"{stem}{len(columns)}", expression))
    if chance.random() < 0.15:
        chance.shuffle(columns)
    return tuple(columns)


_OVER_NUMBERS = (
    "sum({})", "avg({})", "min({})", "max({})", "first({})", "last({})", "delta({})", "var_pop({})", "stddev_samp({})",
    "count(DISTINCT {})", "approx_count_distinct({})", "percentile({}, 0.5)", "approx_percentile({}, 0.25)",
    "top_k({}, 2)", "count({})", "count_if({} > 1)",
)  # fmt: skip
_OVER_ANY = ("min({})", "max({})", "first({})", "last({})", "count(DISTINCT {})", "count({})", "top_k({}, 1)")


def aggregate_functions(schema: Schema, chance: random.Random, only: tuple[str, ...] = ()) -> Functions:
    """No to three aggregates."""
    found: list[tuple[str, AggregateCall]] = []
    if only or chance.random() < 0.5:
        found.append(("n", parse_aggregate("count(*)", schema)))
    for number in range(0 if only else chance.choice((0, 1, 1, 2))):
        name, type_ = chance.choice(schema.columns)
        if is_numeric(type_):
            text = chance.choice(_OVER_NUMBERS).format(name)
        elif type_ in (STRING, TIMESTAMP):
            text = chance.choice(_OVER_ANY).format(name)
        else:
            continue
        call = parse_aggregate(text, schema)
        if type_ == DOUBLE and chance.random() < 0.1:
            call = parse_aggregate(f"largest({name})", schema, {"largest": LARGEST})
        found.append((f"f{number}", call))
    return tuple(found)
