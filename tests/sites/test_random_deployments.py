"""Random deployments, cut over three to six sites in random ways, on real NATS and Spark: the interpreter's answer."""

from __future__ import annotations

import os

import pytest

from tests.sites.random_deployments import deployment_after, run_all

pytestmark = pytest.mark.spark

CASES = int(os.environ.get("TRADEWIND_CASES", "30"))
"""`TRADEWIND_CASES=100 ./dev test tests/sites` runs more of them."""
STEP = 30
"""Where a seed gives no deployment, the one so much further on is tried."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", range(CASES))
def test_every_cut_gives_the_answer_that_was_asked_for(spark, tmp_path, number) -> None:
    case = deployment_after(number, STEP, tmp_path)
    run_all(case, spark)
    assert case.differences() == {}, f"{case.found.name}, planner {case.planner}"
