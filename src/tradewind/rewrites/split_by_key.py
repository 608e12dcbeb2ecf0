"""The work of a grouping split by key: each share of the groups by itself, and a top that is cut in each share first.

A share holds the groups whose keys hash to its number, so shares have no group in common: each can be worked out on a
machine of its own, and rows never move up when the shares' tops are brought together.
"""

from __future__ import annotations

from collections.abc import Mapping

from tradewind.algebra.expressions.tree import Call, Column, Expression, Literal
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import WINDOW
from tradewind.algebra.operators.base import Operator, walk
from tradewind.algebra.operators.core import Filter, Top, Union
from tradewind.algebra.properties import groups_by
from tradewind.algebra.types import BIGINT
from tradewind.rewrites.push_top_through_union import push_top_through_union
from tradewind.rewrites.rule import Context


def split_keys(node: Operator, over: Operator) -> tuple[str, ...]:
    """The columns of `over` by which the operators from there to `node` can be split; none where they cannot."""
    below = set(walk(over))
    found: set[str] | None = None
    for one in walk(node):
        if one in below:
            continue
        keys = groups_by(one)
        if keys is not None:
            mine = {key for key in keys if key in over.schema.names and key != WINDOW}
            found = mine if found is None else found & mine
    return tuple(sorted(found or ()))


def shares(node: Operator, over: Operator, count: int) -> tuple[Operator, ...] | None:
    """The node over each of `count` shares of the rows of `over`; None where they cannot be told apart by key.

    The union of all of them gives the node's rows.
    """
    keys = split_keys(node, over)
    if not keys or count < 2:
        return None
    return tuple(exchanged(node, {over: Filter(over, in_share(keys, number, count))}) for number in range(count))


def in_share(keys: tuple[str, ...], number: int, count: int) -> Expression:
    """Whether a row is in one of so many shares, by the hash of its keys."""
    hashed = Call("xxhash64", tuple(Column(key) for key in keys))
    return Call("=", (Call("pmod", (hashed, Literal(count, BIGINT))), Literal(number, BIGINT)))


def exchanged(node: Operator, news: Mapping[Operator, Operator]) -> Operator:
    """The node over other inputs, wherever in the graph below it they are read."""
    done = dict(news)
    for one in walk(node):
        if one not in done:
            done[one] = one.with_inputs(tuple(done.get(child, child) for child in one.inputs))
    return done[node]


def top_of_shares(top: Top, parts: tuple[Operator, ...]) -> Top:
    """The top of all shares, each share cut to its own top first."""
    whole = Top(Union(parts), top.k, top.by, top.per, top.rank)
    rule = push_top_through_union.on_node
    pushed = rule(whole, Context(Graph.of(answer=whole))) if rule else None
    return pushed if isinstance(pushed, Top) else whole
