"""Maps of plans: places of sites, and the picture."""

import re
from dataclasses import replace
from pathlib import Path
from time import process_time
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algebra.geometry import apart, inside
from tests.network.random_networks import networks
from tradewind.algebra.drawing.layout import Rect
from tradewind.frontends.deployment.file import deployment
from tradewind.network.network import Network, Place, Wire, both_ways
from tradewind.network.star import star
from tradewind.network.transit_stub import transit_stub
from tradewind.placement.map_boxes import boxes
from tradewind.placement.map_flows import arrows, human, ways
from tradewind.placement.map_layout import layout
from tradewind.placement.map_svg import draw_map
from tradewind.placement.planners import choose
from tradewind.placement.report import Link, Report

SVG = "{http://www.w3.org/2000/svg}"
CDN = Path(__file__).parents[2] / "examples" / "cdn.yaml"
ONE_SITE = """
sites:
  home: {cores: 2}
streams:
  logs:
    schema: ts TIMESTAMP, domain STRING
    time: ts
    at: {home: {format: json, path: logs, rows_per_second: 10, row_bytes: 60}}
queries:
  all: {sql: SELECT domain FROM logs, deliver: {site: home, format: json, path: out}}
"""
# The edges are too small for the merge, and so is each machine of the datacenter.
SPLIT = """
sites:
  edge: {cores: 2, region: eu}
  edge2: {cores: 2, region: eu}
  dc: {cores: 8, workers: 8, region: eu}
links:
  - {between: [edge, dc], mbps: 50000, ms: 5, usd_per_gb: 0.01}
  - {between: [edge2, dc], mbps: 50000, ms: 5, usd_per_gb: 0.01}
streams:
  logs:
    schema: ts TIMESTAMP, domain STRING, n BIGINT
    time: ts
    distinct: {domain: 100000000}
    at:
      edge: {format: json, path: e, rows_per_second: 600000, row_bytes: 60}
      edge2: {format: json, path: e2, rows_per_second: 600000, row_bytes: 60}
queries:
  hits:
    sql: |
      SELECT domain, count(*) AS n FROM logs GROUP BY window(ts, '1 minute'), domain
      QUALIFY row_number() OVER (PARTITION BY window ORDER BY n DESC, domain) <= 10
    deliver: {site: dc, format: json, path: out}
    fresh_within: 10 seconds
"""


@pytest.fixture(scope="module")
def cdn():
    return Report(choose(deployment(CDN)))


def planned(folder, text, planner="exact"):
    path = folder / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return Report(choose(deployment(path), planner))


def logs_over(network, origins, sink):
    """A deployment file: logs of many sites of a network, counted at one."""
    sites = [f"  {place.name}: {{cores: {place.cores:.0f}, region: {place.region}}}" for place in network.places]
    wires = {
        (min(a, b), max(a, b)): (mbps, ms, usd)
        for a, b, mbps, ms, usd in zip(
            *(network.start, network.end, network.mbps, network.ms, network.usd_per_gb), strict=True
        )
    }
    links = [
        f"  - {{between: [{network.name(a)}, {network.name(b)}], mbps: {mbps}, ms: {ms:.3f}, usd_per_gb: {usd:.5f}}}"
        for (a, b), (mbps, ms, usd) in wires.items()
    ]
    at = [
        f"      {name}: {{format: json, path: {name}, rows_per_second: {100 + 7 * number}, row_bytes: 60}}"
        for number, name in enumerate(origins)
    ]
    return "\n".join([
        "sites:", *sites, "links:", *links,
        "streams:", "  logs:", "    schema: ts TIMESTAMP, domain STRING", "    time: ts",
        "    distinct: {domain: 1000}", "    at:", *at,
        "queries:", "  hits:",
        "    sql: SELECT domain, count(*) AS n FROM logs GROUP BY window(ts, '1 minute'), domain",
        f"    deliver: {{site: {sink}, format: json, path: out}}",
    ])  # fmt: skip


def renamed(report, names):
    """The same plan where sites have other names."""
    task = report.chosen.problem
    places = tuple(replace(p, name=names.get(p.name, p.name)) for p in task.network.places)
    own = task.network
    network = Network(places, own.start, own.end, own.mbps, own.ms, own.usd_per_gb)
    task = replace(task, ground=replace(task.ground, network=network))
    return Report(replace(report.chosen, problem=task))


