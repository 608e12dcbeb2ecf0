"""The meaning of order and top, and of slack: how far out of order a row may come."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable

from tradewind.algebra.operators.core import Top
from tradewind.algebra.operators.ordered import Order
from tradewind.algebra.schema import Schema
from tradewind.interpreter.comparison import group_key, order_key
from tradewind.interpreter.rows import (
    FOREVER,
    Bag,
    Delta,
    Row,
    Time,
    Values,
    clock,
    content_order,
    copies,
    is_final,
    sort_key,
)
from tradewind.interpreter.values import Value


def within_slack(log: Iterable[Delta], keys: tuple[str, ...], order: str, slack: int, schema: Schema) -> Bag:
    """The rows that came in time: at most `slack` rows of their group with a greater order came before them.

    A row that is taken back leaves; if it had been dropped, nothing happens.
    """
    places = [(schema.index(key), schema.type_of(key)) for key in keys]
    column, type_ = schema.index(order), schema.type_of(order)
    arrived: dict[Values, list[Value]] = {}
    kept: Bag = Bag()
    for row, weight in log:
        if row.values[column] is None:
            continue
        group = tuple(group_key(row.values[index], kind) for index, kind in places)
        seen = arrived.setdefault(group, [])
        rank = order_key(row.values[column], type_)
        for _ in range(weight):
            if len(seen) - bisect.bisect_right(seen, rank) <= slack:
                bisect.insort(seen, rank)
                kept[row] += 1
        for _ in range(-weight):
            if kept[row] > 0:
                seen.remove(rank)
                kept[row] -= 1
    return Bag({row: weight for row, weight in kept.items() if weight})


def order(node: Order, log: list[Delta], mark: Time) -> Bag:
    """The rows that a buffer of `slack` rows has let go: all but the `slack` greatest, unless the mark has passed
    them.
    """
    schema = node.schema
    kept = within_slack(log, (), node.by, node.slack, schema)
    ordered = sorted(copies(kept), key=order_of(node))
    held = len(ordered) - node.slack
    lag = schema.lag(node.by)
    column = schema.index(node.by)

    def free(place: int, row: Row) -> bool:
        due = FOREVER if lag is None else row.values[column] + lag
        return place < held or is_final(due, mark)

    settled = node.input.append_only
    return Bag(
        Row(row.values, row.due if settled else FOREVER) for place, row in enumerate(ordered) if free(place, row)
    )


def order_of(node: Order) -> Callable[[Row], Value]:
    """The order in which the rows go out."""
    column, type_ = node.schema.index(node.by), node.schema.type_of(node.by)
    content = content_order(node.schema)
    return lambda row: (order_key(row.values[column], type_), content(row))


def top(node: Top, rows: Bag) -> Bag:
    """The first k rows of each group."""
    schema = node.input.schema
    places = [(schema.index(name), schema.type_of(name)) for name in node.per]
    rank = _ranking(node)
    due_of = clock(node.schema)
    members: dict[Values, list[Row]] = {}
    for row in copies(rows):
        group = tuple(group_key(row.values[index], type_) for index, type_ in places)
        members.setdefault(group, []).append(row)
    answer: Bag = Bag()
    for group_rows in members.values():
        for place, row in enumerate(sorted(group_rows, key=rank)[: node.k], start=1):
            values = (*row.values, place) if node.rank else row.values
            answer[Row(values, due_of(values))] += 1
    return answer


class _Reversed:
    """Sorts the other way round."""

    __slots__ = ("key",)

    def __init__(self, key: Value) -> None:
        self.key = key

    def __lt__(self, other: _Reversed) -> bool:
        return bool(other.key < self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _ranking(node: Top) -> Callable[[Row], Value]:
    schema = node.input.schema
    named = [(schema.index(name), schema.type_of(name), descending) for name, descending in node.by]
    ties = [(i, type_) for i, (name, type_) in enumerate(schema.columns) if name not in dict(node.by)]

    def rank(row: Row) -> Value:
        asked = tuple(
            _Reversed(sort_key(row.values[i], t)) if down else sort_key(row.values[i], t) for i, t, down in named
        )
        return asked, tuple(sort_key(row.values[i], t) for i, t in ties)

    return rank
