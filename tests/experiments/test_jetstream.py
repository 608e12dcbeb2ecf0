"""Figure 1 of the JetStream paper comes out by itself, and other shapes where capacities are others."""

from __future__ import annotations

import json
from functools import cache
from xml.etree import ElementTree as ET

from tradewind.experiments import jetstream
from tradewind.experiments.jetstream import Shape, Sum, dc2_far, dc2_strong, dc3_strong, planned, shape

SERVERS = tuple(f"server-{number}" for number in range(1, 7))


@cache
def declared_shape() -> Shape:
    return shape(planned())


def test_the_figure_comes_out_by_itself():
    found = declared_shape()
    assert found.counted_at == SERVERS
    assert found.sent_to == dict.fromkeys(SERVERS[:3], "dc1") | dict.fromkeys(SERVERS[3:], "dc2")
    assert found.partial_sums == (Sum("dc1", (1,), ()), Sum("dc2", (1, 2), ("domain",)))
    assert found.final_sum == Sum("dc3", (1, 2, 3), ("domain",))
    assert found.cut_on == (1, 2, 3)
    assert found.merged_on == 4


def test_the_answer_is_made_on_the_machine_that_merges():
    last = planned().lines[-1]
    assert (last.kind, [share.worker for share in last.shares]) == ("map", [4])


def test_strong_machines_do_a_sum_alone():
    found = shape(planned(dc2_strong))
    assert found.partial_sums == (Sum("dc1", (1,), ()), Sum("dc2", (1,), ()))
    assert found.final_sum == declared_shape().final_sum


def test_twice_as_strong_machines_share_a_sum_among_fewer():
    found = shape(planned(dc3_strong))
    assert found.final_sum == Sum("dc3", (1, 2), ("domain",))
    assert found.cut_on == (1, 2)
    assert found.merged_on == 3
    assert found.partial_sums == declared_shape().partial_sums


def test_a_datacenter_near_to_no_server_is_left_out():
    found = shape(planned(dc2_far))
    assert set(found.sent_to.values()) == {"dc1"}
    # All servers meet at DC1, so the whole sum and the cut are there, and only the answer goes on.
    assert found.partial_sums == ()
    assert found.final_sum == Sum("dc1", (1, 2), ("domain",))
    assert found.usd_per_hour < declared_shape().usd_per_hour / 2


def test_the_shapes_are_told_beside_the_published_one_and_drawn(tmp_path):
    found = jetstream.run(1, tmp_path / "new")
    assert len(found.header) == len(found.rows[0]) == 1 + len(jetstream.VARIED)
    told = json.loads(json.dumps(found.json()))["shapes"]
    assert told["as declared"]["partial_sums"] == {"dc1": 1, "dc2": 2}
    assert "dc2 sums nothing" in told["DC2 near to no server"]["words"]
    assert ET.parse(found.files[0]).getroot().tag.endswith("svg")
