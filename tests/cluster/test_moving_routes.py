"""What runs where after a move: whoever reads a channel still gets it, by links that there are.

No processes here: plans of random graphs on random networks, and of the examples.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.fragments.test_cut import EXAMPLES, planned
from tests.placement.random_plans import contents, random_case
from tradewind.errors import InputError
from tradewind.fragments.cut import cut
from tradewind.fragments.deployed import Deployed, Fragment
from tradewind.fragments.written import from_data, to_data
from tradewind.frontends.deployment.file import deployment
from tradewind.network.network import Network
from tradewind.placement.fusing import fused
from tradewind.placement.many import together
from tradewind.placement.residency import Residency
from tradewind.runtime.cluster.changes import _turned
from tradewind.runtime.cluster.moving import Move, Moved, Parcel
from tradewind.runtime.cluster.moving_routes import (
    Roads,
    chosen,
    reaching,
    require_movable,
    resettled,
    withdrawn,
)


def movable(deployed: Deployed) -> list[Fragment]:
    return [one for one in deployed.fragments if one.inputs and not one.sources and not one.answers]


def check(deployed: Deployed, roads: Roads) -> None:
    """Channels are trees over links that there are, and reach all who read them."""
    assert from_data(json.loads(json.dumps(to_data(deployed)))) == deployed
    for channel in deployed.channels.values():
        had = {channel.site}
        for start, end in channel.hops:
            assert (start, end) in roads.links
            assert start in had
            assert end not in had, "a row crosses a link once"
            had.add(end)
        assert had >= {one.site for one in deployed.readers(channel.name)}
        assert deployed.writer(channel.name).site == channel.site
    for (_, site), name in deployed.had.items():
        assert site in deployed.channels[name].sites


def random_deployments(seeds: int) -> Iterator[tuple[Network, Deployed]]:
    """What would run of random graphs on random networks."""
    for seed in range(seeds):
        case = random_case(seed)
        if case is None:
            continue
        network, known = case.ground.network, {content.key: content for content in contents(case)}
        plan = fused(together(case.ground, case.asked, case.shared, offers=3).whole, network, known)
        yield network, cut(plan, network, known)


def roads_of(network) -> Roads:
    ends = zip(network.start, network.end, network.usd_per_gb, strict=True)
    return Roads({(network.name(a), network.name(b)): (float(c), 0.0) for a, b, c in ends}, Residency(network, {}))


def test_random_plans_stay_whole_wherever_their_fragments_move() -> None:
    tried = 0
    for network, deployed in random_deployments(60):
        roads = roads_of(network)
        check(deployed, roads)
        for fragment in movable(deployed):
            for target in (place.name for place in network.places if place.name != fragment.site):
                reached = reaching(deployed, fragment, target, roads)
                check(reached, roads)
                assert not any(_turned(one, reached.channels[name]) for name, one in deployed.channels.items())
                assert withdrawn(reached, fragment.inputs).channels == deployed.channels
                moved = resettled(deployed, fragment, target, roads)
                check(moved, roads)
                names = {one.name for one in deployed.fragments} ^ {one.name for one in moved.fragments}
                there = next(one for one in moved.fragments if one.name in names)
                assert (there.site, there.graph, there.outputs) == (target, fragment.graph, fragment.outputs)
                back = resettled(moved, there, fragment.site, roads)
                check(back, roads)
                assert [one.name for one in back.fragments] == [one.name for one in deployed.fragments]
                tried += 1
    assert tried > 20


def test_what_is_bound_to_its_site_is_not_moved() -> None:
    deployed = planned(EXAMPLES / "cdn.yaml")
    for one in deployed.fragments:
        if one.sources or not one.operators:
            with pytest.raises(InputError, match="is bound to"):
                require_movable(one, "elsewhere")
    with pytest.raises(InputError, match="unknown fragment or query"):
        chosen(deployed, "nothing")


def test_rows_go_only_where_they_may_be(tmp_path) -> None:
    file = tmp_path / "shops.yaml"
    file.write_text("""
sites: {ams: {region: eu}, fra: {region: eu}, nyc: {region: us}, hq: {region: eu}}
links:
  - {between: [ams, fra], mbps: 50, usd_per_gb: 0.02}
  - {between: [ams, nyc], mbps: 50, usd_per_gb: 0.02}
  - {between: [ams, hq], mbps: 50, usd_per_gb: 0.09}
  - {between: [nyc, hq], mbps: 50, usd_per_gb: 0.02}
streams:
  sales:
    {schema: "ts TIMESTAMP, n BIGINT", time: ts, leave_region: never, at: {ams: {rows_per_second: 9, row_bytes: 9}}}
queries: {all: {sql: "SELECT ts, n FROM sales WHERE n > 1", deliver: {site: hq, format: console}}}
""")
    roads = Roads.of(deployment(file))
    deployed = planned(file)
    channel = next(iter(deployed.channels.values()))
    assert roads.way(channel, ["ams"], "hq") == (("ams", "hq"),), "not by way of New York, cheaper as it is"
    with pytest.raises(InputError, match="no way leads to 'nyc'"):
        roads.way(channel, ["ams"], "nyc")


def test_moves_are_read_as_they_were_written() -> None:
    move = Move(3, "depot-1", "hq-1", "depot", "hq", (("depot", "hq"),), "taking", Parcel("ab", 5, 1, 9))
    assert Move.from_json(json.loads(json.dumps(move.to_json()))) == move
    moved = Moved(3, "depot-1", "hq-1", "depot", "hq", 0, 1.5, None, 0.5, 9, 5)
    assert Moved.from_json(json.loads(json.dumps(moved.to_json()))) == moved
    for key, wrong in (("phase", "flying"), ("term", -1), ("links", [["a"]]), ("source", ""), ("parcel", {"size": 1})):
        with pytest.raises((TypeError, ValueError, KeyError)):
            Move.from_json({**json.loads(json.dumps(move.to_json())), key: wrong})
