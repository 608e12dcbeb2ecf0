"""What the tests of the SQL front end ask about, and short ways to build graphs by hand."""

from __future__ import annotations

from tradewind.algebra.aggregates import parse_aggregate, user_aggregate
from tradewind.algebra.expressions.typing import parse_condition, parse_expression
from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Map, Source
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.tables import Table
from tradewind.algebra.windows import TimeWindow, Window
from tradewind.frontends.catalog import Catalog
from tradewind.frontends.sql.query import parse_query

MINUTE = 60_000_000
BY_MINUTE = TimeWindow("ts", MINUTE, MINUTE)

REQUESTS = Source(
    "requests",
    parse_schema("ts TIMESTAMP, domain STRING, url STRING, bytes BIGINT, status INT", "ts"),
    late_by=10_000_000,
)
A = Source("A", parse_schema("ts TIMESTAMP, k INT, x INT, f DOUBLE", "ts"))
B = Source("B", parse_schema("ts TIMESTAMP, k INT, y INT, g DOUBLE", "ts"))
C = Source("C", parse_schema("ts TIMESTAMP, k INT, z BIGINT", "ts"))
RANGE = user_aggregate(
    "Spread", over="v BIGINT", lift="named_struct('lo', v, 'hi', v)",
    merge="named_struct('lo', least(a.lo, b.lo), 'hi', greatest(a.hi, b.hi))", finish="state.hi - state.lo",
)  # fmt: skip
CATALOG = Catalog(
    {"requests": REQUESTS, "A": A, "B": B, "C": C},
    {"prices": Table("prices", parse_schema("id INT, price DOUBLE"), ("id",))},
    {"Spread": RANGE},
)


def sql(text: str) -> Operator:
    """The graph of a query over the test's catalog."""
    return parse_query(text, CATALOG)


def where(node: Operator, condition: str) -> Filter:
    """A filter."""
    return Filter(node, parse_condition(condition, node.schema))


def mapped(node: Operator, **columns: str) -> Map:
    """A map; a trailing underscore lets Python's words be columns."""
    return Map(node, tuple((name.rstrip("_"), parse_expression(text, node.schema)) for name, text in columns.items()))


def grouped(node: Operator, *keys: str, window: Window | None = None, **functions: str) -> Aggregate:
    """An aggregate over columns of the node."""
    calls = {name: parse_aggregate(text, node.schema, {"spread": RANGE}) for name, text in functions.items()}
    return Aggregate(node, keys, tuple(calls.items()), window)
