"""The experiments, made small: what they claim, what they write, and that a seed always gives the same."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace

import pytest
import typer
from typer.testing import CliRunner

from tradewind.cli import experiment as command
from tradewind.errors import InputError, TradewindError, UnknownNameError
from tradewind.experiments import chart, figure_3, figure_3_varied, figure_4
from tradewind.experiments.cumulative import Spread, deploy
from tradewind.experiments.registry import EXPERIMENTS
from tradewind.experiments.workload import Rule, workload
from tradewind.placement.exact import exact

SMALL = Rule(nodes=16, streams=4, queries=6)


def ask(*words: str) -> object:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(command.experiment)
    done = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_together_costs_less_than_half_of_phased_on_a_reduced_figure_3():
    compared = figure_3.compare(figure_3.measure(replace(figure_3.RULE, queries=30), 2))
    paper = next(iter(compared.values()))
    assert paper.least > 0.5
    without = compared["integrated against phased, both without re-use"]
    assert without.least >= -1e-9


def test_exact_without_re_use_is_a_lower_bound_for_each_planner_on_a_reduced_figure_4():
    runs = figure_4.measure(replace(figure_4.RULE, queries=10), 1)
    assert figure_4.above_exact(runs, "exact", False).mean == 0
    for name, most in (("top-down", 0.25), ("bottom-up, refined", 0.25), ("bottom-up", 3.0)):
        assert 0 <= figure_4.above_exact(runs, name, False).least < most
    checked = figure_4.check(replace(figure_4.RULE, queries=10), 1)
    assert 0 < checked.queries == checked.equal


def test_a_workload_is_as_its_rule_says_and_the_same_again():
    rule = Rule(nodes=64, streams=5, queries=40)
    work = workload(rule, 7)
    sizes = [one.goal.content.count("⋈") for one in work.queries]
    assert (min(sizes), max(sizes)) == (2, 4)
    again = workload(rule, 7)
    assert [one.goal for one in work.queries] == [one.goal for one in again.queries]
    assert [one.choices.contents for one in work.queries] == [one.choices.contents for one in again.queries]
    assert [one.goal for one in work.queries] != [one.goal for one in workload(rule, 8).queries]
    rates = {c.key: c.bytes_per_second for one in work.queries for c in one.choices.contents}
    shared = [c for one in work.queries for c in one.choices.contents]
    assert all(rates[c.key] == pytest.approx(c.bytes_per_second) for c in shared)
    assert all(0.5 <= rate <= 1.5 for key, rate in rates.items() if "⋈" not in key)


@pytest.mark.parametrize("wrong", [{"streams": 1}, {"streams": 99}, {"joins": (3, 2)}])
def test_impossible_rules_are_refused(wrong):
    with pytest.raises(InputError, match="not possible"):
        replace(Rule(), **wrong)


def test_costs_add_up():
    work = workload(SMALL, 0)
    without, shared = deploy(work, exact, reuse=False), deploy(work, exact, reuse=True)
    assert without.alone[-1] == pytest.approx(
        sum(exact(work.ground, q.choices, q.goal).cost(work.ground.prices) for q in work.queries)
    )
    assert without.once[-1] <= without.alone[-1]
    assert shared.once[-1] <= without.alone[-1]
    assert list(shared.once) == sorted(shared.once)


def test_a_spread_is_worked_out():
    spread = Spread.of([0.5, 0.7])
    assert spread.percent() == "60.0% ± 14.1% (50.0% to 70.0%)"
    assert Spread.of([2.0]).deviation == 0


def test_lines_in_characters_rise_from_left_to_right():
    drawn = chart.text(chart.Panel("P", (chart.Line("up", ((1.0, 2.0, 3.0), (1.0, 2.0, 3.0))),)), width=30, height=3)
    rows = drawn.splitlines()
    assert rows[0] == "P"
    assert [row.split("|")[1].strip("o").count(" ") for row in rows[1:4]] == sorted(
        (row.split("|")[1].strip("o").count(" ") for row in rows[1:4]), reverse=True
    )
    assert rows[-1].strip() == "o up"


def test_without_matplotlib_the_hint_says_what_to_do(monkeypatch):
    def missing(name: str) -> object:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(TradewindError, match="pip install matplotlib"):
        chart.painter()


def test_the_command_lists_all_experiments():
    said = str(ask())
    assert all(one.name in said and one.shows in said for one in EXPERIMENTS)
    assert [one["name"] for one in json.loads(str(ask("--json")))] == [one.name for one in EXPERIMENTS]


@pytest.mark.parametrize("module", [figure_3, figure_4], ids=["figure_3", "figure_4"])
def test_the_command_runs_one_and_writes_its_picture(module, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "RULE", SMALL)
    name = module.__name__.rsplit(".", 1)[-1]
    said = str(ask(name, "--seeds", "2", "--out", str(tmp_path)))
    assert "Published" in said
    assert "Measured, over 2 seeds" in said
    data = json.loads(str(ask(name, "--seeds", "2", "--out", str(tmp_path), "--json")))
    assert (data["experiment"], data["seeds"]) == (name, 2)
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_variations_are_compared_one_by_one(monkeypatch, tmp_path):
    monkeypatch.setattr(figure_3_varied, "VARIED", {"small": SMALL, "more streams": replace(SMALL, streams=8)})
    found = figure_3_varied.run(1, tmp_path)
    assert [row[0] for row in found.rows] == ["small", "more streams"]
    assert len(found.header) == len(found.rows[0])


def test_an_unknown_experiment_is_refused():
    with pytest.raises(UnknownNameError, match="figure_33"):
        ask("figure_33")
