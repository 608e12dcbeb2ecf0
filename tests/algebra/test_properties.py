"""The properties that rules ask: each is tried on random operators and rows, and shown on a plain case."""

import random
from collections import Counter

import pytest

from tests.random_data import random_data, value
from tests.random_graphs import random_graph
from tests.shorthand import MINUTE, SECOND, grouped, mapped, session, stream, tumbling, tuples, where
from tradewind.algebra.facts import disjoint
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Combine, Partial, detached
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Band, ConnectionPoint, Join, Source, Top, Union
from tradewind.algebra.operators.ordered import Order, Resample
from tradewind.algebra.properties import (
    append_only,
    barrier,
    bounded_state,
    groups_by,
    invertible,
    key_preserving,
    linear,
    mergeable,
    monotone,
    order_sensitive,
    row_local,
    splittable,
)
from tradewind.interpreter.run import Run, Weighted, answer

S = SECOND
A = stream("a", "ts TIMESTAMP, k STRING, v INT")
B = stream("b", "at TIMESTAMP, id STRING, w INT", "at")


def operators(chunk: int, wanted) -> list[tuple[Operator, random.Random]]:
    """Random operators with a property, each with the randomness to draw rows for it."""
    found = []
    for seed in range(chunk * 60, chunk * 60 + 60):
        chance = random.Random(f"properties {seed}")
        found += [(node, chance) for node in random_graph(chance) if node.inputs and wanted(node)]
    return found


def fed(node: Operator) -> Operator:
    """The operator over sources that have its inputs' columns."""
    names = [f"input {number}" for number in range(len(node.inputs))]
    pairs = zip(names, node.inputs, strict=True)
    return node.with_inputs(tuple(Source(name, child.schema, revisions=True) for name, child in pairs))


def drawn(node: Operator, chance: random.Random) -> dict:
    """Some rows for each source below, one of them perhaps taken back."""
    found = {}
    for name, source in Graph.of(x=node).sources().items():
        rows = [tuple(value(type_, chance) for _, type_ in source.schema.columns) for _ in range(chance.randrange(7))]
        back = [Weighted(row, -1) for row in rows[:1] if chance.random() < 0.3]
        found[name] = {"": [*(Weighted(row, 1) for row in rows), *back]}
    return found


def added(*answers: Counter) -> Counter:
    total: Counter = Counter()
    for one in answers:
        for row, weight in one.items():
            total[row] += weight
    return Counter({row: weight for row, weight in total.items() if weight})


def plain(node: Operator) -> bool:
    """Whether rows can be drawn for its inputs."""
    types = {type_.name for child in node.inputs for _, type_ in child.schema.columns}
    return types <= {"TIMESTAMP", "INT", "BIGINT", "DOUBLE", "FLOAT", "STRING"}


@pytest.mark.parametrize("chunk", range(4))
def test_linear_operators_give_the_sum_for_a_sum(chunk: int) -> None:
    tried = 0
    for node, chance in operators(chunk, lambda n: linear(n) and len(n.inputs) == 1 and plain(n)):
        alone = fed(node)
        one, two = drawn(alone, chance), drawn(alone, chance)
        both = {name: {"": [*one[name][""], *two[name][""]]} for name in one}
        graph = Graph.of(x=alone)
        assert answer(graph, both)["x"] == added(answer(graph, one)["x"], answer(graph, two)["x"]), node
        tried += 1
    assert tried > 10


@pytest.mark.parametrize("chunk", range(4))
def test_row_local_operators_look_at_each_row_alone(chunk: int) -> None:
    tried = 0
    for node, chance in operators(chunk, lambda n: row_local(n) and plain(n)):
        alone = fed(node)
        data = drawn(alone, chance)
        graph = Graph.of(x=alone)
        [(name, rows)] = [(name, rows[""]) for name, rows in data.items()]
        singly = added(*(answer(graph, {name: {"": [row]}})["x"] for row in rows))
        assert answer(graph, data)["x"] == singly, node
        tried += 1
    assert tried > 10


@pytest.mark.parametrize("chunk", range(4))
def test_append_only_operators_take_nothing_back(chunk: int) -> None:
    tried = 0
    for seed in range(chunk * 60, chunk * 60 + 60):
        chance = random.Random(f"append only {seed}")
        graph = random_graph(chance)
        data = random_data(graph, chance)
        run = Run(graph, {name: list(origins) for name, origins in data.items()})
        for place in range(8):
            run.feed({s: {o: rows[place::8] for o, rows in origins.items()} for s, origins in data.items()})
        run.end()
        for node in graph:
            if append_only(node):
                assert all(delta.weight > 0 for delta in run.log(node)), f"seed {seed}: {node}"
                tried += 1
    assert tried > 30


