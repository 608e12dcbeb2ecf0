"""Expressions on Spark against the interpreter: the same type and the same value for every row."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.random_data import value as small_value
from tests.random_expressions import computed, condition
from tests.random_graphs import EVENTS
from tests.spark.nasty_values import rows
from tests.spark.random_typed import INEXACT, SCHEMA, TARGETS, TYPES, any_expression, call, signatures
from tradewind.algebra.casting import convertible
from tradewind.algebra.expressions.functions import FUNCTIONS
from tradewind.algebra.expressions.tree import Call, Cast, Column, Expression, Literal, walk
from tradewind.algebra.expressions.typing import parse_condition, parse_expression, resolve, type_of
from tradewind.algebra.schema import Schema, parse_schema
from tradewind.algebra.types import DOUBLE, INT, STRING, DataType
from tradewind.errors import InputError
from tradewind.interpreter.comparison import group_key
from tradewind.interpreter.evaluate import condition as holds
from tradewind.interpreter.evaluate import evaluator
from tradewind.interpreter.values import single
from tradewind.spark.expressions import SETTINGS, condition_sql, spark_sql
from tradewind.spark.types import ddl, from_arrow, to_arrow

pytestmark = pytest.mark.spark

TOLERANCE = 1e-12
"""How far results of `INEXACT` functions may be apart, in proportion. Everything else is equal to the last bit."""

_RULES = "spark.sql.optimizer.excludedRules"
_COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@pytest.fixture(scope="module", params=[_COMPILED, _INTERPRETED], ids=["compiled", "interpreted"])
def engine(spark, request):
    """Spark as it runs many rows and as it runs few, by code of its own each time; and never while it plans."""
    late = f"{SETTINGS[_RULES]},org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"
    wanted = {**request.param, _RULES: late}
    before = {name: spark.conf.get(name) for name in wanted}
    for name, setting in wanted.items():
        spark.conf.set(name, setting)
    yield spark
    for name, setting in before.items():
        spark.conf.set(name, setting)


def same(found, wanted, tolerance: float) -> bool:
    if isinstance(found, tuple) and isinstance(wanted, tuple):
        return len(found) == len(wanted) and all(map(same, found, wanted, itertools.repeat(tolerance)))
    if isinstance(found, float) and isinstance(wanted, float):
        # repr tells 0.0 from -0.0, and lets NaN be NaN.
        return repr(found) == repr(wanted) or (tolerance > 0 and math.isclose(found, wanted, rel_tol=tolerance))
    return type(found) is type(wanted) and found == wanted


def assert_alike(spark, expressions: list[Expression], data: list[tuple], schema: Schema) -> None:
    """One select of all expressions: each column has the type and the values that the interpreter gives."""
    types = [type_of(expression, schema) for expression in expressions]
    texts = [spark_sql(expression, schema) for expression in expressions]
    columns = [f"{text} AS r{place}" for place, text in enumerate(texts)]
    frame = spark.createDataFrame(to_arrow(data, schema)).selectExpr(*columns)
    expected = Schema(tuple((f"r{place}", type_) for place, type_ in enumerate(types)))
    for field, text, type_ in zip(frame.schema, texts, types, strict=True):
        assert field.dataType.simpleString() == simple_string(spark, type_), text
    found = from_arrow(frame.toArrow(), expected)
    for place, (expression, type_) in enumerate(zip(expressions, types, strict=True)):
        answer = evaluator(expression, schema)
        inexact = any(isinstance(part, Call) and part.function in INEXACT for part in walk(expression))
        for row, results in zip(data, found, strict=True):
            wanted = group_key(answer(row), type_)
            given_row = dict(zip(schema.names, row, strict=True))
            assert same(results[place], wanted, TOLERANCE if inexact else 0.0), (
                f"{texts[place]} gives {results[place]!r}, not {wanted!r}, for {given_row}"
            )


_SIMPLE: dict[DataType, str] = {}


def simple_string(spark, type_: DataType) -> str:
    """A type as Spark names it."""
    if type_ not in _SIMPLE:
        _SIMPLE[type_] = spark.createDataFrame([], f"x {ddl(type_)}").schema[0].dataType.simpleString()
    return _SIMPLE[type_]


@settings(max_examples=5)
@given(st.integers(0, 2**32))
def test_random_expressions(engine, seed):
    chance = random.Random(seed)
    expressions = [any_expression(chance) for _ in range(40)]
    assert_alike(engine, expressions, rows(SCHEMA, 20, chance), SCHEMA)


@settings(max_examples=3)
@given(st.integers(0, 2**32))
def test_random_expressions_as_the_rules_see_them(engine, seed):
    chance = random.Random(seed)
    expressions = [computed(EVENTS, chance, 3) for _ in range(30)] + [condition(EVENTS, chance) for _ in range(30)]
    data = [tuple(small_value(type_, chance) for _, type_ in EVENTS.columns) for _ in range(30)]
    assert_alike(engine, expressions, data, EVENTS)


@settings(max_examples=2)
@given(st.integers(0, 2**32))
def test_random_filters_of_files(engine, tmp_path_factory, seed):
    """What is pushed into files, or derived from other conditions, drops no other rows."""
    chance = random.Random(seed)
    numbered = Schema((*EVENTS.columns, ("id", INT)))
    data = [(*(small_value(type_, chance) for _, type_ in EVENTS.columns), place) for place in range(40)]
    folder = str(tmp_path_factory.mktemp("filters") / "rows")
    engine.createDataFrame(to_arrow(data, numbered)).write.parquet(folder)
    conditions = [condition(EVENTS, chance) for _ in range(15)]
    frame = engine.read.parquet(folder)
    parts = [
        frame.where(condition_sql(each, EVENTS)).selectExpr(f"{place} AS place", "id")
        for place, each in enumerate(conditions)
    ]
    found = defaultdict(set)
    for row in functools.reduce(lambda one, two: one.union(two), parts).collect():
        found[row.place].add(row.id)
    for place, each in enumerate(conditions):
        keeps = holds(each, EVENTS)
        assert found[place] == {row[-1] for row in data if keeps(row)}, condition_sql(each, EVENTS)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_each_function(engine, name):
    """Columns of nasty values under each of a function's kinds of arguments."""
    chance = random.Random(name)
    taken = signatures()[name]
    some = chance.sample(taken, min(12, len(taken)))
    expressions = []
    for types in some:
        try:
            expressions.append(resolve(call(name, types, chance, 0), SCHEMA)[0])
        except InputError:
            continue
    assert expressions
    assert_alike(engine, expressions, rows(SCHEMA, 60, chance), SCHEMA)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("source", TYPES, ids=str)
