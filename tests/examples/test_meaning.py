"""The examples are right, survive being written as boxes, and mean what their comments say."""

from pathlib import Path

import pytest

from tradewind import deployment
from tradewind.algebra.graph import Graph
from tradewind.frontends.flow.read import read_graph
from tradewind.frontends.flow.write import write_flow
from tradewind.interpreter.run import answer

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(EXAMPLES.glob("*.yaml"))
SECOND = 1_000_000
MINUTE = 60 * SECOND


def asked(name, query, **data):
    """The answer of one query on rows by stream, each from the stream's first site."""
    found = deployment(EXAMPLES / f"{name}.yaml")
    graph = Graph(((query, found.queries[query].operator),))
    rows = {stream: {found.streams[stream].source.origins[0]: given} for stream, given in data.items()}
    return sorted(answer(graph, rows, strict=False)[query].elements())


def test_there_are_eight():
    assert len(FILES) >= 8


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_is_right_and_can_be_written_as_boxes(path):
    found = deployment(path)
    assert path.read_text(encoding="utf-8").startswith("# ")
    graph = found.graph()
    assert read_graph(write_flow(graph, found.catalog), found.catalog) == graph


def late(count, exchange="NYSE", start=0):
    """Rows of `count` tickers that report once and never again, one second apart."""
    return [((start + n) * SECOND, f"T{start + n:04}", exchange, 1.0) for n in range(count)]


def test_a_ticker_that_keeps_silent_is_a_low_alarm_at_its_deadline():
    rows = [(0, "MSFT", "NASDAQ", 1.0), (4 * SECOND, "MSFT", "NASDAQ", 1.0), (12 * SECOND, "MSFT", "NASDAQ", 1.0)]
    silent: dict = {"reuters_slow": [], "comstock_fast": [], "comstock_slow": []}
    low = asked("feed_alarms", "reuters_low", reuters_fast=rows, **silent)
    assert low == [(9 * SECOND, "MSFT", "NASDAQ"), (17 * SECOND, "MSFT", "NASDAQ")]
    assert asked("feed_alarms", "reuters_low", reuters_slow=rows, reuters_fast=[])[0][0] == 72 * SECOND


def test_every_hundred_low_alarms_are_a_high_one_and_low_ones_stop_before_it():
    rows = late(250)
    assert len(asked("feed_alarms", "reuters_low", reuters_fast=rows, reuters_slow=[])) == 99
    high = asked("feed_alarms", "reuters_high", reuters_fast=rows, reuters_slow=[])
    assert high == [((99 + 5) * SECOND, "Reuters", 100), ((199 + 5) * SECOND, "Reuters", 100)]


def test_an_exchange_is_blamed_for_alarms_of_both_feeds():
    data = {
        "reuters_fast": late(60) + late(20, "NASDAQ", 60),
        "comstock_fast": late(60, "NYSE", 100),
        "reuters_slow": [],
        "comstock_slow": [],
    }
    assert [row[1:] for row in asked("feed_alarms", "nyse_high", **data)] == [("NYSE", 100)]
    assert asked("feed_alarms", "nasdaq_high", **data) == []
    assert asked("feed_alarms", "reuters_high", reuters_fast=data["reuters_fast"], reuters_slow=[]) == []


def test_a_fish_alarm_holds_the_water_now_and_when_the_fish_were_last_normal():
    rows = [
        (MINUTE * n, "t1", 100.0 if n == 90 else 50.0, 10.0 + n / 60, 7.0, 8.0, 1.0) for n in range(0, 121, 5)
    ]  # warmer by a degree an hour; odd once, at minute 90
    [alarm] = asked("fish", "alarms", observations=rows)
    found = deployment(EXAMPLES / "fish.yaml").queries["alarms"].operator.schema.names
    told = dict(zip(found, alarm, strict=True))
    assert (told["ts"], told["tank"], told["breaths"]) == (90 * MINUTE, "t1", 100.0)
    assert (told["normal_at"], told["normal_breaths"]) == (85 * MINUTE, 50.0)
    # The window that ends at minute 90 holds the rows before it.
    assert told["temperature_now"] == pytest.approx(10 + 85 / 60)
    assert told["normal_temperature"] == pytest.approx(10 + 80 / 60)
    assert told["temperature_changes"][0] == pytest.approx(55 / 60)


def test_enemies_that_crossed_the_line():
    rows = [(0, "E-TANK-1", 360.0, 1.0), (SECOND, "E-TANK-1", 340.0, 1.0), (SECOND, "F-TANK-9", 100.0, 1.0)]
    crossed = asked("battalion", "across_the_line", ground_units=rows, air_units=[])
    assert crossed == [(SECOND, "E-TANK-1", "TANK", 340.0, 1.0, 10.0)]
    assert len(asked("battalion", "enemy_tanks", ground_units=rows, air_units=[])) == 2


def test_a_payment_over_the_limit_that_held_at_its_time():
    found = deployment(EXAMPLES / "payments.yaml")
    graph = found.graph("changed_limits", "over_limit")
    payments = [(n * SECOND, "c1", "shop", "NL", 60.0) for n in (1, 3, 5)]
    limits = [(2 * SECOND, "c1", 50.0), (4 * SECOND, "c1", 100.0)]
    data: dict = {"payments": {"acquirer_eu": payments}, "limit_changes": {"bank": limits}}
    assert sorted(answer(graph, data)["over_limit"]) == [(3 * SECOND, "c1", "shop", 60.0, 50.0)]


def test_the_usual_amount_is_a_geometric_mean():
    rows = [(0, "c1", "shop", "NL", 1.0), (SECOND, "c1", "shop", "NL", 100.0)]
    [(_, card, count, usual)] = asked("payments", "usual_amounts", payments=rows)
    assert (card, count, usual) == ("c1", 2, pytest.approx(10.0))
