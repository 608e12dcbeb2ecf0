"""The operators over buckets answer as the interpreter does, after every batch, whatever comes."""

from __future__ import annotations

import math
import pickle
import random
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shorthand import SECOND
from tests.spark.bucket_cases import CASES, ORIGINS, rows
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import WINDOW, Aggregate
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.ordered import Order
from tradewind.algebra.schema import Schema
from tradewind.algebra.windows import ValueWindow
from tradewind.interpreter.grouping import groups
from tradewind.interpreter.ordering import order_of, within_slack
from tradewind.interpreter.rows import FOREVER, Delta, Row, bag
from tradewind.interpreter.run import Run
from tradewind.interpreter.values import single
from tradewind.interpreter.windows import panes
from tradewind.spark.buckets.dispatch import bucket_operator
from tradewind.spark.buckets.operator import Moment, State
from tradewind.spark.types import from_arrow, to_arrow


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
    return [Delta(Row(*row), weight) for *row, weight in zip(values, due, table["_weight"].to_pylist(), strict=True)]


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
    slack = getattr(window, "slack", None)
    order = str(getattr(window, "order", None) or getattr(window, "column", None))
    kept = bag(log) if slack is None else within_slack(log, node.keys, order, slack, schema)
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
        self.node, self.horizon = node, horizon
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
        for stream, origin in chance.sample(sorted(waiting), chance.randrange(len(waiting) + 1)):
            given = waiting[stream, origin]
            many = chance.randrange(1, 7)
            batch.setdefault(stream, {})[origin] = given[:many]
            del given[:many]
        marks = {s.stream: {chance.choice(ORIGINS): chance.randrange(20) * SECOND} for s in sources}
        trial.feed(batch, marks if chance.random() < 0.3 else None)
    trial.end()


@pytest.mark.parametrize("kind", CASES)
@settings(max_examples=200)
@given(seed=st.integers(0, 2**32))
def test_answers_are_the_interpreters_after_every_batch(kind: str, seed: int) -> None:
    check(seed, kind)