def test_each_conversion(engine, source):
    chance = random.Random(str(source))
    column = next(name for name, type_ in SCHEMA.columns if type_ == source)
    casts = [Cast(Column(column), target) for target in TARGETS if target != source and convertible(source, target)]
    assert_alike(engine, list(casts), rows(SCHEMA, 120, chance), SCHEMA)


def test_every_character_of_a_text_survives(engine):
    texts = (
        "it's", "\\", "\\n", "a\\'b", '"', "`", "\x00", "\n\r\t", "${env:HOME}", "$", "{}", "--", "/* */", ";", "😀",
        "?", ":name", "%", "\\u0041", "\u2028", "\ud7ff\ue000\uffff", "".join(map(chr, range(1, 256))),
    )  # fmt: skip
    assert_alike(engine, [Literal(text, STRING) for text in texts], [(1,)], parse_schema("a INT"))


def test_every_name_is_only_a_name(engine):
    names = ["end", "a b", "a`b", "a.b", "${env:HOME}", "select", "'", "1", "é", "v", "p", "k", "c", "e"]
    schema = Schema(tuple((name, DOUBLE) for name in names))
    texts = [Cast(Column(name), STRING) for name in names]
    floors = [Call("floor", (Call("*", (Column(name), Column("v"))),)) for name in names]
    data = [tuple(2.0 ** (sign * place) for place, _ in enumerate(names, 40)) for sign in (1, -1)]
    assert_alike(engine, [*texts, *floors], data, schema)


def test_deep_nesting_does_not_double_the_text(engine):
    schema = parse_schema("x DOUBLE")
    deep: Expression = Column("x")
    for _ in range(12):
        deep = Cast(Cast(Call("floor", (Call("/", (deep, Literal(1.5, DOUBLE))),)), STRING), DOUBLE)
    assert len(spark_sql(deep, schema)) < 5_000
    assert_alike(engine, [deep], [(1e15,), (-3.5,), (math.nan,), (None,)], schema)


