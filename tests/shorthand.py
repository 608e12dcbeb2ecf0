"""Short ways to write operators and rows in tests, straight on the algebra."""

from tradewind.algebra.aggregates import parse_aggregate
from tradewind.algebra.expressions.typing import parse_condition, parse_expression
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Map, Source
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.windows import CountedWindow, SessionWindow, TimeWindow, Window
from tradewind.interpreter.run import Run, answer

SECOND = 1_000_000
MINUTE = 60 * SECOND


def stream(name: str, schema: str, time: str | None = "ts", late_by: int = 0, **options) -> Source:
    return Source(name, parse_schema(schema, time), late_by, **options)


def where(node: Operator, text: str) -> Filter:
    return Filter(node, parse_condition(text, node.schema))


def mapped(node: Operator, **columns: str) -> Map:
    return Map(node, tuple((name, parse_expression(text, node.schema)) for name, text in columns.items()))


def grouped(node: Operator, keys: str = "", window: Window | None = None, users=None, **calls: str) -> Aggregate:
    functions = tuple((name, parse_aggregate(text, node.schema, users)) for name, text in calls.items())
    return Aggregate(node, tuple(keys.split()), functions, window)


def tumbling(size: int, column: str = "ts") -> TimeWindow:
    return TimeWindow(column, size, size)


def sliding(size: int, step: int, column: str = "ts") -> TimeWindow:
    return TimeWindow(column, size, step)


def session(gap: int, column: str = "ts") -> SessionWindow:
    return SessionWindow(column, gap)


def tuples(size: int, step: int = 1, timeout: int | None = None, slack: int | None = None, order: str = "ts"):
    return CountedWindow(order, size, step, timeout, slack)


def rows_of(node: Operator, **data) -> list:
    """The answer of one operator on rows by stream, all from one origin, each row as often as it is there."""
    found = answer(Graph.of(result=node), {name: {"here": rows} for name, rows in data.items()})["result"]
    assert all(weight > 0 for weight in found.values())
    return sorted(found.elements(), key=repr)


def run_of(node: Operator, **data) -> Run:
    """A run of one operator that has been fed rows by stream, all from one origin, and has not ended."""
    run = Run(Graph.of(result=node), {name: ["here"] for name in data})
    run.feed({name: {"here": rows} for name, rows in data.items()})
    return run