def of_class(page, name):
    return [one for one in page.iter() if one.get("class") == name]


def rect(element):
    return Rect(*(float(element.get(key)) for key in ("x", "y", "width", "height")))


def site_boxes(page):
    return {one.get("data-name"): rect(one.find(f"{SVG}rect")) for one in of_class(page, "site")}


def numbers(path):
    return [float(text) for text in re.findall(r"-?\d+(?:\.\d+)?", path)]


def written(page):
    return [one.text for one in page.iter(f"{SVG}text")]


def check_page(page):
    """Boxes do not overlap, and the page holds them and all labels."""
    placed = list(site_boxes(page).values())
    assert all(apart(a, b) for number, a in enumerate(placed) for b in placed[:number])
    group = page.find(f"{SVG}g[@transform]")
    dx, dy = numbers(group.get("transform"))
    _, _, width, height = numbers(page.get("viewBox"))
    whole = Rect(0, 0, width, height)
    assert all(inside(Rect(one.x + dx, one.y + dy, one.width, one.height), whole) for one in placed)
    for text in group.iter(f"{SVG}text"):
        assert 0 < float(text.get("x")) + dx < width
        assert 0 < float(text.get("y")) + dy < height


# --- places -------------------------------------------------------------------------------------------------------


def spacing(points):
    gaps = np.abs(points[:, None] - points).max(axis=2)
    return gaps[~np.eye(len(points), dtype=bool)].min(initial=np.inf)


@settings(max_examples=60, deadline=None)
@given(networks())
def test_sites_are_apart_in_any_network(network):
    points = layout(network)
    assert points.shape == (len(network), 2)
    assert np.isfinite(points).all()
    assert spacing(points) >= 1 - 1e-9
    assert np.array_equal(points, layout(network))


@pytest.mark.parametrize(
    "network",
    [
        star(1),
        star(149),
        transit_stub(64, 2),
        transit_stub(150, 5),
        Network.of([Place(f"s{n}") for n in range(150)], []),
    ],
    ids=["two", "star", "stubs", "more stubs", "no links"],
)
def test_sites_are_apart_in_large_networks(network):
    points = layout(network)
    assert spacing(points) >= 1 - 1e-9
    width, height = np.ptp(points, axis=0) + 1
    assert width * height < 12 * len(network)  # not thinner than needed


def test_near_sites_stand_near():
    wires = [Wire("a", "b", 1, 5), Wire("b", "c", 1, 80), Wire("c", "d", 1, 5)]
    a, b, c, d = layout(Network.of([Place(name) for name in "abcd"], both_ways(wires)))
    assert np.linalg.norm(a - b) < np.linalg.norm(b - c)
    assert np.linalg.norm(c - d) < np.linalg.norm(b - c)
    assert np.linalg.norm(a - d) > np.linalg.norm(a - c)


def test_without_latencies_links_count_alike():
    wires = [Wire("a", "b", 1), Wire("b", "c", 1), Wire("c", "d", 1)]
    points = layout(Network.of([Place(name) for name in "abcd"], both_ways(wires)))
    assert np.diff(points[:, 0]) == pytest.approx([points[1, 0]] * 3, rel=0.02)


def test_regions_stay_together():
    names = [f"{region}{n}" for region in "xyz" for n in range(6)]
    wires = [Wire(a, b, 1, 10) for a in names for b in names if a < b and (a[0] == b[0] or a[1] == b[1])]
    network = Network.of([Place(name, region=name[0]) for name in names], both_ways(wires))
    points = layout(network)
    far = np.linalg.norm(points[:, None] - points, axis=2)
    own = np.equal.outer([name[0] for name in names], [name[0] for name in names])
    assert far[own].sum() / (own.sum() - len(names)) < 0.75 * far[~own].mean()


