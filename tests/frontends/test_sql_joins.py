"""Joins in SQL: keys, bands, what is left over, and what names mean."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.frontends.relations import MINUTE, A, B, C, mapped, sql, where
from tradewind.algebra.expressions.tree import Call, Column
from tradewind.algebra.expressions.typing import parse_expression
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.core import Band, Filter, Join, Map, Source
from tradewind.algebra.schema import parse_schema
from tradewind.errors import QueryError
from tradewind.frontends.build import extend, project, rename
from tradewind.frontends.catalog import Catalog
from tradewind.frontends.sql.query import parse_query
from tradewind.interpreter.run import answer
from tradewind.rewrites.engine import rewrite

B_APART = rename(B, {"ts": "ts_b", "k": "k_b"})
KEYS = (("k", "k_b"),)


def joined(how="inner", keys=KEYS, band=None):
    return Join(A, B_APART, how, keys, band)


@pytest.mark.parametrize(
    ("written", "how"),
    [
        ("JOIN", "inner"), ("INNER JOIN", "inner"), ("LEFT JOIN", "left"), ("LEFT OUTER JOIN", "left"),
        ("RIGHT JOIN", "right"), ("FULL JOIN", "full"), ("FULL OUTER JOIN", "full"),
    ],
)  # fmt: skip
def test_kinds(written, how):
    assert sql(f"SELECT * FROM A a {written} B b ON a.k = b.k") == joined(how)


@pytest.mark.parametrize(
    ("condition", "low", "high"),
    [
        ("b.ts BETWEEN a.ts AND a.ts + INTERVAL 5 MINUTES", 0, 5 * MINUTE),
        ("b.ts >= a.ts AND b.ts <= a.ts + INTERVAL '5' MINUTE", 0, 5 * MINUTE),
        ("a.ts <= b.ts AND a.ts >= b.ts - INTERVAL 5 MINUTES", 0, 5 * MINUTE),
        ("b.ts - a.ts <= INTERVAL 5 MINUTES AND b.ts - INTERVAL 1 MINUTE >= a.ts", MINUTE, 5 * MINUTE),
        ("b.ts > a.ts AND b.ts < a.ts + INTERVAL 1 MINUTE", 1, MINUTE - 1),
        ("a.ts < b.ts", 1, None),
        ("NOT FALSE AND b.ts <= a.ts", None, 0),
        ("b.ts = a.ts + INTERVAL 1 MINUTE", MINUTE, MINUTE),
        ("b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts + INTERVAL 1 MINUTE AND b.ts > a.ts", 1, MINUTE),
        ("INTERVAL 1 MINUTE > a.ts - b.ts", 1 - MINUTE, None),
    ],
)
def test_time_bounds_become_one_band(condition, low, high):
    found = sql(f"SELECT * FROM A a JOIN B b ON a.k = b.k AND {condition}")
    found = found if isinstance(found, Join) else found.inputs[0]
    assert found == joined(band=Band("ts", "ts_b", low, high))


@pytest.mark.parametrize(
    ("condition", "low", "high"),
    [
        ("b.y - a.x <= 3", None, 3),
        ("b.y - a.x < 3", None, 2),
        ("a.x - b.y < 3", -2, None),
        ("b.y BETWEEN a.x - 2 AND a.x + 2", -2, 2),
        ("b.y - a.x <= 2.5 AND b.y - a.x > -2.5", -2, 2),
        ("-a.x + b.y >= 1", 1, None),
    ],
)
def test_bounds_on_whole_numbers_are_asked_again_as_sums_may_overflow(condition, low, high):
    expected = where(joined(band=Band("x", "y", low, high)), condition.replace("a.", "").replace("b.", ""))
    assert sql(f"SELECT * FROM A a JOIN B b ON a.k = b.k AND {condition}") == expected


@pytest.mark.parametrize(("how", "written"), [("inner", "JOIN"), ("left", "LEFT JOIN"), ("full", "FULL JOIN")])
def test_bounds_on_whole_numbers_that_are_just_compared_are_bands(how, written):
    found = sql(f"SELECT * FROM A a {written} B b ON a.k = b.k AND b.y > a.x")
    assert found == joined(how, band=Band("x", "y", 1, None))


P = Source("p", parse_schema("ts TIMESTAMP, x BIGINT", "ts"))
Q = Source("q", parse_schema("ts TIMESTAMP, y BIGINT", "ts"))
EXTREMES = (-(2**63), -1, 0, 1, 2**63 - 1, None)


@pytest.mark.parametrize(
    "condition",
    ["q.y - p.x > 0", "q.y > p.x + 1", "p.x - 1 < q.y", "-p.x + q.y >= 2", "q.y - p.x <= 9e15", "q.y > p.x"],
)
def test_on_and_where_agree_where_sums_overflow(condition):
    catalog = Catalog({"p": P, "q": Q})
    on = parse_query(f"SELECT p.x, q.y FROM p JOIN q ON q.ts = p.ts AND {condition}", catalog)
    alone = parse_query(f"SELECT p.x, q.y FROM p JOIN q ON {condition}", catalog)
    after = parse_query(f"SELECT p.x, q.y FROM p JOIN q ON q.ts = p.ts WHERE {condition}", catalog)
    graph = Graph.of(on=on, alone=alone, after=after)
    data = {name: {"site": [(0, value) for value in EXTREMES]} for name in ("p", "q")}
    for answers in (answer(graph, data), answer(rewrite(graph).graph, data)):
        assert answers["on"] == answers["alone"] == answers["after"]
        assert 0 < sum(answers["on"].values()) < 25


def test_times_that_cancel_out_but_may_be_missing_are_asked_again():
    text = "SELECT A.k FROM A JOIN C ON A.k = C.k JOIN B ON B.ts - C.ts + C.ts >= A.ts"
    found = sql(text).inputs[0]
    assert isinstance(found, Filter)
    assert isinstance(found.input, Join)
    assert found.input.band == Band("ts", "ts_B", 0, None)
    with pytest.raises(QueryError, match="cannot be asked in a LEFT JOIN"):
        sql(text.replace("JOIN B", "LEFT JOIN B"))


def test_bounds_on_fractions_are_taken_only_as_they_are_written_and_strict_ones_are_asked_again():
    assert sql("SELECT * FROM A a JOIN B b ON a.k = b.k AND b.g - a.f <= 0.5") == joined(band=Band("f", "g", None, 0.5))
    assert sql("SELECT * FROM A a JOIN B b ON a.k = b.k AND b.g - a.f < 0.5") == where(
        joined(band=Band("f", "g", None, 0.5)), "g - f < 0.5"
    )
    assert sql("SELECT * FROM A a JOIN B b ON a.k = b.k AND b.g <= a.f + 0.5") == where(joined(), "g <= f + 0.5")


@pytest.mark.parametrize("condition", ["b.g - a.f >= 0.5", "b.g - a.f > 0.5"])
def test_a_distance_of_fractions_that_is_great_is_no_band_as_nan_is_greater_than_all(condition):
    expected = where(joined(), condition.replace("a.", "").replace("b.", ""))
    assert sql(f"SELECT * FROM A a JOIN B b ON a.k = b.k AND {condition}") == expected


def test_a_band_alone_is_enough():
    found = sql("SELECT * FROM A a JOIN B b ON b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 MINUTE")
    assert found == joined(keys=(), band=Band("ts", "ts_b", 0, MINUTE))


def test_of_two_bands_the_one_on_time_is_taken():
    found = sql("SELECT * FROM A a JOIN B b ON a.k = b.k AND b.y - a.x <= 3 AND b.ts >= a.ts")
    assert found == where(joined(band=Band("ts", "ts_b", 0, None)), "y - x <= 3")


def test_what_is_left_of_an_inner_join_is_a_filter_above_it():
    assert sql("SELECT * FROM A a JOIN B b ON a.k = b.k AND y > 1 AND a.x + b.y < 9") == where(
        joined(), "y > 1 AND x + y < 9"
    )


@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_equal_expressions_of_one_side_each_are_keys_that_are_computed_first(how):
    kind = "" if how == "inner" else how.upper()
    found = sql(f"SELECT * FROM A a {kind} JOIN B b ON a.x + 1 = abs(b.k) AND a.k = b.k")
    left = extend(A, {"x + 1": parse_expression("x + 1", A.schema)})
    right = rename(extend(B, {"abs(k)": parse_expression("abs(k)", B.schema)}), {"ts": "ts_b", "k": "k_b"})
    join = Join(left, right, how, (("x + 1", "abs(k)"), ("k", "k_b")))
    assert found == project(join, [(name, Column(name)) for name in joined().schema.names])


def test_equal_expressions_in_where_tie_relations_too():
    by_on = sql("SELECT a.x FROM A a JOIN B b ON abs(a.k) = abs(b.k)")
    assert sql("SELECT a.x FROM A a, B b WHERE abs(b.k) = abs(a.k)") == by_on
    assert sql("SELECT a.x FROM A a FULL JOIN B b USING (k) JOIN C c ON k = c.k").schema.names == ("x",)


def test_what_an_outer_join_asks_of_the_side_that_may_be_missing_is_asked_before_it():
    some = rename(where(B, "y > 2 AND k < 5"), {"ts": "ts_b", "k": "k_b"})
    assert sql("SELECT * FROM A a LEFT JOIN B b ON a.k = b.k AND b.y > 2 AND b.k < 5") == Join(A, some, "left", KEYS)
    assert sql("SELECT * FROM A a RIGHT JOIN B b ON a.k = b.k AND x > 2") == Join(
        where(A, "x > 2"), B_APART, "right", KEYS
    )
    assert sql("SELECT * FROM A a LEFT JOIN B b ON a.k = b.k AND b.y > 2") == sql(
        "SELECT * FROM A a LEFT JOIN (SELECT * FROM B WHERE y > 2) b ON a.k = b.k"
    )


def test_of_two_bands_the_one_on_time_is_taken_after_other_joins_too():
    found = sql("SELECT a.k FROM A a JOIN B b ON a.ts = b.ts JOIN C c ON c.z > a.x AND c.ts >= a.ts").inputs[0]
    assert isinstance(found, Filter)
    assert isinstance(found.input, Join)
    assert found.input.band == Band("ts", "ts_c", 0, None)


def test_comma_joins_take_their_conditions_from_where():
    expected = where(joined(band=Band("ts", "ts_b", 0, MINUTE)), "x > 3")
    assert (
        sql("SELECT * FROM A a, B b WHERE a.k = b.k AND x > 3 AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 MINUTE")
        == expected
    )
    assert sql("SELECT * FROM A a, B b WHERE b.k = a.k") == sql("SELECT * FROM A a JOIN B b ON a.k = b.k")


def test_comma_joins_are_left_deep():
    first = Join(A, rename(B, {"ts": "ts_B", "k": "k_B"}), "inner", (("k", "k_B"),))
    expected = Join(first, rename(C, {"ts": "ts_C", "k": "k_C"}), "inner", (("k_B", "k_C"),))
    assert sql("SELECT * FROM a, b, c WHERE a.k = b.k AND b.k = c.k") == expected
    assert sql("SELECT * FROM a, b JOIN c ON b.k = c.k WHERE a.k = b.k") == expected


def test_using_makes_one_column_of_two():
    assert sql("SELECT k, x, y FROM A a JOIN B b USING (k)") == mapped(joined(), k="k", x="x", y="y")
    assert sql("SELECT k FROM A a RIGHT JOIN B b USING (k)") == mapped(joined("right"), k="k_b")
    full = joined("full")
    assert sql("SELECT k FROM A a FULL JOIN B b USING (k)") == Map(
        full, (("k", Call("coalesce", (Column("k"), Column("k_b")))),)
    )
    assert sql("SELECT * FROM A a JOIN B b USING (k)").schema.names == ("k", "ts", "x", "f", "ts_b", "y", "g")


def test_stars_and_qualified_names():
    assert sql("SELECT b.* FROM A a JOIN B b ON a.k = b.k").schema.names == ("ts", "k", "y", "g")
    assert sql("SELECT a.*, b.* FROM A a JOIN B b ON a.k = b.k") == joined()
    assert sql("SELECT b.k FROM A a JOIN B b ON a.k = b.k") == mapped(joined(), k="k_b")
    assert sql("SELECT b.k AS other, count(*) AS n FROM A a JOIN B b ON a.k = b.k GROUP BY b.k").schema.names == (
        "other",
        "n",
    )


def test_an_ambiguous_name_lists_what_it_may_be():
    with pytest.raises(QueryError, match=r"'k' is ambiguous: it may be a\.k or b\.k") as caught:
        sql("SELECT k FROM A a JOIN B b ON a.k = b.k")
    assert caught.value.candidates == ("a.k", "b.k")


def test_a_stream_joined_with_itself():
    found = sql("SELECT l.x, r.x AS next FROM A l JOIN A r ON l.k = r.k AND r.ts > l.ts")
    apart = rename(A, {name: f"{name}_r" for name in A.schema.names})
    assert found == mapped(Join(A, apart, "inner", (("k", "k_r"),), Band("ts", "ts_r", 1, None)), x="x", next="x_r")


def test_doubling_a_join_again_and_again_is_stopped():
    names = [f"q{i}" for i in range(20)]
    steps = ["q0 AS (SELECT * FROM A)"]
    steps += [
        f"{new} AS (SELECT * FROM {old} JOIN {old} AS r{i} USING (k))" for i, (old, new) in enumerate(pairwise(names))
    ]
    with pytest.raises(QueryError, match="more than 1024 columns"):
        sql(f"WITH {', '.join(steps)} SELECT k FROM q19")
