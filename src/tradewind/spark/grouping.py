"""Aggregate, and the parts it can be split into, over groups that a row alone tells: states kept per group, answers
exchanged.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tradewind.algebra.aggregates import AggregateCall
from tradewind.algebra.operators.aggregation import WINDOW, Aggregate, Combine, Finish, Functions, Merge, Partial
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DataType
from tradewind.algebra.windows import TimeWindow, ValueWindow
from tradewind.spark.aggregates.parts import Rows, State
from tradewind.spark.aggregates.states import state_of, wants_copies
from tradewind.spark.columns import DUE, UNTIL, WEIGHT, due_sql, quoted
from tradewind.spark.expressions import spark_sql
from tradewind.spark.step import Step, together
from tradewind.spark.types import quote
from tradewind.spark.weights import is_unit, single_copies
from tradewind.spark.windows import START, at_starts, window_sql

_COUNT = "_rows"
_NEW = "_new"
_FINER = "_finer_start"


class Column(NamedTuple):
    """An answer's column: its name and its aggregate's state."""

    name: str
    state: State

    def parts(self, number: int) -> list[str]:
        """The names of the state's columns."""
        return [f"_s{number}_{i}" for i in range(len(self.state.parts))]


def value_type(call: AggregateCall, schema: Schema) -> DataType:
    """The type of the values a call aggregates; for user-defined ones, of the states."""
    return call.state_type(schema).fields[0][1]


def columns_of(functions: Functions, schema: Schema, weight: str | None, *, lean: bool) -> list[Column]:
    """The states of an aggregate's functions over rows of a schema."""
    found = []
    for name, call in functions:
        values = tuple(spark_sql(argument, schema) for argument in call.arguments)
        rows = Rows(values, weight, quote(schema.time) if schema.time else None)
        found.append(Column(name, state_of(call, value_type(call, schema), rows, lean=lean)))
    return found


def _detached(functions: Functions, schema: Schema) -> list[Column]:
    """The states of functions whose rows are behind them: only merged and finished."""
    found = []
    for name, call in functions:
        fields = schema.type_of(name).fields
        found.append(Column(name, state_of(call, fields[0][1], Rows(("NULL",), None, "NULL"), lean=False)))
    return found


def _window_of(node: Aggregate | Partial | Combine) -> TimeWindow | ValueWindow | None:
    if isinstance(node.window, TimeWindow | ValueWindow | None):
        return node.window
    raise TypeError(node.window)


def _groups(node: Aggregate | Partial | Combine) -> list[str]:
    """The columns that rows are grouped by: the keys and where the window starts."""
    return [*node.keys, *([START] if node.window is not None else [])]


def _with_window(frame: DataFrame, node: Aggregate | Partial | Combine) -> DataFrame:
    """Groups with their windows in full, if they have one, beside where these start."""
    window = _window_of(node)
    if window is None:
        return frame
    return frame.selectExpr("*", f"{window_sql(window, node.input.schema)} AS {quote(WINDOW)}")


def _lifted(frame: DataFrame, node: Aggregate | Partial, columns: list[Column], weight: str | None) -> DataFrame:
    """The states of the new rows, per group."""
    window = _window_of(node)
    rows = frame if window is None else at_starts(frame, window, node.input.schema)
    parts = [
        f.expr(part.lift).alias(name)
        for number, column in enumerate(columns)
        for name, part in zip(column.parts(number), column.state.parts, strict=True)
    ]
    count = f.expr(f"sum({weight})" if weight else "count(1)").alias(_COUNT)
    return rows.groupBy(*quoted(_groups(node))).agg(count, *parts)


def _all_parts(columns: list[Column]) -> list[str]:
    return [part for number, column in enumerate(columns) for part in column.parts(number)]


def _merged(frame: DataFrame, groups: list[str], columns: list[Column]) -> DataFrame:
    """Old states and new ones made one; the old ones' parts beside them.

    Each part by itself, and no struct of all: Spark aggregates by hashing only where buffers are plain numbers.
    """
    held = [_COUNT, *_all_parts(columns)]
    return frame.groupBy(*quoted(groups)).agg(
        f.expr(f"sum({_COUNT})").alias(_COUNT),
        *_merges(columns),
        *(f.expr(f"any_value({name}) FILTER (WHERE NOT {_NEW})").alias(_old(name)) for name in held),
        f.expr(f"max({_NEW})").alias(_NEW),
    )


