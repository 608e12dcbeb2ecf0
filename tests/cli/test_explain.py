"""What `tradewind explain` shows is what runs."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.test_commands import EXAMPLES
from tradewind.algebra.drawing.labels import label
from tradewind.algebra.operators.core import Filter
from tradewind.cli.explain import as_text, explain
from tradewind.cli.explained import explained
from tradewind.fragments.cut import cut
from tradewind.frontends.deployment.file import deployment
from tradewind.placement.approximating import choose_within_errors
from tradewind.placement.planning import RULES_FOR_PLANS
from tradewind.placement.report import Report
from tradewind.rewrites.engine import rewrite
from tradewind.rewrites.rules import AT_ONE_SITE

BRANCH = re.compile(r"^[│ ]*[└├]─ (.*)$")
ID = re.compile(r"  \([a-z]+-\d+\)(?: ↑)?$")
STEP = re.compile(r"^[│ ]*(?:first|then): (.*)$")

ONE_SITE = """
sites: {desk: {cores: 2}, attic: {cores: 2}}
links: [{between: [desk, attic], mbps: 10, ms: 5, usd_per_gb: 0.01}]
streams:
  trades: {schema: "ts TIMESTAMP, ticker STRING, price DOUBLE, tag STRING", time: ts, at: {desk: {rows_per_second: 10}}}
  quotes: {schema: "ts TIMESTAMP, ticker STRING, bid DOUBLE, tag STRING", time: ts, at: {desk: {rows_per_second: 10}}}
queries:
  hits: {sql: "SELECT ticker, count(*) AS n FROM trades WHERE price > 3 GROUP BY ticker, window(ts, '1 minute')",
         deliver: {site: desk}}
  cheap: {sql: "SELECT t.ts, t.ticker FROM trades t JOIN quotes q ON t.ticker = q.ticker AND t.price < q.bid
                AND q.ts BETWEEN t.ts AND t.ts + INTERVAL 1 MINUTE", deliver: {site: desk}}
"""


def drawn(text: str) -> set[str]:
    """The operators of a tree of lines, without the numbers by which they are called elsewhere."""
    found = {match[1] for line in text.splitlines() if (match := BRANCH.match(line))}
    return {re.sub(r"  \(\d+\)$", "", one) for one in found if not one.startswith("↑ ")}


def placed(lines: list[str]) -> set[tuple[str, str]]:
    """The operators that the trees of places show, each with its site."""
    found: set[tuple[str, str]] = set()
    site = ""
    for line in lines:
        if (match := BRANCH.match(line)) and ID.search(line):
            site, what = ID.sub("", match[1]).split(": ", 1)
            found.add((site, what))
        elif match := STEP.match(line):
            found.add((site, match[1]))
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_operators_that_are_shown_are_those_of_the_fragments(path: Path) -> None:
    found = deployment(path)
    done = explained(found, found.graph().names)
    text = as_text(found.graph(), done)
    after = text.split("After the rules\n")[-1].split("\n\n")[0]
    report = Report(choose_within_errors(found))
    fragments = cut(report.plan, report.network, report.contents).fragments
    run = {(one.site, label(node)) for one in fragments for node in one.operators}
    assert drawn(after) == {what for _, what in run}
    assert placed("\n".join(done.where).splitlines()) == run
    does = {(one["site"], what) for one in done.data["operators"] for what in one["does"]}
    assert does == run
    fired = {one.rule for name in found.queries for one in rewrite(found.graph(name), RULES_FOR_PLANS).trace}
    assert {one.rule for one in done.trace} == fired


def test_a_residual_condition_of_a_join_is_shown_where_it_runs() -> None:
    found = deployment(Path(__file__).parents[2] / "examples" / "payments.yaml")
    shown = "\n".join(explained(found, ("two_countries",)).where)
    assert "then: filter payments_country <> payments_2_country" in shown


def test_one_query_is_shown_as_it_runs_among_all(tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "examples" / "cdn.yaml"
    found = deployment(path)
    whole = explained(found, found.graph().names).graph
    assert explained(found, ("top_domains",)).graph["top_domains"] == whole["top_domains"]


def test_at_one_site_what_runs_there_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "desk.yaml"
    file.write_text(ONE_SITE, encoding="utf-8")
    run = rewrite(deployment(file).graph(), AT_ONE_SITE)
    assert any(isinstance(node, Filter) for node in run.graph)
    explain(file)
    shown = capsys.readouterr().out
    after, where = shown.split("After the rules\n")[1].split("Where it runs\n")
    assert drawn(after.split("\n\n")[0]) == set(map(label, run.graph))
    assert "everything at desk" in where
    assert {re.sub(r"(  \(\d+\))?  · .*", "", one) for one in drawn(where)} == set(map(label, run.graph))
    explain(file, as_json=True)
    data = json.loads(capsys.readouterr().out)
    assert {one["label"] for one in data["operators"]} == set(map(label, run.graph))
    assert [one["rule"] for one in data["rules"]] == [one.rule for one in run.trace]
    assert {one["site"] for one in data["fragments"]} == {"desk"}
