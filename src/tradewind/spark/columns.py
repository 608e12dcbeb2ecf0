"""The columns that travel beside a stream's own: by when a row is settled, and how many of it there are.

`_due` is microseconds since 1970, NULL for what can change until the end; `_weight` is below zero for rows that are
taken back; `_until`, in state, is the moment after which nothing in time can touch a row any more; the columns of
`ARRIVAL`, as far as a source has them, sort rows as they came, where that matters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame

from tradewind.algebra.schema import Schema
from tradewind.spark.types import quote

DUE, WEIGHT, UNTIL = "_due", "_weight", "_until"
ARRIVAL = ("_origin", "_file_time", "_file", "_place")
_DAY = 86_400_000_000


def quoted(names: Iterable[str]) -> list[str]:
    """Column names as SQL."""
    return [quote(name) for name in names]


def moment_sql(column: str, schema: Schema, lag: int, under: str | None = None) -> str:
    """The settle time that a column of a schema (under another name) tells: its moment plus a lag; NULL for FOREVER."""
    name = quote(under or column)
    match schema.type_of(column).name:
        case "STRUCT":
            return f"try_add(unix_micros({name}.`end`), {lag - 1}L)"
        case "DATE":
            return f"try_add(unix_date({name}) * {_DAY}L, {lag}L)"
    return f"try_add(unix_micros({name}), {lag}L)" if lag else f"unix_micros({name})"


def due_sql(schema: Schema, **renamed: str) -> str:
    """By when rows of a schema are settled, read off the columns that tell the time, some of them under other names."""
    told = [moment_sql(name, schema, lag, renamed.get(name)) for name, lag in schema.times if name in schema.names]
    return least(told)


def least(moments: Sequence[str]) -> str:
    """The earliest of several moments; NULL, which is FOREVER, only when all are."""
    if not moments:
        return "CAST(NULL AS BIGINT)"
    return moments[0] if len(moments) == 1 else f"least({', '.join(moments)})"


def latest(one: str, two: str) -> str:
    """The later of two moments: FOREVER when one of them is."""
    return f"if({one} IS NULL OR {two} IS NULL, NULL, greatest({one}, {two}))"


def passing(value: int, column: str) -> str:
    """A number that is another one in the next batch, for a comparison with a column.

    Spark writes plain numbers into the code that it compiles for a plan, so each batch would be compiled anew, and run
    slowly until Java has warmed to it. An array is handed to the code instead; its place must look as if it depended
    on the row, or the number would be taken out before.
    """
    return f"array({value}L)[{column} & 0L]"


def is_final_sql(due: str, mark: float) -> str:
    """Whether a row that is settled at `due` can be relied on at a mark."""
    if mark == math.inf:
        return "true"
    return "false" if mark == -math.inf else f"coalesce({due} < {passing(int(mark), due)}, false)"


def reaches_sql(until: str, threshold: float) -> str:
    """Whether a remembered row can still be touched by what comes from the threshold on."""
    if threshold == -math.inf:
        return "true"
    if threshold == math.inf:
        return f"{until} IS NULL"
    return f"({until} IS NULL OR {until} >= {passing(int(threshold), until)})"


def consolidated(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Each different row once, with its weights added up; what cancels out is gone."""
    return frame.groupBy(*quoted(columns)).agg({WEIGHT: "sum"}).withColumnRenamed(f"sum({WEIGHT})", WEIGHT).where(
        f"{WEIGHT} <> 0"
    )  # fmt: skip
