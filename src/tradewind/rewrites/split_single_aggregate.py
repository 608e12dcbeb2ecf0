"""An aggregate of any input is the finished merge of a partial aggregate of it.

Offered, not applied: it helps where the input and the aggregate's reader are at different sites, which only a plan
knows.

>>> from tradewind.algebra.aggregates import parse_aggregate
>>> from tradewind.algebra.operators.aggregation import Aggregate
>>> from tradewind.algebra.operators.core import Source
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.rewrites.trial import before_and_after
>>> hits = Source("hits", parse_schema("url STRING"))
>>> print(
...     before_and_after(
...         split_single_aggregate, Aggregate(hits, ("url",), (("n", parse_aggregate("count(*)", hits.schema)),))
...     )
... )
aggregate by url: n = count(*)
└─ stream hits
⇒
finish n = count(*)
└─ merge by url: n = count(*)
   └─ partial aggregate by url: n = count(*)
      └─ stream hits
"""

from __future__ import annotations

from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.operators.base import Operator
from tradewind.rewrites.rule import Context, node_rule
from tradewind.rewrites.split_aggregate import in_parts


@node_rule(
    law="Partials of the rows of each batch, merged in any order and finished, are the aggregate of all rows.",
    helps="One partial per group and batch crosses the link instead of the rows.",
)
def split_single_aggregate(node: Operator, context: Context) -> Operator | None:
    if not isinstance(node, Aggregate) or context.ordered(node):
        return None
    return in_parts(node, (node.input,))
