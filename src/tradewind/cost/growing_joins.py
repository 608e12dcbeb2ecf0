"""Joins whose state grows for ever: which ones, how fast, and the bound on time that would end it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tradewind.algebra.drawing.labels import label
from tradewind.algebra.durations import format_duration
from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator, walk
from tradewind.algebra.operators.core import Join, Source
from tradewind.algebra.properties import append_only, carrier, growing_sides, passes
from tradewind.cost.declared import declared_statistics
from tradewind.cost.statistics import Statistics
from tradewind.errors import DeploymentError, Problem
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.frontends.flow.findings import Finding
from tradewind.rewrites.engine import rewrite
from tradewind.rewrites.expand_derived import expand_derived

DAY = 86_400
"""A deployment whose state fills the memory of a site in less time, in seconds, is refused."""

_MICROS = 1_000_000


@dataclass(frozen=True)
class GrowingJoin:
    """A join that keeps rows for ever."""

    query: str
    join: Join
    bytes_per_second: float | None
    """How fast its state grows; None where not all streams that it keeps declare their rates."""
    site: str
    memory: int
    """The site that could hold most of it, and the bytes of memory there."""

    @property
    def seconds(self) -> float | None:
        """How long it takes until its state fills the memory."""
        return self.memory / self.bytes_per_second if self.bytes_per_second else None

    @property
    def fills_up(self) -> bool:
        """Whether that is within a day."""
        return self.seconds is not None and self.seconds < DAY

    @property
    def what(self) -> str:
        """What is wrong with it, in words."""
        said = f"the state of {label(self.join)!r} grows for ever: no bound on time says when rows can find no match."
        if self.seconds is None or self.bytes_per_second is None:
            return said
        lasts = _about(self.seconds)
        rate = f"{self.bytes_per_second:,.0f} bytes a second"
        return f"{said[:-1]}; at {rate} it fills the {self.memory / 2**20:,.0f} MB of memory of {self.site} in {lasts}."

    @property
    def hint(self) -> str:
        """The bound to add, as an example."""
        left, right = (_time(side) for side in self.join.inputs)
        if left is None or right is None:
            side = "left" if left is None else "right"
            return (
                f"the {side} side has no column that tells its time: keep the stream's time or a window in it, and "
                "bound how far the times of both sides may lie apart."
            )
        return (
            f"bound how far the times lie apart: in SQL, AND {right} BETWEEN {left} - INTERVAL 1 HOUR AND {left} + "
            "INTERVAL 1 HOUR in the join's ON, not in WHERE; in a flow, within: 1 hour."
        )

    @property
    def finding(self) -> Finding:
        """The same, and where it is."""
        return Finding(("queries", self.query), self.what, self.hint, at_key=True)


Placed = Callable[[Iterable[Finding]], tuple[Problem, ...]]
"""Gives findings their places in a file."""


def refuse_full(deployment: Deployment, placed: Placed) -> list[GrowingJoin]:
    """All joins that keep rows for ever; raises a `DeploymentError` if the state of some fills the memory of a site
    within a day.
    """
    joins = growing_joins(deployment)
    fatal = placed([one.finding for one in joins if one.fills_up])
    if fatal:
        count = f"{len(fatal)} problems" if len(fatal) > 1 else "a problem"
        raise DeploymentError(f"{deployment.name} has {count}.", problems=fatal)
    return joins


def _about(seconds: float) -> str:
    """A length of time in the largest unit that it has two of.

    >>> _about(5400), _about(6_100_806)
    ('90 minutes', '10 weeks')
    """
    unit = next((one for one in (DAY, 3_600, 60) if seconds >= 2 * one), 1)
    return format_duration(max(1, int(seconds / unit)) * unit * _MICROS)


def growing_joins(deployment: Deployment) -> list[GrowingJoin]:
    """Every join that keeps rows for ever, once, with the first query that asks for it."""
    if not deployment.queries:
        return []
    declared = declared_statistics(deployment)
    found: dict[Join, GrowingJoin] = {}
    for name, query in deployment.queries.items():
        figures = Statistics(declared, name)
        root = rewrite(Graph(((name, query.operator),)), (expand_derived,)).graph[name]
        memory = {site: keys.memory_bytes for site, keys in deployment.sites.items()}
        site = query.pin.get("join") or max(memory, key=lambda one: memory[one])
        for node in walk(root):
            if isinstance(node, Join) and node not in found and (sides := growing_sides(node)):
                grows = sum(figures.flow(side).bytes_per_second for side in sides if append_only(side))
                known = all(_rates_declared(side, deployment) for side in sides)
                rate = grows if known and grows > 0 else None
                found[node] = GrowingJoin(name, node, rate, site, memory[site])
    return list(found.values())


def _rates_declared(node: Operator, deployment: Deployment) -> bool:
    return all(
        deployment.streams[source.stream].origins[site].rows_per_second is not None
        for source in walk(node)
        if isinstance(source, Source)
        for site in source.origins
    )


def _time(side: Operator) -> str | None:
    """The first column that tells the time of a join's input, by the name of the stream that it comes from."""
    if not side.schema.times:
        return None
    column = side.schema.times[0][0]
    node = side
    while node.inputs:
        below = passes(node).get(column)
        if not isinstance(below, Column):
            return column
        column, node = below.name, node.inputs[carrier(node)]
    return f"{node.stream}.{column}" if isinstance(node, Source) else column
