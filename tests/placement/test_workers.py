"""Inside a site: machines, splits by key, and tops that are cut in every share."""

import pytest

from tradewind.algebra.aggregates import parse_aggregate
from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Source, Top, Union
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.windows import TimeWindow
from tradewind.network.network import Place
from tradewind.placement.choices import Work
from tradewind.placement.plan import Step
from tradewind.placement.workers import over_workers
from tradewind.rewrites.partials import partials

HITS = [Source("hits", parse_schema("ts TIMESTAMP, domain STRING", time="ts"), origins=(name,)) for name in "ab"]
BOTH = Union(tuple(HITS))
COUNT = Aggregate(BOTH, ("domain",), (("n", parse_aggregate("count(*)", BOTH.schema)),), TimeWindow("ts", 60, 60))


def in_parts() -> tuple[Operator, Operator]:
    """The states of all inputs, and the aggregate made of them."""
    parts = partials(COUNT)
    assert parts is not None
    whole = parts.answer(COUNT)
    assert whole is not None
    return parts.states(parts.everything), whole


STATES, MERGE = in_parts()
TOP = Top(MERGE, 3, (("n", True),), ("window",))


def merge(cores):
    return Step("merged", ("states",), "merge", 0, cores, Work(lambda: MERGE, lambda: (STATES,)))


def top(cores):
    return Step("top", ("merged",), "top", 0, cores, Work(lambda: TOP, lambda: (MERGE,)))


def test_one_machine_does_everything():
    found = over_workers(Place("x", 8), [merge(20.0), top(5.0)])
    assert [(share.worker, share.parts) for share in found] == [(1, 1), (1, 1)]


def test_what_fits_stays_whole_and_near_its_input():
    found = over_workers(Place("x", 8, workers=4), [merge(1.0), top(0.5)])
    assert [(share.worker, share.parts) for share in found] == [(1, 1), (1, 1)]


@pytest.mark.parametrize(("cores", "parts"), [(2.5, 2), (4.0, 2), (4.1, 3), (7.9, 4), (50.0, 4)])
def test_a_merge_is_split_over_as_few_machines_as_can_do_it(cores, parts):
    found = over_workers(Place("x", 8, workers=4), [merge(cores)])
    assert [share.part for share in found] == list(range(1, parts + 1))
    assert {share.parts for share in found} == {parts}
    assert len({share.worker for share in found}) == parts
    assert {share.keys for share in found} == {("domain",)}
    assert sum(share.cores for share in found) == pytest.approx(cores)


def test_a_top_is_cut_in_every_share_and_brought_together_elsewhere():
    found = over_workers(Place("x", 8, workers=4), [merge(4.0), top(2.0)])
    shares = [share for share in found if share.step.kind == "merge"]
    cut = [share for share in found if share.step.kind == "top" and share.before]
    (last,) = [share for share in found if share.step.kind == "top" and not share.before]
    assert len(shares) == 3
    assert [share.worker for share in cut] == [share.worker for share in shares]
    assert last.worker not in {share.worker for share in shares}


def test_what_cannot_be_split_stays_whole():
    step = Step("joined", ("a", "b"), "join", 0, 9.0)
    (share,) = over_workers(Place("x", 4, workers=4), [step])
    assert share.parts == 1
