"""The operators over buckets answer as the interpreter does, after every batch, whatever comes."""

from __future__ import annotations

import math
import pickle
import random
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shorthand import SECOND, grouped, mapped, stream, tumbling, tuples
from tests.spark.bucket_cases import CASES, ORIGINS, rows
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import WINDOW, Aggregate
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.ordered import Order, Resample
from tradewind.algebra.schema import Schema
from tradewind.algebra.times import HIGHEST, LOWEST
from tradewind.algebra.windows import ValueWindow
from tradewind.errors import InternalError
from tradewind.interpreter.grouping import groups
from tradewind.interpreter.ordering import order, order_of, within_slack
from tradewind.interpreter.resampling import resample
from tradewind.interpreter.rows import FOREVER, Delta, Row, bag
from tradewind.interpreter.run import Run, Weighted
from tradewind.interpreter.values import single
from tradewind.interpreter.windows import panes
from tradewind.spark.buckets.dispatch import bucket_keys, bucket_operator, needs_arrival
from tradewind.spark.buckets.operator import Moment, State
from tradewind.spark.types import from_arrow, to_arrow

DAY = 86_400 * SECOND


def news_of(deltas: list[Delta], schema: Schema) -> pa.Table:
    table = to_arrow([delta.row.values for delta in deltas], schema)
    due = [None if delta.row.due == FOREVER else delta.row.due for delta in deltas]
    return table.append_column("_due", pa.array(due, pa.int64())).append_column(
        "_weight", pa.array([delta.weight for delta in deltas], pa.int64())
    )


def stored(state: State) -> State:
    """The state as it is after having been in files."""
    found = {}
    for name, table in state.items():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        found[name] = pa.ipc.open_file(sink.getvalue()).read_all()
    return found


def deltas_in(table: pa.Table, schema: Schema) -> list[Delta]:
    values = from_arrow(table.select(range(len(schema.columns))), schema)
    due = [FOREVER if one is None else one for one in table["_due"].to_pylist()]
    weights = table["_weight"].to_pylist()
    return [Delta(Row(row, moment), weight) for row, moment, weight in zip(values, due, weights, strict=True)]


def check_deltas(node: Operator, deltas: list[Delta]) -> Counter:
    """What deltas add up to, and that they say nothing twice."""
    signs: dict[Row, set[bool]] = {}
    for row, weight in deltas:
        assert weight
        signs.setdefault(row, set()).add(weight > 0)
    assert all(len(found) == 1 for found in signs.values())
    if isinstance(node, Order):
        place = order_of(node)
        assert deltas == sorted(deltas, key=lambda delta: (delta.weight > 0, place(delta.row)))
    total: Counter = Counter()
    for row, weight in deltas:
        total[row] += weight
    return total


def check_panes(node: Aggregate, table: pa.Table) -> Counter:
    """Panes as what they hold, those that are taken back counted below zero."""
    schema = node.input.schema
    members = from_arrow(table.select(range(5, table.num_columns)), schema)
    windows = from_arrow(table.select([3]).rename_columns([WINDOW]), Schema(((WINDOW, node.schema.type_of(WINDOW)),)))
    found: dict[int, list] = {}
    previous = None
    for place, pane in enumerate(table["_pane"].to_pylist()):
        assert pane == previous or pane not in found, "a pane's rows are not side by side"
        previous = pane
        found.setdefault(pane, []).append(place)
    total: Counter = Counter()
    for places in found.values():
        sign, due = ({table[name][place].as_py() for place in places} for name in ("_sign", "_pane_due"))
        assert len(sign) == len(due) == len({windows[place] for place in places}) == 1
        held = tuple((members[place], table["_count"][place].as_py()) for place in places)
        moment = due.pop()
        total[windows[places[0]][0], FOREVER if moment is None else moment, held] += sign.pop()
    assert sum(map(abs, total.values())) == len(found), "a pane is taken back and given again"
    return total


def panes_of(node: Aggregate, log: list[Delta], mark: float) -> Counter:
    """The panes that the interpreter sees."""
    schema, window = node.input.schema, node.window
    assert window is not None
    slack = getattr(window, "slack", None)
    by = str(getattr(window, "order", None) or getattr(window, "column", None))
    kept = bag(log) if slack is None else within_slack(log, node.keys, by, slack, schema)
    total: Counter = Counter()
    for group in groups(kept.items(), node.keys, schema).values():
        for pane in panes(window, group, schema, mark):
            held = tuple((row.values, weight) for row, weight in pane.rows.items())
            total[_bounds(node, pane.window), pane.due, held] += 1
    return total


