"""Every aggregate: what it answers, and that its partials may be made anywhere and merged in any order."""

import math
import random
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shorthand import MINUTE, SECOND, grouped, rows_of, stream, tumbling
from tradewind.algebra.aggregates import AGGREGATES, parse_aggregate, user_aggregate
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Aggregate, Combine, Finish, Merge, Partial, detached
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Source, Union
from tradewind.algebra.windows import TimeWindow
from tradewind.errors import DataError, ExpressionError, GraphError, InputError
from tradewind.interpreter.pieces import answer_in_pieces
from tradewind.interpreter.run import Run, Weighted, answer

S = SECOND
T = stream("t", "ts TIMESTAMP, k STRING, i INT, d DOUBLE, m DECIMAL(8,2), b BOOLEAN")
RANGE = user_aggregate(
    "spread",
    over="x DOUBLE",
    lift="named_struct('lo', x, 'hi', x)",
    merge="named_struct('lo', least(a.lo, b.lo), 'hi', greatest(a.hi, b.hi))",
    finish="state.hi - state.lo",
)
USERS = {"spread": RANGE}

ROWS = [
    (1 * S, "a", 4, 1.5, Decimal("1.10"), True),
    (2 * S, "a", 1, None, Decimal("2.25"), False),
    (3 * S, "b", 4, 0.25, None, None),
    (0 * S, "b", None, 2.0, Decimal("-1.00"), True),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("count(*)", 4),
        ("count(i)", 3),
        ("count_if(i > 2)", 2),
        ("count(*) FILTER (WHERE i > 2)", 2),
        ("sum(i)", 9),
        ("sum(d)", 3.75),
        ("sum(m)", Decimal("2.35")),
        ("sum(i) FILTER (WHERE k = 'a')", 5),
        ("percentile(d, 0.5) FILTER (WHERE k = 'b')", 1.125),
        ("count(DISTINCT i) FILTER (WHERE k = 'b')", 1),
        ("avg(i)", 3.0),
        ("avg(m)", Decimal("0.783333")),
        ("min(k)", "a"),
        ("max(d)", 2.0),
        ("bool_and(b)", False),
        ("bool_or(b)", True),
        ("var_pop(i)", 2.0),
        ("variance(i)", 3.0),
        ("stddev_pop(i)", math.sqrt(2)),
        ("stddev(i)", math.sqrt(3)),
        ("first(d)", 2.0),
        ("last(d)", 0.25),
        ("first(i)", 4),
        ("delta(d)", -1.75),
        ("count(DISTINCT i)", 2),
        ("approx_count_distinct(i)", 2),
        ("theta_count_distinct(i)", 2),
        ("percentile(d, 0.5)", 1.5),
        ("percentile(d, 0.25)", 0.875),
        ("median(i)", 4.0),
        ("approx_percentile(d, 0)", 0.25),
        ("top_k(i, 1)", ((4, 2),)),
        ("approx_top_k(k, 5)", (("a", 2), ("b", 2))),
        ("spread(d)", 1.75),
    ],
)
def test_what_each_aggregate_answers(text: str, expected) -> None:
    assert rows_of(grouped(T, users=USERS, x=text), t=ROWS) == [(expected,)]


def test_without_values_the_answer_is_null_or_zero() -> None:
    nothing = [(0, "a", None, None, None, None)]
    node = grouped(T, n="count(i)", s="sum(d)", a="avg(d)", v="variance(d)", u="count(DISTINCT i)", t="top_k(i, 3)")
    assert rows_of(node, t=nothing) == [(0, None, None, None, 0, ())]


def test_a_group_without_rows_has_no_answer() -> None:
    assert rows_of(grouped(T, n="count(*)"), t=[]) == []


def test_sums_beyond_their_type_are_null_and_floats_do_not_lose_bits() -> None:
    big = stream("big", "n BIGINT, d DOUBLE", None)
    node = grouped(big, s="sum(n)", d="sum(d)")
    assert rows_of(node, big=[(2**62, 1e300), (2**62, 1.0), (0, -1e300)]) == [(None, 1.0)]


