"""How numbers are folded, and by how much bounds are broken."""

from math import inf

import pytest

from tradewind.frontends.metrics.grammar import OBJECTIVES, parse_bound
from tradewind.frontends.metrics.tree import NODE_STATISTICS, OPERATOR_STATISTICS, Fold


@pytest.mark.parametrize(("fold", "expected"), [("MIN", 1.0), ("MAX", 6.0), ("SUM", 9.0), ("AVERAGE", 3.0)])
def test_folds(fold: str, expected: float) -> None:
    assert Fold(fold).of([2.0, 1.0, 6.0]) == expected
    assert Fold(fold).of([2.0, None, 1.0, 6.0]) == expected


def test_folds_of_nothing() -> None:
    assert Fold.SUM.of([]) == 0.0
    assert [fold.of([None]) for fold in (Fold.MIN, Fold.MAX, Fold.AVERAGE)] == [None, None, None]


@pytest.mark.parametrize(
    ("text", "left", "expected"),
    [
        ("load <= 4", 4.0, 0.0),
        ("load <= 4", 4.0 + 1e-12, 0.0),
        ("load <= 4", 5.0, 0.25),
        ("load <= 4", inf, inf),
        ("load <= 0", 3.0, 3.0),
        ("load <= 0", 0.0, 0.0),
        ("load >= 4", 3.0, 0.25),
        ("load >= 4", 5.0, 0.0),
        ("capacity >= 4", inf, 0.0),
    ],
)
def test_how_far_a_bound_is_broken(text: str, left: float, expected: float) -> None:
    bound = parse_bound(text)
    assert isinstance(bound.right, float)
    assert bound.excess(left, bound.right) == pytest.approx(expected)


def test_objectives_of_the_file_that_are_metrics() -> None:
    assert {name: str(metric.cost) for name, metric in OBJECTIVES.items()} == {
        "latency": "AVERAGE(MAX(response_ms, OPERATORS), QUERIES)",
        "load": "MAX(SUM(load, OPERATORS), NODES)",
    }


def test_sites_have_no_statistic_that_operators_lack() -> None:
    assert NODE_STATISTICS.keys() <= OPERATOR_STATISTICS.keys()
