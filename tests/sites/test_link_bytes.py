"""What crosses the links of a run over files, beside what was planned: groups and not rows, and about as many bytes."""

from __future__ import annotations

import pytest

from benchmarks.links import CASES, Case, Outcome, run

pytestmark = pytest.mark.spark

_ROWS = 4_000
_SKETCH = "clients by status"
"""Half-full sketches are planned up to 1.6 times too heavy: clients are taken to be as many for each status."""


def _case(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


def _as_planned(outcome: Outcome, most: float = 1.25) -> bool:
    return 1 / 1.25 < outcome.ratio < most


def test_groups_are_shipped_and_not_rows(spark) -> None:
    """Rows came once a second. Read at that pace, a batch of partials would weigh more than the rows that it is of."""
    for name, groups in (("count by shop", 3), ("few rows by shop", 3)):
        links = run(_case(name), _ROWS, spark)
        assert {(link.start, link.end) for link in links} == {("a", "hq"), ("b", "hq"), ("c", "hq")}
        for link in links:
            assert link.rows == groups
            assert _as_planned(link), link


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_planned_bytes_are_within_a_quarter_and_the_plan_is_the_best(spark, case: Case) -> None:
    links = run(case, _ROWS, spark)
    merged = case.network == "row" and "GROUP BY" in case.sql
    for place, link in enumerate(links):
        # Planned to be sent on once; but a site's own rows make a batch before what it merges them with comes.
        often = place + 1 if merged else 1
        assert link.ratio > 1 / (1.25 * often), link
        assert link.ratio < (1.6 if case.name == _SKETCH else 1.25), link
    shipped = run(case, _ROWS, spark, "ship-all")
    assert sum(link.bytes for link in links) <= 1.1 * sum(link.bytes for link in shipped)
