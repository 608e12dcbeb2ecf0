"""Random graphs over two streams, for tests of ways to write graphs down."""

from contextlib import suppress
from dataclasses import replace

from hypothesis import strategies as st

from tradewind.algebra.aggregates import parse_aggregate, user_aggregate
from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.expressions.typing import parse_condition, parse_expression
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Aggregate, Combine, Finish, Merge, Partial, detached
from tradewind.algebra.operators.core import Band, ConnectionPoint, Filter, Join, Map, Source, Top, Union
from tradewind.algebra.operators.derived import Distinct, Sample, Split, Superbox
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor, pair_schema
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.tables import Table
from tradewind.algebra.windows import CountedWindow, SessionWindow, TimeWindow, ValueWindow
from tradewind.errors import GraphError

A = Source(
    "a", parse_schema("ts TIMESTAMP, k STRING, x INT, y DOUBLE, `odd name` STRING, d DATE", "ts"), 7, ("ams", "hq")
)
B = Source("b", parse_schema("at TIMESTAMP, key STRING, z INT", "at"), origins=("hq",), revisions=True)
SEEN = Table("seen", parse_schema("k STRING, n BIGINT"), ("k",))
SPAN = user_aggregate("span", over="v DOUBLE", lift="v", merge="greatest(a, b)", finish="state")
CONDITIONS = ("x > 3", "y < 0.5 OR k IS NULL", "k IN ('a', 'it\\'s', 'else')", "TRUE", "NOT `odd name` LIKE '%x\\\\%'")
WINDOWS = (
    None,
    TimeWindow("ts", 60_000_000, 60_000_000),
    TimeWindow("ts", 90_000_001, 1_500, 7),
    SessionWindow("ts", 1),
    CountedWindow("ts", 3, 1),
    CountedWindow("x", 5, 5, None, 0),
    CountedWindow("ts", 2, 1, 5_000_000, 3),
    ValueWindow("x", 10, 5),
    ValueWindow("y", 2.5, 2.5, 1_000),
    ValueWindow("ts", 3_600_000_000, 60_000_000),
    ValueWindow("d", 7, 1),
)
CALLS = (
    "count(*)",
    "sum(x)",
    "count(DISTINCT k)",
    "approx_percentile(y, 0.95)",
    "span(y)",
    "last(k)",
    "approx_top_k(k, 5, 100)",
    "count_if(x > 1)",
    "percentile(x, 1)",
)


def condition(text, node):
    return parse_condition(text, node.schema)


def functions(draw, node):
    texts = draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=3, unique=True))
    return tuple((f"f{n}", parse_aggregate(text, node.schema, {"span": SPAN})) for n, text in enumerate(texts))


@st.composite
def wide(draw):
    """Operators that keep the columns of stream `a`, some deep."""
    node = A
    for _ in range(draw(st.integers(0, 4))):
        with suppress(GraphError):  # what does not fit on what was drawn before is left out
            node = draw(st.sampled_from(STEPS))(draw, node)
    return node


def _split(draw, node):
    predicates = tuple(
        condition(text, node) for text in draw(st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=3))
    )
    return Split(node, predicates, draw(st.integers(0, len(predicates))))


def _mapped(draw, node):
    columns: list = [(name, Column(name)) for name in node.schema.names]
    number = draw(st.integers(0, 2))
    if number:
        columns[2] = ("x", parse_expression(("x + 1", "CAST(y AS INT)")[number - 1], node.schema))
    return Map(node, tuple(columns))  # a map that changes nothing is written and read as such too


