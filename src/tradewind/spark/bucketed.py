"""Operators that look at a row's neighbours, run in Arrow: each of a few hash buckets takes its new rows at once.

A bucket's state lies in Arrow files of the batch that wrote them; a bucket reads those of the last commit and writes
new ones, so a task that is run twice does the same twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import IntegerType, StructField, StructType

from tradewind.algebra.operators.aggregation import WINDOW, Aggregate
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.ordered import Order, Resample
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import is_fraction
from tradewind.spark.aggregates.answers import answered
from tradewind.spark.buckets.dispatch import bucket_keys, bucket_operator, needs_arrival
from tradewind.spark.buckets.operator import BucketOperator, Moment, State
from tradewind.spark.buckets.summing import Sum, summed, sums_of
from tradewind.spark.columns import ARRIVAL, DUE, WEIGHT, due_sql, least, quoted
from tradewind.spark.step import Step
from tradewind.spark.types import ddl, quote, schema_ddl
from tradewind.spark.windows import IN_WINDOW

_INPUT = "_input"
Batches = Iterator[pa.RecordBatch]


def ordered(node: Order | Resample, step: Step) -> DataFrame | None:
    """Bounded sort and resample: the rows that come out, as deltas."""
    shape = _struct(f"{schema_ddl(node.schema)}, {DUE} BIGINT, {WEIGHT} BIGINT")
    found = _through_buckets(node, step, shape, 1 if isinstance(node, Order) else step.buckets)
    return None if found is None else step.materialised(found.drop("_bucket"), step.remembered(node, "out"))


def paned(node: Aggregate, step: Step) -> DataFrame | None:
    """Windows over neighbours: buckets say which rows a window holds, and they or Spark aggregate each window."""
    sums = sums_of(node)
    answers = _answered_by_spark(node, step) if sums is None else _answered_in_buckets(node, step, sums)
    if answers is None:
        return None
    due = least(["_pane_due", due_sql(node.schema)])
    found = answers.withColumnRenamed(IN_WINDOW, WINDOW).selectExpr(
        *quoted(node.schema.names), f"{due} AS {DUE}", f"_sign AS {WEIGHT}"
    )
    return step.materialised(found, step.remembered(node, "out"))


def _answered_by_spark(node: Aggregate, step: Step) -> DataFrame | None:
    schema = node.input.schema
    pane = f"_pane BIGINT, _sign BIGINT, {WEIGHT} BIGINT, {_window_ddl(node)}, {schema_ddl(schema)}"
    rows = _through_buckets(node, step, _struct(pane), _buckets(node, step))
    groups = ["_bucket", "_pane", "_sign", IN_WINDOW, "_pane_due", *node.keys]
    return None if rows is None else answered(rows, groups, node.functions, schema, lean=True)


def _answered_in_buckets(node: Aggregate, step: Step, sums: list[Sum]) -> DataFrame | None:
    schema = node.input.schema
    keys = [f"{quote(key)} {ddl(schema.type_of(key))}" for key in node.keys]
    # By place: an answer may have the name of a column that the pane has too.
    answers = [f"_answer{i} {ddl(call.type(schema))}" for i, (_, call) in enumerate(node.functions)]
    shape = _struct(", ".join(["_sign BIGINT", _window_ddl(node), *keys, *answers]))
    rows = _through_buckets(node, step, shape, _buckets(node, step), partial(summed, keys=node.keys, sums=sums))
    if rows is None:
        return None
    named = [f"_answer{i} AS {quote(name)}" for i, (name, _) in enumerate(node.functions)]
    return rows.selectExpr("_sign", IN_WINDOW, "_pane_due", *quoted(node.keys), *named)


def _window_ddl(node: Aggregate) -> str:
    return f"{IN_WINDOW} {ddl(node.schema.type_of(WINDOW))}, _pane_due BIGINT"


def _buckets(node: Aggregate, step: Step) -> int:
    return step.buckets if node.keys else 1


def _struct(ddl_text: str) -> StructType:
    return cast("StructType", StructType.fromDDL(ddl_text))


def _through_buckets(
    node: Aggregate | Order | Resample,
    step: Step,
    shape: StructType,
    buckets: int,
    finish: Callable[[pa.Table], pa.Table] | None = None,
) -> DataFrame | None:
    """Give each bucket its news. Its new state is written on the way, so what comes out must be worked out, once."""
    clock = step.clocks[node]
    frames = [step.deltas[child] for child in node.inputs]
    if all(frame is None for frame in frames) and clock.before == clock.now:
        return None
    where = step.remembered(node, "buckets")
    work = _task(
        bucket_operator(node),
        [[*child.schema.names, DUE, WEIGHT] for child in node.inputs],
        ["_bucket", *shape.names],
        Moment(clock.now, clock.frozen),
        (step.memory.folder_of(where), step.memory.new_folder(where)),
        finish=finish,
    )
    rows = _dealt(node, step, frames, buckets)
    return rows.mapInArrow(work, StructType([StructField("_bucket", IntegerType()), *shape.fields]))


def _dealt(node: Aggregate | Order | Resample, step: Step, frames: list[DataFrame | None], buckets: int) -> DataFrame:
    """All inputs' news in one frame, a struct for each input, dealt to the buckets by their keys."""
    shapes = [f"STRUCT<{_inner(child.schema)}, {DUE}: BIGINT, {WEIGHT}: BIGINT>" for child in node.inputs]
    dealt = []
    for number, (child, frame) in enumerate(zip(node.inputs, frames, strict=True)):
        if frame is None:
            continue
        keys = [_hashed(child.schema, key) for key in bucket_keys(node)[number]]
        bucket = f"CAST(pmod(xxhash64({', '.join(keys)}), {buckets}) AS INT)" if keys and buckets > 1 else "0"
        parts = [
            f"struct({', '.join(quoted([*child.schema.names, DUE, WEIGHT]))}) AS _r{i}"
            if i == number else f"CAST(NULL AS {shape}) AS _r{i}"
            for i, shape in enumerate(shapes)
        ]  # fmt: skip
        order = [_arrival(child, frame)] if needs_arrival(node) else []
        dealt.append(frame.selectExpr(f"{bucket} AS _to", f"{number} AS {_INPUT}", *parts, *order))
    # A bucket without news must hear of the mark too.
    nothing = (f"CAST(NULL AS {shape}) AS _r{i}" for i, shape in enumerate(shapes))
    waking = step.spark.range(buckets).selectExpr("CAST(id AS INT) AS _to", f"-1 AS {_INPUT}", *nothing)
    rows = waking
    for one in dealt:
        rows = rows.unionByName(one, allowMissingColumns=True)
    rows = rows.repartitionById(buckets, f.col("_to"))
    return rows.sortWithinPartitions(_INPUT, ARRIVAL).drop(ARRIVAL) if ARRIVAL in rows.columns else rows


