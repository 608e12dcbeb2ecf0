"""When a part of a graph has no more rows of a group than a top wants."""

from __future__ import annotations

from tradewind.algebra.facts import disjoint
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Top, Union


def cut(node: Operator, top: Top) -> bool:
    """Whether the rows are among their own first k already, so that asking for them again drops none."""
    match node:
        case Top(k=k, by=by, per=per, rank=None):
            return k <= top.k and (by, per) == (top.by, top.per)
        case Filter(input=below):
            return cut(below, top)
        case Union(members=members):
            return all(cut(member, top) for member in members) and disjoint(members, top.per)
    return False
