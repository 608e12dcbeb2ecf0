"""Graphs as JSON and back, what they share, and the graphs that cannot be built."""

import json
import pickle
import random
from dataclasses import FrozenInstanceError

import pytest

from tests.algebra.every import MINUTE, NEWS, SEEN, TICKS, condition, every_kind, functions
from tradewind.algebra.aggregates import parse_aggregate
from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.graph import KINDS, Graph
from tradewind.algebra.operators.aggregation import Aggregate, Combine, Finish, Merge, Partial, detached, windows_of
from tradewind.algebra.operators.base import Operator, walk
from tradewind.algebra.operators.core import Band, ConnectionPoint, Filter, Join, Map, Source, Top, Union
from tradewind.algebra.operators.derived import Sample, Split, Superbox
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor, pair_schema
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.schema import Schema, parse_schema
from tradewind.algebra.windows import CountedWindow, SessionWindow, TimeWindow, ValueWindow, tiles
from tradewind.errors import ExpressionError, GraphError, InputError, UnknownNameError
from tradewind.interpreter.windows import starts

TIMELESS = Source("timeless", parse_schema("k INT, v DOUBLE, name STRING"))


def test_the_example_holds_every_kind():
    assert {node.kind for node in every_kind()} == set(KINDS)


def test_json_and_back_gives_the_same_graph():
    graph = every_kind()
    text = json.dumps(graph.to_json(), allow_nan=False)
    again = Graph.from_json(json.loads(text))
    assert again == graph
    assert [node.fingerprint for node in again] == [node.fingerprint for node in graph]
    assert [node.schema for node in again] == [node.schema for node in graph]
    assert json.dumps(again.to_json()) == text


@pytest.mark.parametrize("name", every_kind().names)
def test_each_part_round_trips_alone(name):
    graph = Graph.of(**{name: every_kind()[name]})
    assert Graph.from_json(json.loads(json.dumps(graph.to_json()))) == graph


def test_shared_nodes_stay_shared():
    graph = every_kind()
    data = graph.to_json()
    assert len(data["nodes"]) == len(list(graph)) == len(set(graph))
    assert sum(item["kind"] == "source" for item in data["nodes"]) == 2
    again = Graph.from_json(data)
    (ticks,) = {id(node) for node in again if isinstance(node, Source) and node.stream == "ticks"}
    assert all(id(child) == ticks for node in again for child in node.inputs if child == TICKS)


def test_equal_content_is_equal_whoever_built_it():
    def built():
        return Filter(Source("s", parse_schema("a INT, b STRING")), condition("a > 1", parse_schema("a INT, b STRING")))

    assert built() == built()
    assert hash(built()) == hash(built())
    assert built().fingerprint == built().fingerprint
    assert built() != built().input
    other = Filter(built().input, condition("a > 2", built().schema))
    assert built() != other


def test_every_parameter_counts_in_the_fingerprint():
    graph = every_kind()
    assert len({node.fingerprint for node in graph}) == len(list(graph))
    assert Source("s", TICKS.columns) != Source("s", TICKS.columns, 1)
    assert Source("s", TICKS.columns) != Source("s", Schema(TICKS.columns.columns))
    assert Source("s", TICKS.columns) != Source("s", TICKS.columns, revisions=True)


def test_a_graph_answers_for_its_parts():
    graph = Graph.of(a=TICKS, b=Filter(TICKS, condition("size > 1", TICKS.schema)))
    assert graph.names == ("a", "b")
    assert graph.sources() == {"ticks": TICKS}
    assert [node.kind for node in graph] == ["source", "filter"]
    with pytest.raises(UnknownNameError, match="There is: a, b"):
        graph["c"]


def test_walking_a_graph_whose_paths_are_exponentially_many_is_quick():
    node: Operator = TICKS
    for _ in range(200):
        node = Union((node, node))
    assert len(list(walk(node))) == 201
    assert len(Graph.of(result=node).to_json()["nodes"]) == 201


def broken(change):
    data = Graph.of(result=Filter(TICKS, condition("size > 1", TICKS.schema))).to_json()
    change(data)
    return data


def _cycle(data):
    data["nodes"][0] = {"id": "source-1", "kind": "union", "members": ["filter-2"]}


