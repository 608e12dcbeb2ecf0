"""Aggregates that are worked out anew for the groups that changed, from the rows they remember: where rows are taken
back from functions that cannot do so, where a function needs all values, and for sessions.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from tradewind.algebra.aggregates import AggregateCall
from tradewind.algebra.expressions.tree import columns_of
from tradewind.algebra.operators.aggregation import WINDOW, Aggregate
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.windows import SessionWindow, TimeWindow, ValueWindow
from tradewind.spark.aggregates.answers import answered
from tradewind.spark.aggregates.spreads import SPREADS
from tradewind.spark.aggregates.states import ranks_by_sketch
from tradewind.spark.columns import DUE, UNTIL, WEIGHT, consolidated, due_sql, quoted
from tradewind.spark.differences import difference, of_groups
from tradewind.spark.step import Step, together
from tradewind.spark.types import quote
from tradewind.spark.windows import IN_WINDOW, in_windows

_ADDITIVE = frozenset({"count", "count_if", "sum", "avg", *SPREADS})
_ALL_VALUES = frozenset({"count_distinct", "percentile", "top_k"})


def keeps_states(node: Aggregate) -> bool:
    """Whether a small state per group is enough to follow the input."""
    if not isinstance(node.window, TimeWindow | ValueWindow | None):
        return False
    return all(_follows(call, node.input) for _, call in node.functions)


def _follows(call: AggregateCall, given: Operator) -> bool:
    if call.user is not None:
        return given.append_only
    if call.function == "approx_top_k" and not ranks_by_sketch(call.state_type(given.schema).fields[0][1]):
        return False
    return call.function in _ADDITIVE or (given.append_only and call.function not in _ALL_VALUES)


def _needed(node: Aggregate) -> list[str]:
    """The columns of the input that the functions look at."""
    schema = node.input.schema
    wanted = {name for _, call in node.functions for a in call.arguments for name in columns_of(a)}
    if any(call.definition.ordered for _, call in node.functions):
        wanted.add(str(schema.time))
    return [name for name in schema.names if name in wanted and name not in node.keys]


def recomputed(node: Aggregate, step: Step) -> DataFrame | None:
    """Windows that a row alone tells, or none."""
    news = step.deltas[node.input]
    if news is None or not isinstance(node.window, TimeWindow | ValueWindow | None):
        return None
    schema = node.input.schema
    groups = [*node.keys, *([IN_WINDOW] if node.window is not None else [])]
    rows = in_windows(news, node.window, schema)
    until = due_sql(node.schema, window=IN_WINDOW) if node.window is not None else due_sql(node.schema)
    shown = [*quoted(groups), *quoted(_needed(node)), WEIGHT, f"{until} AS {UNTIL}"]
    written = step.append(node, "rows", rows.selectExpr(*shown))
    if written is None:
        return None
    touched = written.select(*quoted(groups)).distinct()
    everything = step.read(node, "rows")
    members = of_groups(everything, touched, groups) if everything is not None else written
    held = consolidated(members.drop(UNTIL), [*groups, *_needed(node)])
    answers = _dated(node, answered(held, groups, node.functions, schema))
    before = step.read(node, "answers")
    if node.window is not None:
        touched = touched.withColumnRenamed(IN_WINDOW, WINDOW)
    stored = of_groups(before, touched, _shown(node)) if before is not None else None
    return difference(node, step, answers, stored)


def sessions(node: Aggregate, step: Step) -> DataFrame | None:
    """Rows of a group that follow one another by at most the gap: what may still be touched is cut anew."""
    window = node.window
    news = step.deltas[node.input]
    if news is None or not isinstance(window, SessionWindow):
        return None
    schema, needed, keys = node.input.schema, _needed(node), list(node.keys)
    time = "_time"
    kept = [*keys, *needed, time]
    shown = [*quoted(keys), *quoted(needed), f"unix_micros({quote(window.column)}) AS {time}", WEIGHT]
    fresh = news.where(f"{quote(window.column)} IS NOT NULL").selectExpr(*shown)
    before = step.read(node, "rows")
    both = together(before.select(*quoted([*kept, WEIGHT])) if before is not None else None, fresh)
    if both is None:
        return None
    rows = _in_sessions(consolidated(both, kept), keys, time, window.gap)
    lag = schema.lag(window.column) or 0
    written = step.rewrite(node, "rows", rows.selectExpr("*", f"_last + {window.gap + lag}L AS {UNTIL}"))
    stored = step.read(node, "answers")
    if written is None:
        return difference(node, step, None, stored)
    bounds = f"named_struct('start', timestamp_micros(_first), 'end', timestamp_micros(_last + {window.gap}L))"
    members = written.where("_first IS NOT NULL").selectExpr("*", f"{bounds} AS {IN_WINDOW}")
    answers = _dated(node, answered(members, [*keys, IN_WINDOW], node.functions, schema))
    return difference(node, step, answers, stored)


def _shown(node: Aggregate) -> list[str]:
    return [*node.keys, *([WINDOW] if node.window is not None else [])]


def _dated(node: Aggregate, answers: DataFrame) -> DataFrame:
    named = answers.withColumnRenamed(IN_WINDOW, WINDOW)
    return named.selectExpr(*quoted(node.schema.names), f"{due_sql(node.schema)} AS {DUE}", f"1L AS {WEIGHT}")


def _in_sessions(rows: DataFrame, keys: list[str], time: str, gap: int) -> DataFrame:
    """Each row with the first and the last time of its session; rows that are owed belong to none."""
    by = f"PARTITION BY {', '.join(quoted(keys))}" if keys else ""
    order = f"ORDER BY {time}"
    there = f"if({WEIGHT} > 0, {time}, NULL)"
    earlier = f"max({there}) OVER ({by} {order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    begins = f"if({WEIGHT} > 0 AND coalesce({time} - {earlier} > {gap}L, true), 1, 0)"
    numbered = rows.selectExpr("*", f"{begins} AS _begins").selectExpr(
        "*", f"sum(_begins) OVER ({by} {order} ROWS UNBOUNDED PRECEDING) AS _session"
    )
    inside = f"PARTITION BY {', '.join([*quoted(keys), '_session'])}"
    first, last = f"min({there}) OVER ({inside})", f"max({there}) OVER ({inside})"
    owed = f"{WEIGHT} <= 0"
    bounded = numbered.selectExpr(
        "*",
        f"if({owed}, NULL, {first}) AS _first",
        f"if({owed}, {time}, {last}) AS _last",
    )
    return bounded.drop("_begins", "_session")
