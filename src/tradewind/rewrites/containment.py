"""Whether one part of a graph gives some of the rows of another part, and which condition tells them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import fields

from tradewind.algebra.expressions.implication import implies
from tradewind.algebra.expressions.tree import Expression, conjunction, conjuncts
from tradewind.algebra.facts import lifted
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Join, Union
from tradewind.algebra.properties import barrier, carrier
from tradewind.rewrites.push_filter_through_join import KEPT

Conditions = tuple[Expression, ...]


def skeletons(graph: Graph) -> dict[Operator, str]:
    """A mark for each node that it shares with all nodes that differ from it only in filters below."""
    found: dict[Operator, str] = {}
    for node in graph:
        if isinstance(node, Filter):
            found[node] = found[node.input]
        else:
            text = f"{_own(node)}|{[found[child] for child in node.inputs]}"
            found[node] = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return found


def _own(node: Operator) -> str:
    """All that a node says apart from its inputs."""
    own = {one.name: getattr(node, one.name) for one in fields(node) if one.init and one.name not in node.takes}
    return f"{node.kind} {own!r}"


def residual(narrow: Operator, wide: Operator) -> Conditions | None:
    """The conditions under which rows of `wide` are rows of `narrow`, all of them; None when that cannot be told.

    Both must have the same skeleton.
    """
    if narrow == wide:
        return ()
    if isinstance(narrow, Filter) or isinstance(wide, Filter):
        return _of_filters(narrow, wide)
    if _own(narrow) != _own(wide) or barrier(narrow):
        return None
    rests = [residual(one, other) for one, other in zip(narrow.inputs, wide.inputs, strict=True)]
    if any(rest is None for rest in rests):
        return None
    return _above(wide, [rest for rest in rests if rest is not None])


def _of_filters(narrow: Operator, wide: Operator) -> Conditions | None:
    asked, narrow = _opened(narrow)
    known, wide = _opened(wide)
    rest = residual(narrow, wide)
    if rest is None:
        return None
    asked = (*rest, *asked)
    if not implies(conjunction(asked), conjunction(known)):
        return None
    return tuple(condition for condition in asked if not implies(conjunction(known), condition))


def _opened(node: Operator) -> tuple[Conditions, Operator]:
    conditions: Conditions = ()
    while isinstance(node, Filter):
        conditions = (*conditions, *conjuncts(node.predicate))
        node = node.input
    return conditions, node


def _above(node: Operator, rests: Sequence[Conditions]) -> Conditions | None:
    """Conditions on the inputs, asked above the node instead."""
    if not any(rests):
        return ()
    if isinstance(node, Union):
        return rests[0] if all(set(rest) == set(rests[0]) for rest in rests) else None
    if isinstance(node, Join):
        fits = all(not rest or side in KEPT[node.how] for side, rest in zip(("left", "right"), rests, strict=True))
        return (*rests[0], *rests[1]) if fits else None
    place = carrier(node)
    if any(rest for number, rest in enumerate(rests) if number != place):
        return None
    found = []
    for condition in rests[place]:
        said = lifted(condition, node)
        if not said:
            return None
        found.append(said[0])
    return tuple(found)