@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        (_cycle, GraphError, "cycles are not allowed"),
        (lambda d: d["nodes"][1].update(input="nowhere"), GraphError, "'nowhere', which does not come before"),
        (lambda d: d["nodes"].reverse(), GraphError, "inputs first"),
        (lambda d: d["results"].update(other="nowhere"), GraphError, "'other' reads 'nowhere'"),
        (lambda d: d["nodes"][1].update(kind="fliter"), UnknownNameError, "did you mean 'filter'"),
        (lambda d: d["nodes"][1].update(predicate="sise > 1"), UnknownNameError, "did you mean 'size'"),
        (lambda d: d["nodes"][1].update(predicate="size"), InputError, "not BOOLEAN"),
        (lambda d: d["nodes"][1].update(predicate="reflect('x')"), InputError, "allow-list"),
        (lambda d: d["results"].clear(), GraphError, "at least one result"),
        (lambda d: d["nodes"][1].pop("input"), GraphError, "input"),
        (lambda d: d["nodes"][1].pop("predicate"), GraphError, "predicate"),
        (lambda d: d["nodes"][1].pop("id"), GraphError, "id"),
        (lambda d: d["nodes"][1].pop("kind"), GraphError, "kind"),
        (lambda d: d["nodes"][1].update(kind=["filter"]), GraphError, "kind"),
        (lambda d: d["nodes"][1].update(predicate=7), GraphError, "'filter-2'"),
        (lambda d: d["nodes"][1].update(id="source-1"), GraphError, "two nodes"),
        (lambda d: d["nodes"][1].update(predicat="size > 2"), UnknownNameError, "did you mean 'predicate'"),
        (lambda d: d["nodes"][1].update(input=["source-1"]), GraphError, "'filter-2'"),
        (lambda d: d["nodes"][1].update(input={"a": 1}), GraphError, "'filter-2'"),
        (lambda d: d["nodes"][0].update(late_by="soon"), GraphError, "'source-1'"),
        (lambda d: d["nodes"][0].update(columns=7), GraphError, "'source-1'"),
        (lambda d: d.pop("nodes"), GraphError, "nodes"),
        (lambda d: d.pop("results"), GraphError, "results"),
        (lambda d: d.update(nodes=7), GraphError, "nodes"),
        (lambda d: d["nodes"].append("x"), GraphError, "'x'"),
    ],
)  # fmt: skip
def test_broken_json_is_refused_with_its_reason(change, kind, says):
    with pytest.raises(kind) as caught:
        Graph.from_json(broken(change))
    assert says in str(caught.value)


def aggregate(node, window, keys=(), text="count(*)"):
    return Aggregate(node, keys, functions(node, n=text), window)


def _both(left, right):
    return pair_schema(left.schema, right.schema)


RENAMED = Map(TICKS, tuple((f"{name}2", Column(name)) for name in TICKS.schema.names))
CALLS, CALLS2 = functions(TICKS, n="sum(price)"), functions(RENAMED, n="sum(price2)")
PARTIAL = Partial(TICKS, ("ticker",), CALLS)
MINUTES = Partial(TICKS, ("ticker",), CALLS, TimeWindow("ts", MINUTE, MINUTE))
SLIDING = Partial(TICKS, ("ticker",), CALLS, TimeWindow("ts", 2 * MINUTE, MINUTE))
STEPS = Partial(TICKS, (), CALLS, ValueWindow("size", 2, 2))
MERGED = Merge(PARTIAL, ("ticker",), detached(CALLS))
ENDS = Map(MINUTES, (("window", condition("named_struct('start', window.end)", MINUTES.schema)), ("n", Column("n"))))


def combined(node, size, step=None, offset=0, *, keys=(), column="ts"):
    window = size if not isinstance(size, int) else TimeWindow(column, size, step or size, offset)
    return Combine(node, keys, detached(CALLS), window)


READ = Read(TICKS, SEEN, "SELECT n FROM seen")


