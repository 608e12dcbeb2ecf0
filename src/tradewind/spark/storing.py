"""Read and update boxes: their new rows are brought to the database, and what the reads find comes back as rows."""

from __future__ import annotations

import math

from pyspark.sql import DataFrame

from tradewind.algebra.operators.stored import Read, Update
from tradewind.spark.columns import DUE, WEIGHT, quoted
from tradewind.spark.expressions import spark_sql
from tradewind.spark.step import Step, together
from tradewind.spark.types import quote


def update(node: Update, step: Step) -> DataFrame | None:
    """What is reported; the statements are done to the table, and reads that they touch are answered anew."""
    news = step.deltas[node.input]
    if news is None:
        return None
    _bring(node, step, news)
    schema = node.input.schema
    report = [f"{spark_sql(expression, schema)} AS {quote(name)}" for name, expression in node.report]
    return news.selectExpr(*report, DUE, WEIGHT)


def read(node: Read, step: Step) -> DataFrame | None:
    """What the rows find in the table, and what earlier rows find in another way since it was updated."""
    news = step.deltas[node.input]
    if news is not None:
        _bring(node, step, news)
    return together(*step.found.pop(node, ()))


def _bring(node: Read | Update, step: Step, news: DataFrame) -> None:
    """Hand rows to the tables and keep what each read box finds: the database is asked once."""
    frozen = step.clocks[node].frozen
    rows = news.select(*quoted([*node.input.schema.names, DUE, WEIGHT])).toArrow()
    found = step.tables.advance(step.batch, {node: rows}, int(frozen) if math.isfinite(frozen) else None)
    for box, answers in found.items():
        if answers.num_rows:
            step.found.setdefault(box, []).append(step.spark.createDataFrame(answers))