def test_infinities_and_nan_in_sums() -> None:
    big = stream("big", "d DOUBLE", None)
    node = grouped(big, s="sum(d)", a="avg(d)", v="var_pop(d)")
    assert rows_of(node, big=[(math.inf,), (1.0,)]) == [(math.inf, math.inf, math.nan)]
    assert rows_of(node, big=[(math.inf,), (-math.inf,)]) == [(math.nan, math.nan, math.nan)]


CALLS = {
    "count": "count(i)", "count_if": "count_if(i > 1)", "sum": "sum(d)", "avg": "avg(i)", "min": "min(d)",
    "max": "max(k)", "bool_and": "bool_and(b)", "bool_or": "bool_or(b)", "var_samp": "var_samp(d)",
    "var_pop": "var_pop(i)",
    "stddev_samp": "stddev_samp(i)", "stddev_pop": "stddev_pop(d)", "first": "first(i)", "last": "last(d)",
    "delta": "delta(i)", "count_distinct": "count(DISTINCT i)", "approx_count_distinct": "approx_count_distinct(k)",
    "theta_count_distinct": "theta_count_distinct(i)", "percentile": "percentile(d, 0.3)",
    "approx_percentile": "approx_percentile(i, 0.9)", "top_k": "top_k(k, 2)", "approx_top_k": "approx_top_k(i, 2)",
}  # fmt: skip

doubles = st.one_of(st.none(), st.floats(allow_nan=False), st.sampled_from([0.1, 0.2, 0.3, math.nan, math.inf, -0.0]))
row_st = st.tuples(
    st.integers(0, 200).map(lambda s: s * S), st.sampled_from("ab"), st.one_of(st.none(), st.integers(-3, 3)), doubles,
    st.one_of(st.none(), st.integers(-999, 999).map(lambda n: Decimal(n).scaleb(-2))),
    st.one_of(st.none(), st.booleans()),
)  # fmt: skip


def split(node: Aggregate, parts: int) -> Operator:
    """The aggregate over the union of several partials of one input each."""
    calls = detached(node.functions)
    keys = (*node.keys, "window") if node.window else node.keys
    pieces = tuple(
        Partial(stream(f"t{i}", str(T.schema)), node.keys, node.functions, node.window) for i in range(parts)
    )
    return Finish(Merge(Union(pieces), keys, calls), calls)


def test_every_aggregate_is_tried() -> None:
    assert set(CALLS) == set(AGGREGATES)


@pytest.mark.parametrize("name", [*AGGREGATES, "spread"])
@pytest.mark.parametrize("windowed", [False, True])
@given(st.lists(st.lists(row_st, max_size=6), min_size=3, max_size=3), st.integers(0, 2**32))
@settings(max_examples=25)
def test_partials_merge_to_the_whole_in_any_order_and_any_batches(name: str, windowed: bool, rows, seed: int) -> None:
    text = "spread(d)" if name == "spread" else CALLS[name]
    whole = grouped(T, "k", tumbling(MINUTE) if windowed else None, users=USERS, x=text, n="count(*)")
    expected = answer(Graph.of(x=whole), {"t": {"here": [row for part in rows for row in part]}})
    parted = Graph.of(x=split(whole, 3))
    data = {f"t{i}": {"here": part} for i, part in enumerate(rows)}
    mix = random.Random(seed)
    cuts = [node for node in parted if isinstance(node, Partial | Merge | Union) and mix.random() < 0.7]
    assert answer_in_pieces(parted, cuts, data, mix) == expected


@st.composite
def windows_st(draw):
    """A fine window, and a coarse one that it tiles; either may be none at all."""
    size = draw(st.sampled_from((10, 20))) * S
    fine = TimeWindow("ts", size, size, draw(st.sampled_from((0, 3, 10))) * S)
    long = draw(st.integers(1, 6))
    coarse = TimeWindow(
        "ts", long * size, draw(st.integers(1, long)) * size, fine.offset + draw(st.integers(0, 5)) * size
    )
    return draw(st.sampled_from(((fine, coarse), (fine, coarse), (fine, fine), (fine, None), (None, None))))


