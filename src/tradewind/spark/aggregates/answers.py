"""Exact answers of all aggregates over rows that are all at hand, each with how many there are of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from tradewind.algebra.aggregates import AGGREGATES, AggregateCall
from tradewind.algebra.operators.aggregation import Functions
from tradewind.algebra.schema import Schema
from tradewind.spark.aggregates.parts import Rows
from tradewind.spark.aggregates.states import state_of, wants_copies
from tradewind.spark.columns import WEIGHT, quoted
from tradewind.spark.expressions import spark_sql
from tradewind.spark.types import quote
from tradewind.spark.weights import single_copies


def answered(
    rows: DataFrame, groups: Sequence[str], functions: Functions, schema: Schema, *, lean: bool = False
) -> DataFrame:
    """One row for each group that holds rows: its columns, then the answers. `_weight` says how often a row is there;
    where none is owed, states can be lean.

    What is approximate elsewhere is exact here: all rows are at hand, and an answer that is worked out twice must be
    the same twice.
    """
    if any(wants_copies(_exact(call), schema) for _, call in functions):
        rows = single_copies(rows)
    parts: list[Column] = []
    shown: list[str] = []
    for number, (name, call) in enumerate(functions):
        lifted, answer = _answer(_exact(call), schema, lean)
        names = [f"_p{number}_{place}" for place in range(len(lifted))]
        parts += [f.expr(sql).alias(part) for part, sql in zip(names, lifted, strict=True)]
        shown.append(f"{answer(*names)} AS {quote(name)}")
    counted = rows.groupBy(*quoted(groups)).agg(f.expr(f"sum({WEIGHT})").alias("_rows"), *parts)
    return counted.where("_rows > 0").selectExpr(*quoted(groups), *shown)


def _exact(call: AggregateCall) -> AggregateCall:
    twin = call.definition.exact_twin if call.user is None else None
    if twin is None:
        return call
    return replace(call, function=twin, parameters=call.parameters[: len(AGGREGATES[twin].parameters)])


def _answer(call: AggregateCall, schema: Schema, lean: bool) -> tuple[list[str], Callable[..., str]]:
    """SQL aggregates over the rows, and the answer's SQL from them."""
    values = tuple(spark_sql(argument, schema) for argument in call.arguments)
    there = f"FILTER (WHERE {WEIGHT} > 0)"
    if call.user is None and call.function == "count_distinct":
        return [f"count(DISTINCT {values[0]}) {there}"], lambda count: count
    if call.user is None and call.function == "percentile":
        return _percentile(f"CAST({values[0]} AS DOUBLE)", float(str(call.parameters[0])), there)
    rows = Rows(values, WEIGHT, quote(schema.time) if schema.time else None)
    state = state_of(call, call.state_type(schema).fields[0][1], rows, lean=lean)
    return [part.lift for part in state.parts], state.finish


def _percentile(value: str, share: float, there: str) -> tuple[list[str], Callable[..., str]]:
    """Spark draws its line from the lower neighbour, which gives NaN when that, or the upper one, is infinite: then the
    places of the infinities decide.
    """
    odd = [
        f"coalesce(sum(if({value} = double('{one}'), {WEIGHT}, 0L)) {there}, 0L)"
        for one in ("-Infinity", "Infinity", "NaN")
    ]
    count = f"coalesce(sum(if({value} IS NULL, 0L, {WEIGHT})) {there}, 0L)"

    def answer(found: str, down: str, up: str, nan: str, all_values: str) -> str:
        place = f"(({all_values} - 1) * {share!r}D)"
        low, high = f"floor({place}) < {down}", f"ceil({place}) >= {all_values} - {up} - {nan}"
        beyond = f"ceil({place}) >= {all_values} - {nan}"
        ends = f"CASE WHEN {beyond} OR ({low} AND {high}) THEN {found} WHEN {low} THEN double('-Infinity')"
        return f"if(isnan({found}), {ends} WHEN {high} THEN double('Infinity') ELSE {found} END, {found} + 0D)"

    return [f"percentile({value}, {share!r}D, {WEIGHT}) {there}", *odd, count], answer