def test_parts_stand_side_by_side():
    wires = [Wire(a, b, 1, 10) for a, b in ("ab", "bc", "cd", "de", "xy", "yz")]
    network = Network.of([Place(name) for name in "axbyczdqe"], both_ways(wires))
    points = layout(network)
    parts = [points[[network.number(name) for name in part]] for part in ("abcde", "xyz", "q")]
    frames = [Rect(*part.min(axis=0), *np.ptp(part, axis=0)) for part in parts]
    assert all(apart(a, b) for n, a in enumerate(frames) for b in frames[:n])


# --- the picture --------------------------------------------------------------------------------------------------


def test_the_map_of_a_content_delivery_network(cdn):
    page = ET.fromstring(draw_map(cdn))
    check_page(page)
    assert page.tag == f"{SVG}svg"
    assert page[0].get("fill") == "#ffffff"
    words = written(page)
    assert f"Plan of {CDN}" in words
    assert {"objective: dollars", "planner: exact"} < set(words)
    chosen = cdn.chosen
    assert f"cost: ${human(chosen.cost, '/h')}" in words
    ratio = chosen.cost / chosen.shipped_cost
    assert f"ship everything: ${human(chosen.shipped_cost, '/h')}, ratio {ratio:.3g}" in words
    assert set(site_boxes(page)) == {place.name for place in cdn.network.places} <= set(words)
    assert len(of_class(page, "source")) == 3 + 1  # and one in the legend
    assert len(of_class(page, "answer")) == 1 + 1


def test_nothing_comes_from_outside(cdn):
    drawn = draw_map(cdn)
    assert not re.search(r"script|href|url\(|@import|<!", drawn)
    assert re.findall(r"https?://[^\"]*", drawn) == ["http://www.w3.org/2000/svg"]


def test_equal_plans_give_equal_maps(cdn):
    assert draw_map(cdn) == draw_map(Report(cdn.chosen))


def test_boxes_say_what_works_there(cdn):
    page = ET.fromstring(draw_map(cdn))
    for one in of_class(page, "site"):
        lines = [line.kind for line in cdn.lines if line.site == one.get("data-name") and line.kind != "source"]
        kinds = {kind: lines.count(kind) for kind in lines}
        shown = ", ".join(kind if count == 1 else f"{kind} ×{count}" for kind, count in kinds.items())
        assert shown in " ".join(text.text for text in one.iter(f"{SVG}text"))


def test_boxes_have_the_colour_of_their_region(cdn):
    page = ET.fromstring(draw_map(cdn))
    fills = {one.get("data-name"): one.find(f"{SVG}rect").get("fill") for one in of_class(page, "site")}
    assert fills["ams"] == fills["waw"] == fills["eu-dc"] != fills["us-dc"] == fills["nyc"] == fills["hq"]


def test_arrows_lead_where_the_flows_go(cdn):
    page = ET.fromstring(draw_map(cdn))
    placed, flows = site_boxes(page), of_class(page, "flow")
    assert sorted((one.get("data-from"), one.get("data-to")) for one in flows) == sorted(
        (link.start, link.end) for link in cdn.links()
    )
    assert len(of_class(page, "link")) == 5
    for one in flows:
        shaft, head = (path.get("d") for path in one.iter(f"{SVG}path"))
        assert touches(numbers(shaft)[:2], placed[one.get("data-from")])
        assert touches(numbers(head)[:2], placed[one.get("data-to")])


def touches(point, box, slack=6.0):
    around = Rect(box.x - slack, box.y - slack, box.width + 2 * slack, box.height + 2 * slack)
    return inside(Rect(point[0], point[1], 0, 0), around)


def test_both_directions_are_told_apart(cdn):
    placed = boxes(cdn, brief=False)
    flows = [Link("nyc", "us-dc", 9e4, 0.01), Link("us-dc", "nyc", 8e4, 0.02), Link("nyc", "us-dc", 1e4, 0.03)]
    there, back = arrows(flows, cdn.network, placed, ways(cdn.network, placed), None)
    assert (there.flow.start, there.flow.bytes_per_second) == ("nyc", 1e5)  # links side by side count together
    assert there.flow.usd_per_hour == pytest.approx(0.04)
    assert back.flow == flows[1]
    (x0, y0), (x1, y1) = there.curve.start, there.curve.end
    dx, dy = np.array(back.curve.bend) - there.curve.bend
    aside = abs((x1 - x0) * dy - (y1 - y0) * dx) / np.hypot(x1 - x0, y1 - y0)
    assert aside > (there.width + back.width) / 2
    assert there.label is not None
    assert back.label is not None
    assert apart(there.label, back.label)