STEPS = (
    lambda draw, node: Filter(node, condition(draw(st.sampled_from(CONDITIONS)), node)),
    _mapped,
    _split,
    lambda draw, node: Union((node, draw(st.sampled_from((A, node))))),
    lambda draw, node: Order(node, draw(st.sampled_from(("ts", "odd name"))), draw(st.integers(0, 3))),
    lambda draw, node: Sample(
        node, draw(st.sampled_from((0.0, 0.25, 1.0))), draw(st.sampled_from(((), ("k", "x")))), 1
    ),
    lambda draw, node: ConnectionPoint(
        node, "the point", draw(st.sampled_from((None, 5))), draw(st.sampled_from((None, 9)))
    ),
    lambda draw, node: WaitFor(
        node, B, parse_condition("k = key AND x < z", pair_schema(node.schema, B.schema)), draw(st.integers(1, 10**9))
    ),
    lambda draw, node: Update(
        node, SEEN, "DELETE FROM seen WHERE k = :k", tuple((name, Column(name)) for name in node.schema.names)
    ),
    lambda draw, node: Superbox(Filter(node, condition("x > 3", node)), (node,), "big", (("at_least", "3"),)),
    lambda draw, node: Distinct(node),
)


def _pieces(draw, node):
    calls = functions(draw, node)
    window = draw(st.sampled_from([w for w in WINDOWS if w is None or w.aligned]))
    states, groups = Partial(node, ("k",), calls, window), ("k", "window") if window else ("k",)
    if draw(st.booleans()):
        states, groups, calls = _combined(draw, states)
    return Finish(Merge(states, groups, detached(calls)), detached(calls))


def _combined(draw, partial):
    """Coarser partials, in windows as they are, in longer ones or in none; their groups, and the states they keep."""
    fine, calls, keys = partial.window, draw(st.sampled_from((partial.functions, partial.functions[:1]))), ("k",)
    longer = None
    if isinstance(fine, TimeWindow) and fine.size == fine.step:
        step = fine.size * draw(st.integers(1, 3))
        longer = draw(st.sampled_from((None, TimeWindow("ts", 3 * fine.size, step, fine.offset + fine.size))))
    kept = draw(st.sampled_from(((), keys))) if longer or fine is None else draw(st.sampled_from((keys, ("window",))))
    groups = (*kept, "window") if longer else kept
    return Combine(partial, kept, detached(calls), longer), groups, calls


def _joined(draw, node):
    how = draw(st.sampled_from(("inner", "left", "right", "full")))
    keys = draw(st.sampled_from(((("k", "key"),), (("k", "key"), ("x", "z")), (("x", "z"), ("y", "z"), ("x", "z")))))
    low, high = draw(st.sampled_from(((-5, None), (0, 3_600_000_000), (None, -1))))
    return Join(node, B, how, keys, draw(st.sampled_from((None, Band("ts", "at", low, high), Band("x", "z", -2, 2)))))


ENDS = (
    lambda draw, node: Aggregate(
        node,
        draw(st.sampled_from(((), ("k",), ("odd name", "x")))),
        functions(draw, node),
        draw(st.sampled_from(WINDOWS)),
    ),
    _pieces,
    _joined,
    lambda draw, node: Top(
        node, draw(st.integers(1, 9)), (("y", True), ("odd name", False)), draw(st.sampled_from(((), ("k",)))), "place"
    ),
    lambda draw, node: Resample(
        node, ("k",), ("y", "x"), draw(st.sampled_from(("previous", "linear"))), 1_000, None, 5_000
    ),
    lambda draw, node: Resample(B, (), ("z",), "previous", None, node),
    lambda draw, node: Read(node, SEEN, "SELECT n FROM seen WHERE k = :k", draw(st.booleans())),
    lambda draw, node: replace(A, origins=("hq",)),
    lambda draw, node: node,
)


@st.composite
def graphs(draw):
    """Graphs of one to four results that share parts."""
    trunks = draw(st.lists(wide(), min_size=1, max_size=2))
    names = draw(
        st.lists(
            st.sampled_from(("a", "B", "top", "filter_1", "a.b", "größe", "x-y")), min_size=1, max_size=4, unique=True
        )
    )
    results = []
    for name in names:
        trunk = draw(st.sampled_from(trunks))
        timed = trunk.schema.time is not None
        results.append((name, draw(st.sampled_from(ENDS if timed else ENDS[-1:]))(draw, trunk)))
    return Graph(tuple(results))
