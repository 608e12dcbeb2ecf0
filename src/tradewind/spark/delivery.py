"""What a query's reader gets: its deltas, each with whether it can be relied on.

A row goes out as soon as it is known, tentatively, and once more when the mark has passed it: the tentative one is
taken back and the final one comes. Rows that are never taken back are final at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.schema import Schema
from tradewind.spark.columns import DUE, UNTIL, WEIGHT, is_final_sql, quoted
from tradewind.spark.step import Step, together
from tradewind.spark.weights import exchanges

FINAL = "_final"
_WAITING, _NEWS = "_waiting", "_news"


@dataclass(frozen=True, slots=True)
class Wish:
    """A query whose rows are delivered, and whether its reader wants to see rows that may still change."""

    name: str
    operator: Operator
    tentative: bool = True


@dataclass(frozen=True, slots=True)
class Totals:
    """How many rows an answer has, or gets, by whether they can be relied on."""

    final: int = 0
    tentative: int = 0

    def __add__(self, more: Totals) -> Totals:
        """Both together."""
        return Totals(self.final + more.final, self.tentative + more.tentative)


def totals_of(delivered: pa.Table) -> Totals:
    """How many rows deltas add up to."""
    final = pc.sum(delivered[WEIGHT].filter(delivered[FINAL])).as_py() or 0
    return Totals(final, (pc.sum(delivered[WEIGHT]).as_py() or 0) - final)


def totals_in(folder: Path) -> Totals:
    """How many rows the deltas in a folder's Parquet files add up to; most often their footers tell.

    Spark could observe that on the way, but a plan with an observation is a third slower, and one that Catalyst finds
    to be empty is never heard of.
    """
    found = Totals()
    for file in sorted(folder.glob("*.parquet")):
        with pq.ParquetFile(file) as opened:
            told = opened.metadata
            for group in range(told.num_row_groups):
                same = [_only_value(told.row_group(group), name) for name in (FINAL, WEIGHT)]
                if None in same:
                    found += totals_of(opened.read_row_group(group, columns=[FINAL, WEIGHT]))
                else:
                    rows = told.row_group(group).num_rows * same[1]
                    found += Totals(final=rows) if same[0] else Totals(tentative=rows)
    return found


def _only_value(group: pq.RowGroupMetaData, name: str) -> Any:
    """The value that a column has in all rows of a row group, if its statistics show that."""
    for place in range(group.num_columns):
        column = group.column(place)
        if column.path_in_schema == name and column.statistics is not None and column.statistics.has_min_max:
            return column.statistics.min if column.statistics.min == column.statistics.max else None
    return None


def deliverable(wish: Wish, step: Step, news: DataFrame | None, *, lasting: bool = True) -> DataFrame | None:
    """The columns, `_final` and `_weight` of everything that a batch has to tell a reader; None for nothing.

    What was told is remembered, unless it is not to last.
    """
    names = list(wish.operator.schema.names)
    if wish.operator.append_only:
        return None if news is None else news.selectExpr(*quoted(names), f"true AS {FINAL}", WEIGHT)
    clock = step.clocks[wish.operator]
    if news is None and clock.before == clock.now:
        return None
    final = is_final_sql(DUE, clock.now)
    direct = None
    if news is not None and exchanges(wish.operator):
        # Rows that come once and are final at once, most often nearly all, need not be compared with any others.
        direct = news.where(f"{final} AND {WEIGHT} > 0").selectExpr(*quoted(names), f"true AS {FINAL}", WEIGHT)
        news = news.where(f"NOT ({final} AND {WEIGHT} > 0)")
    table = f"query-{wish.name}"
    told = step.memory.read(table, float("-inf"))
    waiting = told.where(f"NOT {is_final_sql(DUE, clock.before)}") if told is not None else None
    both = together(
        waiting.selectExpr(*quoted(names), DUE, f"{_WAITING} + {_NEWS} AS {_WAITING}", f"0L AS {_NEWS}")
        if waiting is not None else None,
        news.selectExpr(*quoted(names), DUE, f"0L AS {_WAITING}", f"{WEIGHT} AS {_NEWS}") if news is not None else None,
    )  # fmt: skip
    if both is None:
        return None
    summed = both.groupBy(*quoted([*names, DUE])).agg({_WAITING: "sum", _NEWS: "sum"})
    totals = [f"`sum({name})` AS {name}" for name in (_WAITING, _NEWS)]
    rows = summed.selectExpr(*quoted([*names, DUE]), *totals, f"{DUE} AS {UNTIL}")
    rows = rows.where(f"{_WAITING} <> 0 OR {_NEWS} <> 0")
    written = step.memory.rewrite(table, rows, float("-inf")) if lasting else rows
    return together(direct, None if written is None else _told(written, names, final, wish.tentative))


def _told(rows: DataFrame, names: list[str], final: str, tentative: bool) -> DataFrame:
    """The deltas of rows of which so many had been told tentatively and so many are new."""
    come = f"if({final}, {_WAITING} + {_NEWS}, {_NEWS if tentative else '0L'})"
    gone = f"if({final}, -{_WAITING}, 0L)" if tentative else "0L"
    each = f"array(named_struct('f', false, 'w', {gone}), named_struct('f', {final}, 'w', {come}))"
    told = rows.selectExpr(*quoted(names), f"explode({each}) AS _x").where("_x.w <> 0")
    return told.selectExpr(*quoted(names), f"_x.f AS {FINAL}", f"_x.w AS {WEIGHT}")


def delivered_schema(schema: Schema) -> str:
    """What delivered rows look like, for people."""
    return f"{schema}, {FINAL} BOOLEAN, {WEIGHT} BIGINT"