def test_numbers_as_text_where_java_is_not_the_shortest(engine):
    chance = random.Random(1)
    data = [(2.0**power, 2.0 ** (power % 270 - 145)) for power in range(-1060, 1024, 7)]
    for _ in range(300):
        large = single(chance.randrange(2**24) * 2.0 ** chance.randrange(100))
        data.append((float(chance.randrange(2**53) << chance.randrange(75)), large))
        tiny = chance.randrange(1, 4000) * 2.0**-149
        data.append((float(f"{chance.randrange(1000)}e{chance.randrange(15, 30)}"), tiny))
    schema = parse_schema("x DOUBLE, f FLOAT")
    texts = ["CAST(x AS STRING)", "CAST(f AS STRING)", "CAST(x AS DECIMAL(38,8))", "CAST(f AS DECIMAL(38,38))"]
    expressions = [parse_expression(text, schema) for text in (*texts, "round(x, -20)")]
    assert_alike(engine, expressions, data, schema)


PLAIN = [
    # expression, what is printed: nothing is guarded where nothing can go wrong
    ("status < 500", "(`status` < 500)"),
    ("status <> -1 AND domain = 'a' OR x >= 0.5D", "(((`status` <> -1) AND (`domain` = 'a')) OR (`x` >= 0.5D))"),
    ("ts >= TIMESTAMP '2026-01-01'", "(`ts` >= timestamp_micros(1767225600000000L))"),
    ("domain LIKE 'a%'", "(`domain` LIKE 'a%')"),
    ("status IN (1, 2)", "(`status` IN (1, 2))"),
    ("status IS NOT NULL", "(`status` IS NOT NULL)"),
    ("bytes + status", "try_add(`bytes`, CAST(`status` AS BIGINT))"),
    ("CAST(status AS BIGINT) * 1000 + 7", "((CAST(`status` AS BIGINT) * 1000L) + 7L)"),
    ("hour(ts) * 60 + minute(ts)", "((hour(`ts`) * 60) + minute(`ts`))"),
    ("pmod(bytes, 16) + 1", "(pmod(`bytes`, 16L) + 1L)"),
    ("x + 1", "(`x` + 1.0D)"),
    ("x * 2 < 1", "((`x` * 2.0D) < 1.0D)"),
    ("bytes div 10", "(`bytes` div 10L)"),
    ("w.start", "`w`['start']"),
    ("status + 1", "try_add(`status`, 1)"),
    ("ts + INTERVAL 1 MINUTE", "timestamp_micros(try_add(unix_micros(`ts`), 60000000L))"),
    ("abs(price)", "abs(`price`)"),
]  # fmt: skip
REQUESTS = parse_schema(
    "ts TIMESTAMP, domain STRING, bytes BIGINT, status INT, x DOUBLE, price DECIMAL(10,2), "
    "w STRUCT<start: TIMESTAMP, `end`: TIMESTAMP>"
)


@pytest.mark.parametrize(("text", "printed"), PLAIN)
def test_plain_things_stay_plain(text, printed):
    assert spark_sql(parse_expression(text, REQUESTS), REQUESTS) == printed


PUSHED = {
    "status < 500": "LessThan(status,500)",
    "ts >= TIMESTAMP '2026-01-01'": "GreaterThanOrEqual(ts,2026-01-01",
    "domain LIKE 'a%'": "StringStartsWith(domain,a)",
    "bytes IN (1, 2)": "In(bytes, [1,2])",
    "CAST(status AS BIGINT) > 7": "GreaterThan(status,7)",
    "price > 1.50BD": "GreaterThan(price,1.50)",
    "w.start < TIMESTAMP '2026-01-01'": "LessThan(w.start,2026-01-01",
}


def test_conditions_reach_the_files(spark, tmp_path):
    folder = str(tmp_path / "requests")
    spark.createDataFrame(to_arrow([], REQUESTS)).write.parquet(folder)
    for text, pushed in PUSHED.items():
        frame = spark.read.parquet(folder).where(condition_sql(parse_condition(text, REQUESTS), REQUESTS))
        plan = frame._jdf.queryExecution().executedPlan().toString()
        assert pushed in plan.partition("PushedFilters:")[2], text
