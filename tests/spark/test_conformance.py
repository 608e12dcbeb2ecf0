"""Every operator, aggregate and window on Spark gives the interpreter's answer, after every batch."""

from __future__ import annotations

import random
from decimal import Decimal
from itertools import islice
from pathlib import Path

import pytest

import tradewind as tw
from tests.algebra.every import NEWS, TICKS, WIDEST, every_kind
from tests.random_data import random_data
from tests.random_graphs import random_graph
from tests.random_rows import rows
from tests.spark.comparing import cut, differences, exactly, same_on_spark
from tests.spark.running import SparkRun
from tradewind.algebra.aggregates import AGGREGATES, parse_aggregate
from tradewind.algebra.expressions.typing import parse_condition
from tradewind.algebra.graph import KINDS, Graph
from tradewind.algebra.operators.aggregation import Aggregate, Combine, Finish, Merge, Partial, detached
from tradewind.algebra.operators.core import Filter, Join, Source, Union
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.windows import CountedWindow, SessionWindow, TimeWindow, ValueWindow
from tradewind.interpreter.run import Run, Weighted
from tradewind.interpreter.values import fixed
from tradewind.rewrites.engine import rewrite
from tradewind.spark.buckets.summing import sums_of
from tradewind.spark.session import another
from tradewind.spark.weights import is_unit

pytestmark = pytest.mark.spark

SECOND = 1_000_000
SLOW = "fish"
"""Its sliding windows put each row into hundreds of panes: it runs in tests/apps with data that fits."""

EXAMPLES = sorted(p for p in (Path(__file__).parents[2] / "examples").glob("*.yaml") if p.stem != SLOW)
SCHEMA = "ts TIMESTAMP, k STRING, i INT, b BIGINT, d DOUBLE, m DECIMAL(10,2), s STRING, f BOOLEAN"
ADDED = Source("added", parse_schema(SCHEMA, time="ts"), SECOND)
REVISED = Source("revised", parse_schema(SCHEMA, time="ts"), SECOND, (), True)
WINDOWS = {
    "none": None,
    "tumbling": TimeWindow("ts", 10 * SECOND, 10 * SECOND),
    "sliding": TimeWindow("ts", 10 * SECOND, 4 * SECOND, 1),
    "session": SessionWindow("ts", 3 * SECOND),
    "counted": CountedWindow("ts", 3, 2),
    "counted with timeout": CountedWindow("ts", 3, 1, 4 * SECOND),
    "counted with slack": CountedWindow("ts", 2, 2, None, 1),
    "values": ValueWindow("i", 4, 2),
    "values with timeout": ValueWindow("i", 4, 4, 5 * SECOND),
    "values with slack": ValueWindow("d", 1.5, 0.5, None, 1),
}
EXACT = [name for name, function in AGGREGATES.items() if function.exact_twin is None]
ARGUMENTS = {
    "count_if": ["f"], "bool_and": ["f"], "bool_or": ["f"], "count": ["*", "d"], "percentile": ["d, 0.3D", "i, 0.5D"],
    "top_k": ["s, 2"], "min": ["s", "d", "m"], "max": ["b", "d", "ts"], "first": ["s", "d"], "last": ["m"],
    "count_distinct": ["s", "d"], "delta": ["i", "d", "m"],
}  # fmt: skip


def calls(source, turn):
    """Every aggregate once; which of its arguments is tried goes by turns."""
    texts = []
    for name in EXACT:
        given = ARGUMENTS.get(name, ["i", "b", "d", "m"])
        texts.append(f"{name}({given[turn % len(given)]})")
    own = parse_aggregate("widest(d)", source.schema, {"widest": WIDEST})
    return (*((f"a{i}", parse_aggregate(text, source.schema)) for i, text in enumerate(texts)), ("own", own))


