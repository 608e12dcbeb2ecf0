"""What a connection point remembers, and what someone who attaches to it later sees: the history first, then the
present.
"""

from __future__ import annotations

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.core import ConnectionPoint, Source
from tradewind.errors import GraphError, unknown
from tradewind.interpreter.rows import Delta
from tradewind.interpreter.run import Run, Weighted


def connection_point(graph: Graph, name: str) -> ConnectionPoint:
    """The connection point of that name."""
    points = {node.name: node for node in graph if isinstance(node, ConnectionPoint)}
    if name not in points:
        raise unknown("connection point", name, points)
    return points[name]


def history(run: Run, name: str) -> list[Delta]:
    """The deltas that a connection point still keeps, in the order in which they passed.

    `keep_time` counts back from the latest event time that passed, `keep_rows` from the last row; with neither, all
    is kept.
    """
    point = connection_point(run.graph, name)
    kept = run.log(point)
    if point.keep_time is not None:
        if point.schema.time is None:
            raise GraphError(f"connection point {name!r} keeps rows by time, but they have none.")
        column = point.schema.index(point.schema.time)
        latest = max((d.row.values[column] for d in kept if d.row.values[column] is not None), default=0)
        oldest = latest - point.keep_time
        kept = [d for d in kept if d.row.values[column] is not None and d.row.values[column] >= oldest]
    return kept[-point.keep_rows :] if point.keep_rows is not None else kept


def attach(run: Run, name: str, stream: str, graph: Graph) -> Run:
    """A run of `graph`, whose source `stream` reads from a running connection point, fed with the history so far.

    What passes the point from now on is to be fed to the new run as rows of that stream from the origin named like
    the point.
    """
    source = graph.sources().get(stream)
    point = connection_point(run.graph, name)
    if source is None or source.schema.columns != point.schema.columns:
        raise GraphError(f"stream {stream!r} does not have the columns of connection point {name!r}: {point.schema}.")
    attached = Run(graph, {stream: [name]})
    attached.feed({stream: {name: [Weighted(delta.row.values, delta.weight) for delta in history(run, name)]}})
    return attached


def tap(point: ConnectionPoint, stream: str) -> Source:
    """A source that reads what passes a connection point, corrections included."""
    return Source(stream, point.schema, origins=(point.name,), revisions=True)
