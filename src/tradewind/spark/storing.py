"""Read and update boxes: their new rows are brought to the database, and what the reads find comes back as rows."""

from __future__ import annotations

import math

import pyarrow as pa
from pyspark.sql import DataFrame

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.stored import Read, Update
from tradewind.spark.columns import DUE, WEIGHT, quoted
from tradewind.spark.expressions import spark_sql
from tradewind.spark.step import Step, together
from tradewind.spark.types import quote

Box = Read | Update


def update(node: Update, step: Step) -> DataFrame | None:
    """What is reported; the rows wait until someone reads the table, or the batch ends."""
    news = step.deltas[node.input]
    step.waiting[node] = _rows(node, news)
    if news is None:
        return None
    schema = node.input.schema
    report = [f"{spark_sql(expression, schema)} AS {quote(name)}" for name, expression in node.report]
    return news.selectExpr(*report, DUE, WEIGHT)


def read(node: Read, step: Step) -> DataFrame | None:
    """What the rows find in the table, and what earlier rows find in another way since it was updated."""
    ready = {box: rows for box, rows in step.waiting.items() if _table(box) == node.table.name}
    ready[node] = _rows(node, step.deltas[node.input])
    for box in ready:
        step.waiting.pop(box, None)
    bring(step, ready)
    return together(*step.found.pop(node, ()))


def bring(step: Step, ready: dict[Box, pa.Table]) -> None:
    """Hand rows to the tables, all boxes in one call where their bounds agree, and keep what each read box finds."""
    for frozen in {step.clocks[box].frozen for box in ready}:
        given: dict[Operator, pa.Table] = {
            box: rows for box, rows in ready.items() if step.clocks[box].frozen == frozen
        }
        found = step.tables.advance(step.batch, given, int(frozen) if math.isfinite(frozen) else None)
        for box, answers in found.items():
            if answers.num_rows:
                step.found.setdefault(box, []).append(step.spark.createDataFrame(answers))


def _table(box: Box) -> str:
    return box.table.name


def _rows(node: Box, news: DataFrame | None) -> pa.Table:
    """New rows in this process; a box without any still hears how far time has come."""
    if news is None:
        return pa.table({})
    return news.select(*quoted([*node.input.schema.names, DUE, WEIGHT])).toArrow()