def test_wider_arrows_carry_more(cdn):
    page = ET.fromstring(draw_map(cdn))
    wide = {
        (one.get("data-from"), one.get("data-to")): float(one.find(f"{SVG}path").get("stroke-width"))
        for one in of_class(page, "flow")
    }
    links = sorted(cdn.links(), key=lambda link: link.bytes_per_second)
    widths = [wide[link.start, link.end] for link in links]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


def test_labels_say_how_much_flows_and_do_not_overlap(cdn):
    page = ET.fromstring(draw_map(cdn))
    labels = [[text.text for text in one] for one in of_class(page, "label")]
    assert sorted(labels) == sorted(
        [human(link.bytes_per_second, "B/s"), f"${human(link.usd_per_hour, '/h')}"] for link in cdn.links()
    )
    places = [(float(one[0].get("x")), float(one[0].get("y"))) for one in of_class(page, "label")]
    assert all(
        abs(a[0] - b[0]) > 40 or abs(a[1] - b[1]) >= 26 for number, a in enumerate(places) for b in places[:number]
    )


@pytest.mark.parametrize("name", ["a<b>&\"c'", "]]>", "x\0\x1b\ud800\ufffe", "Zürich 東京", "w" * 300, " "])
def test_any_name_can_be_written(cdn, name):
    report = renamed(cdn, {"nyc": name})
    drawn = draw_map(report)
    page = ET.fromstring(drawn.encode())
    check_page(page)
    shown = re.sub("[\0\x1b\ud800\ufffe]", "\ufffd", name)
    assert shown in site_boxes(page)
    assert f"name: {shown}\n" in "\n".join(one.find(f"{SVG}title").text for one in of_class(page, "site"))


def test_one_site(tmp_path):
    page = ET.fromstring(draw_map(planned(tmp_path, ONE_SITE)))
    check_page(page)
    assert list(site_boxes(page)) == ["home"]
    assert not of_class(page, "flow")
    assert not of_class(page, "link")
    assert {"logs", "all"} < set(written(page))


def test_work_that_is_split_over_workers_is_noted(tmp_path):
    report = planned(tmp_path, SPLIT)
    parts = {line.kind: line.shares[0].parts for line in report.lines if line.site == "dc"}
    assert parts["merge"] > 1
    box = next(one for one in of_class(ET.fromstring(draw_map(report)), "site") if one.get("data-name") == "dc")
    said = " ".join(text.text for text in box.iter(f"{SVG}text"))
    assert f"merge by domain over {parts['merge']} workers" in said
    assert f"top first on each of {parts['merge']} workers" in said


def test_150_sites(tmp_path):
    network = transit_stub(150, 3)
    names = [place.name for place in network.places]
    report = planned(tmp_path, logs_over(network, names[1:], names[0]), "ship-all")
    assert len(report.links()) > 100
    before = process_time()
    drawn = draw_map(report)
    assert process_time() - before < 3
    page = ET.fromstring(drawn)
    check_page(page)
    assert set(names) <= set(written(page))
    assert len(of_class(page, "flow")) == len(report.links())
    assert len(of_class(page, "label")) == 30
    assert "map" not in written(page)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B/s"), (0.25, "0.25 B/s"), (999.4, "999 B/s"), (999.6, "1 kB/s"), (92_183, "92.2 kB/s"), (5e6, "5 MB/s")],
)
def test_numbers_are_short(value, text):
    assert human(value, "B/s") == text


@given(st.floats(1e-12, 1e17))
def test_numbers_are_near(value):
    number, _, unit = human(value, "B").partition(" ")
    assert float(number) * 1000 ** ["", "k", "M", "G", "T", "P"].index(unit[:-1]) == pytest.approx(value, rel=0.01)


def test_dollars_have_no_space():
    assert human(0.0383, "/h") == "0.0383/h"
    assert human(1234, "/h") == "1.23k/h"
