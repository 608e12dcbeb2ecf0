"""What is approximate stays within the error; what has none stays as it is."""

import random
from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.random_graphs import EVENTS
from tests.shorthand import SECOND, grouped, mapped, sliding, tumbling, where
from tests.tiers import TIER, Tier
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.operators.base import Operator, walk
from tradewind.algebra.operators.core import Source, Top, Union
from tradewind.interpreter.run import answer
from tradewind.rewrites.approximate import approximate

ORIGINS = ("ams", "nyc", "syd")
SOURCES = tuple(Source("ticks", EVENTS, origins=(name,)) for name in ORIGINS)
COUNTED = ("count(*)", "count(a)", "sum(if(a > 1, 1, 0))")
TEN = tumbling(10 * SECOND)


def skewed(chance: random.Random, count: int) -> list[tuple]:
    """Rows whose keys are the rarer the greater."""
    names = EVENTS.names
    values = {
        "k": lambda: min(int(chance.paretovariate(0.7)), 40),
        "s": lambda: chance.choice("ab"),
        "x": lambda: 1.5,
        "a": lambda: chance.choice([None, 1, 2, 3]),
    }
    rows = []
    for number in range(count):
        made = [values[name]() if name in values else number * SECOND // 20 for name in names]
        rows.append(tuple(made))
    return rows


@settings(max_examples=80 if TIER is Tier.ALL else 30, deadline=None)
@given(
    st.builds(
        lambda counted, window, keys: grouped(Union(SOURCES), keys, window, v=counted),
        st.sampled_from(COUNTED),
        st.sampled_from([TEN, sliding(10 * SECOND, 5 * SECOND)]),
        st.sampled_from(["k", "k s"]),
    ),
    st.sampled_from([0.02, 0.05, 0.1, 0.25]),
    st.integers(1, 4),
    st.integers(0, 10_000),
)
def test_no_group_lacks_more_than_the_error_and_none_has_too_much(whole: Aggregate, error, k, seed) -> None:
    chance = random.Random(seed)
    per = ("window", *whole.keys[1:])
    top = Top(whole, k, (("v", True),), per)
    found = approximate(Graph.of(result=top), error)
    assert found is not None
    data = {"ticks": {name: skewed(chance, 300) for name in ORIGINS}}
    names = top.schema.names
    place = [names.index(name) for name in per]
    exact = {row[:-1]: row[-1] for row in answer(Graph.of(result=whole), data)["result"].elements()}
    totals: Counter = Counter()
    for group, value in exact.items():
        totals[tuple(group[p] for p in place)] += value
    told: dict = defaultdict(dict)
    for row in answer(found.graph, data)["result"].elements():
        told[tuple(row[p] for p in place)][row[:-1]] = row[-1]
    assert set(told) == set(totals)
    for those, groups in told.items():
        allowed = error * totals[those]
        for group, value in groups.items():
            assert exact[group] - allowed <= value <= exact[group]
        best = [value for group, value in exact.items() if tuple(group[p] for p in place) == those]
        assert len(groups) == min(k, len(best))
        # Whoever is left out is no more than the error above whoever is told.
        least = min(exact[group] for group in groups)
        assert sorted(best, reverse=True)[: len(groups)][-1] - allowed <= least


def test_few_groups_of_each_input_are_kept() -> None:
    top = Top(grouped(Union(SOURCES), "k", TEN, v="count(*)"), 3, (("v", True),), ("window",))
    found = approximate(Graph.of(result=top), 0.05)
    assert found is not None
    assert [node.k for node in walk(found.graph["result"]) if isinstance(node, Top)] == [20, 20, 20, 3]
    assert "first 20" in found.words[0]


def test_values_are_found_by_sketches() -> None:
    node = mapped(grouped(SOURCES[0], "s", TEN, v="count_distinct(k)", p="percentile(x, 0.5)", n="count(*)"), v="v")
    found = approximate(Graph.of(result=node), 0.05)
    assert found is not None
    assert found.words == (
        "count(DISTINCT k) by approx_count_distinct(k, 0.05D); percentile(x, 0.5D) by approx_percentile(x, 0.5D, 51)",
    )
    data = {"ticks": {"ams": skewed(random.Random(1), 100)}}
    assert answer(found.graph, data) == answer(Graph.of(result=node), data)


def _revised() -> Operator:
    return grouped(Top(SOURCES[0], 3, (("k", True),), ("s",)), "s", None, v="count_distinct(k)")


@pytest.mark.parametrize(
    "node",
    [
        grouped(SOURCES[0], "s", TEN, v="sum(x)"),
        Top(grouped(Union(SOURCES), "k", TEN, v="count(*)", w="sum(x)"), 3, (("v", True),), ("window",)),
        Top(grouped(Union(SOURCES), "k", TEN, v="sum(x)"), 3, (("v", True),), ("window",)),
        grouped(where(grouped(SOURCES[0], "k", TEN, v="count_distinct(a)"), "v > 1"), "k", None, v="sum(v)"),
        _revised(),
    ],
    ids=["exact at no cost", "something beside", "sums below zero", "made of answers", "rows taken back"],
)
def test_what_no_error_bounds_stays_exact(node: Operator) -> None:
    assert approximate(Graph.of(result=node), 0.1) is None


def test_without_an_error_everything_is_exact() -> None:
    assert approximate(Graph.of(result=grouped(SOURCES[0], "s", TEN, v="count_distinct(k)")), 0.0) is None
