"""What the commands print, and with which exit codes."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRADEWIND = Path(sys.executable).with_name("tradewind")
EXAMPLES = sorted(ROOT.glob("examples/*.yaml"))
NOTHING_TO_IMPROVE = {"cold_chain"}
"""Its filter stands on a connection point, and its other boxes read every column in the order of arrival."""


def tradewind(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(TRADEWIND), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_there_are_at_least_eight_examples() -> None:
    assert len(EXAMPLES) >= 8


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_check_and_explain_with_a_picture(path: Path, tmp_path: Path) -> None:
    checked = tradewind("check", path)
    # The data of an example are made when it is tried; that they are not there yet is all there is to say.
    assert checked.returncode == 0
    for line in checked.stderr.splitlines():
        assert re.match(r"warning: streams\.\w+\.at\.[\w-]+: there is no .* yet\b", line), line
    assert "no problems" in checked.stdout
    picture = tmp_path / "graph.svg"
    explained = tradewind("explain", path, "--svg", picture)
    assert explained.returncode == 0, explained.stderr
    assert "As written" in explained.stdout
    assert ("Rules that fired" in explained.stdout) is (path.stem not in NOTHING_TO_IMPROVE)
    assert ("No rule fired" in explained.stdout) is (path.stem in NOTHING_TO_IMPROVE)
    assert ET.parse(picture).getroot().tag.endswith("svg")


def test_check_names_all_problems_and_exits_with_2(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(
        "sites: {a: {cores: 1}}\n"
        "streams:\n"
        "  s: {schema: ts TIMESTMP, time: ts, at: {b: {rows_per_second: 1}}}\n"
        "queries:\n"
        "  q: {sql: \"SELECT reflect('java.lang.System', 'exit') FROM s\", deliver: {site: a}}\n"
        "objectiv: dollars\n",
        encoding="utf-8",
    )
    done = tradewind("check", file)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for said in ("TIMESTMP", "unknown site 'b'", "objectiv", f"{file}:3:"):
        assert said in done.stderr
    data = json.loads(tradewind("check", file, "--json").stdout)
    assert data["ok"] is False
    assert len(data["problems"]) >= 3
    assert all(problem["line"] > 0 for problem in data["problems"])


@pytest.mark.parametrize(
    "arguments", [("check", "nowhere.yaml"), ("explain", "."), ("explain", "examples/cdn.yaml", "top_domain")]
)
def test_bad_input_is_told_plainly(arguments: tuple) -> None:
    done = tradewind(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()


def test_a_mistyped_query_is_guessed() -> None:
    assert "did you mean 'top_domains'" in tradewind("explain", "examples/cdn.yaml", "top_domain").stderr


def test_explain_as_json_holds_graphs_and_rules() -> None:
    data = json.loads(tradewind("explain", "examples/cdn.yaml", "--json").stdout)
    assert set(data) == {"queries", "written", "rewritten", "rules", "chosen", "operators", "fragments"}
    assert {one["site"] for one in data["fragments"]} >= {"ams", "waw", "nyc", "hq"}
    assert all(one["every_seconds"] > 0 for one in data["fragments"])
    assert {"rule", "before", "after", "reason"} == set(data["rules"][0])
    assert "top_domains" in data["queries"]


def test_explain_as_written_applies_no_rules() -> None:
    shown = tradewind("explain", "examples/cdn.yaml", "top_domains", "--as-written").stdout
    assert "Rules that fired" not in shown


def test_a_picture_that_cannot_be_written_fails_with_1() -> None:
    done = tradewind("explain", "examples/cdn.yaml", "--svg", "/nowhere/at/all.svg")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_the_demo_computes_its_claims(tmp_path) -> None:
    page = tmp_path / "told.html"
    done = tradewind("demo", "--scale", "0.02", "--minutes", "1", "--seed", "7", "--report", str(page))
    assert done.returncode == 0, done.stderr
    assert "every row of every answer is final: yes" in done.stdout
    assert "equal to plain Spark on all data: yes" in done.stdout
    assert "ap-dc → hq" in done.stdout
    assert "everything read" in done.stderr
    assert page.read_text(encoding="utf-8").count("<svg") > 1


def test_unknown_demos_are_bad_input() -> None:
    done = tradewind("demo", "cnd")
    assert done.returncode == 2
    assert "did you mean 'cdn'" in done.stderr


def test_help_names_the_commands() -> None:
    shown = tradewind("--help").stdout
    for command in ("check", "explain", "run", "results", "demo", "doctor"):
        assert command in shown
