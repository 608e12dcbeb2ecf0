"""Each rule on its own cases: golden before and after, cases where it must not fire, and unchanged answers."""

import os
import random
from importlib import import_module
from pathlib import Path

import pytest

from tests.random_data import random_data
from tests.rewrites.cases import CASES
from tests.rewrites.comparing import same_answers
from tests.tiers import TIER, Tier
from tradewind.algebra.drawing.text import draw_text
from tradewind.algebra.graph import Graph
from tradewind.rewrites.alternatives import OFFERED
from tradewind.rewrites.engine import rewrite
from tradewind.rewrites.rules import RULES
from tradewind.rewrites.trial import apply

GOLDEN = Path(__file__).parent / "golden"
ALL = {rule.name: rule for rule in (*RULES, *OFFERED)}
WRITE = "TRADEWIND_WRITE_GOLDEN" in os.environ
"""Set it to write the golden files anew, and then read what changed."""


def graph_of(drawn):
    return drawn if isinstance(drawn, Graph) else Graph.of(result=drawn)


def drawn_like(graph, drawn):
    return draw_text(graph if isinstance(drawn, Graph) else graph["result"])


@pytest.mark.parametrize("name", ALL)
def test_module_function_golden_and_case_have_one_name(name):
    module = import_module(f"tradewind.rewrites.{name}")
    assert getattr(module, name) is ALL[name]
    assert name in CASES
    assert (GOLDEN / f"{name}.txt").exists() or WRITE
    assert ">>>" in (module.__doc__ or "")
    assert ALL[name].law.endswith(".")
    assert ALL[name].helps.endswith(".")


def test_nothing_is_left_over():
    assert set(CASES) == set(ALL)
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_golden(name):
    found = CASES[name]()
    parts = [f"rule: {name}\nlaw:  {ALL[name].law}"]
    for reason, drawn in found.fires.items():
        after = apply(ALL[name], graph_of(drawn))
        parts.append(f"fires: {reason}\n\n{draw_text(drawn)}\n⇒\n{drawn_like(after, drawn)}")
    parts.extend(f"stays: {reason}\n\n{draw_text(drawn)}" for reason, drawn in found.stays.items())
    text = "\n\n\n".join(parts) + "\n"
    path = GOLDEN / f"{name}.txt"
    if WRITE:
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", ALL)
def test_fires_and_stays(name):
    found = CASES[name]()
    for reason, drawn in found.fires.items():
        assert apply(ALL[name], graph_of(drawn)) != graph_of(drawn), reason
    for reason, drawn in found.stays.items():
        assert apply(ALL[name], graph_of(drawn)) == graph_of(drawn), reason


@pytest.mark.parametrize("name", ALL)
def test_answers_stay(name):
    found = CASES[name]()
    for reason, drawn in (found.fires | found.stays).items():
        graph = graph_of(drawn)
        alone, together = rewrite(graph, (ALL[name],)).graph, rewrite(graph).graph
        for seed in range(25 if TIER is Tier.ALL else 8):
            data = random_data(graph, random.Random(f"{reason} {seed}"), most=16)
            same_answers(graph, alone, data, f"{name}, {reason}, seed {seed}")
            same_answers(graph, together, data, f"all rules, {reason}, seed {seed}")
