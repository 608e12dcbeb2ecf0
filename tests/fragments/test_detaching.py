"""Fragments whose work is set apart from their answers: what the parts are, where they may go, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.cluster.test_moving_routes import check, random_deployments, roads_of
from tests.fragments.test_sharing import DELIVERED, market, merging
from tradewind.algebra.graph import Graph
from tradewind.errors import InputError
from tradewind.fragments.detaching import Detaching
from tradewind.fragments.parting import bound_to_site, merged, places, split
from tradewind.fragments.triggers import queries_of
from tradewind.fragments.written import from_data, to_data
from tradewind.runtime.cluster.moving_routes import resettled


def test_the_work_and_what_delivers_fit(tmp_path) -> None:
    before = market(tmp_path, DELIVERED)
    whole = merging(before)
    parting = Detaching(whole, 7)
    (work,), delivering = parting.shares, parting.together
    after = split(before, parting)
    assert from_data(json.loads(json.dumps(to_data(after)))) == after
    assert (work.site, work.inputs, work.operators, work.answers) == ("hq", whole.inputs, whole.operators, ())
    assert (delivering.operators, delivering.answers, delivering.outputs) == ((), ("best",), ())
    assert work.outputs == tuple(delivering.inputs) == parting.channel_names
    assert places(after, parting) == (work,)
    assert after.channels[work.outputs[0]].origins == (("sales", "north"), ("sales", "south"))
    assert queries_of(after, work) == ("best",)
    assert merged(after, parting) == before
    assert Detaching(whole, 8).shares[0].name != work.name, "each time another"


def test_what_is_sent_on_as_well_goes_with_the_work(tmp_path) -> None:
    whole = merging(market(tmp_path, DELIVERED))
    answer = whole.graph["best"]
    below = answer.inputs[0]
    both = replace(
        whole, graph=Graph((("best", answer), ("sent", below), ("again", answer))), outputs=("sent",),
        answers=("best", "again"),
    )  # fmt: skip
    parting = Detaching(both, 1)
    (work,) = parting.shares
    # The same answer crosses once, however many queries have it.
    assert work.outputs == ("sent", "answer-1-1")
    assert parting.channel_names == ("answer-1-1",)
    assert work.graph["answer-1-1"] == answer
    assert (parting.together.answers, dict(parting.together.inputs)) == (("best", "again"), {"answer-1-1": answer})


TWO = """
sites: {north: {cores: 1}, south: {cores: 1}, depot: {cores: 2}, hq: {cores: 2}}
links:
  - {between: [north, hq], mbps: 50, usd_per_gb: 0.02}
  - {between: [south, hq], mbps: 50, usd_per_gb: 0.02}
  - {between: [depot, hq], mbps: 50, usd_per_gb: 0.02}
streams:
  sales:
    {schema: "ts TIMESTAMP, item STRING, n BIGINT", time: ts, at: {north: {rows_per_second: 900}}, distinct: {item: 8}}
  returns:
    {schema: "ts TIMESTAMP, item STRING, n BIGINT", time: ts, at: {south: {rows_per_second: 900}}, distinct: {item: 8}}
queries:
  sold:
    sql: SELECT window.start AS s, item, sum(n) AS n FROM sales GROUP BY window(ts, '10 seconds'), item
    deliver: {site: hq, format: parquet, path: out/sold}
    pin: {merge: hq}
  net:
    sql: |
      SELECT window.start AS s, item, sum(n) AS n FROM
      (SELECT ts, item, n FROM sales UNION ALL SELECT ts, item, n FROM returns) GROUP BY window(ts, '10 seconds'), item
    deliver: {site: hq, format: parquet, path: out/net}
    pin: {merge: hq}
"""


def test_an_answer_waits_only_for_what_it_is_made_of(tmp_path) -> None:
    deployed = market(tmp_path, TWO)
    whole = next(one for one in deployed.fragments if one.answers and one.operators)
    assert set(whole.answers) == {"sold", "net"}
    parting = Detaching(whole, 1)
    after = split(deployed, parting)
    origins = {
        name: set(after.channels[channel].origins)
        for name in whole.answers
        for channel, node in parting.together.inputs.items()
        if node == whole.graph[name]
    }
    sales, returns = ("sales", "north"), ("returns", "south")
    assert origins == {"sold": {sales}, "net": {sales, returns}}


def test_the_work_of_random_plans_goes_anywhere_and_comes_back() -> None:
    tried = 0
    for network, deployed in random_deployments(20):
        roads = roads_of(network)
        for whole in deployed.fragments:
            if bound_to_site(whole) or not (whole.answers and whole.operators):
                with pytest.raises(InputError, match="no work that could be set apart"):
                    Detaching(whole, 1)
                continue
            parting = Detaching(whole, 1)
            apart = split(deployed, parting)
            check(apart, roads)
            for target in (place.name for place in network.places if place.name != whole.site):
                moved = resettled(apart, parting.shares[0], target, roads)
                check(moved, roads)
                (there,) = places(moved, parting)
                back = resettled(moved, there, whole.site, roads)
                check(back, roads)
                assert [one.name for one in merged(back, parting).fragments] == [one.name for one in deployed.fragments]
                tried += 1
    assert tried > 20
