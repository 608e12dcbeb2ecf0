"""Plans of whole deployments: in the steady state the simulation gives what the cost model says."""

import numpy as np
import pytest

from tests.cli.test_commands import ROOT
from tradewind.frontends.deployment.file import deployment
from tradewind.placement.planners import choose
from tradewind.placement.report import Report
from tradewind.simulation.rates import Rates
from tradewind.simulation.simulate import simulate


@pytest.mark.parametrize("name", ["cdn", "clickstream", "rss_mashup"])
def test_examples_agree_with_the_cost_model(name):
    report = Report(choose(deployment(ROOT / "examples" / f"{name}.yaml")))
    history = simulate(report.plan, report.network, Rates.of(report.contents.values()), 120)
    steady = history.averages(60)
    assert steady.bytes_per_second == pytest.approx(report.plan.on_links(report.network), rel=0.01)
    assert steady.busy_cores == pytest.approx(report.plan.at_sites(report.network), rel=0.01)
    assert np.all(steady.latency > 0)
