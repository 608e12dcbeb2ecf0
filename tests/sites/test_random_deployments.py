"""Random deployments, cut over three to six sites in random ways, on real NATS and Spark: the interpreter's answer."""

from __future__ import annotations

import itertools

import pytest

from tests.sites.random_deployments import random_deployment, run_all

pytestmark = [pytest.mark.spark, pytest.mark.slow]

CASES = 30


@pytest.mark.parametrize("number", range(CASES))
def test_every_cut_gives_the_answer_that_was_asked_for(spark, tmp_path, number) -> None:
    for seed in itertools.count(number, CASES):
        folder = tmp_path / str(seed)
        folder.mkdir()
        case = random_deployment(seed, folder)
        if case is not None:
            break
    run_all(case, spark)
    assert case.differences() == {}, f"seed {seed}, planner {case.planner}"
