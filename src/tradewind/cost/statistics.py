"""Rows, bytes and groups per second through every operator of a graph, from declared figures alone.

`Statistics` is asked operator by operator; what was worked out once is kept. The rules for each kind of operator are in
`rows`, `joining` and `grouping`, and what is assumed where a figure is missing in `declared`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tradewind.algebra.operators.aggregation import Aggregate, Combine, Finish, Merge, Partial
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import ConnectionPoint, Filter, Join, Map, Source, Top, Union
from tradewind.algebra.operators.derived import Derived
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor
from tradewind.algebra.operators.stored import Read, Update
from tradewind.cost import grouping, joining, rows
from tradewind.cost.assumptions import Assumptions
from tradewind.cost.declared import Declared
from tradewind.cost.flow import Flow
from tradewind.cost.rounds import given
from tradewind.cost.sending import sent
from tradewind.cost.work import microseconds
from tradewind.errors import InternalError
from tradewind.rewrites.rounds import Rounds

_RULES: dict[type[Operator], Callable[[Any, tuple[Flow, ...], Assumptions], Flow]] = {
    Source: rows.source,
    Filter: rows.filtered,
    Map: rows.mapped,
    Union: rows.united,
    Order: rows.as_it_is,
    ConnectionPoint: rows.as_it_is,
    Read: rows.read,
    Update: rows.updated,
    Resample: rows.resampled,
    Join: joining.joined,
    WaitFor: joining.waited,
    Aggregate: grouping.aggregate,
    Partial: grouping.partial,
    Combine: grouping.combine,
    Merge: grouping.merge,
    Finish: grouping.finish,
    Top: grouping.top,
}


class Statistics:
    """What flows out of operators under declared figures: those of one query, or of none in particular.

    Of a query, its selectivities count, and its wish for freshness, which says how often partials are shipped unless
    `flush_seconds` does.
    """

    def __init__(self, declared: Declared, query: str | None = None, flush_seconds: float | None = None) -> None:
        self.declared = declared
        self._assumed = Assumptions(declared, query, flush_seconds)
        self._flows: dict[str, Flow] = {}

    @property
    def warnings(self) -> list[str]:
        """What was missing for the answers that were given so far, and what was assumed instead."""
        return self._assumed.warnings

    def flow(self, node: Operator) -> Flow:
        """What flows out of an operator."""
        known = self._flows
        stack = [node]
        while stack:  # not by recursion: graphs may be deeper than Python's stack
            one = stack.pop()
            missing = [child for child in one.inputs if child.fingerprint not in known]
            if missing:
                stack.extend((one, *missing))
            elif one.fingerprint not in known:
                known[one.fingerprint] = self._work_out(one)
        return known[node.fingerprint]

    def expect(self, rounds: Rounds) -> None:
        """From now on, know what the rounds of a threshold top give: how many groups reach a threshold."""
        for part in given(rounds, self.flow, self._assumed):
            flow = part.flow(self.flow(part.like or part.node))
            self._flows[part.node.fingerprint] = sent(flow, part.node.schema, self._assumed)

    def _work_out(self, node: Operator) -> Flow:
        if isinstance(node, Derived):
            core = node.expand()
            return self._flows[core.fingerprint] if core.fingerprint in self._flows else self._work_out(core)
        rule = _RULES.get(type(node))
        if rule is None:
            raise InternalError(f"nothing is known of what flows out of {node.kind}.")
        inputs = tuple(self._flows[child.fingerprint] for child in node.inputs)
        flow = rule(node, inputs, self._assumed)
        if isinstance(node, Union):
            # It does not matter where rows are brought together, as long as nothing is made of them there.
            return replace(flow, beside_per_second=sum(one.beside_per_second for one in inputs))
        if isinstance(node, Source) and len(flow.streams) > 1:
            each = (self.flow(replace(node, origins=(origin,))) for _, origin in flow.streams)
            return replace(flow, beside_per_second=sum(one.beside_per_second for one in each))
        return sent(flow, node.schema, self._assumed)

    def cores(self, node: Operator) -> float:
        """How many cores an operator keeps busy; one that stands for others, as many as the last of those."""
        while isinstance(node, Derived):
            node = node.expand()
        rows_in = sum(self.flow(child).rows_per_second for child in node.inputs)
        return rows_in * microseconds(node) / 1e6
