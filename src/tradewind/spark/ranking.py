"""Top: the first k rows of each group, worked out for the groups that changed, before and after in one pass."""

from __future__ import annotations

from pyspark.sql import DataFrame

from tradewind.algebra.operators.core import Top
from tradewind.spark.columns import DUE, UNTIL, WEIGHT, due_sql, quoted
from tradewind.spark.differences import of_groups
from tradewind.spark.step import Step, together
from tradewind.spark.types import quote


def top(node: Top, step: Step) -> DataFrame | None:
    """What enters the first k, and what has to leave them."""
    news = step.deltas[node.input]
    if news is None:
        return None
    names, per = list(node.input.schema.names), list(node.per)
    before = step.read(node, "rows")
    until = due_sql(node.schema)
    written = step.append(node, "rows", news.selectExpr(*quoted(names), WEIGHT, f"{until} AS {UNTIL}"))
    if written is None:
        return None
    touched = written.select(*quoted(per)).distinct() if per else written
    old = of_groups(before, touched, per) if before is not None else None
    was = old.selectExpr(*quoted(names), f"{WEIGHT} AS _old", f"{WEIGHT} AS _new") if old is not None else None
    come = written.selectExpr(*quoted(names), "0L AS _old", f"{WEIGHT} AS _new")
    rows = together(was, come)
    if rows is None:
        return None
    counted = rows.groupBy(*quoted(names)).agg({"_old": "sum", "_new": "sum"})
    counted = counted.selectExpr(
        *quoted(names), "greatest(`sum(_old)`, 0L) AS _old", "greatest(`sum(_new)`, 0L) AS _new"
    )
    return _changes(node, counted.where("_old > 0 OR _new > 0"))


def _changes(node: Top, rows: DataFrame) -> DataFrame:
    names = list(node.input.schema.names)
    asked = dict(node.by)
    order = [f"{quote(name)} {'DESC' if down else 'ASC'}" for name, down in node.by]
    order += [f"{quote(name)} ASC" for name in names if name not in asked]
    by = f"PARTITION BY {', '.join(quoted(node.per))} " if node.per else ""
    ahead = f"OVER ({by}ORDER BY {', '.join(order)} ROWS UNBOUNDED PRECEDING)"
    ranked = rows.selectExpr(
        *quoted(names), "_old", "_new", f"sum(_old) {ahead} - _old AS _a", f"sum(_new) {ahead} - _new AS _b"
    )
    placed = ranked.where(f"(_a < {node.k} AND _old > 0) OR (_b < {node.k} AND _new > 0)")
    inside = [f"greatest(0L, least({count}, {node.k}L - {place}))" for count, place in (("_old", "_a"), ("_new", "_b"))]
    if node.rank is None:
        deltas = placed.selectExpr(*quoted(names), f"{inside[1]} - {inside[0]} AS {WEIGHT}").where(f"{WEIGHT} <> 0")
    else:
        was, now = (f"{_places(place, count)}" for place, count in zip(("_a", "_b"), inside, strict=True))
        gone = f"transform(array_except({was}, {now}), p -> named_struct('p', p, 'w', -1L))"
        come = f"transform(array_except({now}, {was}), p -> named_struct('p', p, 'w', 1L))"
        each = placed.selectExpr(*quoted(names), f"explode(concat({gone}, {come})) AS _x")
        deltas = each.selectExpr(*quoted(names), f"CAST(_x.p AS INT) AS {quote(node.rank)}", f"_x.w AS {WEIGHT}")
    return deltas.selectExpr(*quoted(node.schema.names), f"{due_sql(node.schema)} AS {DUE}", WEIGHT)


def _places(ahead: str, count: str) -> str:
    """The places that copies of a row take, from 1."""
    return f"if({count} > 0, sequence({ahead} + 1L, {ahead} + {count}), array())"