def _bounds(node: Aggregate, window: tuple) -> tuple:
    """A window whose bounds are values of their type, which FLOATs are not in the interpreter."""
    fields = node.schema.type_of(WINDOW).fields
    return tuple(
        single(part) if type_.name == "FLOAT" else part for part, (_, type_) in zip(window, fields, strict=True)
    )


def unordered(total: Counter) -> Counter:
    """Panes whose members are in no order."""
    found: Counter = Counter()
    for (window, due, held), many in total.items():
        members: Counter = Counter()
        for row, weight in held:
            members[row] += weight
        found[window, due, frozenset(members.items())] += many
    return found


class Trial:
    """One node, run by the interpreter and by its operator over a bucket, side by side."""

    def __init__(self, node: Operator, horizon: int | None, origins=ORIGINS) -> None:
        graph = Graph.of(result=node)
        self.node: Any = node
        self.horizon = horizon
        self.run = Run(graph, dict.fromkeys(graph.sources(), origins), horizon)
        self.operator = pickle.loads(pickle.dumps(bucket_operator(node)))
        self.state: State = {}
        self.total: Counter = Counter()
        self._seen = [0] * len(node.inputs)

    def feed(self, batch, marks=None) -> None:
        """Give both the same rows, and compare."""
        self.run.feed(batch, marks)
        self._compare()

    def end(self) -> None:
        self.run.end()
        self._compare()

    def _compare(self) -> None:
        logs = [self.run.log(child) for child in self.node.inputs]
        news = [
            news_of(log[n:], child.schema) for log, n, child in zip(logs, self._seen, self.node.inputs, strict=True)
        ]
        self._seen = [len(log) for log in logs]
        mark = self.run.mark("result")
        moment = Moment(mark, -math.inf if self.horizon is None else mark - self.horizon)
        before = stored(self.state)
        out, self.state = self.operator.advance(before, news, moment)
        for name, table in self.state.items():
            assert "-cold-" not in name or name not in before or table is before[name]
        if isinstance(self.node, Aggregate):
            self._compare_panes(out, logs[0], mark)
        else:
            self.total.update(check_deltas(self.node, deltas_in(out, self.node.schema)))
            assert all(many >= 0 for many in self.total.values())
            # What is owed is passed over; the interpreter says so only until a row that it gave is taken back twice.
            assert +self.total == +self.run._nodes[self.node].bag

    def _compare_panes(self, out: pa.Table, log: list[Delta], mark: float) -> None:
        self.total.update(check_panes(self.node, out))
        assert min(self.total.values(), default=0) >= 0
        found, wanted = +self.total, panes_of(self.node, log, mark)
        if self.node.window.timeout is None and isinstance(self.node.window, ValueWindow):
            found, wanted = unordered(found), unordered(wanted)
        assert found == wanted


def check(seed: int, kind: str, *, extreme: bool = False, most: int = 14) -> None:
    """Random rows through a random node, batch by batch."""
    chance = random.Random(seed)
    trial = Trial(CASES[kind](chance), chance.choice((None, None, 0, 3 * SECOND, 10 * SECOND)))
    sources = trial.run.graph.sources().values()
    waiting = {(s.stream, o): rows(s, chance, most, extreme=extreme) for s in sources for o in ORIGINS}
    while any(waiting.values()):
        batch: dict = {}
        for name, origin in chance.sample(sorted(waiting), chance.randrange(len(waiting) + 1)):
            given_rows = waiting[name, origin]
            many = chance.randrange(1, 7)
            batch.setdefault(name, {})[origin] = given_rows[:many]
            del given_rows[:many]
        marks = {s.stream: {chance.choice(ORIGINS): chance.randrange(20) * SECOND} for s in sources}
        trial.feed(batch, marks if chance.random() < 0.3 else None)
        if trial.horizon is None and chance.random() < 0.05:
            # What comes after the end is late, and counts as long as nothing is frozen.
            trial.end()
    trial.end()


@pytest.mark.parametrize("kind", CASES)
@settings(max_examples=50)
@given(seed=st.integers(0, 2**32))
def test_answers_are_the_interpreters_after_every_batch(kind: str, seed: int) -> None:
    check(seed, kind)


# A grid over ten thousand years would have too many points.
@pytest.mark.parametrize("kind", [kind for kind in CASES if kind != "gridded"])
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32))
def test_answers_are_the_interpreters_at_the_ends_of_time(kind: str, seed: int) -> None:
    check(seed, kind, extreme=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32))
def test_answers_are_the_interpreters_over_long_histories(kind: str, seed: int) -> None:
    check(seed, kind, most=80)


