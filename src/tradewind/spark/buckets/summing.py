"""Aggregates of panes where their members are: counts, totals, means and extremes of numbers, a stretch of rows each.

Everything else is aggregated by Spark, to which each member then has to travel once for each pane that it is in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.types import BIGINT, DataType, is_fraction, is_integer
from tradewind.spark.buckets.arrays import Array, Flags, Ints, differs
from tradewind.spark.buckets.groups import Groups
from tradewind.spark.buckets.operator import COUNT, PANE, PANE_DUE, PANE_WINDOW, SIGN
from tradewind.spark.types import arrow_type

_Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64]


class Sum(NamedTuple):
    """An aggregate over a column of numbers, or over rows where there is none."""

    name: str
    function: str
    column: str | None
    result: pa.DataType
    fractions: bool = False
    wide: bool = False
    """Whether a total may leave BIGINT."""


def sums_of(node: Aggregate) -> list[Sum] | None:
    """The aggregates of a node, if each of them can be worked out here."""
    schema = node.input.schema
    found = []
    for name, call in node.functions:
        if call.user is not None or len(call.arguments) > 1:
            return None
        result = arrow_type(call.type(schema))
        if not call.arguments:
            found.append(Sum(name, call.function, None, result))
            continue
        argument = call.arguments[0]
        if not isinstance(argument, Column) or not _known(call.function, schema.type_of(argument.name)):
            return None
        type_ = schema.type_of(argument.name)
        found.append(Sum(name, call.function, argument.name, result, is_fraction(type_), type_ == BIGINT))
    return found if all(one.function in ("count", "sum", "avg", "min", "max") for one in found) else None


def _known(function: str, type_: DataType) -> bool:
    match function:
        case "count":
            return True
        case "sum":
            return is_integer(type_) or type_.name == "DOUBLE"
        case "avg":
            # The mean of BIGINTs is of an exact total, which need not fit any number here.
            return (is_integer(type_) and type_ != BIGINT) or type_.name == "DOUBLE"
    return is_integer(type_) or type_.name in ("DOUBLE", "TIMESTAMP")


def summed(members: Array, keys: Sequence[str], sums: Sequence[Sum]) -> Array:
    """One row for each pane: its sign, window, settle time and keys, then its answers; those that go and come again
    unchanged are left out, so no row both goes and comes.

    A pane's members stand together.
    """
    starts = np.flatnonzero(differs([members[PANE].to_numpy()]))
    firsts = members.select([SIGN, PANE_WINDOW, PANE_DUE, *keys]).take(pa.array(starts))
    often = members[COUNT].to_numpy()
    answers = [_answer(members, one, starts, often) for one in sums]
    return _netted(
        pa.Table.from_arrays(
            [*firsts.columns, *answers], names=[*firsts.column_names, *(f"_answer{i}" for i in range(len(sums)))]
        )
    )


def _netted(answers: Array) -> Array:
    """The answers without those that are taken back and given again unchanged."""
    sign = answers[SIGN].to_numpy()
    back, come = np.flatnonzero(sign < 0), np.flatnonzero(sign > 0)
    if not len(back) or not len(come):
        return answers
    content = answers.drop_columns([SIGN])
    groups = Groups(content.take(pa.array(back)))
    found = groups.find(content.take(pa.array(come)))
    again = found >= 0
    if not again.any():
        return answers
    total = np.bincount(found[again], minlength=groups.count) - np.bincount(groups.codes, minlength=groups.count)
    codes, firsts = np.unique(groups.codes, return_index=True)
    weight = sign.copy()
    weight[back] = weight[come[again]] = 0
    weight[back[firsts]] = total[codes]
    kept = np.flatnonzero(weight)
    return answers.set_column(0, SIGN, pa.array(weight)).take(pa.array(kept))


def _answer(members: Array, one: Sum, starts: Ints, often: Ints) -> pa.Array:
    if not len(starts):
        return pa.array([], one.result)
    if one.column is None:
        return pa.array(np.add.reduceat(often, starts)).cast(one.result)
    column = members[one.column].combine_chunks()
    valid = (
        np.ones(len(column), np.bool_) if not column.null_count else pc.is_valid(column).to_numpy(zero_copy_only=False)
    )
    known: Ints = np.add.reduceat(often * valid, starts)
    if one.function == "count":
        return pa.array(known).cast(one.result)
    values = _numbers(column, one.fractions)
    if one.function in ("min", "max"):
        return _of_type(_extreme(values, valid, one, starts), known == 0, one.result)
    if one.fractions:
        with np.errstate(invalid="ignore", over="ignore"):
            total = np.add.reduceat(np.where(valid, values * often, 0.0), starts) + 0.0
            mean = total / np.maximum(known, 1) + 0.0
        return _of_type(total if one.function == "sum" else mean, known == 0, one.result)
    whole, beyond = _total(values * valid, often, starts, one.wide)
    if one.function == "avg":
        return _of_type(whole.astype(np.float64) / np.maximum(known, 1), known == 0, one.result)
    return _of_type(whole, (known == 0) | beyond, one.result)


def _numbers(column: pa.Array, fractions: bool) -> _Numbers:
    if fractions:
        return np.asarray(pc.fill_null(column.cast(pa.float64()), 0.0))
    whole = column.cast(pa.int64()) if not pa.types.is_timestamp(column.type) else column.view(pa.int64())
    return np.asarray(pc.fill_null(whole, 0))


def _extreme(values: _Numbers, valid: Flags, one: Sum, starts: Ints) -> _Numbers:
    """NaN is greater than all numbers; what is missing is neither."""
    if one.function == "max":
        worst = -np.inf if one.fractions else np.iinfo(np.int64).min
        return np.asarray(np.maximum.reduceat(np.where(valid, values, worst), starts))
    if one.fractions:
        return np.asarray(np.fmin.reduceat(np.where(valid, values, np.nan), starts))
    return np.asarray(np.minimum.reduceat(np.where(valid, values, np.iinfo(np.int64).max), starts))


def _total(numbers: _Numbers, often: Ints, starts: Ints, wide: bool) -> tuple[Ints, Flags]:
    """Totals, and which of them leave BIGINT: the halves of a BIGINT add up without doing so."""
    values = numbers.astype(np.int64, copy=False)
    if not wide:
        return np.add.reduceat(values * often, starts), np.zeros(len(starts), np.bool_)
    high: Ints = np.add.reduceat((values >> 32) * often, starts)
    low: Ints = np.add.reduceat((values & 0xFFFFFFFF) * often, starts)
    high += low >> 32
    return (high << 32) | (low & 0xFFFFFFFF), (high < -(2**31)) | (high >= 2**31)


def _of_type(values: _Numbers, missing: Flags, result: pa.DataType) -> pa.Array:
    found = pa.array(values, mask=missing if missing.any() else None)
    return found.view(result) if pa.types.is_timestamp(result) else found.cast(result)
