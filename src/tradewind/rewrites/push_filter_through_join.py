"""A filter above a join that asks about one side is asked on that side.

For an outer join only about the side whose rows are all kept: a row of the other side that is filtered away would
come back as a row without a match.

>>> from tradewind.algebra.expressions.typing import parse_condition
>>> from tradewind.algebra.operators.core import Filter, Join, Source
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> orders = Source("orders", parse_schema("item INT, amount INT"))
>>> stock = Source("stock", parse_schema("id INT, name STRING"))
>>> joined = Join(orders, stock, "left", (("item", "id"),))
>>> asked = Filter(joined, parse_condition("amount > 5 AND name = 'x'", joined.schema))
>>> print(before_and_after(push_filter_through_join, asked))
filter amount > 5 AND name = 'x'
└─ left join on item = id
   ├─ stream orders
   └─ stream stock
⇒
filter name = 'x'
└─ left join on item = id
   ├─ filter amount > 5
   │  └─ stream orders
   └─ stream stock
"""

from __future__ import annotations

from collections.abc import Callable

from tradewind.algebra.expressions.tree import Expression, columns_of, conjuncts
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Join
from tradewind.rewrites.moving import filtered, split
from tradewind.rewrites.rule import Context, node_rule

KEPT = {"inner": ("left", "right"), "left": ("left",), "right": ("right",), "full": ()}
"""The sides of each kind of join on which a filter may be asked as well below as above."""


@node_rule(
    law="A pair of rows satisfies a condition on one of them exactly if that one does.",
    helps="Fewer rows have to be kept and compared, and the filter comes nearer to the stream.",
)
def push_filter_through_join(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Filter) or not isinstance(node.input, Join) or context.shared(node.input):
        return None
    join = node.input
    stay = list(conjuncts(node.predicate))
    sides: dict[str, Operator] = {"left": join.left, "right": join.right}
    for side in KEPT[join.how]:
        moved, stay = split(stay, _reads_only(sides[side]))
        sides[side] = filtered(sides[side], moved)
    joined = join.with_inputs((sides["left"], sides["right"]))
    return filtered(joined, stay) if joined != join else None


def _reads_only(side: Operator) -> Callable[[Expression], bool]:
    names = set(side.schema.names)
    return lambda condition: columns_of(condition) <= names