def rolled_up(node: Aggregate, fine: TimeWindow | None) -> Operator:
    """The aggregate from finer partials of three inputs: two are combined as they are, then all to coarser groups."""
    calls = detached(node.functions)
    keys = ("b", "k", "window") if fine else ("b", "k")
    one, two, three = (Partial(stream(f"t{i}", str(T.schema)), ("k", "b"), node.functions, fine) for i in range(3))
    near = Combine(Union((one, two)), keys, calls)
    far = Combine(three, keys, calls)
    groups = (*node.keys, "window") if node.window else node.keys
    longer = node.window if node.window != fine else None
    assert isinstance(longer, TimeWindow | None)
    coarse = Combine(Union((near, far)), node.keys if longer else groups, calls, longer)
    return Finish(Merge(coarse, groups, calls), calls)


@pytest.mark.parametrize("name", [*AGGREGATES, "spread"])
@given(
    st.lists(st.lists(row_st, max_size=6), min_size=3, max_size=3), st.sampled_from(((), ("k",), ("b", "k"))),
    windows_st(), st.integers(0, 2**32),
)  # fmt: skip
@settings(max_examples=30)
def test_partials_combine_to_those_of_coarser_groups(name: str, rows, keys, windows, seed: int) -> None:
    text = "spread(d)" if name == "spread" else CALLS[name]
    fine, coarse = windows
    functions = tuple((n, parse_aggregate(call, T.schema, USERS)) for n, call in (("x", text), ("n", "count(*)")))
    whole = Aggregate(T, keys, functions, coarse)
    expected = answer(Graph.of(x=whole), {"t": {"here": [row for part in rows for row in part]}})
    parted = Graph.of(x=rolled_up(whole, fine))
    data = {f"t{i}": {"here": part} for i, part in enumerate(rows)}
    mix = random.Random(seed)
    cuts = [node for node in parted if isinstance(node, Partial | Combine | Merge | Union) and mix.random() < 0.5]
    assert answer_in_pieces(parted, cuts, data, mix) == expected


def test_a_combine_gives_one_partial_per_group_and_batch() -> None:
    calls = (("n", parse_aggregate("count(*)", T.schema)), ("s", parse_aggregate("sum(i)", T.schema)))
    partial = Partial(T, ("k", "b"), calls, TimeWindow("ts", S, S))
    node = Combine(partial, ("k",), detached(calls[:1]), TimeWindow("ts", 4 * S, 2 * S))
    run = Run(Graph.of(x=node), {"t": ["here"]})
    news = run.feed({"t": {"here": [ROWS[0], *ROWS[0:2], ROWS[2]]}})["x"]
    assert sorted((row.values, weight) for row, weight in news) == [
        (("a", (-2 * S, 2 * S), 2), 1), (("a", (0, 4 * S), 3), 1), (("a", (2 * S, 6 * S), 1), 1),
        (("b", (0, 4 * S), 1), 1), (("b", (2 * S, 6 * S), 1), 1),
    ]  # fmt: skip
    assert {row.due for row, _ in news} == {end * S - 1 for end in (2, 4, 6)}
    assert [delta.row.values for delta in run.feed({"t": {"here": [ROWS[0]]}})["x"]] == [
        ("a", (0, 4 * S), 1), ("a", (-2 * S, 2 * S), 1),
    ]  # fmt: skip
    assert run.feed({})["x"] == []


