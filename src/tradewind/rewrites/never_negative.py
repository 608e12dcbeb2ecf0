"""Whether an aggregate adds up things that are never below zero, so that a part of it is never more than the whole."""

from __future__ import annotations

from collections.abc import Sequence

from tradewind.algebra.aggregates import AggregateCall
from tradewind.algebra.expressions.tree import Call, Case, Cast, Expression, Literal
from tradewind.algebra.expressions.typing import type_of
from tradewind.algebra.facts import holds
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.types import BIGINT, BOOLEAN, INT, is_integer

_MOST = 2**31 - 1
"""Of summands up to here it takes 2^32 in one group until their sum leaves BIGINT and becomes NULL."""


def never_negative(call: AggregateCall, inputs: Sequence[Operator]) -> bool:
    """Whether a call counts rows of the inputs, or sums whole numbers from 0 to 2^31 - 1; NULLs may be among them.

    Such are constants, choices between such (`if`, `CASE`, `coalesce`), BOOLEANs as numbers, and what filters below
    show: `sum(latency_ms) … WHERE latency_ms >= 0`. A BIGINT also needs a filter from above.

    >>> from tradewind.algebra.aggregates import parse_aggregate
    >>> from tradewind.algebra.operators.core import Source
    >>> from tradewind.algebra.schema import parse_schema
    >>> hits = Source("hits", parse_schema("status INT, bytes BIGINT"))
    >>> texts = ("count(*)", "sum(if(status < 500, 1, 0))", "sum(status)", "avg(status)")
    >>> [never_negative(parse_aggregate(text, hits.schema), [hits]) for text in texts]
    [True, True, False, False]
    """
    if call.function in ("count", "count_if"):
        return True
    if call.function != "sum" or not all(is_integer(type_of(call.arguments[0], node.schema)) for node in inputs):
        return False
    return all(_within(call.arguments[0], node) for node in inputs)


def _within(expression: Expression, node: Operator) -> bool:
    """Whether a whole number is NULL, or from 0 to the most, in every row of the node."""
    match expression:
        case Literal(value=value):
            return value is None or (isinstance(value, int) and 0 <= value <= _MOST)
        case Case(branches=branches, otherwise=otherwise):
            return all(_within(one, node) for one in (*(then for _, then in branches), otherwise))
        case Call(function="if", arguments=(_, *chosen)) | Call(function="coalesce", arguments=chosen):
            return all(_within(one, node) for one in chosen)
        case Cast(of=of) if type_of(of, node.schema) == BOOLEAN:
            return True
        case Cast(of=of) if is_integer(type_of(of, node.schema)):
            return _within(of, node)
    type_ = type_of(expression, node.schema)
    below = type_ != BIGINT or holds(node, Call("<=", (expression, Literal(_MOST, BIGINT))))
    return below and is_integer(type_) and holds(node, Call(">=", (expression, Literal(0, INT))))
