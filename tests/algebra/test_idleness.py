"""The marks of idle origins: whom they follow, and that they never hold anybody back."""

import math

from hypothesis import given
from hypothesis import strategies as st

from tests.shorthand import mapped, stream
from tradewind.algebra.graph import Graph
from tradewind.algebra.idleness import OriginStatus, combined, followed
from tradewind.algebra.operators.core import Union
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.tables import Table

A, B, C = "a", "b", "c"
marks = st.one_of(st.just(-math.inf), st.integers(0, 9).map(float))
places = st.tuples(st.sampled_from((A, B, C)), st.sampled_from(("eu", "us", "ap")))
origins_given = st.dictionaries(places, st.builds(OriginStatus, marks, st.booleans()), min_size=1)
queries_given = st.lists(st.sets(st.sampled_from((A, B, C)), min_size=1), max_size=3)


def after(origins, queries):
    """All origins once the idle ones have gone on."""
    moved = followed(origins, queries)
    return {place: one._replace(mark=moved.get(place, one.mark)) for place, one in origins.items()}


def watermark(origins, streams):
    return min((one.mark for (stream, _), one in origins.items() if stream in streams), default=-math.inf)


@given(origins_given, queries_given)
def test_only_idle_origins_go_on_and_marks_never_go_back(origins, queries) -> None:
    for place, mark in followed(origins, queries).items():
        assert origins[place].idle
        assert mark > origins[place].mark


@given(origins_given, st.sets(st.sampled_from((A, B, C)), min_size=1))
def test_a_query_waits_for_those_that_are_not_idle_and_for_nobody_else(origins, streams) -> None:
    speaking = [one.mark for (stream, _), one in origins.items() if stream in streams and not one.idle]
    if speaking:
        assert watermark(after(origins, [streams]), streams) == min(speaking)


@given(origins_given, st.sets(st.sampled_from((A, B, C)), min_size=1))
def test_where_all_are_idle_they_come_to_the_furthest_and_stay_there(origins, streams) -> None:
    silent = {place: one._replace(idle=True) for place, one in origins.items()}
    moved = after(silent, [streams])
    furthest = max((one.mark for (stream, _), one in silent.items() if stream in streams), default=-math.inf)
    assert watermark(moved, streams) == furthest
    assert followed(moved, [streams]) == {}


def test_an_origin_that_never_spoke_is_not_waited_for_once_it_is_idle() -> None:
    never, us = (A, "eu"), (A, "us")
    assert followed({never: OriginStatus(), us: OriginStatus(7.0)}, [[A]]) == {}
    assert followed({never: OriginStatus(idle=True), us: OriginStatus(7.0)}, [[A]]) == {never: 7.0}


def test_a_stream_of_which_all_origins_are_idle_follows_those_that_queries_combine_it_with() -> None:
    origins = {
        (A, "eu"): OriginStatus(1.0, idle=True), (A, "us"): OriginStatus(2.0, idle=True), (B, "eu"): OriginStatus(5.0),
        (C, "eu"): OriginStatus(9.0),
    }  # fmt: skip
    assert followed(origins, [[A], [A, B], [C]]) == {(A, "eu"): 5.0, (A, "us"): 5.0}
    assert followed(origins, [[A], [B, C]]) == {(A, "eu"): 2.0}


def test_who_reads_a_table_rests_on_the_streams_that_update_it() -> None:
    table = Table("t", parse_schema("k STRING, n INT"), ("k",))
    written = stream("written", "ts TIMESTAMP, k STRING, n INT")
    read = stream("read", "ts TIMESTAMP, k STRING")
    update = Update(written, table, "INSERT INTO t VALUES (:k, :n)", (("n", mapped(written, n="n").columns[0][1]),))
    asked = Read(read, table, "SELECT n FROM t WHERE k = :k")
    assert combined(Graph.of(update=update, answer=asked)) == [{"written"}, {"read", "written"}]
    assert combined(Graph.of(both=Union((written, written)))) == [{"written"}]
