"""All placed derivations of a goal, and the least that any set of them scores: an oracle for searches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from tradewind.placement.choices import Choices
from tradewind.placement.derivations import ARISES, WAYS_TO_TRAVEL, Derivation, Deriver
from tradewind.placement.plan import Goal
from tradewind.placement.scores import Score


def all_trees(
    choices: Choices, number: int, sites: int, travels: Sequence[int] = WAYS_TO_TRAVEL
) -> Iterator[Derivation]:
    """Every recipe at every site, for the content and for all that it is made of."""
    for how in travels:
        for site in choices.contents[number].origins:
            yield Derivation(number, ARISES, site, (), how)
        for way in choices.ways[number]:
            inputs = [list(all_trees(choices, one, sites, travels)) for one in choices.recipes[way].inputs]
            for below in product(*inputs):
                for site in range(sites):
                    yield Derivation(number, way, site, below, how)


def least_score(
    deriver: Deriver, goals: Sequence[Goal], score: Score, travels: Sequence[int] = WAYS_TO_TRAVEL
) -> tuple[float, ...]:
    """The least score of all plans that trees of these kinds of routes give."""
    choices, sites = deriver.choices, len(deriver.network)
    each = [list(all_trees(choices, choices.numbers[goal.content], sites, travels)) for goal in goals]
    plans = (deriver.plan(trees) for trees in product(*each))
    return min(score(plan) for plan in plans if plan is not None)


def quickest(choices: Choices, number: int, site: int, ms: list[list[float]]) -> float:
    """The least latency of a content at a site, by trying every recipe at every site; `ms` are all distances."""
    ways = [ms[origin][site] for origin in choices.contents[number].origins]
    for way in choices.ways[number]:
        recipe = choices.recipes[way]
        places = range(len(ms)) if recipe.at is None else sorted(recipe.at)
        ways += [ms[at][site] + max(quickest(choices, one, at, ms) for one in recipe.inputs) for at in places]
    return min(ways)


def all_distances(sites: int, links: Iterator[tuple[int, int, float]]) -> list[list[float]]:
    """Latencies between all sites, by Floyd and Warshall."""
    found = [[0.0 if a == b else float("inf") for b in range(sites)] for a in range(sites)]
    for start, end, ms in links:
        found[start][end] = min(found[start][end], ms)
    for middle, a, b in product(range(sites), repeat=3):
        found[a][b] = min(found[a][b], found[a][middle] + found[middle][b])
    return found
