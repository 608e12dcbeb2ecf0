"""Two maps in a row are one map.

Not when a computed column is read more than once above: it would be computed more than once.

>>> from tradewind.algebra.expressions.typing import parse_expression
>>> from tradewind.algebra.operators.core import Map, Source
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> ticks = Source("ticks", parse_schema("price INT, size INT"))
>>> cost = Map(ticks, (("cost", parse_expression("price * size", ticks.schema)),))
>>> print(before_and_after(merge_maps, Map(cost, (("gross", parse_expression("cost + 1", cost.schema)),))))
map gross = cost + 1
└─ map cost = price * size
   └─ stream ticks
⇒
map gross = price * size + 1
└─ stream ticks
"""

from __future__ import annotations

from collections import Counter

from tradewind.algebra.expressions.tree import Column, Expression, walk
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Map
from tradewind.rewrites.invariants import broken
from tradewind.rewrites.moving import plain, said_below
from tradewind.rewrites.rule import Context, node_rule


@node_rule(
    law="Computing from computed columns is computing from what these are computed from.",
    helps="One pass over the rows instead of two, without columns that nobody reads.",
)
def merge_maps(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Map) or not isinstance(node.input, Map) or context.shared(node.input):
        return None
    inner = node.input
    computed = dict(inner.columns)
    reads = Counter(part.name for _, e in node.columns for part in walk(e) if isinstance(part, Column))
    if any(reads[name] > 1 and not plain(expression) for name, expression in inner.columns):
        return None
    columns: list[tuple[str, Expression]] = []
    for name, expression in node.columns:
        found = said_below(expression, computed, inner.schema, inner.input.schema)
        if found is None:
            return None
        columns.append((name, found))
    merged = Map(inner.input, tuple(columns))
    return merged if broken(node.schema, merged.schema) is None else None