@pytest.mark.parametrize(
    ("build", "where", "says"),
    [
        (lambda: Filter(TICKS, Column("prise")), "filter", "did you mean 'price'"),
        (lambda: Filter(TICKS, Column("price")), "filter", "not BOOLEAN"),
        (lambda: Map(TICKS, ()), "map", "at least one column"),
        (lambda: Map(TICKS, (("x", Column("y")),)), "map", "unknown column 'y'"),
        (lambda: Map(TICKS, (("x", Column("ts")), ("X", Column("size")))), "map", "differ only in case"),
        (lambda: Map(TICKS, (("x", condition("NULL", TICKS.schema)),)), "map", "NULL of no type"),
        (lambda: Map(TICKS, (("x", condition("ts - ts", TICKS.schema)),)), "map", "an INTERVAL"),
        (lambda: Source("s", Schema(())), "source", "no columns"),
        (lambda: Source("s", TICKS.columns, -1), "source", "late by less than nothing"),
        (lambda: Union(()), "union", "at least one input"),
        (lambda: Union((TICKS, NEWS)), "union", "unlike schemas: input 1 is (ts TIMESTAMP"),
        (lambda: Join(TICKS, TICKS, "inner", (("ticker", "ticker"),)), "join", "columns named price"),
        (lambda: Join(TICKS, NEWS, "inner", ()), "join", "equal keys or a band"),
        (lambda: Join(TICKS, NEWS, "inner", (("ticker", "topik"),)), "join", "did you mean 'topic'"),
        (lambda: Join(TICKS, NEWS, "inner", (("ticker", "at"),)), "join", "cannot be equal"),
        (lambda: Join(TICKS, NEWS, "outer", (("ticker", "topic"),)), "join", "inner, left, right or full"),  # type: ignore[arg-type]
        (lambda: Join(TICKS, NEWS, "inner", (), Band("ts", "at", 2, 1)), "join", "is empty"),
        (lambda: Join(TICKS, NEWS, "inner", (), Band("ts", "at", None, None)), "join", "at least one bound"),
        (lambda: Join(TICKS, NEWS, "inner", (), Band("price", "at", 0, 1)), "join", "two times or two numbers"),
        (lambda: Join(TICKS, NEWS, "inner", (), Band("ts", "at", 0.5, 1)), "join", "whole microseconds"),
        (lambda: Top(TICKS, 0, (("price", True),)), "top", "at least one row"),
        (lambda: Top(TICKS, 1, ()), "top", "needs an order"),
        (lambda: Top(TICKS, 1, (("prize", True),)), "top", "did you mean 'price'"),
        (lambda: Top(TICKS, 1, (("price", True),), ("x",)), "top", "unknown column 'x'"),
        (lambda: Top(TICKS, 1, (("price", True),), (), "size"), "top", "two columns are named 'size'"),
        (lambda: ConnectionPoint(TICKS, "p", 0), "connectionpoint", "longer than nothing"),
        (lambda: aggregate(TIMELESS, TimeWindow("k", 1, 1)), "aggregate", "window without event time"),
        (lambda: aggregate(TIMELESS, SessionWindow("k", 1)), "aggregate", "declare `time:`"),
        (lambda: aggregate(TICKS, TimeWindow("price", 1, 1)), "aggregate", "its event time is 'ts'"),
        (lambda: aggregate(TICKS, TimeWindow("ts", 0, 0)), "aggregate", "longer than nothing"),
        (lambda: aggregate(TICKS, TimeWindow("ts", MINUTE, 2 * MINUTE)), "aggregate", "would be lost"),
        (lambda: aggregate(TICKS, SessionWindow("ts", 0)), "aggregate", "longer than nothing"),
        (lambda: aggregate(TICKS, CountedWindow("ts", 0, 1)), "aggregate", "at least one tuple"),
        (lambda: aggregate(TICKS, CountedWindow("ts", 1, 1, None, -1)), "aggregate", "slack"),
        (lambda: aggregate(TICKS, CountedWindow("price", 2, 1, 5)), "aggregate", "not the event time"),
        (lambda: aggregate(TICKS, ValueWindow("ticker", 1, 1)), "aggregate", "a number or a time"),
        (lambda: aggregate(TICKS, ValueWindow("size", 1.5, 1.5)), "aggregate", "whole sizes"),
        (lambda: aggregate(TIMELESS, ValueWindow("v", 1, 1, 5)), "aggregate", "no event time"),
        (lambda: aggregate(TICKS, None, ("x",)), "aggregate", "unknown column 'x'"),
        (lambda: aggregate(TICKS, None, ("ticker", "ticker")), "aggregate", "two columns are named 'ticker'"),
        (lambda: aggregate(TIMELESS, None, (), "first(v)"), "aggregate", "needs event time"),
        (lambda: Aggregate(TICKS, (), ()), "aggregate", "keys or functions"),
        (lambda: Partial(TICKS, (), CALLS, SessionWindow("ts", 5)), "partial", "cannot be aggregated apart"),
        (lambda: combined(MINUTES, 90_000_000), "combine", "not made of whole windows of 1 minute of ts"),
        (lambda: combined(MINUTES, 2 * MINUTE, 90_000_000), "combine", "fit into size, step and offset"),
        (lambda: combined(MINUTES, 2 * MINUTE, None, 1), "combine", "not made of whole windows"),
        (lambda: combined(MINUTES, 2 * MINUTE, column="at"), "combine", "windows of 2 minutes of at are not made"),
        (lambda: combined(SLIDING, 4 * MINUTE), "combine", "lie side by side"),
        (lambda: combined(STEPS, MINUTE), "combine", "not made of whole windows of 2 of size"),
        (lambda: combined(MINUTES, MINUTE, 2 * MINUTE), "combine", "would be lost"),
        (lambda: combined(MINUTES, 0), "combine", "longer than nothing"),
        (lambda: combined(MINUTES, SessionWindow("ts", 5)), "combine", "only in windows over time"),
        (lambda: combined(MINUTES, 2 * MINUTE, keys=("window",)), "combine", "have a window already"),
        (lambda: combined(PARTIAL, 2 * MINUTE), "combine", "the partials have no window"),
        (lambda: combined(ENDS, 2 * MINUTE), "combine", "not known which windows"),
        (lambda: Combine(PARTIAL, ("price",), detached(CALLS)), "combine", "unknown column 'price'"),
        (lambda: Combine(PARTIAL, ("n",), ()), "combine", "cannot be grouped by"),
        (lambda: Combine(PARTIAL, (), ()), "combine", "keys or functions"),
        (lambda: Combine(PARTIAL, (), detached(functions(TICKS, n="avg(price)"))), "combine", "not a state of avg"),
        (lambda: Combine(MERGED, (), detached(CALLS)), "combine", "before the merge"),
        (lambda: Combine(Union((PARTIAL, MERGED)), (), detached(CALLS)), "combine", "taken back"),
        (lambda: Merge(TICKS, ("ticker",), (("price", CALLS[0][1]),)), "merge", "not a state of sum"),
        (lambda: Merge(PARTIAL, (), detached(CALLS)), "merge", "does not fit partials"),
        (lambda: Finish(TICKS, (("price", CALLS[0][1]),)), "finish", "not a state of sum"),
        (lambda: Finish(PARTIAL, detached(functions(TICKS, n="avg(price)"))), "finish", "not a state of avg"),
        (lambda: Order(TICKS, "ts", -1), "order", "slack"),
        (lambda: Resample(TICKS, (), ("price",), "previous"), "resample", "either a grid"),
        (lambda: Resample(TIMELESS, (), ("v",), "previous", 5), "resample", "no event time"),
        (lambda: Resample(TICKS, (), ("ticker",), "linear", 5), "resample", "between numbers"),
        (lambda: Resample(TICKS, ("ticker",), ("price",), "previous", None, NEWS), "resample", "column 'ticker'"),
        (lambda: WaitFor(TICKS, TICKS, Column("x"), 5), "waitfor", "both inputs have columns named"),
        (lambda: WaitFor(TICKS, RENAMED, condition("size = size2", _both(TICKS, RENAMED)), 0), "waitfor", "timeout"),
        (lambda: Read(TIMELESS, SEEN, "SELECT n FROM seen"), "read", "no event time"),
        (lambda: Read(TICKS, SEEN, "SELECT m FROM seen"), "read", "unknown column 'm'"),
        (lambda: Update(TICKS, SEEN, "DELETE FROM seen", ()), "update", "something to report"),
        (lambda: Update(READ, SEEN, "DELETE FROM seen", (("ts", Column("ts")),)), "update", "a cycle"),
        (lambda: Sample(TICKS, 2.0), "sample", "between 0 and 1"),
        (lambda: Split(TICKS, (condition("size > 1", TICKS.schema),), 2), "split", "no route 2"),
    ],
)  # fmt: skip
def test_wrong_graphs_cannot_be_built(build, where, says):
    with pytest.raises(InputError) as caught:
        build()
    assert says in str(caught.value)
    assert caught.value.where == where