def ticks(*rows: tuple) -> dict:
    return {"t": {"here": [(int(at * SECOND), *rest) for at, *rest in rows]}}


def small(node: Operator, horizon: int | None = None) -> Trial:
    return Trial(node, horizon, ("here",))


TICKS = stream("t", "ts TIMESTAMP, k STRING, v INT")
BOOK = stream("t", "ts TIMESTAMP, k STRING, v INT", revisions=True)


def rows_in(state: State, name: str) -> int:
    return sum(table.num_rows for key, table in state.items() if key.startswith(name))


def test_what_is_settled_is_cold_and_left_alone_until_a_late_row_comes() -> None:
    trial = small(grouped(TICKS, "k", tuples(2, 2), n="count(*)"))
    for second in range(40):
        trial.feed(ticks((second, "a", second), (second, "b", second)))
    cold = {name for name in trial.state if "-cold-" in name}
    assert rows_in(trial.state, "rows-cold-") >= 70
    assert len(cold) < 8
    assert rows_in(trial.state, "rows") - rows_in(trial.state, "rows-cold-") <= 6
    trial.feed(ticks((39, "a", 40), (39, "c", 40)))
    assert cold == {name for name in trial.state if "-cold-" in name}
    # All windows of the one group after the late row are other ones now; what was full stays full.
    trial.feed(ticks((10.5, "a", 0)))
    trial.feed(ticks((41, "a", 41), (41, "b", 41)))
    trial.end()


@pytest.mark.parametrize("step", [1, 2, 3, 5])
@pytest.mark.parametrize("timeout", [None, 3 * SECOND])
def test_counting_goes_on_as_it_began_after_rows_were_forgotten(step: int, timeout: int | None) -> None:
    node = grouped(TICKS, "k", tuples(3, step, timeout), n="count(*)", last="max(v)")
    trial = small(node, 0)
    for second in range(30):
        moment = second + second // 7 * 5
        trial.feed(ticks((moment, "a", second), *[(moment, "b", second)] * (second % 3)))
        assert rows_in(trial.state, "rows") <= 20
        assert not rows_in(trial.state, "rows-cold-")
    trial.end()


def test_a_row_that_is_taken_back_before_it_came_is_owed() -> None:
    trial = small(grouped(BOOK, "k", tuples(2, 1, 5 * SECOND), n="count(*)"))
    row, other = (SECOND, "a", 1), (2 * SECOND, "a", 2)
    trial.feed({"t": {"here": [Weighted(row, -1), other]}})
    trial.feed({"t": {"here": [row]}}, {"t": {"here": 4 * SECOND}})
    trial.feed({"t": {"here": [Weighted(row, 2), Weighted(other, -1)]}})
    trial.end()


def test_slack_goes_by_arrival_over_many_rows() -> None:
    chance = random.Random(5)
    for node in (Order(TICKS, "ts", 20), grouped(TICKS, "k", tuples(2, 1, slack=5), n="count(*)")):
        trial = small(node)
        for batch in range(4):
            moments = [batch * 100 + place + chance.choice((0, 0, 5, 60)) for place in range(100)]
            trial.feed(ticks(*((moment, chance.choice("ab"), 0) for moment in moments)))
        trial.end()


def test_a_grid_may_span_ten_thousand_years() -> None:
    years = 100 * 365 * 86_400 * SECOND
    for method in ("previous", "linear"):
        node = Resample(TICKS, ("k",), ("v",), method, every=years)
        trial = small(node)
        trial.feed({"t": {"here": [(HIGHEST, "a", 7), (LOWEST, "a", None), (0, "a", 3), (years, "b", 1)]}})
        trial.end()


def test_rows_in_the_order_of_windows_and_days_are_settled_by_the_moments_these_tell() -> None:
    minutes = grouped(TICKS, "k", tumbling(10 * SECOND), n="count(*)")
    operator = bucket_operator(grouped(minutes, "k", tuples(2, 1, order=WINDOW), m="sum(n)"))
    rows = [Delta(Row(("a", (start * SECOND, (start + 10) * SECOND), 1), start + 10), 1) for start in (10, 0)]
    out, _ = operator.advance({}, [news_of(rows, minutes.schema)], Moment(-math.inf, -math.inf))
    assert out["_pane_due"].to_pylist() == [20 * SECOND - 1] * 2
    days = mapped(TICKS, day="cast(ts AS DATE)", k="k")
    sorter = bucket_operator(Order(days, "day", 5))
    rows = [Delta(Row((day, "a"), (day + 1) * DAY - 1), 1) for day in (3, 1, 2)]
    out, state = sorter.advance({}, [news_of(rows, days.schema)], Moment(2 * DAY, -math.inf))
    assert from_arrow(out.select([0, 1]), days.schema) == [(1, "a")]
    out, _ = sorter.advance(state, [news_of([], days.schema)], Moment(math.inf, math.inf))
    assert from_arrow(out.select([0, 1]), days.schema) == [(2, "a"), (3, "a")]


