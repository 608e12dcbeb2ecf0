"""A graph that holds every kind of operator, for tests that must not forget one."""

from tradewind.algebra.aggregates import parse_aggregate, user_aggregate
from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.expressions.typing import parse_expression
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Aggregate, Combine, Finish, Merge, Partial, detached
from tradewind.algebra.operators.core import Band, ConnectionPoint, Filter, Join, Map, Source, Top, Union
from tradewind.algebra.operators.derived import Distinct, Sample, Split, Superbox
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor, pair_schema
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.tables import Table
from tradewind.algebra.windows import CountedWindow, SessionWindow, TimeWindow, ValueWindow

MINUTE = 60_000_000
TICKS = Source(
    "ticks",
    parse_schema("ts TIMESTAMP, ticker STRING, price DOUBLE, size INT", time="ts"),
    5_000_000,
    ("ams", "fra"),
    True,
)
NEWS = Source("news", parse_schema("at TIMESTAMP, topic STRING, `a word` STRING", time="at"))
SEEN = Table("seen", parse_schema("ticker STRING, n BIGINT"), ("ticker",))
WIDEST = user_aggregate("widest", over="x DOUBLE", lift="x", merge="greatest(a, b)", finish="state * 2.0D")


def functions(node, **texts):
    return tuple((name, parse_aggregate(text, node.schema, {"widest": WIDEST})) for name, text in texts.items())


def condition(text, schema):
    return parse_expression(text, schema)


def every_kind() -> Graph:
    """Every kind of operator, every kind of window, shared parts, several results."""
    big = Filter(TICKS, condition("size > 10 AND ticker <> 'it\\'s' OR price IS NULL", TICKS.schema))
    point = ConnectionPoint(big, "big ones", 60 * MINUTE, 1000)
    bars = Aggregate(
        point, ("ticker",), functions(point, n="count(*)", w="widest(price)", p="approx_percentile(price, 0.9)"),
        TimeWindow("ts", MINUTE, MINUTE // 2, 1000),
    )  # fmt: skip
    top = Top(bars, 10, (("n", True), ("ticker", False)), ("window",), "place")
    calls = functions(point, n="count(*)", s="sum(price)")
    partial = Partial(point, ("ticker",), calls, TimeWindow("ts", MINUTE, MINUTE))
    finished = Finish(Merge(partial, ("ticker", "window"), detached(calls)), detached(calls))
    sums = detached(calls[1:])
    combined = Combine(partial, (), sums, TimeWindow("ts", 3 * MINUTE, 2 * MINUTE, MINUTE))
    joined = Join(point, NEWS, "left", (("ticker", "topic"),), Band("ts", "at", -MINUTE, 5 * MINUTE))
    predicates = tuple(condition(text, TICKS.schema) for text in ("price > 1.5", "size = 3"))
    way, rest = Split(TICKS, predicates, 0), Split(TICKS, predicates, 2)
    waited = WaitFor(rest, NEWS, condition("ticker = topic", pair_schema(rest.schema, NEWS.schema)), MINUTE)
    read = Read(TICKS, SEEN, "SELECT n FROM seen WHERE ticker = :ticker", True)
    update = Update(
        TICKS, SEEN, "UPDATE seen SET n = n + 1 WHERE ticker = :ticker",
        (("ts", Column("ts")), ("twice", condition("price * 2", TICKS.schema))),
    )  # fmt: skip
    narrow = Map(point, (("ts", Column("ts")), ("cents", condition("CAST(price * 100 AS BIGINT)", point.schema))))
    box = Superbox(narrow, (point,), "in_cents", (("factor", "100"),))
    return Graph.of(
        top=top,
        finished=finished,
        coarser=Finish(Merge(combined, ("window",), sums), sums),
        joined=joined,
        way=Union((way, rest)),
        waited=waited,
        read=read,
        update=update,
        box=box,
        sessions=Aggregate(rest, (), functions(rest, d="delta(price)"), SessionWindow("ts", MINUTE)),
        pairs=Aggregate(rest, ("ticker",), functions(rest, n="count(*)"), CountedWindow("ts", 2, 1, MINUTE, 5)),
        steps=Aggregate(rest, ("ticker",), functions(rest, n="count(*)"), ValueWindow("price", 2.5, 0.5, MINUTE, 0)),
        ordered=Order(TICKS, "ts", 7),
        grid=Resample(TICKS, ("ticker",), ("price",), "linear", 10_000_000, None, MINUTE),
        points=Resample(TICKS, (), ("price", "size"), "previous", None, NEWS),
        some=Distinct(Sample(TICKS, 0.125, ("ticker",), 3)),
    )
