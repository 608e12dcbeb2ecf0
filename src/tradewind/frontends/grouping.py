"""Groups and what is asked of them, from texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tradewind.algebra.aggregates import UserAggregate, parse_aggregate, user_aggregate
from tradewind.algebra.expressions.tree import Column, Expression
from tradewind.algebra.operators.aggregation import Functions
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.schema import Schema
from tradewind.frontends import build
from tradewind.frontends.arguments import items, place, text

Keys = list[tuple[str, Expression]]


def grouping(node: Operator, texts: Sequence[str], named: Mapping[str, str]) -> tuple[Keys, Schema]:
    """The keys of a grouping, and the columns that its functions can use: the keys that are computed are among them."""
    keys = items(texts, named, node.schema)
    computed = {name: expression for name, expression in keys if expression != Column(name)}
    return keys, build.extend(node, computed).schema if computed else node.schema


def functions_of(texts: Mapping[str, str], schema: Schema, users: Mapping[str, UserAggregate]) -> Functions:
    """Named aggregates over the columns of `schema`."""
    # Functions are looked up in lower case, like all of SQL's.
    known = {name.lower(): user for name, user in users.items()}
    return tuple((n, parse_aggregate(text(one, "an aggregate"), schema, known, n)) for n, one in texts.items())


@place("aggregate")
def aggregate(name: str, *, over: str, lift: str, merge: str, finish: str) -> UserAggregate:
    """An aggregate of one's own.

    `lift` makes a state from the columns declared in `over` ("x DOUBLE"), `merge` one state from the states `a` and `b`
    in any order, and `finish` the answer from `state`.
    """
    texts = {"over": over, "lift": lift, "merge": merge, "finish": finish}
    return user_aggregate(text(name, "a name"), **{part: text(given, part) for part, given in texts.items()})