MANY = stream("m", "ts TIMESTAMP, k BIGINT, v BIGINT, x DOUBLE")
OTHER = stream("o", "at TIMESTAMP, k BIGINT", "at")
LARGE = {
    "counted": grouped(MANY, "k", tuples(3, 2, 2 * SECOND), n="count(*)"),
    "counted with slack": grouped(MANY, "k", tuples(2, 1, slack=2), n="count(*)"),
    "values": grouped(MANY, "k", ValueWindow("v", 4, 4, 2 * SECOND), n="count(*)"),
    "fractions": grouped(MANY, "k", ValueWindow("x", 0.5, 0.25, 2 * SECOND), n="count(*)"),
    "order": Order(MANY, "ts", 50),
    "grid": Resample(MANY, ("k",), ("v", "x"), "linear", every=SECOND // 3, max_gap=2 * SECOND),
    "times": Resample(MANY, ("k",), ("v", "x"), "linear", at=OTHER, max_gap=2 * SECOND),
}


def in_batches(columns: int, chance: np.random.Generator, batches: int, many: int) -> list[list[Delta]]:
    """Rows of ten seconds in all, each at most half a second behind a later one."""
    found = []
    for batch in range(batches):
        moments = (batch * 10 * SECOND + np.sort(chance.integers(0, 10 * SECOND, many))) // batches
        moments += chance.integers(0, SECOND // 2, many)
        others = [chance.integers(0, 500, many), chance.integers(0, 20, many), chance.random(many)][: columns - 1]
        rows = zip(moments.tolist(), *(part.tolist() for part in others), strict=True)
        found.append([Delta(Row(tuple(row), row[0]), 1) for row in rows])
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", LARGE)
def test_many_rows_of_many_groups(kind: str) -> None:
    """Nothing is late, so all that is settled can be forgotten at once; only the end is compared."""
    node: Any = LARGE[kind]
    chance = np.random.default_rng(3)
    batches = [in_batches(len(child.schema.columns), chance, 5, 4000) for child in node.inputs]
    operator = bucket_operator(node)
    state: State = {}
    total: Counter = Counter()
    for place in range(5):
        mark = place * 2 * SECOND + 2 * SECOND - SECOND // 2 if place < 4 else math.inf
        news = [news_of(given[place], child.schema) for given, child in zip(batches, node.inputs, strict=True)]
        out, state = operator.advance(stored(state), news, Moment(mark, mark))
        is_paned = isinstance(node, Aggregate)
        total.update(check_panes(node, out) if is_paned else check_deltas(node, deltas_in(out, node.schema)))
    logs = [[delta for batch in given for delta in batch] for given in batches]
    if isinstance(node, Aggregate):
        assert +total == panes_of(node, logs[0], math.inf)
    elif isinstance(node, Order):
        assert +total == order(node, logs[0], math.inf)
    else:
        assert +total == resample(node, bag(logs[0]), bag(logs[-1]), math.inf)
    assert not sum(table.num_rows for name, table in state.items() if name != "clock")


def test_nodes_say_how_their_rows_are_dealt() -> None:
    other = stream("o", "at TIMESTAMP, K STRING", "at")
    resampled = Resample(TICKS, ("k",), ("v",), "linear", at=other)
    sliced = grouped(TICKS, "k v", ValueWindow("v", 2, 1, SECOND), n="count(*)")
    assert bucket_keys(resampled) == (("k",), ("K",))
    assert bucket_keys(sliced) == (("k", "v"),)
    assert bucket_keys(Order(TICKS, "v", 1)) == ((),)
    assert not needs_arrival(resampled)
    assert not needs_arrival(sliced)
    assert needs_arrival(Order(TICKS, "v", 0))
    assert needs_arrival(grouped(TICKS, window=tuples(2, slack=0), n="count(*)"))
    for node in (TICKS, grouped(TICKS, "k", n="count(*)"), grouped(TICKS, window=ValueWindow("v", 2, 1), n="count(*)")):
        with pytest.raises(InternalError, match="not done by buckets"):
            bucket_operator(node)
    trial = small(Resample(TICKS, ("k",), ("v",), "previous", at=other))
    trial.feed({**ticks((1, "a", 1), (2, "b", 2)), "o": {"here": [(3 * SECOND, "a"), (3 * SECOND, None)]}})
    trial.end()
