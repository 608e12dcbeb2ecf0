"""An aggregate of a union is the finished merge of the partial aggregates of its inputs.

Where rows may be taken back, a group can lose all its rows again: their number is aggregated beside, and groups with
none are dropped.

>>> from tradewind.algebra.aggregates import parse_aggregate
>>> from tradewind.algebra.operators.aggregation import Aggregate
>>> from tradewind.algebra.operators.core import Source, Union
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> a, b = (Source(name, parse_schema("id INT, price INT")) for name in "ab")
>>> total = Aggregate(Union((a, b)), ("id",), (("total", parse_aggregate("sum(price)", a.schema)),))
>>> print(before_and_after(split_aggregate, total))
aggregate by id: total = sum(price)
└─ union of 2
   ├─ stream a
   └─ stream b
⇒
finish total = sum
└─ merge by id: total = sum
   └─ union of 2
      ├─ partial aggregate by id: total = sum(price)
      │  └─ stream a
      └─ partial aggregate by id: total = sum(price)
         └─ stream b
"""

from __future__ import annotations

from collections.abc import Sequence

from tradewind.algebra.aggregates import AggregateCall
from tradewind.algebra.expressions.tree import Call, Column, Literal
from tradewind.algebra.operators.aggregation import WINDOW, Aggregate, Finish, Merge, Partial, detached
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Map, Union
from tradewind.algebra.properties import append_only, asks_time, splittable
from tradewind.algebra.types import BIGINT
from tradewind.rewrites.invariants import broken
from tradewind.rewrites.rule import Context, node_rule


@node_rule(
    law="Partials of parts, merged in any order and finished, are the aggregate of the whole.",
    helps="Each input sends one partial per group instead of its rows.",
)
def split_aggregate(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Aggregate) or not isinstance(node.input, Union) or len(node.input.members) < 2:
        return None
    union = node.input
    if context.ordered(node) or (context.shared(union) and not context.opens(union)):
        return None
    return in_parts(node, union.members)


def in_parts(node: Aggregate, parts: Sequence[Operator]) -> Operator | None:
    """The aggregate of all parts together, put together from partials of each; None where that is not allowed."""
    if not splittable(node):
        return None
    if asks_time(node) and any(part.schema.time != node.input.schema.time for part in parts):
        return None
    functions = node.functions
    only_added = append_only(node.input)
    rows = _fresh("rows", node.schema.names)
    if not only_added:
        functions = (*functions, (rows, AggregateCall("count")))
    partials = tuple(Partial(part, node.keys, functions, node.window) for part in parts)
    keys = node.keys if node.window is None else (*node.keys, WINDOW)
    merged = Merge(partials[0] if len(partials) == 1 else Union(partials), keys, detached(functions))
    whole: Operator = Finish(merged, detached(functions))
    if not only_added:
        some = Filter(whole, Call(">", (Column(rows), Literal(0, BIGINT))))
        whole = Map(some, tuple((name, Column(name)) for name in node.schema.names))
    return whole if broken(node.schema, whole.schema) is None else None


def _fresh(wanted: str, taken: tuple[str, ...]) -> str:
    lower = {name.lower() for name in taken}
    while wanted in lower:
        wanted += "_"
    return wanted
