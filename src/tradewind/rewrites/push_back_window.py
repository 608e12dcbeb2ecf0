"""A bound on windows of time is a bound on the times of their rows, asked below the aggregate.

The original condition stays above: windows that reach over the bound lose rows, but these windows are not wanted.

>>> from tradewind.algebra.aggregates import parse_aggregate
>>> from tradewind.algebra.expressions.typing import parse_condition
>>> from tradewind.algebra.operators.aggregation import Aggregate
>>> from tradewind.algebra.operators.core import Filter, Source
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.algebra.windows import TimeWindow
>>> from tradewind.rewrites.trial import before_and_after
>>> hits = Source("hits", parse_schema("ts TIMESTAMP", time="ts"))
>>> hourly = TimeWindow("ts", 3_600_000_000, 3_600_000_000)
>>> counted = Aggregate(hits, (), (("n", parse_aggregate("count(*)", hits.schema)),), hourly)
>>> late = parse_condition("window.start >= TIMESTAMP '2026-01-01'", counted.schema)
>>> print(before_and_after(push_back_window, Filter(counted, late)))
filter window.start >= TIMESTAMP '2026-01-01T00:00:00Z'
└─ aggregate per 1 hour of ts: n = count(*)
   └─ stream hits
⇒
filter window.start >= TIMESTAMP '2026-01-01T00:00:00Z'
└─ aggregate per 1 hour of ts: n = count(*)
   └─ filter ts >= TIMESTAMP '2026-01-01T00:00:00Z'
      └─ stream hits
"""

from __future__ import annotations

from tradewind.algebra.expressions.bounds import Bound, bound_of, literal_of
from tradewind.algebra.expressions.implication import implies
from tradewind.algebra.expressions.tree import Call, Column, Expression, Field, conjunction, conjuncts
from tradewind.algebra.facts import holds
from tradewind.algebra.operators.aggregation import WINDOW, Aggregate, Partial
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter
from tradewind.algebra.types import TIMESTAMP
from tradewind.algebra.windows import TimeWindow
from tradewind.rewrites.bounding import comparisons
from tradewind.rewrites.moving import filtered, with_input
from tradewind.rewrites.rule import Context, node_rule


@node_rule(
    law="The times of a window's rows lie between its start and its end.",
    helps="Rows of windows that are not wanted are dropped before they are gathered.",
)
def push_back_window(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Filter) or context.shared(node.input):
        return None
    grouped = node.input
    if not isinstance(grouped, Aggregate | Partial) or not isinstance(grouped.window, TimeWindow):
        return None
    found: list[Expression] = []
    for condition in conjuncts(node.predicate):
        for bound in _bounds(condition, grouped.window):
            if not holds(grouped.input, bound) and not implies(conjunction(found), bound):
                found.append(bound)
    return Filter(with_input(grouped, 0, filtered(grouped.input, found)), node.predicate) if found else None


def _bounds(condition: Expression, window: TimeWindow) -> list[Expression]:
    found: list[Expression] = []
    for of, op, constant in comparisons(condition):
        bound = bound_of(op, constant)
        if bound is None or not isinstance(of, Field) or of.of != Column(WINDOW):
            continue
        said = literal_of(_of_rows(bound, of.name == "start", window.size), TIMESTAMP)
        if said is not None:
            found.append(Call(said[0], (Column(window.column), said[1])))
    return found


def _of_rows(bound: Bound, of_start: bool, size: int) -> Bound:
    """A row's time is at or after its window's start, and before its end."""
    if bound.high:
        return Bound(True, bound.at + (size if of_start else 0), strict=True)
    return bound if of_start else bound.moved(bound.at - size)
