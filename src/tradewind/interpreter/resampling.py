"""The meaning of resample: a stream's values at times of one's choosing."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.ordered import Resample
from tradewind.interpreter.aggregates import as_float
from tradewind.interpreter.evaluate import plain_zero
from tradewind.interpreter.grouping import groups
from tradewind.interpreter.rows import FOREVER, Bag, Row, Time, Values, content_order, is_final
from tradewind.interpreter.values import Value


class Sample(NamedTuple):
    """A row of the resampled stream at its time."""

    time: int
    row: Row


def resample(node: Resample, rows: Bag, others: Bag, mark: Time) -> Bag:
    """Per group: the values on the grid, or beside each row of the other stream."""
    by_group = {key: _samples(node, group) for key, group in groups(rows.items(), node.keys, node.input.schema).items()}
    if node.at is None:
        return Bag(row for key, samples in by_group.items() for row in _on_grid(node, key, samples))
    return _at_rows(node, node.at, by_group, others, mark)


def _samples(node: Resample, group: Bag) -> list[Sample]:
    """A group's rows in time; of several at one time, the last by content counts."""
    schema = node.input.schema
    time, content = schema.index(str(schema.time)), content_order(schema)
    timed = sorted((r for r, w in group.items() if w > 0 and r.values[time] is not None), key=content)
    return sorted({row.values[time]: Sample(row.values[time], row) for row in timed}.values())


def _on_grid(node: Resample, key: Values, samples: list[Sample]) -> Iterator[Row]:
    every = node.every or 1
    lag = _lag(node)  # until a sample's time and the lag have passed, another one may still come between
    for before, after in itertools.pairwise(samples):
        if node.max_gap is not None and after.time - before.time > node.max_gap:
            continue
        first = -(-before.time // every) * every
        for moment in range(first, after.time, every):
            settled = (before if moment == before.time else after).time + lag
            yield Row((*key, moment, *_between(node, before, after, moment)), settled)
    for place, sample in enumerate(samples):
        following = samples[place + 1] if place + 1 < len(samples) else None
        bridged = following is not None and (node.max_gap is None or following.time - sample.time <= node.max_gap)
        # Where the line goes on, the loop above has this point already.
        if sample.time % every == 0 and not bridged:
            yield Row((*key, sample.time, *_between(node, sample, sample, sample.time)), sample.time + lag)


def _between(node: Resample, before: Sample, after: Sample, moment: int) -> list[Value]:
    schema = node.input.schema
    found = []
    for name in node.values:
        index = schema.index(name)
        old, new = before.row.values[index], after.row.values[index]
        if node.method == "previous":
            found.append(new if moment == after.time else old)
        else:
            found.append(_line(before.time, old, after.time, new, moment))
    return found


def _line(t0: int, v0: Value, t1: int, v1: Value, moment: int) -> Value:
    """The value at a moment on the line through two points; NULL where one of them is missing."""
    if moment in (t0, t1):
        end = v0 if moment == t0 else v1
        return None if end is None else plain_zero(float(end))
    if v0 is None or v1 is None:
        return None
    try:
        exact = Fraction(v0) + (Fraction(v1) - Fraction(v0)) * (moment - t0) / (t1 - t0)
    except (ValueError, OverflowError):  # an infinity or NaN at one end
        return plain_zero(float(v0) + (float(v1) - float(v0)) * ((moment - t0) / (t1 - t0)))
    return plain_zero(as_float(exact))


def _at_rows(node: Resample, at: Operator, by_group: dict[Values, list[Sample]], others: Bag, mark: Time) -> Bag:
    time = at.schema.index(str(at.schema.time))
    lag = _lag(node)
    answer: Bag = Bag()
    for key, members in groups(others.items(), node.keys, at.schema).items():
        samples = by_group.get(key, [])
        for row, weight in members.items():
            found = _value_at(node, samples, row.values[time], lag)
            due = max(row.due, found.due)
            if found.known or is_final(due, mark):
                answer[Row((*row.values, *found.values), due)] += weight
    return answer


def _lag(node: Resample) -> int:
    return node.input.schema.lag(str(node.input.schema.time)) or 0


class _Found(NamedTuple):
    values: list[Value]
    due: Time
    known: bool


def _value_at(node: Resample, samples: list[Sample], moment: int | None, lag: int) -> _Found:
    """The values at a moment, when they are settled, and whether they are there already (a line waits for its far
    end).
    """
    nothing = [None] * len(node.values)
    if moment is None:
        return _Found(nothing, FOREVER, True)
    place = bisect.bisect_right([sample.time for sample in samples], moment)
    before = samples[place - 1] if place else None
    if node.method == "previous":
        near = before is not None and (node.max_gap is None or moment - before.time <= node.max_gap)
        values = _between(node, before, before, moment) if before is not None and near else nothing
        return _Found(values, moment + lag, True)
    after = before if before is not None and before.time == moment else samples[place] if place < len(samples) else None
    if before is None:
        return _Found(nothing, moment + lag, True)
    if after is None:
        return _Found(nothing, FOREVER if node.max_gap is None else moment + node.max_gap + lag, False)
    if node.max_gap is not None and after.time - before.time > node.max_gap:
        return _Found(nothing, moment + node.max_gap + lag, True)
    return _Found(_between(node, before, after, moment), after.time + lag, True)
