"""Tops over sites: in rounds where few of very many groups can win, as partials where groups are few."""

import random

import pytest

from tests.random_rows import SECOND
from tests.rewrites.comparing import same_answers
from tradewind.algebra.graph import Graph
from tradewind.frontends.deployment.check import load
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.placement.built import built
from tradewind.placement.planners import Chosen, choose
from tradewind.placement.report import Report

EDGES = ("ams", "nyc", "syd")
TOP = """
  top:
    sql: |
      SELECT window.start AS minute, domain, count(*) AS hits{beside} FROM requests
      GROUP BY window(ts, '1 minute'), domain
      QUALIFY row_number() OVER (PARTITION BY window ORDER BY hits DESC, domain) <= {k}
    deliver: {{site: hq}}
"""


def requests(domains: float, skew: float, k: int = 10, *, beside: str = "", more: str = "", edge: str = "") -> str:
    """Three edges behind a datacenter, and the domains that are asked for most in each minute."""
    sites = "".join(f"  {name}: {{cores: 8{edge}}}\n" for name in EDGES)
    links = "".join(f"  - {{between: [{name}, dc], mbps: 1000, ms: 10, usd_per_gb: 0.02}}\n" for name in EDGES)
    at = ", ".join(f"{name}: {{rows_per_second: 20000, row_bytes: 60}}" for name in EDGES)
    return f"""
sites:
{sites}  dc: {{cores: 8}}
  hq: {{cores: 8}}
links:
{links}  - {{between: [dc, hq], mbps: 1000, ms: 80, usd_per_gb: 0.08}}
streams:
  requests:
    schema: ts TIMESTAMP, domain STRING, ms INT
    time: ts
    distinct: {{domain: {domains:.0f}, ms: 1000}}
    skew: {{domain: {skew}}}
    at: {{{at}}}
queries:{TOP.format(k=k, beside=beside)}{more}objective: dollars
"""


def rounds(chosen: Chosen) -> bool:
    """Whether thresholds go back to the edges."""
    return any(step.kind == "join" for step in chosen.plan.steps)


def check_answers(deployment: Deployment, chosen: Chosen, k: int) -> None:
    """The plan, as it is and as it is shown, gives the rows of the query as it was asked."""
    chance = random.Random(k)
    asked = Graph(tuple((name, query.operator) for name, query in deployment.queries.items()))
    names = "aaaaaaaabbbbbbccccddefghijk"
    data = {
        "requests": {
            name: [
                (chance.randrange(150) * SECOND, chance.choice(names) if chance.random() < 0.9 else None, number)
                for number in range(60)
            ]
            for name in EDGES
        }
    }
    report = Report(chosen)
    for plan in (chosen.plan, report.plan):
        same_answers(asked, built(plan, report.network, report.contents.values()), data, f"top {k}")


@pytest.mark.parametrize("beside", ["", ", avg(ms) AS mean, max(ms) AS most", ", avg(ms) AS mean"])
def test_of_very_many_skewed_groups_those_that_can_win_are_sent(beside: str) -> None:
    deployment = load(requests(1e6, 1.1, 3, beside=beside))
    chosen = choose(deployment)
    if beside == ", avg(ms) AS mean, max(ms) AS most":
        # A maximum takes no rows back, so rows would have to travel instead of partials of the candidates.
        assert not rounds(chosen)
    else:
        assert rounds(chosen)
        # Partials of some 100,000 domains a minute and edge weigh hundreds of times as much.
        assert chosen.cost < 0.01 * choose(deployment, "phased").cost
    check_answers(deployment, chosen, 3)


def test_rows_that_may_not_leave_stay_where_they_are() -> None:
    kept = "    time: ts\n    leave_region: aggregated\n"
    text = requests(1e6, 1.1, 3, beside=", avg(ms) AS mean").replace("    time: ts\n", kept)
    deployment = load(text)
    chosen = choose(deployment)
    assert rounds(chosen)
    links = chosen.problem.network
    for hop in chosen.plan.hops:
        within = chosen.problem.contents[hop.content].within
        assert within is None or {int(links.start[hop.link]), int(links.end[hop.link])} <= within
    check_answers(deployment, chosen, 4)
    pinned = load(text.replace("deliver: {site: hq}", "deliver: {site: hq}\n    pin: {join: hq}"))
    assert choose(pinned).cost > chosen.cost


def test_of_few_groups_partials_are_sent() -> None:
    deployment = load(requests(30, 1.1))
    chosen = choose(deployment)
    assert not rounds(chosen)
    check_answers(deployment, chosen, 10)


def test_the_choice_is_the_cheapest_that_there_is() -> None:
    for domains in (30, 1e6):
        deployment = load(requests(domains, 1.1))
        best = choose(deployment, "mip")
        assert choose(deployment).cost == pytest.approx(best.cost)
        check_answers(deployment, best, 2)
    costly = load(requests(3_000, 1.1, edge=", usd_per_core_hour: 5"))
    assert not rounds(choose(costly))  # a join at an edge costs more than it saves


def test_rounds_beside_other_queries() -> None:
    """Partials serve both queries, so that rounds pay only if both are planned in rounds."""
    deployment = load(requests(1e6, 1.1, more=TOP.format(k=5, beside="").replace("top:", "fewer:")))
    chosen = choose(deployment)
    assert rounds(chosen)
    check_answers(deployment, chosen, 10)


def test_other_planners_and_objectives_do_not_weigh_rounds() -> None:
    text = requests(1e6, 1.1)
    assert not rounds(choose(load(text.replace("objective: dollars", "objective: latency"))))
    assert not rounds(choose(load(text), "ship-all"))
