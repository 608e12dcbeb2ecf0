"""Operators that look at a row's neighbours, run in Arrow: each of a few hash buckets takes its new rows at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from tradewind.algebra.operators.aggregation import WINDOW, Aggregate
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BIGINT, is_fraction
from tradewind.spark.aggregates.answers import answered
from tradewind.spark.buckets.dispatch import bucket_keys, bucket_operator, needs_arrival
from tradewind.spark.buckets.operator import Moment
from tradewind.spark.buckets.summing import Sum, summed, sums_of
from tradewind.spark.buckets.task import BUCKET, Dealt, Task, place_name
from tradewind.spark.columns import ARRIVAL, DUE, WEIGHT, due_sql, least, quoted
from tradewind.spark.step import Step
from tradewind.spark.types import arrow_type, ddl, quote, schema_ddl
from tradewind.spark.weights import is_unit
from tradewind.spark.windows import IN_WINDOW

_COMES = "_comes"


def ordered(node: Order | Resample | WaitFor, step: Step) -> DataFrame | None:
    """Bounded sort, resample and waitfor: the rows that come out, as deltas."""
    shape = _struct(f"{schema_ddl(node.schema)}, {DUE} BIGINT, {WEIGHT} BIGINT")
    return _through_buckets(node, step, shape)


def paned(node: Aggregate, step: Step) -> DataFrame | None:
    """Windows over neighbours: buckets say which rows a window holds, and they or Spark aggregate each window."""
    sums = sums_of(node)
    answers = _answered_by_spark(node, step) if sums is None else _answered_in_buckets(node, step, sums)
    if answers is None:
        return None
    due = least(["_pane_due", due_sql(node.schema)])
    return answers.withColumnRenamed(IN_WINDOW, WINDOW).selectExpr(
        *quoted(node.schema.names), f"{due} AS {DUE}", f"_sign AS {WEIGHT}"
    )


def _answered_by_spark(node: Aggregate, step: Step) -> DataFrame | None:
    schema = node.input.schema
    pane = f"_pane BIGINT, _sign BIGINT, {WEIGHT} BIGINT, {_window_ddl(node)}, {schema_ddl(schema)}"
    rows = _through_buckets(node, step, _struct(pane))
    if rows is None:
        return None
    # Panes are numbered within a bucket, and a key is in only one of them.
    groups = ["_pane", "_sign", IN_WINDOW, "_pane_due", *node.keys]
    found = answered(rows, groups, node.functions, schema, lean=True)
    return step.materialised(found, step.remembered(node, "answers"))


def _answered_in_buckets(node: Aggregate, step: Step, sums: list[Sum]) -> DataFrame | None:
    schema = node.input.schema
    keys = [f"{quote(key)} {ddl(schema.type_of(key))}" for key in node.keys]
    # By place: an answer may have the name of a column that the pane has too.
    answers = [f"_answer{i} {ddl(call.type(schema))}" for i, (_, call) in enumerate(node.functions)]
    shape = _struct(", ".join(["_sign BIGINT", _window_ddl(node), *keys, *answers]))
    rows = _through_buckets(node, step, shape, partial(summed, keys=node.keys, sums=sums))
    if rows is None:
        return None
    named = [f"_answer{i} AS {quote(name)}" for i, (name, _) in enumerate(node.functions)]
    return rows.selectExpr("_sign", IN_WINDOW, "_pane_due", *quoted(node.keys), *named)


def _window_ddl(node: Aggregate) -> str:
    return f"{IN_WINDOW} {ddl(node.schema.type_of(WINDOW))}, _pane_due BIGINT"


def _struct(ddl_text: str) -> StructType:
    return cast("StructType", StructType.fromDDL(ddl_text))


def _through_buckets(
    node: Aggregate | Order | Resample | WaitFor,
    step: Step,
    shape: StructType,
    finish: Callable[[pa.Table], pa.Table] | None = None,
) -> DataFrame | None:
    """Give each bucket its news, now, and what they answer as a frame of the shape; None for nothing."""
    clock = step.clocks[node]
    if all(step.deltas[child] is None for child in node.inputs) and clock.before == clock.now:
        return None
    buckets = step.buckets if all(bucket_keys(node)) else 1
    where, answers = step.remembered(node, "buckets"), step.memory.scratch(step.remembered(node, "out"))
    task = Task(
        bucket_operator(node),
        tuple(_dealt(node, number, step, buckets) for number in range(len(node.inputs))),
        Moment(clock.now, clock.frozen),
        step.memory.folder_of(where),
        step.memory.new_folder(where),
        answers,
        finish,
    )
    told = step.spark.range(0, buckets, 1, buckets).mapInArrow(task.run, "rows BIGINT").collect()
    if not any(row["rows"] for row in told):
        return None
    by_place = StructType([StructField(place_name(i), field.dataType) for i, field in enumerate(shape.fields)])
    return step.spark.read.schema(by_place).parquet(answers).toDF(*shape.names)


def _dealt(node: Aggregate | Order | Resample | WaitFor, number: int, step: Step, buckets: int) -> Dealt:
    """The news of one input written to files, each row with its bucket; where their order matters, with what tells it:
    as the source had them or, of one batch's deltas, what is taken back first and then by content.
    """
    child = node.inputs[number]
    frame = step.deltas[child]
    columns = [*child.schema.columns, (DUE, BIGINT), (WEIGHT, BIGINT)]
    schema = pa.schema([(name, arrow_type(type_)) for name, type_ in columns])
    if frame is None:
        return Dealt(None, schema)
    keys = [_hashed(child.schema, key) for key in bucket_keys(node)[number]]
    bucket = [f"CAST(pmod(xxhash64({', '.join(keys)}), {buckets}) AS INT) AS {BUCKET}"] if buckets > 1 else []
    written = columns[:-1] if is_unit(child) else columns
    parts = [f"{quote(name)} AS {place_name(i)}" for i, (name, _) in enumerate(written)]
    order: list[str] = []
    if needs_arrival(node):
        order = [name for name in ARRIVAL if name in frame.columns]
        parts += order
        if not order:
            parts.append(f"{WEIGHT} > 0 AS {_COMES}")
            order = [_COMES, *map(place_name, range(len(child.schema.columns)))]
    folder = step.memory.scratch(step.remembered(node, f"news-{number}"))
    frame.selectExpr(*bucket, *parts).write.mode("overwrite").parquet(folder, compression="uncompressed")
    return Dealt(folder, schema, tuple(order))


def _hashed(schema: Schema, key: str) -> str:
    return f"{quote(key)} + 0D" if is_fraction(schema.type_of(key)) else quote(key)
