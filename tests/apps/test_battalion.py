"""Movements with known crossings: each of the four questions answers with exactly the positions that it must."""

import pytest

from tests.apps.reading import answers_of, batches_of, joined
from tradewind.apps.battalion import HEIGHT, LINE, START, STOP, WIDTH, Size, prepare, write
from tradewind.apps.expectation import verify
from tradewind.rewrites.engine import rewrite


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_all_four_answers_are_the_expected_ones(tmp_path, seed):
    found, expected = prepare(tmp_path, seed, scale=0.05)
    batches = batches_of(found)
    assert verify(expected, answers_of(found.graph(), joined(batches))) == []
    assert verify(expected, answers_of(rewrite(found.graph()).graph, batches)) == []
    assert {name: bool(rows) for name, rows in expected.answers.items()} == dict.fromkeys(
        ("analysis", "enemy_tanks", "enemy_aircraft", "across_the_line"), True
    )


def test_full_size_stays_in_the_field_and_both_aircraft_see_units(tmp_path):
    found, expected = prepare(tmp_path, seed=1, scale=1)
    assert expected.rows == 600 * 120 + 40 * 240
    rows = list(expected.answers["analysis"])
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT and START <= time < STOP for time, _, x, y, *_ in rows)
    assert all(x <= LINE for _, _, x, _, side, _ in rows if side == "F")
    origins = found.streams["ground_units"].origins
    assert set(origins) == {"awacs_1", "awacs_2"}
    [whole] = joined(batches_of(found))
    seen = {origin: {row[1] for row in rows} for origin, rows in whole["ground_units"].items()}
    assert min(len(units) for units in seen.values()) > 200
    assert seen["awacs_1"] & seen["awacs_2"]  # some move from one strip to the other


def test_crossings_are_those_of_the_attackers_while_they_are_beyond_the_line(tmp_path):
    _, expected = write(tmp_path, Size(ground=80, air=8), seed=2)
    across = expected.answers["across_the_line"]
    beyond = {(time, unit) for time, unit, x, _, side, _ in expected.answers["analysis"] if side == "E" and x < LINE}
    assert {row[:2] for row in across} == beyond
    assert {unit.split("-")[1] for _, unit in beyond} == {"TANK", "INFANTRY", "AIR"}
    # Some enemies stand on the line and have not crossed it.
    assert any(x == LINE and side == "E" for _, _, x, _, side, _ in expected.answers["analysis"])