def readings(source, seed, count=14):
    """Rows of a few groups: out of order, repeated, NULLs, odd numbers; taken back again where a stream may."""
    mix = random.Random(seed)
    found: dict = {}
    for origin in ("ams", "nyc"):
        made = []
        for row in rows(source.schema, count, mix):
            time = mix.randrange(40) * SECOND + mix.choice((0, 0, 500_000))
            made.append((time, mix.choice(("x", "y", None)), *row[2:]))
        made.sort(key=lambda row: row[0] + mix.randrange(6) * SECOND)
        made += mix.sample(made, 2)
        back = [Weighted(row, -1) for row in mix.sample(made, len(made) // 2)] if source.revisions else []
        found[origin] = [*made, *back]
    return {source.stream: found}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("source", [ADDED, REVISED], ids=["added", "revised"])
@pytest.mark.parametrize("window", WINDOWS, ids=lambda name: name.replace(" ", "-"))
def test_every_aggregate_in_every_window(spark, tmp_path, source, window) -> None:
    turn = list(WINDOWS).index(window)
    functions = tuple(f for f in calls(source, turn + source.revisions) if f[0] != "own" or not source.revisions)
    graph = Graph.of(answer=Aggregate(source, ("k",) if turn % 4 else (), functions, WINDOWS[window]))
    chance = random.Random(window)
    assert same_on_spark(spark, graph, cut(readings(source, 1), chance, most=16), tmp_path, chance)


SUMS = (
    "count(*)",
    "count(s)",
    "sum(i)",
    "sum(b)",
    "sum(d)",
    "avg(i)",
    "avg(d)",
    "min(d)",
    "max(d)",
    "min(b)",
    "max(ts)",
)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("source", [ADDED, REVISED], ids=["added", "revised"])
@pytest.mark.parametrize("window", [name for name in WINDOWS if "counted" in name or "with" in name])
def test_windows_over_neighbours_that_are_summed_in_their_buckets(spark, tmp_path, source, window) -> None:
    functions = tuple((f"a{i}", parse_aggregate(text, source.schema)) for i, text in enumerate(SUMS))
    node = Aggregate(source, ("k",), functions, WINDOWS[window])
    assert sums_of(node)
    chance = random.Random(window)
    batches = cut(readings(source, 4), chance, most=16)
    assert same_on_spark(spark, Graph.of(answer=node), batches, tmp_path, chance)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("window", ["none", "tumbling", "sliding", "values"])
def test_every_aggregate_split_into_partial_merge_and_finish(spark, tmp_path, window) -> None:
    functions = calls(ADDED, len(window))
    partial = Partial(ADDED, ("k",), functions, WINDOWS[window])
    keys = ("k",) if WINDOWS[window] is None else ("k", "window")
    graph = Graph.of(answer=Finish(Merge(partial, keys, detached(functions)), detached(functions)))
    chance = random.Random(window)
    assert same_on_spark(spark, graph, cut(readings(ADDED, 2), chance, most=16), tmp_path, chance)


FINE = TimeWindow("ts", 2 * SECOND, 2 * SECOND, SECOND)
COARSER = {
    "fewer keys": (None, ("k",), None),
    "windows fall together": (FINE, (), None),
    "windows stay": (WINDOWS["values"], ("window",), None),
    "longer windows": (FINE, ("k",), TimeWindow("ts", 10 * SECOND, 4 * SECOND, 3 * SECOND)),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("source", [ADDED, REVISED], ids=["added", "revised"])
@pytest.mark.parametrize("groups", COARSER, ids=lambda name: name.replace(" ", "-"))
def test_every_aggregate_combined_into_coarser_groups(spark, tmp_path, source, groups) -> None:
    fine, keys, coarse = COARSER[groups]
    functions = calls(source, len(groups))
    if source.revisions:
        kept = {name for name, one in AGGREGATES.items() if one.invertible}
        functions = tuple((name, call) for name, call in functions if call.function in kept)
    low, high = (Filter(source, parse_condition(text, source.schema)) for text in ("b < 0", "b >= 0 OR b IS NULL"))
    parts = Union((Partial(low, ("k", "f"), functions, fine), Partial(high, ("k", "f"), functions, fine)))
    near = Combine(parts, ("f", "k", "window") if fine else ("f", "k"), detached(functions))
    functions = functions[1:]
    combined = Combine(near, keys, detached(functions), coarse)
    whole = Merge(combined, (*keys, "window") if coarse else keys, detached(functions))
    chance = random.Random(groups)
    batches = cut(readings(source, 6), chance, most=16)
    assert same_on_spark(spark, Graph.of(answer=Finish(whole, detached(functions))), batches, tmp_path, chance)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("source", [ADDED, REVISED], ids=["added", "revised"])
def test_a_batch_without_rows_gives_no_partial(spark, tmp_path, source) -> None:
    functions = (("n", parse_aggregate("count(*)", source.schema)), ("s", parse_aggregate("sum(i)", source.schema)))
    some = Filter(source, parse_condition("i > 5", source.schema))
    partial = Partial(some, (), functions)
    combined = Combine(Partial(some, ("k",), functions), (), detached(functions))
    assert is_unit(partial)
    assert is_unit(combined)
    graph = Graph.of(
        **{
            name: Finish(Merge(node, (), detached(functions)), detached(functions))
            for name, node in (("partial", partial), ("combined", combined))
        }
    )
    rows = [(n * SECOND, "x", n, 0, 0.0, None, "", True) for n in (1, 6, 2, 7)]
    chance = random.Random(0)
    assert same_on_spark(spark, graph, [{source.stream: {"ams": [row]}} for row in rows], tmp_path, chance) == 2


LONG = (
    "ts TIMESTAMP, k STRING, i INT, "
    "a DECIMAL(38,10), b DECIMAL(28,12), c DECIMAL(38,18), d DECIMAL(27,9), e DECIMAL(30,0)"
)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("window", ["none", "tumbling", "session", "counted", "values with timeout"])
@pytest.mark.parametrize("revised", [False, True])
def test_totals_and_means_of_long_decimals_keep_their_digits(spark, tmp_path, window, revised) -> None:
    source = Source("long", parse_schema(LONG, time="ts"), SECOND, (), revised)
    functions = tuple(
        (f"{call}_{name}", parse_aggregate(f"{call}({name})", source.schema))
        for name in "abcde"
        for call in ("sum", "avg")
    )
    chance = random.Random(f"{window} {revised}")
    data: list[tuple | Weighted] = []
    for _ in range(30):
        number = Decimal(chance.randrange(10**18)).scaleb(-18) + chance.randrange(-5, 5)
        long = [fixed(number, type_) for _, type_ in source.schema.columns[3:]]
        row = (chance.randrange(40) * SECOND, chance.choice("xy"), chance.randrange(9), *long)
        data += [Weighted(row, 3), Weighted(row, -1)] if revised and chance.random() < 0.5 else [row]
    graph = Graph.of(totals=Aggregate(source, ("k",), functions, WINDOWS[window]))
    assert same_on_spark(spark, graph, cut({"long": {"here": data}}, chance, most=16), tmp_path, chance)


def test_every_kind_of_operator(spark, tmp_path) -> None:
    graph = exactly(every_kind())
    assert {node.kind for node in graph} == set(KINDS)
    chance = random.Random(3)
    data = random_data(graph, chance)
    assert same_on_spark(spark, graph, cut(data, chance), tmp_path, chance)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_joins_with_late_rows_and_a_horizon(spark, tmp_path, how) -> None:
    graph = Graph.of(pairs=Join(TICKS, NEWS, how, (("ticker", "topic"),), None))
    banded = next(node for node in every_kind() if isinstance(node, Join))
    chance = random.Random(how)
    graph = Graph.of(pairs=graph["pairs"], near=Join(banded.left, banded.right, how, banded.keys, banded.band))
    data = random_data(graph, chance, most=20)
    same_on_spark(spark, graph, cut(data, chance), tmp_path, chance, horizon=5 * SECOND)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples(spark, tmp_path, path) -> None:
    found = tw.deployment(path)
    mix = random.Random(path.stem)
    data = {
        name: {site: rows(stream.source.schema, 20, mix) for site in stream.origins}
        for name, stream in found.streams.items()
    }
    written = exactly(found.graph())
    graph = written if mix.random() < 0.5 else rewrite(written).graph
    same_on_spark(spark, graph, cut(data, mix, most=16), tmp_path, mix)


def dealt_out(spark):
    """A session in which rows are grouped by exchanges, however few they are."""
    session = another(spark)
    session.conf.set("spark.sql.shuffle.partitions", "2")
    return session


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(20))
def test_random_graphs(spark, tmp_path, seed) -> None:
    chance = random.Random(seed + 5_000)
    graph = exactly(random_graph(chance))
    data = random_data(graph, chance)
    # Every second one with its rows dealt out, as many rows are; the others in one place.
    session = dealt_out(spark) if seed % 2 else spark
    horizon = chance.choice((None, None, 0, 5 * SECOND))
    same_on_spark(session, graph, cut(data, chance), tmp_path, chance, horizon=horizon)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(4))
def test_idle_origins_and_restarts(spark, tmp_path, seed) -> None:
    """Origins fall silent and speak again, far behind the others: answers and marks are the interpreter's after every
    batch, whoever goes on from the last commit.
    """
    chance = random.Random(f"idle {seed}")
    window = WINDOWS[("tumbling", "session", "counted with timeout", "sliding")[seed]]
    counts = Aggregate(ADDED, ("k",), (("n", parse_aggregate("count(*)", ADDED.schema)),), window)
    graph = Graph.of(counts=counts)
    horizon = chance.choice((None, 5 * SECOND))
    origins = {"added": ["ams", "nyc"]}
    meant, run = Run(graph, origins, horizon), SparkRun(spark, graph, tmp_path, origins, horizon=horizon)
    waiting = {origin: iter(some) for origin, some in readings(ADDED, seed)["added"].items()}
    for _ in range(7):
        silent = [origin for origin in waiting if chance.random() < 0.4]
        batch = {"added": {o: list(islice(some, chance.randrange(1, 7))) for o, some in waiting.items()}}
        batch["added"] |= {origin: [] for origin in silent}
        meant.feed(batch, idle={"added": silent})
        # What a run commits of it: marks that have moved on.
        marks = {name: state.mark for name, state in meant._origins["added"].items()}
        run.feed(batch, {"added": marks})
        assert run.engine.marks["added"] == marks
        assert differences(meant.answer("counts"), run.answer("counts")) == ([], [])
        if chance.random() < 0.5:
            run.restart()
    run.engine.release()
    assert meant.answer("counts")
