"""Two thousand random graphs through all rules: the interpreter answers the same before and after."""

import json
import random

import pytest

from tests.random_data import random_data
from tests.random_graphs import random_graph
from tests.rewrites.comparing import same_answers, same_at_every_moment
from tradewind.algebra.graph import Graph
from tradewind.rewrites.alternatives import OFFERED, alternatives
from tradewind.rewrites.engine import rewrite
from tradewind.rewrites.rules import RULES
from tradewind.rewrites.split_aggregate import split_aggregate

CHUNK = 100
GRAPHS = 2000
ENOUGH = 15
"""So often a rule has to fire alone before it is believed."""


def made(seed):
    chance = random.Random(seed)
    graph = random_graph(chance)
    return graph, random_data(graph, chance)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("chunk", range(GRAPHS // CHUNK))
def test_all_rules(chunk):
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        graph, data = made(seed)
        same_answers(graph, rewrite(graph).graph, data, f"seed {seed}")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_each_rule_alone(rule):
    """On graphs as they are asked, and on what the other rules leave."""
    others = [other for other in RULES if other != rule]
    fired = 0
    for seed in range(10_000, 10_150):
        if fired >= ENOUGH:
            break
        graph, data = made(seed)
        for start in (graph, rewrite(graph, others).graph):
            found = rewrite(start, (rule,))
            if found.trace:
                fired += 1
                same_answers(graph, found.graph, data, f"{rule.name}, seed {seed}")
    assert fired


@pytest.mark.sampled(1)
@pytest.mark.parametrize("chunk", range(4))
def test_at_every_moment(chunk):
    for seed in range(20_000 + chunk * CHUNK, 20_000 + (chunk + 1) * CHUNK):
        graph, data = made(seed)
        same_at_every_moment(graph, rewrite(graph).graph, data, random.Random(seed), f"seed {seed}")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("chunk", range(3))
def test_alternatives(chunk):
    """As planners are given graphs: aggregates are whole."""
    offered = set()
    whole = tuple(rule for rule in RULES if rule is not split_aggregate)
    for seed in range(30_000 + chunk * CHUNK, 30_000 + (chunk + 1) * CHUNK):
        graph, data = made(seed)
        rewritten = rewrite(graph, whole).graph
        for found in alternatives(rewritten):
            offered.add(found.name)
            same_answers(rewritten, found.graph, data, f"{found.name} at {found.place}, seed {seed}")
    assert offered == {rule.name for rule in OFFERED}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("chunk", range(2))
def test_rewritten_graphs_are_graphs_like_others(chunk):
    """They are written and read, and to rewrite them again changes no answer."""
    for seed in range(40_000 + chunk * CHUNK, 40_000 + (chunk + 1) * CHUNK):
        graph, data = made(seed)
        once = rewrite(graph).graph
        assert Graph.from_json(json.loads(json.dumps(once.to_json()))) == once, f"seed {seed}"
        same_answers(graph, rewrite(once).graph, data, f"seed {seed}")
