"""The first k groups of a union can be found by asking its inputs three times, each time for less than all groups.

Offered, not applied: thresholds and candidates travel to the inputs and back (see `rounds`), which pays where a few of
very many groups have most of what is counted, and does not where groups are few, or alike. Only rates and skews can
tell.

It needs a top in windows over time, ordered first by the greatest of something that is counted, or summed and never
below zero (see `never_negative`), over two or more inputs whose rows are never taken back: an input that takes back
what another one gave would have less than nothing. Between the top and the aggregate there may be maps, and filters
that ask for a greater value.

>>> from tradewind.algebra.aggregates import parse_aggregate
>>> from tradewind.algebra.operators.aggregation import Aggregate
>>> from tradewind.algebra.operators.core import Source, Top, Union
>>> from tradewind.algebra.schema import parse_schema
>>> from tradewind.algebra.windows import TimeWindow
>>> from tradewind.rewrites.trial import before_and_after
>>> schema = parse_schema("ts TIMESTAMP, url STRING", time="ts")
>>> ams, nyc = (Source("hits", schema, origins=(name,)) for name in ("ams", "nyc"))
>>> count, minute = (("n", parse_aggregate("count(*)", schema)),), TimeWindow("ts", 60_000_000, 60_000_000)
>>> hits = Aggregate(Union((ams, nyc)), ("url",), count, minute)
>>> print(before_and_after(threshold_top, Top(hits, 3, (("n", True),), ("window",))))
top 3 by n DESC per window
└─ aggregate by url per 1 minute of ts: n = count(*)
   └─ union of 2
      ├─ stream hits at ams
      └─ stream hits at nyc
⇒
top 3 by n DESC per window
└─ aggregate by url per 1 minute of last: n = sum(n)
   └─ union of 2
      ├─ keep url, last, n
      │  └─ join on key = candidate, last = candidate_last
      │     ├─ map url, last = window.`end` - INTERVAL '1' MICROSECOND, n, key = named_struct('url', url)
      │     │  └─ aggregate by url per 1 minute of ts: n = count(*)  (1)
      │     │     └─ stream hits at ams
      │     └─ map candidate = named_struct('url', url), candidate_last = last  (2)
      │        └─ filter most >= bound
      │           └─ join on last = bound_last
      │              ├─ map url, last, most = total + (2L - givers) * greatest(bound - 1L, 0L)
      │              │  └─ join on last = bound_last
      │              │     ├─ aggregate by url, last: total = sum(total), givers = count(*)  (3)
      │              │     │  └─ union of 2
      │              │     │     ├─ keep url, last, total
      │              │     │     │  └─ filter total >= bound
      │              │     │     │     └─ join on last = bound_last
      │              │     │     │        ├─ map url, last = window.`end` - INTERVAL '1' MICROSECOND, total = n  (4)
      │              │     │     │        │  └─ ↑ 1
      │              │     │     │        └─ map bound_last = last, bound = (least + 1L) DIV 2L  (5)
      │              │     │     │           └─ aggregate by last: least = min(total)
      │              │     │     │              └─ top 3 by total DESC per last
      │              │     │     │                 └─ aggregate by url, last: total = sum(total)
      │              │     │     │                    └─ union of 2
      │              │     │     │                       ├─ top 3 by total DESC per last
      │              │     │     │                       │  └─ ↑ 4
      │              │     │     │                       └─ top 3 by total DESC per last
      │              │     │     │                          └─ map url, last = window.`end` - INTERVAL '1' MICROSECOND,
                                                            total = n  (6)
      │              │     │     │                             └─ aggregate by url per 1 minute of ts: n = count(*)  (7)
      │              │     │     │                                └─ stream hits at nyc
      │              │     │     └─ keep url, last, total
      │              │     │        └─ filter total >= bound
      │              │     │           └─ join on last = bound_last
      │              │     │              ├─ ↑ 6
      │              │     │              └─ ↑ 5
      │              │     └─ ↑ 5
      │              └─ map bound_last = last, bound = least
      │                 └─ aggregate by last: least = min(total)
      │                    └─ top 3 by total DESC per last
      │                       └─ keep url, last, total
      │                          └─ ↑ 3
      └─ keep url, last, n
         └─ join on key = candidate, last = candidate_last
            ├─ map url, last = window.`end` - INTERVAL '1' MICROSECOND, n, key = named_struct('url', url)
            │  └─ ↑ 7
            └─ ↑ 2
"""

from __future__ import annotations

from functools import lru_cache

from tradewind.algebra.expressions.tree import Call, Column, Expression, Literal, columns_of, conjuncts, substitute
from tradewind.algebra.operators.aggregation import WINDOW, Aggregate
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Map, Top, Union
from tradewind.algebra.properties import append_only
from tradewind.algebra.windows import TimeWindow
from tradewind.rewrites.invariants import broken
from tradewind.rewrites.never_negative import never_negative
from tradewind.rewrites.rounds import Rounds
from tradewind.rewrites.rule import Context, node_rule
from tradewind.rewrites.split_by_key import exchanged

MOST_INPUTS = 32
"""With more inputs, what each has of a group is mostly below any threshold that could be asked of it."""


@node_rule(
    law="A group of which each of m inputs has less than an m-th of what k others have is not among the first k.",
    helps="Inputs with very many groups, of which few have much, send only those that can still win.",
)
def threshold_top(node: Operator, context: Context) -> Operator | None:
    rounds = rounds_of(node) if not context.ordered(node) else None
    if rounds is None:
        return None
    found = exchanged(node, {rounds.whole: rounds.answer})
    return found if broken(node.schema, found.schema) is None else None


@lru_cache(maxsize=64)
def rounds_of(top: Operator) -> Rounds | None:
    """The rounds by which the groups of a top can be found; None where they cannot, or there is nothing to gain."""
    if not isinstance(top, Top):
        return None
    (first, descending), node = top.by[0], top.input
    value: Expression = Column(first)
    sets: list[Expression] = [Column(name) for name in top.per]
    conditions: list[Expression] = []
    while isinstance(node, Map | Filter):
        if isinstance(node, Filter):
            conditions += conjuncts(node.predicate)
        else:
            below = dict(node.columns)
            value, *rest = (substitute(one, below) for one in (value, *sets, *conditions))
            sets, conditions = rest[: len(sets)], rest[len(sets) :]
        node = node.input
    if not descending or not isinstance(node, Aggregate) or not all(_asks_more(one, value) for one in conditions):
        return None
    per = frozenset().union(*map(columns_of, sets))
    return _rounds(node, value, per, top.k)


def _asks_more(condition: Expression, value: Expression) -> bool:
    """Whether of two groups the one with the greater value meets a condition if the other one does."""
    match condition:
        case Call(function=">" | ">=", arguments=(asked, Literal())):
            return asked == value
    return False


def _rounds(node: Aggregate, value: Expression, per: frozenset[str], k: int) -> Rounds | None:
    name = value.name if isinstance(value, Column) else ""
    call = dict(node.functions).get(name)
    if call is None or not isinstance(node.window, TimeWindow) or not isinstance(node.input, Union):
        return None
    parts = node.input.members
    told = node.schema.lag(WINDOW) is not None and WINDOW in per
    if not told or not per <= {*node.keys, WINDOW} or per >= set(node.keys):
        return None
    if not 2 <= len(parts) <= MOST_INPUTS or not append_only(node.input) or not never_negative(call, parts):
        return None
    return Rounds(node, node.window, name, k, tuple(key for key in node.keys if key in per))