def test_a_combine_knows_when_its_windows_are_settled():
    node = combined(MINUTES, 3 * MINUTE, 2 * MINUTE, keys=("ticker",))
    assert node.schema.names == ("ticker", "window", "n")
    assert node.schema.times == (("window", 0), ("window.end", -1), ("window.start", 3 * MINUTE - 1))
    assert Combine(MINUTES, ("window",), ()).schema.times == MINUTES.schema.times
    assert Combine(MINUTES, ("ticker",), detached(CALLS)).schema.times == ()
    slow = Source("slow", Schema(MINUTES.schema.columns, (("window", 7), ("window.end", 6))))
    assert combined(slow, 2 * MINUTE).schema.times == (
        ("window", 7), ("window.end", 6), ("window.start", 2 * MINUTE + 6),
    )  # fmt: skip


def test_a_combine_finds_the_windows_that_its_partials_are_in():
    other = Partial(RENAMED, ("ticker2",), CALLS2, TimeWindow("ts2", 2 * MINUTE, 2 * MINUTE))
    some = Filter(ConnectionPoint(MINUTES, "here"), condition("ticker > 'a'", MINUTES.schema))
    kept = Map(some, (("window", Column("window")), ("n", Column("n")), ("ticker", Column("ticker"))))
    pairs = combined(kept, 2 * MINUTE)
    assert windows_of(kept) == {MINUTES.window}
    assert windows_of(Combine(pairs, ("window",), detached(CALLS))) == {pairs.window}
    assert combined(Union((pairs, combined(MINUTES, 4 * MINUTE))), 8 * MINUTE)
    with pytest.raises(GraphError, match="2 minutes of ts are not made of whole windows of 4 minutes of ts"):
        combined(Union((pairs, combined(MINUTES, 4 * MINUTE))), 2 * MINUTE)
    assert windows_of(other) == {other.window}
    split = Split(MINUTES, (condition("ticker > 'a'", MINUTES.schema),), 0)
    assert windows_of(Superbox(split, (MINUTES,), "box")) == {MINUTES.window}
    assert windows_of(Source("elsewhere", MINUTES.schema)) == frozenset()


