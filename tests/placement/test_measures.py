"""Every statistic and every fold, on one plan whose numbers are known by hand.

x at a -> filter at a -> (a to b, 10 ms) -> join with y at b -> (b to c, 20 ms) -> query one at c
                                         -> count at b -> query two at b
"""

from math import inf

import pytest

from tradewind.cost.prices import Prices
from tradewind.errors import InternalError
from tradewind.frontends.metrics.grammar import parse_bound, parse_cost, read_metric
from tradewind.network.network import Network, Place, Wire
from tradewind.placement.choices import Choices, Content
from tradewind.placement.measures import broken_bounds, evaluate, measure, profile
from tradewind.placement.plan import Goal, Hop, Plan, Step

A_TENTH_OF_A_CENT = 0.001 / 3.6e-6
"""The price of a GB at which one byte per second costs 0.001 dollars in an hour."""

NETWORK = Network.of(
    [Place("a", 2.0, None, 1.0), Place("b", 4.0, None, 0.5), Place("c", 8.0), Place("idle", 1.0)],
    [
        Wire("a", "b", mbps=0.008, ms=10.0, usd_per_gb=A_TENTH_OF_A_CENT),
        Wire("b", "c", mbps=0.0016, ms=20.0, usd_per_gb=A_TENTH_OF_A_CENT),
    ],
)
CHOICES = Choices(
    (
        Content("x", 1000.0, 100.0, (0,)),
        Content("y", 500.0, 50.0, (1,)),
        Content("fx", 400.0, 40.0),
        Content("j", 200.0, 20.0),
        Content("n", 10.0, 1.0),
    ),
    (),
)
PLAN = Plan(
    frozenset(
        {
            Step("fx", ("x",), "filter", 0, 1.0),
            Step("j", ("fx", "y"), "join", 1, 2.0),
            Step("n", ("fx",), "count", 1, 0.5),
        }
    ),
    frozenset({Hop("fx", 0, 400.0), Hop("j", 1, 200.0)}),
    (Goal("one", "j", 2), Goal("two", "n", 1)),
)


def figures(statistic: str) -> dict[str, float | None]:
    found = measure(PLAN, NETWORK, CHOICES)
    ordered = ["filter", "join", "count", "one", "two"]
    assert len(found.operators) == len(ordered)
    return dict(zip(ordered, (one.get(statistic) for one in found.operators), strict=True))


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [
        ("cores", (1.0, 2.0, 0.5, None, None)),
        ("load", (0.5, 0.5, 0.125, None, None)),
        ("bytes_in", (1000.0, 900.0, 400.0, 200.0, 10.0)),
        ("bytes_out", (400.0, 200.0, 10.0, None, None)),
        ("rows_in", (100.0, 90.0, 40.0, 20.0, 1.0)),
        ("rows_out", (40.0, 20.0, 1.0, None, None)),
        ("ms", (0.0, 10.0, 10.0, 20.0, 0.0)),
        ("response_ms", (0.0, 10.0, 10.0, 30.0, 10.0)),
        ("capacity", (inf, 1000.0, 1000.0, 200.0, inf)),
        ("dollars", (1.0, 1.4, 0.65, 0.2, 0.0)),
    ],
)
def test_statistics_of_operators(statistic: str, expected: tuple[float | None, ...]) -> None:
    assert tuple(figures(statistic).values()) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SUM(SUM(cores, OPERATORS), NODES)", 3.5),
        ("MAX(SUM(cores, OPERATORS), NODES)", 2.5),
        ("MIN(SUM(cores, OPERATORS), NODES)", 0.0),
        ("AVERAGE(SUM(cores, OPERATORS), NODES)", 0.875),
        # Sites without operators have no greatest, least or mean operator, and are passed over.
        ("MAX(MAX(load, OPERATORS), NODES)", 0.5),
        ("MIN(MIN(load, OPERATORS), NODES)", 0.125),
        ("AVERAGE(AVERAGE(load, OPERATORS), NODES)", (0.5 + 0.3125) / 2),
        # The sites' own statistics: what two operators share crosses a link once.
        ("SUM(SUM(bytes_out), NODES)", 600.0),
        ("SUM(SUM(bytes_in), NODES)", 600.0),
        ("MAX(SUM(bytes_in, bytes_out), NODES)", 600.0),
        ("MAX(MAX(bytes_in, bytes_out), NODES)", 400.0),
        ("MAX(MIN(bytes_in, bytes_out), NODES)", 200.0),
        ("MAX(AVERAGE(bytes_in, bytes_out), NODES)", 300.0),
        ("MAX(MAX(load), NODES)", 0.625),
        ("SUM(SUM(cores), NODES)", 3.5),
        ("SUM(SUM(dollars), NODES)", 2.85),
        # Queries: one has filter, join and delivery; two has filter, count and delivery.
        ("SUM(SUM(cores, OPERATORS), QUERIES)", 4.5),
        ("MAX(SUM(ms, OPERATORS), QUERIES)", 30.0),
        ("AVERAGE(MAX(response_ms, OPERATORS), QUERIES)", 20.0),
        ("MIN(MAX(response_ms, OPERATORS), QUERIES)", 10.0),
        ("SUM(MAX(response_ms, OPERATORS), QUERIES)", 40.0),
        ("SUM(AVERAGE(cores, OPERATORS), QUERIES)", 1.5 + 0.75),
        ("MAX(MIN(bytes_in, OPERATORS), QUERIES)", 200.0),
        # Up and down, each operator included.
        ("AVERAGE(MAX(SUM(ms, UP OPERATORS), OPERATORS), QUERIES)", 20.0),
        ("SUM(MAX(SUM(cores, UP OPERATORS), OPERATORS), QUERIES)", 3.0 + 1.5),
        ("SUM(SUM(MAX(cores, UP OPERATORS), OPERATORS), QUERIES)", (1 + 2 + 2) + (1 + 1 + 1)),
        ("SUM(SUM(AVERAGE(cores, UP OPERATORS), OPERATORS), QUERIES)", (1 + 1.5 + 1.5) + (1 + 0.75 + 0.75)),
        ("MIN(MIN(MIN(capacity, UP OPERATORS), OPERATORS), QUERIES)", 200.0),
        ("MAX(MAX(SUM(cores, DOWN OPERATORS), OPERATORS), QUERIES)", 3.0),
        ("MIN(MAX(SUM(cores, DOWN OPERATORS), OPERATORS), QUERIES)", 1.5),
        # At its site an operator is seen with all that rests on it, in whichever query.
        ("MAX(MAX(SUM(cores, DOWN OPERATORS), OPERATORS), NODES)", 3.5),
        ("MAX(MAX(SUM(cores, UP OPERATORS), OPERATORS), NODES)", 3.0),
    ],
)
def test_metrics(text: str, expected: float) -> None:
    assert evaluate(read_metric(text), PLAN, NETWORK, CHOICES) == pytest.approx(expected)