def _merges(columns: list[Column]) -> list[SparkColumn]:
    """Each part of each state, merged over a group's states."""
    return [
        f.expr(part.merge(name)).alias(name)
        for number, column in enumerate(columns)
        for name, part in zip(column.parts(number), column.state.parts, strict=True)
    ]


def _old(part: str) -> str:
    """The name of what a part of a state was before the batch."""
    return f"_old{part}"


def _exchange(
    frame: DataFrame, groups: list[str], answers: list[tuple[str, str, str]], old: str, new: str
) -> DataFrame:
    """Rows with the answers before and after as deltas: what goes, what comes, and nothing where both are equal.

    `answers` are (name, SQL before, SQL after); `old` and `new` say whether there is an answer at all.
    """
    before = f"named_struct({', '.join(f'{name!r}, {sql}' for name, sql, _ in answers)})" if answers else "struct(1)"
    after = f"named_struct({', '.join(f'{name!r}, {sql}' for name, _, sql in answers)})" if answers else "struct(1)"
    both = frame.selectExpr(*quoted(groups), f"{old} AS _had", f"{new} AS _has", f"{before} AS _b", f"{after} AS _a")
    changed = both.where("(_had OR _has) AND NOT (_had AND _has AND _b <=> _a)")
    each = "array(named_struct('on', _had, 'w', -1L, 'r', _b), named_struct('on', _has, 'w', 1L, 'r', _a))"
    rows = changed.selectExpr(*quoted(groups), f"explode({each}) AS _x").where("_x.on")
    shown = [f"_x.r.{quote(name)} AS {quote(name)}" for name, _, _ in answers]
    return rows.selectExpr(*quoted(groups), *shown, f"_x.w AS {WEIGHT}")


def aggregate(node: Aggregate, step: Step) -> DataFrame | None:
    """Windows over time, aligned windows over values, or none; functions whose states take what the input gives."""
    news = step.deltas[node.input]
    if news is None:
        return None
    news, weight = _weighed(node, news)
    columns = columns_of(node.functions, node.input.schema, weight, lean=node.input.append_only)
    lifted = _lifted(news, node, columns, weight)
    return _exchanged(node, step, lifted, columns)


def _weighed(node: Aggregate | Partial, news: DataFrame) -> tuple[DataFrame, str | None]:
    """The rows, and the column that says how many each counts for, if they do not all count for one."""
    if is_unit(node.input):
        return news, None
    unfold = any(wants_copies(call, node.input.schema) for _, call in node.functions)
    return (single_copies(news) if unfold else news), WEIGHT


def _exchanged(node: Aggregate | Merge, step: Step, lifted: DataFrame, columns: list[Column]) -> DataFrame | None:
    """Merge new states into those remembered, remember the outcome, and give the answers that changed."""
    groups = list(node.keys) if isinstance(node, Merge) else _groups(node)
    kept = [*groups, _COUNT, *_all_parts(columns)]
    remembered = step.read(node, "groups")
    before = None
    if remembered is not None:
        # Dealt out as the new ones are, so that those need not be once more.
        apart = groups and step.partitions > 1
        dealt = remembered.repartition(step.partitions, *quoted(groups)) if apart else remembered
        before = dealt.selectExpr(*quoted(kept), f"false AS {_NEW}")
    states = together(before, lifted.selectExpr(*quoted(kept), f"true AS {_NEW}"))
    if states is None:
        return None
    merged = _merged(states, groups, columns)
    written = step.rewrite(node, "groups", _dated(merged, node))
    if written is None:
        return None
    changed = written.where(_NEW)
    if isinstance(node, Aggregate):
        changed, groups = _with_window(changed, node), [*node.keys, *([WINDOW] if node.window is not None else [])]
    answers = []
    for number, column in enumerate(columns):
        names = column.parts(number)
        if isinstance(node, Merge):
            answers.append((column.name, _packed([_old(n) for n in names]), _packed(names)))
        else:
            finish = column.state.finish
            answers.append((column.name, finish(*(_old(n) for n in names)), finish(*names)))
    had, has = f"coalesce({_old(_COUNT)} > 0, false)", f"coalesce({_COUNT} > 0, false)"
    found = _exchange(changed, groups, answers, had, has)
    return found.selectExpr(*quoted(node.schema.names), f"{due_sql(node.schema)} AS {DUE}", WEIGHT)


