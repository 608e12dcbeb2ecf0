"""What rounds send: predicted from number and skew of the keys, against rows drawn at random."""

from collections.abc import Sequence

import numpy as np
import pytest

from tests.shorthand import MINUTE, SECOND, grouped, sliding, stream, tumbling
from tradewind.algebra.operators.core import Top, Union
from tradewind.algebra.windows import TimeWindow
from tradewind.cost.declared import Declared, OriginFigures, QueryFigures, StreamFigures
from tradewind.cost.rounds import pays
from tradewind.cost.statistics import Statistics
from tradewind.cost.thresholds import expected_rounds
from tradewind.rewrites.rounds import Rounds
from tradewind.rewrites.threshold_top import rounds_of

SITES = ("ams", "nyc", "syd")


def drawn(rows: Sequence[float], keys: int, skew: float, k: int) -> tuple[list[int], int]:
    """How many groups each input sends in round 2, and how many candidates there are, for rows drawn by Zipf's law."""
    chance = np.random.default_rng(1)
    chances = np.arange(1, keys + 1) ** -skew
    counts = np.array([chance.multinomial(int(n), chances / chances.sum()) for n in rows])
    sums = np.zeros(keys)
    for own in counts:
        first = np.argsort(-own, kind="stable")[:k]
        sums[first] += own[first]
    threshold = -(-np.sort(sums)[-k] // len(rows))
    sent = (counts > 0) & (counts >= threshold)
    least, givers = (counts * sent).sum(axis=0), sent.sum(axis=0)
    most = least + (len(rows) - givers) * max(threshold - 1, 0)
    candidates = (givers > 0) & (most >= np.sort(least)[-k])
    return sent.sum(axis=1).tolist(), int(candidates.sum())


@pytest.mark.parametrize(
    ("rows", "keys", "skew", "k"),
    [
        ([60_000] * 3, 20_000, 0.8, 10),
        ([60_000] * 3, 20_000, 0.0, 10),
        ([60_000] * 9, 1_000_000, 1.2, 10),
        ([600_000, 60_000, 6_000], 100_000, 1.1, 10),
        ([100_000] * 20, 100_000, 1.1, 100),
        ([5_000] * 9, 100_000, 1.3, 10),
        ([1_000] * 4, 1_000_000, 0.0, 5),
        ([60_000] * 3, 8, 1.0, 3),
    ],
)
def test_groups_that_reach_the_threshold(rows: list[int], keys: int, skew: float, k: int) -> None:
    found = expected_rounds(tuple(map(float, rows)), ((float(keys), skew),), k)
    sent, candidates = drawn(rows, keys, skew, k)
    for expected, real in zip(found.sent, sent, strict=True):
        assert real / 1.5 - 5 <= expected <= real * 1.5 + 5
    if skew > 0:  # of alike keys, more are taken for candidates than there are
        assert candidates / 1.5 - 5 <= found.candidates <= candidates * 1.5 + 5
    assert found.candidates <= found.seen + 1e-6


def test_only_groups_with_new_rows_are_sent_again() -> None:
    rows, keys = (10_000.0, 10_000.0), ((1e6, 0.0),)
    whole, tenth = expected_rounds(rows, keys, 10), expected_rounds(rows, keys, 10, 0.1)
    assert tenth.sent[0] <= whole.sent[0]
    assert tenth.candidates == whole.candidates
    assert expected_rounds((0.0, 10.0), ((1e6, 1.0),), 3).sent[0] == 0


def rounds(window: TimeWindow, skew: float, **calls: str) -> tuple[Rounds, Statistics]:
    """The first ten urls of three sites, and what is known of them."""
    parts = tuple(stream("hits", "ts TIMESTAMP, url STRING, ms INT", origins=(site,)) for site in SITES)
    found = rounds_of(Top(grouped(Union(parts), "url", window, n="count(*)", **calls), 10, (("n", True),), ("window",)))
    assert found is not None
    origins = dict.fromkeys(SITES, OriginFigures(1_000, 40))
    declared = Declared({"hits": StreamFigures(origins, {"url": 1e6}, {"url": skew})}, {"top": QueryFigures()})
    return found, Statistics(declared, "top")


def test_statistics_know_what_rounds_send() -> None:
    top, figures = rounds(tumbling(MINUTE), 1.2)
    in_general = Statistics(figures.declared, "top").flow(top.sent[0])
    figures.expect(top)
    expected = expected_rounds((60_000.0,) * 3, ((1e6, 1.2),), 10)
    assert figures.flow(top.sent[0]).rows_per_second == pytest.approx(expected.sent[0] / 60)
    assert in_general.rows_per_second > 10 * figures.flow(top.sent[0]).rows_per_second
    assert figures.flow(top.threshold).rows_per_second == pytest.approx(1 / 60)
    assert figures.flow(top.candidates).rows_per_second == pytest.approx(expected.candidates / 60)
    assert figures.flow(top.exact[2]).rows_per_second == pytest.approx(expected.exact[2] / 60)
    assert figures.flow(top.first[0]).rows_per_second == pytest.approx(10 / 60)
    assert pays(top, figures.flow)


def test_a_window_is_looked_at_as_often_as_partials_are_shipped() -> None:
    top, once = rounds(tumbling(MINUTE), 1.2)
    often = Statistics(once.declared, "top", flush_seconds=10.0)
    overlapping, sliding_once = rounds(sliding(MINUTE, 20 * SECOND), 1.2)
    for figures, one in ((once, top), (often, top), (sliding_once, overlapping)):
        figures.expect(one)
    assert often.flow(top.threshold).rows_per_second == pytest.approx(6 / 60)
    assert sliding_once.flow(overlapping.threshold).rows_per_second == pytest.approx(3 / 60)
    assert 3 < often.flow(top.sent[0]).rows_per_second / once.flow(top.sent[0]).rows_per_second < 12
    assert often.flow(top.candidates).rows_per_second < 3 * once.flow(top.candidates).rows_per_second


def test_rows_of_candidates_where_answers_over_parts_do_not_make_the_whole() -> None:
    top, figures = rounds(tumbling(MINUTE), 1.2, mean="avg(ms)")
    figures.expect(top)
    flow = figures.flow(top.exact[0])
    assert 100 < flow.rows_per_second < 1_000
    assert flow.columns["url"].distinct == pytest.approx(expected_rounds((60_000.0,) * 3, ((1e6, 1.2),), 10).candidates)


def test_where_hardly_a_key_comes_twice_rounds_do_not_pay() -> None:
    top, figures = rounds(tumbling(SECOND), 0.0)
    figures.expect(top)
    assert not pays(top, figures.flow)