def test_a_partial_counts_as_often_as_it_is_there_and_is_not_taken_back() -> None:
    calls = (("s", parse_aggregate("sum(i)", T.schema)),)
    source = Source("sent", Partial(T, ("k",), calls).schema, revisions=True)
    state = (1, Fraction(5), Fraction(25), 0, 0, 0)
    combined = Combine(source, (), detached(calls))
    graph = Graph.of(x=Finish(combined, detached(calls)))
    given_rows = [Weighted(("a", state), 3), Weighted(("b", state), 1), Weighted(("c", None), 1)]
    assert answer(graph, {"sent": {"here": given_rows}})["x"] == {(20,): 1}
    with pytest.raises(DataError, match="taken back"):
        answer(graph, {"sent": {"here": [Weighted(("a", state), -1)]}})


@pytest.mark.parametrize("name", [n for n, f in AGGREGATES.items() if f.invertible])
@given(st.lists(row_st, min_size=1, max_size=6), st.lists(row_st, min_size=1, max_size=4), st.integers(0, 2**32))
@settings(max_examples=25)
def test_partials_of_invertible_aggregates_take_rows_back(name: str, kept, taken, seed: int) -> None:
    """Rows that come and go again, in other batches and in any order, leave no trace in the merged state."""
    source = stream("t", str(T.schema), revisions=True)
    call = parse_aggregate(CALLS[name], T.schema)
    functions = (("x", call), ("n", parse_aggregate("count(*)", T.schema)))
    calls = detached(functions)
    fine = Combine(Partial(source, ("k", "b"), functions), ("k",), calls)
    partial = fine if seed % 2 else Partial(source, ("k",), functions)
    parted = Graph.of(x=Finish(Merge(partial, ("k",), calls), calls))
    rows = [Weighted(row, 1) for row in [*kept, *taken]] + [Weighted(row, -1) for row in taken]
    mix = random.Random(seed)
    mix.shuffle(rows)
    found = answer_in_pieces(parted, [], {"t": {"here": rows}}, mix)["x"]
    expected = answer(Graph.of(x=Aggregate(T, ("k",), functions)), {"t": {"here": kept}})["x"]
    assert {row: w for row, w in found.items() if row[2] > 0} == dict(expected)


@pytest.mark.parametrize("name", [n for n, f in AGGREGATES.items() if f.idempotent])
@given(st.lists(row_st, min_size=1, max_size=6))
@settings(max_examples=20)
def test_idempotent_aggregates_may_see_a_row_twice(name: str, rows) -> None:
    node = grouped(T, "k", x=CALLS[name])
    assert rows_of(node, t=rows) == rows_of(node, t=[*rows, *rows])


def test_what_does_not_fit_is_refused() -> None:
    for text in (
        "sum(k)",
        "avg(ts)",
        "percentile(d, 2)",
        "percentile(d)",
        "top_k(i, 0)",
        "sum()",
        "sum(i, i)",
        "bool_or(i)",
    ):
        with pytest.raises(ExpressionError):
            parse_aggregate(text, T.schema)
    with pytest.raises(ExpressionError, match="inside an aggregate"):
        parse_aggregate("sum(max(i))", T.schema)
    with pytest.raises(ExpressionError, match="not an aggregate"):
        parse_aggregate("upper(k)", T.schema)
    with pytest.raises(GraphError, match="needs event time"):
        grouped(stream("x", "v INT", None), f="first(v)")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"merge": "a.lo"}, "merge gives DOUBLE"),
        ({"lift": "reflect('a', 'b')"}, "calls Java"),
        ({"finish": "state.nope"}, "no field"),
        ({"over": "x DOUBEL"}, "unknown type"),
        ({"name": "sum"}, "cannot be the name"),
    ],
)
def test_a_user_aggregate_is_checked(changes: dict, said: str) -> None:
    texts = {
        "name": "spread",
        "over": "x DOUBLE",
        "lift": "named_struct('lo', x, 'hi', x)",
        "merge": "named_struct('lo', least(a.lo, b.lo), 'hi', greatest(a.hi, b.hi))",
        "finish": "state.hi - state.lo",
    }
    with pytest.raises(InputError, match=said):
        user_aggregate(**(texts | changes))