def test_dollars_and_bytes_are_metrics_too() -> None:
    dollars, sent = read_metric("SUM(SUM(dollars), NODES)"), read_metric("SUM(SUM(bytes_out), NODES)")
    assert evaluate(dollars, PLAN, NETWORK, CHOICES) == pytest.approx(PLAN.cost(Prices.of_dollars(NETWORK)))
    assert evaluate(sent, PLAN, NETWORK, CHOICES) == pytest.approx(PLAN.cost(Prices.of_bytes(NETWORK)))


@pytest.mark.parametrize(
    ("text", "excess"),
    [
        ("MAX(SUM(cores, OPERATORS), NODES) <= 2.5", 0.0),
        ("MAX(SUM(cores, OPERATORS), NODES) <= 2", 0.25),
        # What is asked of the least is asked of each: the queries read 2100 and 1410 bytes per second.
        ("MIN(SUM(bytes_in, OPERATORS), QUERIES) >= 2820", 720 / 2820 + 0.5),
        ("SUM(SUM(bytes_in, OPERATORS), QUERIES) >= 7020", 0.5),
        # Of every site: a and b have more than half a core busy, by half a core and by two.
        ("SUM(cores) <= 0.5", 1.0 + 4.0),
        ("MAX(load) <= 1", 0.0),
        # Of every operator.
        ("cores <= 1", 1.0),
        ("SUM(ms, UP OPERATORS) <= 30", 0.0),
        ("SUM(ms, UP OPERATORS) <= 20", 0.5),
        ("capacity >= bytes_in", 0.0),
        ("capacity >= rows_in", 0.0),
        ("bytes_out >= bytes_in", 0.6 + 700 / 900 + 390 / 400),
    ],
)
def test_bounds(text: str, excess: float) -> None:
    metric = read_metric({"cost": "MAX(SUM(load, OPERATORS), NODES)", "where": [text, "cores <= 99"]})
    broken = broken_bounds(metric, PLAN, NETWORK, CHOICES)
    assert [one.bound for one in broken] == ([parse_bound(text)] if excess else [])
    assert sum(one.excess for one in broken) == pytest.approx(excess)


def test_a_maximum_is_descended_on_by_all_its_parts() -> None:
    found = measure(PLAN, NETWORK, CHOICES)
    assert profile(found, parse_cost("MAX(SUM(cores, OPERATORS), NODES)")) == (2.5, 1.0, 0.0, 0.0)
    assert profile(found, parse_cost("SUM(SUM(cores, OPERATORS), NODES)")) == (3.5,)


def test_a_plan_that_lacks_a_hop_is_not_measured() -> None:
    broken = Plan(PLAN.steps, frozenset({Hop("fx", 0, 400.0)}), PLAN.goals)
    with pytest.raises(InternalError, match="never brings 'j' to 'c'"):
        measure(broken, NETWORK, CHOICES)


def test_an_idle_plan() -> None:
    idle = Plan(goals=(Goal("q", "x", 0),))
    assert evaluate(read_metric("MAX(MAX(load, OPERATORS), NODES)"), idle, NETWORK, CHOICES) == 0.0
    assert measure(idle, NETWORK, CHOICES).response_ms == {"q": 0.0}
