"""Answers within an error where that is cheaper, and exact ones where it is not, or not wished."""

import pytest

from tests.placement.test_rounds import requests
from tradewind.errors import InputError
from tradewind.frontends.deployment.check import load
from tradewind.placement.approximating import choose_within_errors
from tradewind.placement.planners import choose
from tradewind.placement.report import Report

WHO = """  who:
    sql: SELECT window.start AS t, count(DISTINCT domain) AS n FROM requests GROUP BY window(ts, '1 minute')
    deliver: {site: hq}
    error: 0.03
"""


def allowing(text: str, error: float) -> str:
    return text.replace("    deliver: {site: hq}\n", f"    deliver: {{site: hq}}\n    error: {error}\n", 1)


def test_light_groups_stay_where_they_are_if_an_error_is_allowed() -> None:
    text = requests(1e5, 0.2)
    exact = choose_within_errors(load(text))
    loose = choose_within_errors(load(allowing(text, 0.01)))
    assert not exact.approximated
    assert "each input gives its first 100" in loose.approximated["top"]
    assert loose.cost < 0.2 * exact.cost
    assert choose_within_errors(load(allowing(text, 0.001))).cost > loose.cost
    data = Report(loose).as_data(0.0)
    assert data["approximated"] == dict(loose.approximated)


def test_where_groups_are_few_answers_stay_exact() -> None:
    assert not choose_within_errors(load(allowing(requests(20, 0.6), 0.01))).approximated


@pytest.mark.parametrize("planner", ["ship-all", "phased"])
def test_planners_to_compare_with_stay_exact(planner: str) -> None:
    found = load(allowing(requests(1e5, 0.2), 0.01))
    assert not choose_within_errors(found, planner).approximated


def test_each_query_is_weighed_beside_the_others() -> None:
    text = requests(1e5, 0.2, more=WHO)
    only = choose_within_errors(load(text))
    both = choose_within_errors(load(allowing(text, 0.01)))
    assert set(only.approximated) == {"who"}
    assert set(both.approximated) == {"top", "who"}
    assert both.cost < only.cost < choose(load(text)).cost


def test_an_exact_query_is_never_made_of_an_approximate_one() -> None:
    text = requests(1e5, 0.2, more="  same:\n" + requests(1e5, 0.2).partition("  top:\n")[2].partition("objective")[0])
    both = choose_within_errors(load(allowing(text, 0.01)))
    same = choose_within_errors(load(text))
    assert not same.approximated
    # The exact one sends all groups anyway; what is approximate would come on top.
    assert both.cost == pytest.approx(same.cost)


def test_what_is_too_much_for_a_link_may_not_be_if_an_error_is_allowed() -> None:
    text = requests(1e5, 0.2).replace("[dc, hq], mbps: 1000", "[dc, hq], mbps: 0.004")
    text = text.replace("mbps: 1000, ms: 10", "mbps: 0.004, ms: 10")
    with pytest.raises(InputError):
        choose_within_errors(load(text))
    assert set(choose_within_errors(load(allowing(text, 0.05))).approximated) == {"top"}
