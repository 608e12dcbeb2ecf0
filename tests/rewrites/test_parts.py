"""Joins in any order, aggregates in any tree, groupings split by key: always the answers that were asked for."""

import random

from tests.random_data import random_data
from tests.random_graphs import random_graph
from tests.rewrites.comparing import same_answers
from tradewind.algebra.expressions.typing import parse_condition
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Aggregate, Combine, detached
from tradewind.algebra.operators.core import Band, Filter, Join, Map, Source, Top, Union
from tradewind.algebra.properties import order_sensitive
from tradewind.algebra.schema import parse_schema
from tradewind.rewrites.engine import rewrite
from tradewind.rewrites.join_blocks import join_block
from tradewind.rewrites.partials import from_finer, partials, wider
from tradewind.rewrites.rules import RULES
from tradewind.rewrites.split_aggregate import split_aggregate
from tradewind.rewrites.split_by_key import exchanged, shares, top_of_shares

GRAPHS = 100
WHOLE = tuple(rule for rule in RULES if rule is not split_aggregate)


def drawn(first):
    """Random graphs with their data, aggregates left whole."""
    for seed in range(first, first + GRAPHS):
        chance = random.Random(seed)
        graph = rewrite(random_graph(chance), WHOLE).graph
        if not any(order_sensitive(node) for node in graph):
            yield seed, graph, random_data(graph, chance)


def with_node(graph, old, new):
    return Graph(tuple((name, exchanged(node, {old: new})) for name, node in graph.results))


def test_joins_in_every_order():
    tried = 0
    for seed, graph, data in drawn(50_000):
        for node in graph:
            block = join_block(node)
            if block is None:
                continue
            for left, right in block.halves(block.everything):
                if block.in_time(left, right):
                    tried += 1
                    same_answers(graph, with_node(graph, node, block.whole(left, right)), data, f"seed {seed}")
    assert tried > 20


def orders(block, members):
    """Every tree of joins of some inputs."""
    if len(members) == 1:
        yield block.joined(members)
        return
    for left, right in block.halves(members):
        node = block.of_halves(left, right)
        old = block.joined(left), block.joined(right)
        for one in orders(block, left):
            for other in orders(block, right):
                yield exchanged(node, {old[0]: one, old[1]: other})


def test_four_streams_in_every_order():
    stars = [
        Source(name, parse_schema(f"{name}_t TIMESTAMP, {name}_k INT, {name}_v INT", time=f"{name}_t"), origins=("x",))
        for name in "abcd"
    ]
    two = Join(stars[0], stars[1], "inner", (("a_k", "b_k"),), Band("a_t", "b_t", -5_000_000, 5_000_000))
    three = Join(two, stars[2], "inner", (("b_k", "c_k"),))
    four = Join(three, stars[3], "inner", (("c_v", "d_k"),))
    graph = Graph.of(answer=Filter(four, parse_condition("a_v < d_v", four.schema)))
    block = join_block(graph["answer"])
    assert block is not None
    made = [Map(node, block.answer) for node in orders(block, block.everything)]
    assert len(set(made)) > 5
    for seed in range(4):
        data = random_data(graph, random.Random(seed))
        for node in made:
            same_answers(graph, Graph.of(answer=node), data, f"seed {seed}")


def random_tree(parts, members, chance):
    """The states of some inputs, put together in some order."""
    if len(members) == 1:
        return parts.states(members)
    some = sorted(members)
    chance.shuffle(some)
    cut = chance.randrange(1, len(some))
    halves = frozenset(some[:cut]), frozenset(some[cut:])
    made = tuple(random_tree(parts, half, chance) for half in halves)
    return Combine(Union(made), parts.groups, detached(parts.functions))


def test_aggregates_in_any_tree():
    tried = 0
    for seed, graph, data in drawn(52_000):
        for node in graph:
            parts = partials(node)
            whole = parts.answer(node) if parts is not None and isinstance(node, Aggregate) else None
            if parts is not None and whole is not None:
                tried += 1
                tree = random_tree(parts, parts.everything, random.Random(seed))
                whole = exchanged(whole, {parts.states(parts.everything): tree})
                same_answers(graph, with_node(graph, node, whole), data, f"seed {seed}")
    assert tried > 30


def test_coarser_groups_from_finer_ones():
    tried = 0
    for seed, graph, data in drawn(53_000):
        found = [(node, parts) for node in graph if (parts := partials(node)) is not None]
        for node, parts in found:
            for _, other in found:
                fine = wider(parts, other)
                made = from_finer(parts, fine, parts.everything) if fine is not None else None
                whole = parts.answer(node)
                if made is not None and whole is not None:
                    tried += 1
                    whole = exchanged(whole, {parts.states(parts.everything): made})
                    same_answers(graph, with_node(graph, node, whole), data, f"seed {seed}")
    assert tried > 20


def test_groupings_split_by_key():
    tried = tops = 0
    for seed, graph, data in drawn(54_000):
        for node in graph:
            below = node.input if isinstance(node, Top) else node
            parts = partials(below)
            if parts is None or not isinstance(below, Aggregate):
                continue
            whole = parts.answer(below)
            some = shares(whole, parts.states(parts.everything), 3) if whole is not None else None
            if some is not None:
                tried += 1
                tops += isinstance(node, Top)
                split = top_of_shares(node, some) if isinstance(node, Top) else Union(some)
                same_answers(graph, with_node(graph, node, split), data, f"seed {seed}")
    assert tried > 20
    assert tops > 1


def test_a_split_top_is_cut_in_every_share():
    for _, graph, _ in drawn(54_000):
        for node in graph:
            if not isinstance(node, Top) or not isinstance(node.input, Aggregate):
                continue
            parts = partials(node.input)
            whole = parts.answer(node.input) if parts is not None else None
            some = shares(whole, parts.states(parts.everything), 2) if parts is not None and whole is not None else None
            if some is not None:
                assert all(isinstance(part, Top) for part in top_of_shares(node, some).input.inputs)
                return
    raise AssertionError("no top over a grouping was drawn")