def _inner(schema: Schema) -> str:
    return ", ".join(f"{quote(name)}: {ddl(type_)}" for name, type_ in schema.columns)


def _hashed(schema: Schema, key: str) -> str:
    return f"{quote(key)} + 0D" if is_fraction(schema.type_of(key)) else quote(key)


def _arrival(child: Operator, frame: DataFrame) -> str:
    """In which order rows count as having come: as the source had them, or, of one batch's deltas, by content."""
    if ARRIVAL in frame.columns:
        return ARRIVAL
    content = ", ".join(quoted(child.schema.names))
    return f"struct(if({WEIGHT} < 0, 0, 1) AS s, struct({content}) AS c) AS {ARRIVAL}"


def _task(
    operator: BucketOperator,
    columns: list[list[str]],
    names: list[str],
    moment: Moment,
    folders: tuple[str | None, str],
    *,
    finish: Callable[[pa.Table], pa.Table] | None,
) -> Callable[[Batches], Batches]:
    """What a worker does for one bucket: from the state in the first folder to that in the second."""
    before, after = folders

    def work(batches: Batches) -> Batches:
        rows = pa.Table.from_batches(list(batches))
        if not rows.num_rows:
            return
        bucket = rows["_to"][0].as_py()
        out, state = operator.advance(_load(before, bucket), _news(rows, columns), moment)
        _save(state, before, after, bucket)
        if finish is not None:
            out = finish(out)
        # Columns go back by place: a pane's rows may have names that its own columns have too.
        parts = [pa.repeat(pa.scalar(bucket, pa.int32()), out.num_rows), *out.columns]
        yield from pa.Table.from_arrays(parts, names=names).to_batches()

    return work


def _news(rows: pa.Table, columns: list[list[str]]) -> list[pa.Table]:
    """Each input's rows; those that only wake the bucket belong to none."""
    found = []
    for number, names in enumerate(columns):
        own = rows.filter(pc.equal(rows[_INPUT], number)) if len(columns) > 1 else rows.filter(pc.is_valid(rows["_r0"]))
        packed = own[f"_r{number}"].combine_chunks()
        parts = packed.flatten() if len(packed) else [pa.array([], field.type) for field in packed.type]
        found.append(pa.Table.from_arrays(parts, names=names))
    return found


def _load(folder: str | None, bucket: int) -> State:
    if folder is None:
        return {}
    files = sorted((Path(folder) / str(bucket)).glob("*.arrow"))
    return {file.stem: pa.ipc.open_file(pa.memory_map(str(file))).read_all() for file in files}


def _save(state: State, before: str | None, folder: str, bucket: int) -> None:
    place = Path(folder) / str(bucket)
    place.mkdir(parents=True, exist_ok=True)
    for name, table in state.items():
        if "-cold-" in name and before is not None and (old := Path(before) / str(bucket) / f"{name}.arrow").exists():
            # Such a table never changes: it is there already.
            (place / old.name).unlink(missing_ok=True)
            (place / old.name).hardlink_to(old)
            continue
        partial = place / f"{name}.partial"
        with pa.OSFile(str(partial), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        partial.replace(place / f"{name}.arrow")
