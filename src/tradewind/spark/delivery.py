"""What a query's reader gets: its deltas, each with whether it can be relied on.

A row goes out as soon as it is known, tentatively, and once more when the mark has passed it: the tentative one is
taken back and the final one comes. Rows that are never taken back are final at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.schema import Schema
from tradewind.spark.columns import DUE, UNTIL, WEIGHT, is_final_sql, quoted
from tradewind.spark.step import Step, together

FINAL = "_final"
_WAITING, _NEWS = "_waiting", "_news"


@dataclass(frozen=True, slots=True)
class Wish:
    """A query whose rows are delivered, and whether its reader wants to see rows that may still change."""

    name: str
    operator: Operator
    tentative: bool = True


def deliverable(wish: Wish, step: Step, news: DataFrame | None) -> DataFrame | None:
    """The columns, `_final` and `_weight` of everything that a batch has to tell a reader; None for nothing."""
    names = list(wish.operator.schema.names)
    if wish.operator.append_only:
        return None if news is None else news.selectExpr(*quoted(names), f"true AS {FINAL}", WEIGHT)
    clock = step.clocks[wish.operator]
    if news is None and clock.before == clock.now:
        return None
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
    written = step.memory.rewrite(table, rows.where(f"{_WAITING} <> 0 OR {_NEWS} <> 0"), float("-inf"))
    return None if written is None else _told(written, names, is_final_sql(DUE, clock.now), wish.tentative)


def _told(rows: DataFrame, names: list[str], final: str, tentative: bool) -> DataFrame:
    """The deltas of rows of which so many had been told tentatively and so many are new."""
    come = f"if({final}, {_WAITING} + {_NEWS}, {_NEWS if tentative else '0L'})"
    gone = f"if({final}, -{_WAITING}, 0L)" if tentative else "0L"
    each = f"array(named_struct('f', false, 'w', {gone}), named_struct('f', {final}, 'w', {come}))"
    told = rows.selectExpr(*quoted(names), f"explode(filter({each}, x -> x.w <> 0)) AS _x")
    return told.selectExpr(*quoted(names), f"_x.f AS {FINAL}", f"_x.w AS {WEIGHT}")


def delivered_schema(schema: Schema) -> str:
    """What delivered rows look like, for people."""
    return f"{schema}, {FINAL} BOOLEAN, {WEIGHT} BIGINT"
