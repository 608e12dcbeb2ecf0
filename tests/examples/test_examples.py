"""The example deployments on random rows: rules change no answer, and neither do pieces."""

import random
from pathlib import Path

import pytest

import tradewind as tw
from tests.random_rows import rows
from tradewind.algebra.properties import order_sensitive
from tradewind.interpreter.pieces import answer_in_pieces
from tradewind.interpreter.run import answer
from tradewind.rewrites.engine import rewrite

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))


def data_for(path: Path, seed: int, count: int) -> dict:
    mix = random.Random(seed)
    found = tw.deployment(path)
    return {
        name: {site: rows(stream.source.schema, count, mix) for site in stream.origins}
        for name, stream in found.streams.items()
    }


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_rules_do_not_change_an_examples_answers(path: Path) -> None:
    graph = tw.deployment(path).graph()
    rewritten = rewrite(graph).graph
    some = 0
    for seed in range(3):
        data = data_for(path, seed, 25)
        expected = answer(graph, data, strict=False)
        assert answer(rewritten, data, strict=False) == expected
        some += sum(len(found) for found in expected.values())
    assert some > 0


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_cut_into_pieces_gives_the_same_answers(path: Path) -> None:
    graph = rewrite(tw.deployment(path).graph()).graph
    if any(order_sensitive(node) for node in graph):
        pytest.skip("bounded sorts and slack depend on the order of arrival")
    data = data_for(path, 1, 15)
    expected = answer(graph, data, strict=False)
    for seed in range(2):
        mix = random.Random(seed)
        cuts = [node for node in graph if mix.random() < 0.3]
        assert answer_in_pieces(graph, cuts, data, mix) == expected
