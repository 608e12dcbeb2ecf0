"""The example deployments, answered: rules change nothing, pieces change nothing, and the feed alarms are right."""

import random
from pathlib import Path

import pytest

import tradewind as tw
from tests.random_rows import rows
from tradewind.algebra.graph import Graph
from tradewind.algebra.properties import order_sensitive
from tradewind.frontends.flow.write import write_flow
from tradewind.interpreter.pieces import answer_in_pieces
from tradewind.interpreter.run import answer
from tradewind.rewrites.engine import rewrite

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
S = 1_000_000


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
        expected = answer(graph, data)
        assert answer(rewritten, data) == expected
        some += sum(len(found) for found in expected.values())
    assert some > 0


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_cut_into_pieces_gives_the_same_answers(path: Path) -> None:
    graph = rewrite(tw.deployment(path).graph()).graph
    if any(order_sensitive(node) for node in graph):
        pytest.skip("bounded sorts and slack depend on the order of arrival")
    data = data_for(path, 1, 15)
    expected = answer(graph, data)
    for seed in range(2):
        mix = random.Random(seed)
        cuts = [node for node in graph if mix.random() < 0.3]
        assert answer_in_pieces(graph, cuts, data, mix) == expected


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_round_trips_through_json(path: Path) -> None:
    graph = tw.deployment(path).graph()
    assert Graph.from_json(graph.to_json()) == graph
    assert write_flow(graph)


def test_the_feed_alarms_are_the_right_ones() -> None:
    """Three fast tickers; one falls silent for twelve seconds, one for ever; one slow ticker is on time."""
    graph = tw.deployment(Path(__file__).parents[2] / "examples" / "feed_alarms.yaml").graph(
        "reuters_low", "reuters_high"
    )
    fast = [(t * S, "A", "NYSE", 1.0) for t in range(0, 40, 4)]
    fast += [(t * S, "B", "NYSE", 1.0) for t in (0, 4, 8, 20, 24, 28, 32, 36)]
    fast += [(t * S, "C", "NASDAQ", 1.0) for t in (0, 4)]
    slow = [(t * S, "Z", "NYSE", 1.0) for t in (0, 30)]
    data = {"reuters_fast": {"london": sorted(fast)}, "reuters_slow": {"london": slow}}
    low = answer(graph, data)["reuters_low"]
    # When the streams end, everybody falls silent.
    assert set(low) == {
        (9 * S, "C", "NASDAQ"), (13 * S, "B", "NYSE"), (41 * S, "A", "NYSE"), (41 * S, "B", "NYSE"),
        (90 * S, "Z", "NYSE"),
    }  # fmt: skip
    assert not answer(graph, data)["reuters_high"]


def test_every_hundredth_low_alarm_is_a_high_one_and_low_ones_stop() -> None:
    graph = tw.deployment(Path(__file__).parents[2] / "examples" / "feed_alarms.yaml").graph(
        "reuters_low", "reuters_high", "nyse_high", "nasdaq_high"
    )
    fast = [
        (t * S, f"T{t:04}", "NYSE" if t % 3 else "NASDAQ", 1.0) for t in range(250)
    ]  # each updates once, and never again
    data = {"reuters_fast": {"london": fast}}
    found = answer(graph, data)
    assert sorted(found["reuters_high"]) == [(104 * S, "Reuters", 100), (204 * S, "Reuters", 100)]
    assert len(found["reuters_low"]) == 99
    assert max(found["reuters_low"])[0] == 103 * S
    assert [cause for _, cause, _ in found["nyse_high"]] == ["NYSE"]
    assert not found["nasdaq_high"]