def test_windows_tile_where_whole_ones_lie_side_by_side():
    def window(size, step=None, offset=0, column="ts"):
        return TimeWindow(column, size, step or size, offset)

    assert tiles(window(1), window(1))
    assert tiles(window(2), window(6, 4))
    assert tiles(window(2, None, 1), window(6, 4, 3))
    assert not tiles(window(2), window(6, 3))
    assert not tiles(window(2), window(3))
    assert not tiles(window(4), window(2))
    assert not tiles(window(2), window(4, None, 1))
    assert not tiles(window(2, 1), window(4))
    assert not tiles(window(2), window(4, column="at"))


@pytest.mark.parametrize("seed", range(200))
def test_a_tiled_window_holds_a_fine_one_or_none_of_it(seed):
    """As `tiles` says: by every moment of every fine window, and false only where some fine window is cut."""
    chance = random.Random(seed)
    short, size = chance.randint(1, 4), chance.randint(1, 12)
    fine = TimeWindow("ts", short, short, chance.randrange(4))
    coarse = TimeWindow("ts", size, chance.randint(1, size), chance.randrange(12))
    whole = all(
        len({tuple(starts(coarse, start + moment)) for moment in range(fine.size)}) == 1
        for start in range(fine.offset, fine.offset + 60, fine.size)
    )
    assert tiles(fine, coarse) == whole


def test_an_unknown_column_lists_the_candidates():
    with pytest.raises(UnknownNameError) as caught:
        Order(TICKS, "tickr", 1)
    assert caught.value.candidates == TICKS.schema.names
    assert "There is: ts, ticker, price, size." in str(caught.value)


def test_results_have_names_of_their_own():
    with pytest.raises(GraphError, match="two results are named 'a'"):
        Graph((("a", TICKS), ("a", NEWS)))
    with pytest.raises(GraphError, match="at least one result"):
        Graph(())


@pytest.mark.parametrize("node", list(every_kind()), ids=lambda node: node.kind)
def test_nodes_are_frozen_and_pickle(node):
    again = pickle.loads(pickle.dumps(node))
    assert again == node
    assert again.schema == node.schema
    with pytest.raises(FrozenInstanceError):
        node.schema = TICKS.schema
    assert node.kind in repr(node)


@pytest.mark.parametrize(
    "raised",
    [
        lambda: Order(TICKS, "tickr", 1),
        lambda: Union((TICKS, NEWS)),
        lambda: parse_aggregate("sum(ticker)", TICKS.schema, where="here"),
    ],
)
def test_errors_pickle_whole(raised):
    with pytest.raises((GraphError, ExpressionError, UnknownNameError)) as caught:
        raised()
    error = caught.value
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (again.what, again.where, again.hint, again.candidates) == (
        error.what, error.where, error.hint, error.candidates,
    )  # fmt: skip
