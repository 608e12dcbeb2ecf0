"""Predicted bytes of packed rows beside what Arrow and zstd make of them."""

import math

import pytest

from benchmarks.packed import Case, log_lines, partials, quantiles, single_columns, whole_tables
from tradewind.algebra.aggregates import AGGREGATES, AggregateCall, parse_aggregate
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, parse_type
from tradewind.cost.packed import Values, column_bytes, window_bytes
from tradewind.cost.states import Group, hll_size, leaves, state_bytes, state_columns

MEASUREMENTS = parse_schema("ts TIMESTAMP, n BIGINT, x DOUBLE, name STRING, yes BOOLEAN", "ts")


@pytest.mark.parametrize("case", list(single_columns()), ids=lambda case: case.name)
def test_single_columns_are_within_a_factor_of_1_6(case: Case) -> None:
    assert 1 / 1.6 < case.predicted / case.measured < 1.6


@pytest.mark.parametrize("case", list(whole_tables()), ids=lambda case: case.name)
def test_whole_tables_are_within_a_quarter(case: Case) -> None:
    assert case.predicted == pytest.approx(case.measured, rel=0.25)


def test_other_seeds_fit_as_well() -> None:
    for seed in (11, 12):
        for case in (log_lines(5_000, seed), partials(9_000, 4_000, 0.9, 3, seed), quantiles(40, 300, seed)):
            assert case.predicted == pytest.approx(case.measured, rel=0.25), case.name


def test_fewer_values_weigh_less_and_sorted_ones_less_still() -> None:
    for type_ in (INT, BIGINT, DOUBLE, STRING, parse_type("DECIMAL(12,2)"), parse_type("DATE")):
        weights = [column_bytes(type_, Values(10.0**power)) for power in range(7)]
        assert weights == sorted(weights), type_
        for power in range(1, 7):
            assert column_bytes(type_, Values(10.0**power, ordered=True)) <= weights[power]
            assert column_bytes(type_, Values(10.0**power, 1.2)) <= weights[power]


def test_structs_and_arrays_are_made_of_their_parts() -> None:
    pair = parse_type("STRUCT<a: INT, b: DOUBLE>")
    assert column_bytes(pair) == column_bytes(INT) + column_bytes(DOUBLE)
    assert column_bytes(parse_type("ARRAY<DOUBLE>")) > 3 * column_bytes(DOUBLE)
    assert leaves(pair) == 3
    window = parse_type("STRUCT<start: TIMESTAMP, end: TIMESTAMP>")
    assert window_bytes(window, 1) < 0.01 < window_bytes(window, 5) < window_bytes(window, 60)


def test_every_aggregate_has_a_state_that_grows_with_its_group() -> None:
    for name, function in AGGREGATES.items():
        column = "yes" if name in ("count_if", "bool_and", "bool_or") else "x"
        asked = ", 0.5" if name.endswith("percentile") else ", 3" if name.endswith("top_k") else ""
        call = parse_aggregate(f"{name}({column}{asked})", MEASUREMENTS)
        value = call.state_type(MEASUREMENTS)
        sizes = [state_bytes(call, value.fields[0][1], Group(rows, rows)) for rows in (1.0, 100.0, 1e4, 1e6)]
        assert 0 < sizes[0] <= sizes[1] <= sizes[2] <= sizes[3], name
        assert sizes[3] < 1e6 or not function.bounded
        assert len(state_columns(call, value.fields[0][1])) == leaves(value)


def test_full_sketches_have_the_sizes_that_were_measured() -> None:
    """Packed sizes of Spark's own sketches over 100,000 different values: 1,629, 457, 25,637 and 3,619 bytes."""
    full = Group(1e5, 1e5)
    assert hll_size(0.016) == 12
    assert state_bytes(AggregateCall("approx_count_distinct", (), (0.016,)), STRING, full) == pytest.approx(
        1629, rel=0.1
    )
    assert state_bytes(AggregateCall("approx_count_distinct", (), (0.032,)), STRING, full) == pytest.approx(
        457, rel=0.15
    )
    assert state_bytes(AggregateCall("theta_count_distinct"), STRING, full) == pytest.approx(25_637, rel=0.1)
    assert state_bytes(AggregateCall("approx_percentile", (), (0.5, 200)), DOUBLE, full) == pytest.approx(
        3619, rel=0.25
    )


def test_small_sketches_hold_their_values() -> None:
    """300 different values: 1,390, 2,186 and 1,526 bytes were measured."""
    some = Group(300, 300)
    assert state_bytes(AggregateCall("approx_count_distinct", (), (0.016,)), STRING, some) == pytest.approx(
        1390, rel=0.2
    )
    assert state_bytes(AggregateCall("theta_count_distinct"), STRING, some) == pytest.approx(2186, rel=0.1)
    assert 1 / 1.6 < state_bytes(AggregateCall("approx_percentile", (), (0.5, 200)), DOUBLE, some) / 1526 < 1.6


def test_counts_take_the_bits_of_their_size() -> None:
    count = AggregateCall("count")
    assert state_bytes(count, BOOLEAN, Group(1)) < state_bytes(count, BOOLEAN, Group(1_000)) < 2.1
    assert math.isclose(state_bytes(count, BOOLEAN, Group(1)), 0.45)
