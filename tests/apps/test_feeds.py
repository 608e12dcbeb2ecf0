"""The alarms that known faults must raise are those that the questions give: none missing, none more."""

from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tests.apps.reading import answers_of, batches_of, files_of, joined
from tradewind.apps.expectation import verify
from tradewind.apps.feeds import ALLOWED, CLOSE, FEEDS, HIGH, SECOND, START, Fault, Size, make_boards, prepare, write
from tradewind.apps.feeds import answers as expected_of
from tradewind.rewrites.engine import rewrite

OUTPUTS = {"reuters_low", "comstock_low", "reuters_high", "comstock_high", "nyse_high", "nasdaq_high"}


def test_a_tenth_of_the_tickers_raises_the_expected_alarms(tmp_path):
    found, expected = prepare(tmp_path, seed=1, scale=0.1)
    batches = joined(batches_of(found))
    assert sum(len(rows) for origins in batches[0].values() for rows in origins.values()) == expected.rows > 10_000
    answers = answers_of(found.graph(), batches)
    assert set(answers) == OUTPUTS
    assert verify(expected, answers) == []
    assert all(len(rows) > 3 for rows in answers.values())
    assert {answers[f"{feed}_low"].total() for feed in FEEDS} == {HIGH - 1}


@pytest.mark.parametrize("seed", range(2, 7))
def test_other_seeds_in_batches_and_after_the_rules(tmp_path, seed):
    found, expected = write(tmp_path, Size(fast=12, slow=70, silent=40), seed)
    assert verify(expected, answers_of(found.graph(), joined(batches_of(found)))) == []
    assert verify(expected, answers_of(rewrite(found.graph()).graph, batches_of(found))) == []
    assert expected.answers["reuters_high"].total() > 0


def test_too_few_tickers_for_a_high_alarm_raise_low_ones_only(tmp_path):
    found, expected = write(tmp_path, Size(fast=3, slow=4, silent=4), seed=1)
    assert {name for name, rows in expected.answers.items() if rows} == {"reuters_low", "comstock_low"}
    assert verify(expected, answers_of(found.graph(), joined(batches_of(found)))) == []


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("feeds"), seed=3, scale=1)


def asked(sql: str) -> list:
    with duckdb.connect() as database:
        return database.execute(sql).fetchall()


def gaps_in(found) -> str:
    """SQL for every update and the time until its ticker's next one: a second opinion that knows no faults."""
    parts = []
    for feed in FEEDS:
        for kind, allowed in ALLOWED.items():
            [origin] = found.streams[f"{feed}_{kind}"].origins
            paths = [str(path) for path in files_of(found, f"{feed}_{kind}", origin)]
            parts.append(
                f"SELECT '{FEEDS[feed]}' AS feed, ticker, exchange, {allowed} AS allowed, epoch_us(ts) AS time, "
                f"lead(epoch_us(ts)) OVER (PARTITION BY ticker ORDER BY ts) - epoch_us(ts) AS gap "
                f"FROM read_parquet({paths})"
            )
    return " UNION ALL ".join(parts)


def test_full_size_has_all_tickers_and_its_high_alarms_begin_with_the_outages(full):
    found, expected = full
    assert expected.rows > 150_000
    counted = asked(f"SELECT feed, allowed, count(DISTINCT ticker) FROM ({gaps_in(found)}) GROUP BY ALL")
    assert sorted(counted) == sorted((f, t, n) for f in FEEDS.values() for t, n in ((5e6, 500), (6e7, 4000)))
    for name in OUTPUTS - {"reuters_low", "comstock_low"}:
        times = sorted(row[0] for row in expected.answers[name])
        assert times[0] > START + 130 * SECOND
        assert sum(time < CLOSE for time in times) > 3


def test_full_size_has_the_silences_that_a_database_finds(full):
    found, expected = full
    late = f"({gaps_in(found)}) WHERE gap IS NULL OR gap >= allowed"
    alarms = f"SELECT time + allowed AS time, * EXCLUDE time FROM {late}"
    for column, causes in (("feed", ("Reuters", "Comstock")), ("exchange", ("NYSE", "NASDAQ"))):
        for cause in causes:
            ranked = (
                "SELECT time, ticker, exchange, row_number() OVER (ORDER BY time, ticker) AS place "
                f"FROM ({alarms}) WHERE {column} = '{cause}'"
            )
            rows = asked(ranked)
            high = Counter((time, cause, HIGH) for time, _, _, place in rows if place % HIGH == 0)
            assert expected.answers[f"{cause.lower()}_high"] == high
            if column == "feed":
                low = Counter(tuple(row[:3]) for row in rows if row[3] < HIGH)
                assert expected.answers[f"{cause.lower()}_low"] == low


def test_no_gap_is_near_what_is_allowed(full):
    found, _ = full
    near = f"SELECT count(*) FROM ({gaps_in(found)}) WHERE gap / allowed BETWEEN 0.91 AND 1.09"
    assert asked(near) == [(0,)]


def test_rows_come_out_of_order_and_files_by_time(full):
    found, _ = full
    files = files_of(found, "reuters_fast", "london")
    assert len(files) > 5
    assert files == sorted(files)
    batches = joined(batches_of(found))
    times = np.array([row[0] for row in batches[0]["reuters_fast"]["london"]])
    behind = np.maximum.accumulate(times) - times
    assert 0 < behind.max() < found.streams["reuters_fast"].source.late_by


def test_faults_without_an_update_between_them_are_one_silence():
    boards = make_boards(Size(fast=2, slow=0), np.random.default_rng(0))
    ticker = str(boards[0].tickers[0])
    times = boards[0].times[0]
    first, second = int(times[20]), int(times[30])
    apart = [
        Fault(first + 1, first + 6 * SECOND, "reuters", ticker=ticker),
        Fault(second + 1, CLOSE, "reuters", ticker=ticker),
    ]
    close = [Fault(first + 1, second, "reuters", ticker=ticker), Fault(second, CLOSE, "reuters", ticker=ticker)]
    assert set(expected_of(boards, apart)["reuters_low"]) == {
        (time + ALLOWED["fast"], ticker, str(boards[0].exchanges[0])) for time in (first, second)
    }
    assert [row[0] for row in expected_of(boards, close)["reuters_low"]] == [first + ALLOWED["fast"]]


def test_the_same_seed_writes_the_same_bytes(tmp_path):
    def written(name: str, seed: int) -> dict[str, bytes]:
        folder: Path = tmp_path / name
        write(folder, Size(fast=4, slow=9, silent=4), seed)
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.parquet")}

    once = written("a", 5)
    assert once == written("b", 5)
    assert once != written("c", 6)
