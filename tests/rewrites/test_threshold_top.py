"""Tops found in rounds: the same answers at every moment, and only what can still win is sent."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.random_data import random_data
from tests.random_graphs import EVENTS, ORIGINS
from tests.rewrites.comparing import plain
from tests.shorthand import SECOND, grouped, mapped, session, sliding, stream, tumbling, where
from tests.tiers import TIER, Tier
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Source, Top, Union
from tradewind.interpreter.run import Run, answer
from tradewind.rewrites.rounds import Names
from tradewind.rewrites.threshold_top import MOST_INPUTS, rounds_of, threshold_top
from tradewind.rewrites.trial import apply

COUNTED = (
    "count(*)", "count(a)", "count_if(a > 1)", "sum(if(a > 1, 1, 0))", "sum(CASE WHEN x > 0 THEN 2 END)",
    "sum(CAST(a > 1 AS INT))",
)  # fmt: skip
BESIDE = (
    "sum(k)", "min(x)", "max(s)", "bool_or(a > 2)", "count(*)", "avg(x)", "sum(x)", "first(a)", "count_distinct(k)",
)  # fmt: skip
"""The first five are made of answers over parts, for the others the inputs go back to their rows."""
SOURCES = {name: Source("ticks", EVENTS, origins=(name,)) for name in ORIGINS}
TEN = tumbling(10 * SECOND)


@st.composite
def tops(draw: st.DrawFn) -> Top:
    """Tops over groups of two or three inputs, of which some keys are NULL, NaN or alike."""
    parts = [where(SOURCES[name], "k <> 4 OR k IS NULL") for name in draw(st.sampled_from([ORIGINS, ORIGINS[:2]]))]
    keys = draw(st.sampled_from(["k", "s", "x", "k s", "s x"]))
    calls = {f"f{n}": text for n, text in enumerate(draw(st.lists(st.sampled_from(BESIDE), max_size=2)))}
    window = draw(st.sampled_from([TEN, sliding(10 * SECOND, 5 * SECOND)]))
    node: Operator = grouped(Union(tuple(parts)), keys, window, v=draw(st.sampled_from(COUNTED)), **calls)
    per = ["window", *(keys.split()[:1] if " " in keys and draw(st.booleans()) else [])]
    if draw(st.booleans()):
        kept = {name: name for name in node.schema.names}
        node, per = mapped(node, **kept, at="window.start"), ["at"]
    if draw(st.booleans()):
        node = where(node, "v >= 2")
    ties = [(name, draw(st.booleans())) for name in keys.split() if draw(st.booleans())]
    return Top(node, draw(st.integers(1, 3)), (("v", True), *ties), tuple(per), draw(st.sampled_from([None, "place"])))


def shown(rows):
    return sorted(map(plain, rows.elements()), key=repr)


@settings(max_examples=60 if TIER is Tier.ALL else 25, deadline=None)
@given(tops(), st.randoms(use_true_random=False))
def test_answers_are_the_same_at_every_moment_and_final_as_soon(top: Top, chance: random.Random) -> None:
    before = Graph.of(result=top)
    after = apply(threshold_top, before)
    assert after != before
    there = {name for node in before if isinstance(node, Source) for name in node.origins}
    waiting = {name: rows for name, rows in random_data(before, chance, 14)["ticks"].items() if name in there}
    runs = [Run(graph) for graph in (before, after)]
    while any(waiting.values()):
        sizes = {name: chance.randrange(8) for name in waiting}
        batch = {name: rows[: sizes[name]] for name, rows in waiting.items()}
        waiting = {name: rows[sizes[name] :] for name, rows in waiting.items()}
        for run in runs:
            run.feed({"ticks": batch})
        _same(*runs)
    for run in runs:
        run.end()
    _same(*runs)


def _same(before: Run, after: Run) -> None:
    assert shown(after.answer("result")) == shown(before.answer("result"))
    assert shown(after.final("result")) == shown(before.final("result"))


def hits(name: str) -> Source:
    return stream("hits", "ts TIMESTAMP, url STRING, n INT", origins=(name,))


AMS, NYC, SYD = map(hits, ("ams", "nyc", "syd"))
COUNTS = grouped(Union((AMS, NYC, SYD)), "url", TEN, n="count(*)")


def asked(urls: str) -> list[tuple]:
    return [(SECOND, url, 1) for url in urls]


def urls(found) -> list:
    return sorted(row[0] for row in found.elements())


def test_only_groups_that_can_still_win_are_sent() -> None:
    rounds = rounds_of(Top(COUNTS, 2, (("n", True),), ("window",)))
    assert rounds is not None
    assert rounds.from_answers
    data = {"hits": {"ams": asked("aaaaaabbbbcde"), "nyc": asked("aaaabbbbbbbfff"), "syd": asked("aaagghijklm")}}
    graph = Graph.of(
        bound=rounds.threshold, candidates=rounds.candidates, **{f"sent{n}": one for n, one in enumerate(rounds.sent)}
    )
    found = answer(graph, data)
    # Of a 13 are given at first, and of b 11: a third of that is 4, rounded up.
    assert [row[1] for row in found["bound"].elements()] == [4]
    assert urls(found["sent0"]) == ["a", "b"]
    assert urls(found["sent1"]) == ["a", "b"]
    assert urls(found["sent2"]) == []
    assert sorted(row[0] for row in found["candidates"].elements()) == [("a",), ("b",)]


def test_what_inputs_kept_back_may_make_a_group_win() -> None:
    top = Top(COUNTS, 1, (("n", True), ("url", True)), ("window",))
    data = {"hits": {"ams": asked("aaaaaaaaaccccc"), "nyc": asked("bbbbbcc"), "syd": asked("cc")}}
    # A third of 9 is 3: only ams gives c, of which it has 5; the others may have 2 each, and have.
    before = Graph.of(result=top)
    assert urls(answer(before, data)["result"]) == ["c"]
    assert answer(apply(threshold_top, before), data) == answer(before, data)


def test_of_fewer_than_k_groups_none_is_lost() -> None:
    top = Top(COUNTS, 5, (("n", True),), ("window",))
    data = {"hits": {"ams": asked("aab"), "nyc": [], "syd": [(SECOND, None, 1), *asked("bbbb")]}}
    before = Graph.of(result=top)
    assert answer(apply(threshold_top, before), data) == answer(before, data)
    assert len(answer(before, data)["result"]) == 3


def first(node: Operator, per: str = "window", by: tuple = (("n", True),)) -> Top:
    return Top(node, 2, by, tuple(per.split()))


BOTH = Union((AMS, NYC))
BACK = Union((AMS, stream("hits", "ts TIMESTAMP, url STRING, n INT", origins=("nyc",), revisions=True)))
MANY = Union(tuple(hits(f"s{n}") for n in range(MOST_INPUTS + 1)))
LARGE = Union(tuple(mapped(one, ts="ts", url="url", n="CAST(n AS BIGINT)") for one in (AMS, NYC)))


@pytest.mark.parametrize(
    "top",
    [
        first(COUNTS, by=(("n", False),)),
        first(COUNTS, by=(("url", True), ("n", True))),
        first(grouped(BOTH, "url", TEN, n="avg(n)")),
        first(grouped(BOTH, "url", TEN, n="sum(n)")),
        first(grouped(BOTH, "url", TEN, n="sum(if(n > 0, n, 1))")),
        first(grouped(LARGE, "url", TEN, n="sum(n)")),
        first(grouped(Union(tuple(where(one, "n >= 0") for one in LARGE.members)), "url", TEN, n="sum(n)")),
        first(grouped(BOTH, "url", TEN, n="sum(CAST(n AS DOUBLE))")),
        first(grouped(BOTH, "url n", TEN, c="count(*)"), "url", (("c", True),)),
        first(grouped(BOTH, "url n", c="count(*)"), "url", (("c", True),)),
        first(grouped(BOTH, "url", session(5 * SECOND), n="count(*)")),
        first(COUNTS, "window url"),
        first(grouped(AMS, "url", TEN, n="count(*)")),
        first(grouped(MANY, "url", TEN, n="count(*)")),
        first(grouped(BACK, "url", TEN, n="count(*)")),
        first(where(COUNTS, "n < 4")),
        first(where(COUNTS, "n > 4 OR url = 'a'")),
    ],
)  # fmt: skip
def test_not_where_parts_may_be_more_than_the_whole_or_nothing_is_to_gain(top: Top) -> None:
    assert rounds_of(top) is None
    assert apply(threshold_top, Graph.of(result=top)) == Graph.of(result=top)


@pytest.mark.parametrize(
    "node",
    [
        grouped(Union((where(AMS, "n >= 0"), where(NYC, "n BETWEEN 1 AND 9"))), "url", TEN, n="sum(n)"),
        grouped(Union(tuple(where(one, "n BETWEEN 0 AND 9") for one in LARGE.members)), "url", TEN, n="sum(n)"),
        grouped(BOTH, "url", TEN, n="sum(CASE WHEN n > 3 THEN 2L WHEN n > 2 THEN NULL ELSE 0L END)"),
        grouped(BOTH, "url", TEN, n="sum(coalesce(CAST(n > 1 AS INT), 3))"),
    ],
)
def test_sums_of_what_is_shown_never_to_be_below_zero(node: Operator) -> None:
    assert rounds_of(first(node)) is not None


def test_names_of_columns_in_between_differ_from_those_of_the_query() -> None:
    parts = tuple(stream("hits", "ts TIMESTAMP, last STRING, total INT", origins=(name,)) for name in ("ams", "nyc"))
    node = grouped(Union(parts), "last total", TEN, key="count(*)")
    before = Graph.of(result=Top(node, 1, (("key", True),), ("window", "total")))
    rows: list[tuple] = [(1, "a", 1), (2, "b", 1)]
    data = {"hits": {"ams": rows, "nyc": [*rows, (3, "a", None)]}}
    assert answer(apply(threshold_top, before), data) == answer(before, data)
    assert Names.beside(("Last",)).last == "last_"
