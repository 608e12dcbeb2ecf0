"""`tradewind plan` and the part of `explain` that says where things run."""

import json
import xml.etree.ElementTree as ET

import pytest

from tests.cli.test_commands import EXAMPLES, ROOT, tradewind

CDN = ROOT / "examples" / "cdn.yaml"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_planned(path, tmp_path):
    picture = tmp_path / "map.svg"
    done = tradewind("plan", path, "--json", "--svg", picture)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["cost"] <= data["ship_everything"]["cost"] * (1 + 1e-9)
    assert data["seconds"] > 0
    assert {query for one in data["operators"] for query in one["queries"]}
    assert ET.parse(picture).getroot().tag.endswith("svg")


def test_plan_prints_sites_links_and_both_costs():
    done = tradewind("plan", CDN)
    assert done.returncode == 0, done.stderr
    for said in ("What runs where", "What crosses the links", "eu-dc → us-dc", "everything shipped", "dollars: "):
        assert said in done.stdout
    again = tradewind("plan", CDN)
    assert again.stdout.splitlines()[:-1] == done.stdout.splitlines()[:-1]


def test_explain_tells_sites_rates_reasons_and_residency():
    done = tradewind("explain", CDN, "top_domains")
    assert done.returncode == 0, done.stderr
    for said in ("Where it runs", "top_domains, delivered at hq", "rows/s", "would cost", "rows of requests stay at"):
        assert said in done.stdout
    data = json.loads(tradewind("explain", CDN, "--json").stdout)
    assert all(one["why"] and one["residency"] for one in data["operators"])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("usd_per_gb: 0.02", "usd_per_gb: 0", "a number above 0 is wanted here"),
        ("usd_per_gb: 0.02", "usd_per_gb: -1", "a number above 0 is wanted here"),
        ("  - {between: [us-dc, hq], mbps: 500, ms: 12, usd_per_gb: 0.01}\n", "", "no links lead from"),
        ("objective: dollars", "objective: euros", "unknown objective 'euros'"),
        ("leave_region: aggregated", "leave_region: never", "'requests' (leave_region: never)"),
        ("mbps: 200", "mbps: 0.001", "eu-dc"),
    ],
)
def test_bad_input_is_told_clearly(tmp_path, old, new, said):
    text = CDN.read_text(encoding="utf-8")
    assert old in text
    file = tmp_path / "bad.yaml"
    file.write_text(text.replace(old, new), encoding="utf-8")
    done = tradewind("plan", file)
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_planner_lists_those_that_there_are():
    done = tradewind("plan", CDN, "--planner", "exakt")
    assert done.returncode == 2
    assert "did you mean 'exact'?" in done.stderr
