"""Dashboards over one log: planned together they cost less, and still give the answers that were asked for."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from itertools import pairwise

import pytest

from tradewind.experiments import dashboards
from tradewind.experiments.dashboards import compare, measure
from tradewind.frontends.deployment.check import load
from tradewind.placement.built import built

TOGETHER = "together against no sharing"


@pytest.fixture(scope="module")
def measured():
    # With no offers the search ends early: what is asserted of costs holds all the more with them.
    return measure(24, 0, offers=0)


def test_together_the_panels_cost_a_fifth_less_than_alone(measured):
    assert compare([measured])[TOGETHER].mean > 0.2
    assert measured.together[-1] < measured.in_order[-1] <= measured.alone[-1]
    assert measured.together[-1] == pytest.approx(measured.plan.cost(measured.task.ground.prices))
    for costs in (measured.alone, measured.in_order, measured.together):
        assert len(costs) == 24
        assert all(before <= after * (1 + 1e-12) for before, after in pairwise(costs))


def test_the_shared_plan_gives_every_panel_its_columns(measured):
    task = measured.task
    graph = built(measured.plan, task.network, task.contents.values())
    assert graph.names == tuple(task.deployment.queries)
    for name, query in task.deployment.queries.items():
        assert graph[name].schema == query.operator.schema


def test_fewer_partials_than_panels_leave_each_edge(measured):
    sites = Counter(measured.task.network.name(step.site) for step in measured.plan.steps if step.kind == "partial")
    assert set(sites) == {f"edge-{number}" for number in range(1, 7)}
    assert max(sites.values()) < 24


def test_the_same_seed_gives_the_same_panels():
    assert dashboards.dashboards(5, 3) == dashboards.dashboards(5, 3) != dashboards.dashboards(5, 4)
    assert len(load(dashboards.dashboards(5, 3)).queries) == 5


def test_the_savings_are_told_and_drawn(monkeypatch, tmp_path):
    monkeypatch.setattr(dashboards, "QUERIES", 3)
    monkeypatch.setattr(dashboards, "measure", partial(measure, offers=0))
    found = dashboards.run(2, tmp_path)
    told = json.loads(json.dumps(found.json()))
    assert told["seeds"] == 2
    assert all(len(costs) == 2 for costs in told["dollars_an_hour"].values())
    # The same costs, summed in another order, may differ in the last digit.
    assert told["savings"][TOGETHER]["least"] >= -1e-12
    assert found.files[0].read_bytes().startswith(b"\x89PNG")
    assert "planned together" in found.chart