def _dated(states: DataFrame, node: Aggregate | Merge) -> DataFrame:
    """States with the moment by which they are settled."""
    due = f"{due_sql(node.schema)} AS {UNTIL}"
    if isinstance(node, Merge) or node.window is None:
        return states.selectExpr("*", due)
    return _with_window(states, node).selectExpr("*", due).drop(WINDOW)


def _packed(parts: list[str]) -> str:
    """A state as one column, as it travels."""
    return f"named_struct({', '.join(f'{name!r}, {sql}' for name, sql in zip(_names(parts), parts, strict=True))})"


def _names(parts: list[str]) -> list[str]:
    return [f"p{i}" for i in range(len(parts))]


def partial(node: Partial, step: Step) -> DataFrame | None:
    """The states of the new rows alone, each in one column."""
    news = step.deltas[node.input]
    if news is None:
        return None
    news, weight = _weighed(node, news)
    columns = columns_of(node.functions, node.input.schema, weight, lean=False)
    # Without keys and windows there is a group even when there are no rows, and a sum of no weights is NULL.
    some = f"{_COUNT} IS NOT NULL" if weight else f"{_COUNT} > 0"
    return _partials(_lifted(news, node, columns, weight).where(some), node, columns)


def _partials(groups: DataFrame, node: Partial | Combine, columns: list[Column]) -> DataFrame:
    """Groups with their states in parts as partials that travel: each state in one column."""
    states = {c.name: f"{_packed(c.parts(i))} AS {quote(c.name)}" for i, c in enumerate(columns)}
    whole = _with_window(groups, node)
    packed = whole.selectExpr(*(states.get(name, quote(name)) for name in node.schema.names))
    return packed.selectExpr("*", f"{due_sql(node.schema)} AS {DUE}", f"1L AS {WEIGHT}")


def combine(node: Combine, step: Step) -> DataFrame | None:
    """The states of the new partials alone, merged per coarser group."""
    news = step.deltas[node.input]
    if news is None:
        return None
    columns = _detached(node.functions, node.input.schema)
    single = news if is_unit(node.input) else single_copies(news)
    rows = _coarser(single, node).selectExpr(*quoted(_groups(node)), *_unpacked(columns))
    merged = rows.groupBy(*quoted(_groups(node))).agg(f.expr("count(1)").alias(_COUNT), *_merges(columns))
    return _partials(merged.where(f"{_COUNT} > 0"), node, columns)


def _coarser(frame: DataFrame, node: Combine) -> DataFrame:
    """Partials with the starts of the longer windows that theirs lie in, which are those that their starts lie in."""
    if node.window is None:
        return frame
    started = frame.selectExpr("*", f"{quote(WINDOW)}.start AS {_FINER}")
    return at_starts(started, replace(node.window, column=_FINER), node.input.schema)


def _unpacked(columns: list[Column]) -> list[str]:
    return [f"{quote(c.name)}.p{i} AS {name}" for n, c in enumerate(columns) for i, name in enumerate(c.parts(n))]


def merge(node: Merge, step: Step) -> DataFrame | None:
    """One state per group, kept; taken back and given anew when it changes."""
    news = step.deltas[node.input]
    if news is None:
        return None
    columns = _detached(node.functions, node.input.schema)
    states = news.selectExpr(*quoted(node.keys), f"{WEIGHT} AS {_COUNT}", *_unpacked(columns))
    return _exchanged(node, step, states, columns)


def finish(node: Finish, step: Step) -> DataFrame | None:
    """Each state turned into its answer."""
    news = step.deltas[node.input]
    if news is None:
        return None
    calls = {c.name: c for c in _detached(node.functions, node.input.schema)}
    shown = []
    for name in node.schema.names:
        if name in calls:
            state = calls[name].state
            answer = state.finish(*(f"{quote(name)}.p{i}" for i in range(len(state.parts))))
            shown.append(f"{answer} AS {quote(name)}")
        else:
            shown.append(quote(name))
    return news.selectExpr(*shown, DUE, WEIGHT)
