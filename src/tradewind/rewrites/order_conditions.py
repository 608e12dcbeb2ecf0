"""The conditions of a filter are asked in one order, cheap ones first: filters commute.

>>> from tradewind.algebra.expressions.typing import parse_condition
>>> from tradewind.algebra.operators.core import Filter, Source
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> hits = Source("hits", parse_schema("ts TIMESTAMP, url STRING, status INT", time="ts"))
>>> slow_first = parse_condition("contains(lower(url), 'x') AND 400 <= status", hits.schema)
>>> print(before_and_after(order_conditions, Filter(hits, slow_first)))
filter contains(lower(url), 'x') AND 400 <= status
└─ stream hits
⇒
filter status >= 400 AND contains(lower(url), 'x')
└─ stream hits
"""

from __future__ import annotations

from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import Call, Expression, Literal, conjunction, conjuncts
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter
from tradewind.rewrites.moving import size
from tradewind.rewrites.rule import Context, node_rule

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>", "<=>": "<=>"}


@node_rule(
    law="Filters commute: the order in which conditions are asked does not change which rows pass.",
    helps="Cheap conditions spare the costly ones, and equal filters of several queries become one.",
)
def order_conditions(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Filter):
        return None
    conditions = [_turned(condition) for condition in conjuncts(node.predicate)]
    ordered = conjunction(sorted(conditions, key=lambda c: (size(c), print_expression(c))))
    return Filter(node.input, ordered) if ordered != node.predicate else None


def _turned(condition: Expression) -> Expression:
    """Constants stand on the right of comparisons."""
    match condition:
        case Call(function=op, arguments=(Literal() as constant, other)) if op in _TURNED:
            return condition if isinstance(other, Literal) else Call(_TURNED[op], (other, constant))
    return condition
