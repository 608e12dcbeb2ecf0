"""Expected numbers of groups: exact sums, bounds, merging, and the published roll-up of a CDN's log."""

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.rollup import PUBLISHED, factors
from tradewind.cost.groups import EXACT, Spectrum, bits_of, expected_groups, spectrum
from tradewind.errors import InputError

ROWS = st.floats(0, 1e9)
COLUMNS = st.lists(st.tuples(st.integers(1, 10**7).map(float), st.sampled_from([0.0, 0.5, 0.9, 1.0, 1.4])), max_size=3)


def by_hand(rows: float, values: int, skew: float) -> float:
    weights = [rank**-skew for rank in range(1, values + 1)]
    total = math.fsum(weights)
    return math.fsum(1 - (1 - weight / total) ** rows for weight in weights)


@pytest.mark.parametrize("skew", [0.0, 0.7, 1.0, 1.5])
@pytest.mark.parametrize("values", [2, 10, 1_000, 50_000])
@pytest.mark.parametrize("rows", [1, 20, 5_000])
def test_the_sum_is_that_of_all_values(rows: int, values: int, skew: float) -> None:
    assert expected_groups(rows, [(values, skew)]) == pytest.approx(by_hand(rows, values, skew), rel=1e-4)


def test_draws_agree_with_the_expectation() -> None:
    draw = np.random.default_rng(3)
    weights = np.arange(1, 501) ** -1.1
    found = [len(np.unique(draw.choice(500, 800, p=weights / weights.sum()))) for _ in range(60)]
    assert expected_groups(800, [(500, 1.1)]) == pytest.approx(np.mean(found), rel=0.02)


def test_two_columns_are_pairs_of_independent_values() -> None:
    chances = np.multiply.outer(spectrum(300, 1.2).chances, np.full(40, 1 / 40)).ravel()
    exact = Spectrum(chances, np.ones(len(chances))).groups(7_000)
    assert expected_groups(7_000, [(300, 1.2), (40, 0.0)]) == pytest.approx(exact, rel=1e-9)
    assert expected_groups(7_000, [(100, 0.0), (40, 0.0)]) == pytest.approx(expected_groups(7_000, [(4_000, 0.0)]))


def test_bins_change_little() -> None:
    both = spectrum(3_000, 1.0) * spectrum(3_000, 0.8)
    assert both.values == pytest.approx(9e6, rel=1e-3)
    assert float(both.chances @ both.counts) == pytest.approx(1.0)
    assert len(both.chances) <= 1024
    small = [spectrum(400, skew) for skew in (1.0, 0.8)]
    pairs = np.multiply.outer(small[0].chances, small[1].chances).ravel()
    for rows in (100, 10_000, 1_000_000):
        exact = Spectrum(pairs, np.ones(len(pairs))).groups(rows)
        assert (small[0] * small[1]).groups(rows) == pytest.approx(exact, rel=2e-3)
    assert spectrum(EXACT + 1, 1.0).groups(1e4) == pytest.approx(by_hand(1e4, EXACT + 1, 1.0), rel=1e-6)


def test_a_billion_values_are_quick() -> None:
    start = time.process_time()
    few = expected_groups(1e6, [(1e9, 1.0)])
    more = expected_groups(1e9, [(1e9, 1.0)])
    assert time.process_time() - start < 0.5
    assert 1e5 < few < 1e6 < more < 1e9


def test_without_columns_there_is_one_group_and_without_rows_none() -> None:
    assert expected_groups(50, []) == 1
    assert expected_groups(0.25, []) == 0.25
    assert expected_groups(0, [(10, 0.0)]) == 0
    assert expected_groups(123, [(math.inf, 0.0), (5, 1.0)]) == 123


@given(ROWS, COLUMNS)
@settings(max_examples=60, deadline=None)
def test_groups_are_no_more_than_rows_and_values(rows: float, columns: list) -> None:
    found = expected_groups(rows, columns)
    assert 0 <= found <= rows
    assert found <= math.prod(values for values, _ in columns) * (1 + 1e-9)


@given(st.lists(st.floats(0, 1e7), min_size=1, max_size=6), COLUMNS)
@settings(max_examples=60, deadline=None)
def test_merged_groups_are_at_most_the_sum_and_at_least_the_most(rows: list, columns: list) -> None:
    each = [expected_groups(one, columns) for one in rows]
    merged = expected_groups(sum(rows), columns)
    assert merged <= sum(each) * (1 + 1e-9)
    assert merged >= max(each) * (1 - 1e-9)


@given(ROWS, st.integers(1, 10**6), st.integers(1, 10**6), st.sampled_from([0.0, 0.8, 1.2]))
@settings(max_examples=60, deadline=None)
def test_more_values_or_less_skew_give_more_groups(rows: float, few: int, more: int, skew: float) -> None:
    small, large = sorted((float(few), float(more)))
    assert expected_groups(rows, [(small, skew)]) <= expected_groups(rows, [(large, skew)]) * (1 + 1e-6)
    assert expected_groups(rows, [(large, skew)]) <= expected_groups(rows, [(large, 0.0)]) * (1 + 1e-6)


def test_entropy() -> None:
    assert bits_of(1.0) == 0
    assert bits_of(1024.0) == pytest.approx(10)
    assert bits_of(1024.0, 1.0) < 8


@pytest.mark.parametrize(("values", "skew"), [(0.5, 0.0), (math.inf, 0.0), (math.nan, 0.0), (10.0, -1.0)])
def test_impossible_columns_are_refused(values: float, skew: float) -> None:
    with pytest.raises(InputError):
        spectrum(values, skew)


@pytest.mark.parametrize(
    ("key", "rate", "skew", "within"), [("domains", 63_859, 1.371, 0.23), ("URLs", 51_071, 0.980, 0.17)]
)
def test_the_published_rollup_is_near_zipf(key: str, rate: float, skew: float, within: float) -> None:
    """The fits that `./dev bench rollup` finds; docs/statistics.md says what to think of them."""
    assert factors(rate, 1e12, skew) == pytest.approx(PUBLISHED[key], rel=within)
