"""Sketches are as large as an error asks for, and no answer promises less."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.algebra.aggregates import parse_aggregate
from tradewind.algebra.drawing.text import draw_text
from tradewind.algebra.precision import fitted, sketched
from tradewind.algebra.schema import parse_schema
from tradewind.errors import DeploymentError, InputError
from tradewind.frontends.deployment.check import load

SCHEMA = parse_schema("s STRING, x INT")
SKETCHES = ("approx_count_distinct(s)", "approx_percentile(x, 0.9)", "approx_top_k(s, 5)")
EXACT = ("count_distinct(s)", "percentile(x, 0.9)", "top_k(s, 5)")


@given(st.sampled_from(SKETCHES), st.floats(0.004, 1.0))
def test_a_sketch_keeps_the_error_and_is_no_larger_than_it_must_be(text: str, error: float) -> None:
    found = fitted(parse_aggregate(text, SCHEMA), error)
    size = found.definition.parameters[-1]
    assert found.definition.error(found.parameters) <= error * (1 + 1e-9)
    taken = found.parameters[-1]
    assert isinstance(taken, int | float)
    smaller = taken - 1 if size.whole else taken * 1.01
    if size.low <= smaller <= size.high:
        assert found.definition.error((*found.parameters[:-1], smaller)) > error * (1 - 1e-9)


@given(st.sampled_from(EXACT), st.floats(0.004, 1.0))
def test_an_exact_aggregate_has_a_sketch_of_the_same_type_that_keeps_the_error(text: str, error: float) -> None:
    exact = parse_aggregate(text, SCHEMA)
    found = sketched(exact, error)
    assert found is not None
    assert found.definition.exact_twin == exact.function
    assert found.type(SCHEMA) == exact.type(SCHEMA)
    assert found.definition.error(found.parameters) <= error * (1 + 1e-9)


@pytest.mark.parametrize("text", ["sum(x)", "count(*)", "approx_count_distinct(s, 0.1)", "approx_top_k(s, 5, 99)"])
def test_what_is_exact_or_was_sized_by_hand_stays(text: str) -> None:
    call = parse_aggregate(text, SCHEMA)
    assert fitted(call, 0.02) == call
    assert sketched(call, 0.02) is None


def test_what_no_sketch_can_keep_is_refused_and_never_sketched() -> None:
    with pytest.raises(InputError, match=r"approx_count_distinct can be 0.004 off, and no more than 0.001"):
        fitted(parse_aggregate("approx_count_distinct(s)", SCHEMA), 0.001)
    assert sketched(parse_aggregate("count_distinct(s)", SCHEMA), 0.001) is None


FILE = """
sites: {{ams: {{cores: 1}}}}
streams:
  hits: {{schema: "ts TIMESTAMP, s STRING", time: ts, at: {{ams: {{format: json, path: data}}}}}}
queries:
  q:
    sql: SELECT window.start AS t, {call} AS n FROM hits GROUP BY window(ts, '1 minute')
    deliver: {{site: ams, path: out}}
    error: {error}
"""


def test_the_error_of_a_query_in_a_file_sizes_its_sketches() -> None:
    found = load(FILE.format(call="approx_count_distinct(s)", error=0.1))
    assert "approx_count_distinct(s, 0.1D)" in draw_text(found.queries["q"].operator)
    with pytest.raises(
        DeploymentError, match=r"deployment:9:12 queries.q.error: theta_count_distinct can be 0.016 off"
    ):
        load(FILE.format(call="theta_count_distinct(s)", error=0.01))
    assert load(FILE.format(call="theta_count_distinct(s)", error=0.02)).queries["q"].error == 0.02
