"""What answers are worth by their response time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.cost.utility import Benefit, net_utility
from tradewind.errors import InputError, UnknownNameError


@pytest.mark.parametrize(
    ("ms", "worth"), [(0, 6.0), (100, 6.0), (150, 4.5), (200, 3.0), (300, 0.0), (1e9, 0.0), (float("inf"), 0.0)]
)
def test_the_default_falls_to_nothing_at_three_times_the_wish(ms: float, worth: float) -> None:
    assert Benefit.of_wishes(100.0, priority=6.0).after(ms) == pytest.approx(worth)


def test_without_a_wish_time_does_not_matter() -> None:
    benefit = Benefit.of_wishes(None, priority=2.0)
    assert benefit.after(0.0) == benefit.after(1e12) == 2.0


def test_points_of_ones_own() -> None:
    benefit = Benefit(((10.0, 8.0), (20.0, 4.0), (60.0, 0.0)))
    assert [benefit.after(ms) for ms in (5, 10, 15, 20, 40, 60, 70)] == [8.0, 8.0, 6.0, 4.0, 2.0, 0.0, 0.0]


@given(st.floats(1, 1e6), st.floats(0, 1e3), st.floats(0, 1e7), st.floats(0, 1e7))
def test_later_is_never_worth_more(wish: float, priority: float, one: float, other: float) -> None:
    benefit = Benefit.of_wishes(wish, priority)
    assert 0.0 <= benefit.after(max(one, other)) <= benefit.after(min(one, other)) <= priority


@pytest.mark.parametrize(
    ("points", "what"),
    [
        ((), "needs a point"),
        (((10.0, 1.0), (10.0, 0.0)), "later and later"),
        (((10.0, 1.0), (5.0, 0.0)), "later and later"),
        (((10.0, 1.0), (20.0, 2.0)), "worth more"),
        (((10.0, float("nan")),), "finite"),
    ],
)
def test_what_is_no_benefit(points: tuple[tuple[float, float], ...], what: str) -> None:
    with pytest.raises(InputError, match=what):
        Benefit(points)


def test_net_utility_adds_benefits_and_takes_the_cost_off() -> None:
    benefits = {"a": Benefit.of_wishes(100.0, 6.0), "b": Benefit.of_wishes(None, 2.0)}
    assert net_utility(benefits, {"a": 200.0, "b": 900.0}, cost=1.5) == pytest.approx(3.0 + 2.0 - 1.5)


def test_every_query_needs_a_benefit() -> None:
    with pytest.raises(UnknownNameError, match="'c'"):
        net_utility({"a": Benefit.of_wishes(100.0)}, {"a": 1.0, "c": 2.0}, cost=0.0)
