"""Answers worked out anew, less those given out before: the deltas that an operator owes."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tradewind.algebra.operators.base import Operator
from tradewind.spark.columns import DUE, UNTIL, WEIGHT, consolidated, quoted
from tradewind.spark.step import Step, together
from tradewind.spark.types import quote


def of_groups(rows: DataFrame, touched: DataFrame, groups: Sequence[str]) -> DataFrame:
    """The rows of the groups that something happened to."""
    if not groups:
        return rows
    named = touched.selectExpr(*(f"{quote(name)} AS `_g{i}`" for i, name in enumerate(groups)))
    same = " AND ".join(f"{quote(name)} <=> `_g{i}`" for i, name in enumerate(groups))
    return rows.join(named, f.expr(same), "left_semi")


def difference(
    node: Operator,
    step: Step,
    answers: DataFrame | None,
    stored: DataFrame | None,
    *,
    until: str = DUE,
    role: str = "answers",
) -> DataFrame | None:
    """New answers (columns, `_due`, `_weight`) less the stored ones, remembered as given out until `until`."""
    shown = [*node.schema.names, DUE]
    come = answers.select(*quoted([*shown, WEIGHT])) if answers is not None else None
    gone = stored.selectExpr(*quoted(shown), f"-{WEIGHT} AS {WEIGHT}") if stored is not None else None
    both = together(come, gone)
    if both is None:
        return None
    given = step.append(node, role, consolidated(both, shown).selectExpr("*", f"{until} AS {UNTIL}"))
    return given.drop(UNTIL) if given is not None else None
