"""A map that gives each row as it is, is not needed.

>>> from tradewind.algebra.expressions.tree import Column
>>> from tradewind.algebra.operators.core import Map, Source
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> ticks = Source("ticks", parse_schema("price INT, size INT"))
>>> print(before_and_after(drop_identity_maps, Map(ticks, (("price", Column("price")), ("size", Column("size"))))))
keep price, size
└─ stream ticks
⇒
stream ticks
"""

from __future__ import annotations

from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Map
from tradewind.rewrites.invariants import broken
from tradewind.rewrites.rule import Context, node_rule


@node_rule(
    law="A map of every column to itself, in order, gives the rows it is given.",
    helps="One operator less.",
)
def drop_identity_maps(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Map) or node.columns != tuple((name, Column(name)) for name in node.input.schema.names):
        return None
    return node.input if broken(node.schema, node.input.schema) is None else None