@pytest.mark.parametrize("chunk", range(4))
def test_without_order_sensitive_operators_the_order_of_arrival_does_not_show(chunk: int) -> None:
    tried = 0
    for seed in range(chunk * 60, chunk * 60 + 60):
        chance = random.Random(f"order {seed}")
        graph = random_graph(chance)
        if any(order_sensitive(node) for node in graph):
            continue
        data = random_data(graph, chance)
        mixed = {s: {o: chance.sample(rows, len(rows)) for o, rows in origins.items()} for s, origins in data.items()}
        assert answer(graph, data, strict=False) == answer(graph, mixed, strict=False), f"seed {seed}"
        tried += 1
    assert tried > 20


def test_mergeable_and_invertible() -> None:
    assert mergeable(grouped(A, "k", tumbling(MINUTE), n="count(*)", m="max(v)"))
    assert not mergeable(grouped(A, "k", session(S), n="count(*)"))
    assert not mergeable(grouped(A, "k", tuples(2, 1), n="count(*)"))
    assert not mergeable(where(A, "v > 1"))
    assert invertible(grouped(A, "k", n="count(*)", s="sum(v)"))
    assert not invertible(grouped(A, "k", n="count(*)", m="max(v)"))


def test_a_combine_promises_what_its_groups_and_functions_do() -> None:
    counted = grouped(A, "k", tumbling(MINUTE), n="count(*)", m="max(v)")
    states = detached(counted.functions)
    partial = Partial(A, ("k",), counted.functions, counted.window)
    node = Combine(partial, ("k",), states, tumbling(2 * MINUTE))
    assert groups_by(node) == ("k",)
    assert key_preserving(node, ("k",))
    assert not key_preserving(node, ("window",))
    assert key_preserving(Combine(partial, ("window",), states), ("window",))
    assert invertible(Combine(partial, (), states[:1]))
    assert not invertible(node)
    assert bounded_state(node)
    assert bounded_state(Combine(partial, (), states))
    assert append_only(node)
    assert not any(holds(node) for holds in (linear, mergeable, splittable, barrier, order_sensitive))


def test_monotone_columns_tell_their_direction() -> None:
    hour = "date_trunc('hour', ts)"
    node = mapped(A, up="v + 1", down="5 - v", flat="v % 2", same="v", hour=hour, both="v + length(k)")
    assert monotone(node, "up") == ("v", 1)
    assert monotone(node, "down") == ("v", -1)
    assert monotone(node, "same") == ("v", 1)
    assert monotone(node, "hour") == ("ts", 1)
    assert monotone(node, "flat") is None
    assert monotone(node, "both") is None


def test_keys_are_preserved_where_columns_pass_unchanged() -> None:
    assert key_preserving(where(A, "v > 1"), ("k", "v"))
    assert key_preserving(mapped(A, key="k"), ("key",))
    assert not key_preserving(mapped(A, key="upper(k)"), ("key",))
    assert key_preserving(grouped(A, "k", n="count(*)"), ("k",))
    assert not key_preserving(grouped(A, "k", n="count(*)"), ("n",))


def test_state_is_bounded_where_time_lets_go_of_it() -> None:
    assert bounded_state(grouped(A, "k", tumbling(MINUTE), n="count(*)"))
    assert not bounded_state(grouped(A, "k", n="count(*)"))
    assert bounded_state(Join(A, B, "inner", (("k", "id"),), Band("ts", "at", 0, S)))
    assert not bounded_state(Join(A, B, "inner", (("k", "id"),), Band("ts", "at", 0, None)))
    assert not bounded_state(Join(A, B, "inner", (("k", "id"),), Band("v", "w", 0, 1)))
    assert bounded_state(Join(A, B, "inner", (("ts", "at"),)))
    assert bounded_state(Top(grouped(A, "k", tumbling(MINUTE), n="count(*)"), 1, (("n", True),), ("window",)))
    assert not bounded_state(Top(A, 1, (("v", True),)))
    assert bounded_state(Resample(A, ("k",), ("v",), "linear", every=S, max_gap=MINUTE))
    assert not bounded_state(Resample(A, ("k",), ("v",), "linear", every=S))


def test_barriers_and_order() -> None:
    assert barrier(ConnectionPoint(A, "p"))
    assert not barrier(where(A, "v > 1"))
    assert order_sensitive(Order(A, "v", 3))
    assert order_sensitive(grouped(A, "k", tuples(2, 1, slack=1), n="count(*)"))
    assert not order_sensitive(grouped(A, "k", tuples(2, 1), n="count(*)"))


def test_inputs_are_disjoint_where_their_filters_exclude_one_another() -> None:
    low, high = where(A, "v < 5"), where(A, "v >= 5")
    assert disjoint((low, high), ("v",))
    assert not disjoint((low, high), ("k",))
    assert not disjoint((low, where(A, "v < 9")), ("v",))
    halves = tuple(where(A, f"pmod(xxhash64(k), 3L) = {n}") for n in range(3))
    assert disjoint(halves, ("k",))
    assert disjoint(tuple(grouped(half, "k", n="count(*)") for half in halves), ("k",))
    assert not disjoint((*halves, halves[0]), ("k",))
    assert disjoint((Union((halves[0], halves[0])), halves[1]), ("k",))
