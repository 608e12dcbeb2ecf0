"""Every odd reading of a known episode, and nothing else, is an alarm with the water now and when fish were normal."""

import pytest

from tests.apps.reading import answers_of, batches_of, joined
from tradewind.apps.expectation import verify
from tradewind.apps.fish import MINUTE, START, WATER, Size, prepare, write
from tradewind.errors import InputError
from tradewind.rewrites.engine import rewrite

SMALL = Size(tanks=2, hours=8, step=20 * MINUTE)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_alarms_and_reports_are_the_expected_ones(tmp_path, seed):
    found, expected = write(tmp_path, SMALL, seed)
    answers = answers_of(found.graph(), joined(batches_of(found)))
    assert set(answers) == {"alarms", "water_quality"}
    assert verify(expected, answers) == []
    assert len(answers["alarms"]) >= 4
    assert len(answers["water_quality"]) > 900


def test_alarms_in_batches_and_after_the_rules(tmp_path):
    found, expected = write(tmp_path, Size(tanks=2, hours=6, step=20 * MINUTE), seed=4)
    batches = batches_of(found)
    halves = joined(batches[:4]) + joined(batches[4:])
    assert verify(expected, answers_of(rewrite(found.graph()).graph, halves)) == []


def test_full_size_has_episodes_in_every_tank_and_changes_in_every_report(tmp_path):
    found, expected = prepare(tmp_path, seed=1, scale=1)
    assert expected.rows == 16 * 8 * 60
    names = found.queries["alarms"].operator.schema.names
    alarms = [dict(zip(names, row, strict=True)) for row in expected.answers["alarms"]]
    assert {alarm["tank"] for alarm in alarms} == {f"tank-{number:02}" for number in range(1, 17)}
    assert len(expected.story) > 16
    early = [alarm for alarm in alarms if alarm["normal_at"] is None]
    assert {alarm["tank"] for alarm in early} == {"tank-01"}
    assert min(alarm["ts"] for alarm in early) < START + MINUTE
    assert [alarm["ph_changes"] for alarm in early if alarm["ts"] < START + MINUTE] == [None]
    settled = [
        alarm for alarm in alarms if alarm["normal_at"] is not None and alarm["ts"] - alarm["normal_at"] > 30 * MINUTE
    ]
    assert settled
    # Half an hour into an episode the water is sourer than when the fish were well, and has been turning for an hour.
    assert all(alarm["ph_now"] < alarm["normal_ph"] and alarm["ph_changes"][0] < 0 for alarm in settled)


def test_breathing_that_is_just_normal_is_there_and_raises_nothing(tmp_path):
    found, expected = write(tmp_path, SMALL, seed=1)
    rows: list = [row for batch in batches_of(found) for row in batch["observations"]["tank_house"]]
    assert {20.0, 90.0} <= {row[2] for row in rows}
    odd = {(row[0], row[1]) for row in rows if not 20 <= row[2] <= 90}
    assert odd == {row[:2] for row in expected.answers["alarms"]}
    assert len(rows[0]) == 3 + len(WATER)


def test_readings_must_come_often_enough_for_an_hourly_report(tmp_path):
    with pytest.raises(InputError, match="20 minutes"):
        write(tmp_path, Size(step=21 * MINUTE), seed=1)
